/** What the other rooms use of the API. */
export { admitted, changesSpec } from './admission.ts';
export { defaultValues } from './default-values.ts';
export {
  type DefaultedMemcached,
  type DefaultedSpec,
  type DefaultOptions,
  withDefaults,
  withStoredDefaults,
} from './defaults.ts';
export { imageTag } from './image-tag.ts';
export {
  annotation,
  GROUP,
  type Memcached,
  type MemcachedSpec,
  type MemcachedStatus,
  memcachedKind,
  VERSION,
} from './memcached.ts';
export { safeMebibytes } from './memory.ts';
export { mebibytes, quantityInNano } from './quantity.ts';
export { serverHostname, serverList } from './server-name.ts';
export { describeErrors, type FieldError } from './validation/field-error.ts';
export { obstacles, validate, warningsAbout } from './validation/index.ts';
