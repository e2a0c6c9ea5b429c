/** The client of the Kubernetes API. */

export type { Access, Environment } from './access.ts';
export { type AccessOptions, findAccess } from './access-lookup.ts';
export { createClient } from './api-client.ts';
export type {
  ApplyOptions,
  CallOptions,
  Client,
  DeleteOptions,
  GetOptions,
  ListOptions,
  PatchOptions,
  RawOptions,
  WatchEvent,
  WatchOptions,
} from './client.ts';
export {
  ApiError,
  apiErrorFrom,
  ConfigurationError,
  ConnectionLost,
  isConflict,
  isNotFound,
  isRefused,
  type LossReason,
  longestWaitMs,
} from './errors.ts';
export type { ClientOptions, ConnectionInfo, Limits, RequestInfo } from './options.ts';
