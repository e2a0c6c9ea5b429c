/** The watch cache. */
export { Informer, type InformerOptions } from './informer.ts';
export { crdKind, crdNameOf, runWhenPresent } from './presence.ts';
export type { Change, IndexFunction, StoredObject } from './store.ts';
