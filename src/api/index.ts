/** What the other rooms use of the API. */
export { defaultValues } from './default-values.ts';
export {
  type DefaultedMemcached,
  type DefaultedSpec,
  type DefaultOptions,
  withDefaults,
  withStoredDefaults,
} from './defaults.ts';
export {
  annotation,
  GROUP,
  type Memcached,
  type MemcachedSpec,
  type MemcachedStatus,
  memcachedKind,
  VERSION,
} from './memcached.ts';
