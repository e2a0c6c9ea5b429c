/** The client of the Kubernetes API. */
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
export { ApiError, apiErrorFrom, ConfigurationError, ConnectionLost, isNotFound, type LossReason } from './errors.ts';
