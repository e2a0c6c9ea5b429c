/** The memcached protocol. */
export { get, set } from './ascii.ts';
export { type Address, type Limits, MemcachedError } from './connection.ts';
export type { Figures } from './figures.ts';
export {
  type Acquaintance,
  type Authentication,
  during,
  isAnswering,
  mechanismsOf,
  meet,
  type Server,
} from './server.ts';
