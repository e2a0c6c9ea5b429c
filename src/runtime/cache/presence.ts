/** Learns at once that a kind has been installed, or is about to go, by a watch of the CustomResourceDefinition that brings it. */
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import { Informer, type InformerOptions } from './informer.ts';
import type { StoredObject } from './store.ts';

export const crdKind: Kind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

type Wakeable = Pick<Informer<StoredObject>, 'kind' | 'wake' | 'leave'>;

/**
 * For informers of kinds that may come and go. A changed definition is not served at once, hence an informer goes on
 * trying by itself; each change of its definition makes it begin anew with short waits. A definition that is being
 * deleted goes when the last object is gone, but some servers (1.31) let new ones be applied meanwhile: whoever made them
 * would keep it forever. Without the permission to watch the definition, the kind is still found, but up to half a minute
 * later, and on such servers it stays.
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
      project: lifeOf,
    });
    definition.onChange(({ new: now }) => {
      for (const informer of waiting) {
        informer.leave(now?.isLeaving ?? true);
        informer.wake();
      }
    });
    return definition.run(signal);
  });
  await Promise.all(watching);
}

export function crdNameOf({ plural, apiVersion }: Kind): string {
  return `${plural}.${apiVersion.split('/')[0]}`;
}

interface Life extends StoredObject {
  readonly isLeaving: boolean;
}

function lifeOf({ metadata: { name, resourceVersion, deletionTimestamp } }: KubernetesObject): Life {
  return { metadata: { name, resourceVersion }, isLeaving: deletionTimestamp !== undefined };
}
