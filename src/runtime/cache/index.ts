/** The watch cache. */
export { Informer, type InformerOptions } from './informer.ts';
export { crdKind, crdNameOf, watchDefinitions } from './presence.ts';
export type { Change, IndexFunction, StoredObject } from './store.ts';
