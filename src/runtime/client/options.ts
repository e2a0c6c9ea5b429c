/** What a client can be told about its work, and what it tells about it. */
import type { Access } from './access.ts';
import type { ConnectionLost } from './errors.ts';

export interface Limits {
  /** For a request, its place in the queue and the connection included; for a watch, until its first sign. */
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
  /** The API server allows 100, and Node lets what is above hang without a word. */
  readonly streamsPerSession: number;
}

export const defaultLimits: Limits = {
  requestTimeoutMs: 30_000,
  connectTimeoutMs: 5_000,
  pingIntervalMs: 3_000,
  pingTimeoutMs: 6_000,
  streamsPerSession: 80,
};

export interface RequestInfo {
  readonly verb: string;
  /** That of HTTP. */
  readonly method: string;
  readonly kind?: string | undefined;
  /** The HTTP status; 0: none came. */
  readonly code: number;
  readonly seconds: number;
}

export interface ConnectionInfo {
  readonly purpose: 'requests' | 'watches';
  readonly state: 'open' | 'closed';
  /** Why it is closed, if not because we closed it. */
  readonly loss?: ConnectionLost | undefined;
}

export interface ClientOptions {
  readonly access: Access;
  /** Such as memcached-operator/1.0.0. */
  readonly userAgent: string;
  readonly limits?: Partial<Limits>;
  /**
   * Asked in the moment of sending, which may be long after the call: there are queues, connections to be made and second attempts.
   * What may not be sent is not, and the call rejects.
   */
  readonly maySend?: () => boolean;
  /** Told of each attempt, not of each call. */
  readonly onRequest?: (info: RequestInfo) => void;
  readonly onConnection?: (info: ConnectionInfo) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly random?: () => number;
}
