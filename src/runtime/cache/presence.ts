/** Learns at once that a kind has been installed, by a watch of the one CustomResourceDefinition that brings it. */
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import { Informer, type InformerOptions } from './informer.ts';
import type { StoredObject } from './store.ts';

export const crdKind: Kind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/**
 * Runs the informer of a kind that may come and go. A changed definition is not served at once, hence the informer goes on
 * trying by itself; each change of the definition makes it begin anew with short waits. Without the permission to
 * watch the definition, the kind is still found, but up to half a minute later.
 */
export async function runWhenPresent(
  informer: Pick<Informer<StoredObject>, 'kind' | 'wake' | 'run'>,
  options: Pick<InformerOptions<StoredObject>, 'client' | 'log' | 'clock' | 'random'>,
  signal: AbortSignal,
): Promise<void> {
  const definition = new Informer({
    ...options,
    kind: crdKind,
    fieldSelector: `metadata.name=${crdNameOf(informer.kind)}`,
    metadataOnly: true,
    project: versionOf,
  });
  definition.onChange(() => informer.wake());
  await Promise.all([definition.run(signal), informer.run(signal)]);
}

export function crdNameOf({ plural, apiVersion }: Kind): string {
  return `${plural}.${apiVersion.split('/')[0]}`;
}

function versionOf({ metadata: { name, resourceVersion } }: KubernetesObject): StoredObject {
  return { metadata: { name, resourceVersion } };
}
