/** Learns at once that a kind has been installed, by a watch of the CustomResourceDefinition that brings it. */
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import { Informer, type InformerOptions } from './informer.ts';
import type { StoredObject } from './store.ts';

export const crdKind: Kind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

type Wakeable = Pick<Informer<StoredObject>, 'kind' | 'wake'>;

/**
 * For informers of kinds that may come and go. A changed definition is not served at once, hence an informer goes on
 * trying by itself; each change of its definition makes it begin anew with short waits. Without the permission to
 * watch the definition, the kind is still found, but up to half a minute later.
 */
export async function watchDefinitions(
  informers: readonly Wakeable[],
  options: Pick<InformerOptions<StoredObject>, 'client' | 'log' | 'clock' | 'random'>,
  signal: AbortSignal,
): Promise<void> {
  const watching = [...Map.groupBy(informers, ({ kind }) => crdNameOf(kind))].map(([name, waiting]) => {
    const definition = new Informer({
      ...options,
      kind: crdKind,
      fieldSelector: `metadata.name=${name}`,
      metadataOnly: true,
      project: versionOf,
    });
    definition.onChange(() => {
      for (const informer of waiting) informer.wake();
    });
    return definition.run(signal);
  });
  await Promise.all(watching);
}

export function crdNameOf({ plural, apiVersion }: Kind): string {
  return `${plural}.${apiVersion.split('/')[0]}`;
}

function versionOf({ metadata: { name, resourceVersion } }: KubernetesObject): StoredObject {
  return { metadata: { name, resourceVersion } };
}
