/** What can go wrong between us and the API, with fields to decide by. */
import type { Status } from '../../kubernetes/object.ts';

/** A refusal may quote hundreds of values. These are enough to read, and to log each time. */
const LONGEST_MESSAGE = 4096;
const MOST_CAUSES = 10;

/** The server answered, and the answer is no. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The API's own word for it, such as NotFound or AlreadyExists; "" where the answer did not come from the API. */
  readonly reason: string;
  readonly details?: Status['details'];
  /** When the server wants to be asked again. */
  readonly retryAfterSeconds?: number;

  constructor(status: number, answer: Partial<Status>, retryAfterSeconds = answer.details?.retryAfterSeconds) {
    super(answer.message ? cut(answer.message, LONGEST_MESSAGE) : `the API server answered ${status}`);
    this.status = status;
    this.reason = answer.reason ?? '';
    const { causes, ...details } = answer.details ?? {};
    if (answer.details) this.details = { ...details, ...(causes && { causes: causes.slice(0, MOST_CAUSES) }) };
    if (retryAfterSeconds !== undefined) this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * - unreachable: no connection could be made; nothing was sent
 * - refused: the server let go of the request before it looked at it
 * - closed: the connection or the stream ended before the answer did
 * - silent: the peer stopped answering pings
 * - timeout: no answer in time
 * - garbled: what came is not what the API would say
 */
export type LossReason = 'unreachable' | 'refused' | 'closed' | 'silent' | 'timeout' | 'garbled';

/** There is no answer, or only a part of it. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly reason: LossReason;

  constructor(reason: LossReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }

  /** Whether the server has certainly not acted on the request, so that even a write can be sent again. */
  get unprocessed(): boolean {
    return this.reason === 'unreachable' || this.reason === 'refused';
  }
}

/** The request was not sent, because its client may send nothing any more. */
export class SendRefused extends Error {
  override readonly name = 'SendRefused';

  constructor(what: string) {
    super(`nothing may be sent any more: ${what} was not`);
  }
}

/** The kubeconfig, the service account or a credential plugin is not as it should be. The message says what to do. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

const LONGEST_QUOTE = 500;

/** The error of an answer that is not 2xx, or of the Status object in a watch's ERROR event. */
export function apiErrorFrom(answer: unknown, status?: number, retryAfterSeconds?: number): ApiError {
  const said = (typeof answer === 'string' ? parsed(answer) : answer) as Partial<Status> | null | undefined;
  if (said?.kind === 'Status') return new ApiError(status ?? said.code ?? 500, said, retryAfterSeconds);
  // Proxies, and the API server for paths that it does not know, answer in plain text.
  const text = typeof answer === 'string' ? answer.trim().slice(0, LONGEST_QUOTE) : '';
  return new ApiError(status ?? 500, text === '' ? {} : { message: text }, retryAfterSeconds);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The seconds of a Retry-After header, which is a number or a date. */
export function retryAfterFrom(header: string | undefined, now: () => number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now()) / 1000);
}

/** The answers of the 400s that are not about what was asked, but about the moment. */
const OF_THE_MOMENT: readonly number[] = [401, 408, 409, 410, 429];

/**
 * How long to wait at most before the same is tried again: short where it may be over at any moment. Nothing for what is as it is
 * until somebody does something about it.
 */
export function longestWaitMs(error: unknown): number | undefined {
  // A connection that broke is replaced by one, for all who were on it.
  if (error instanceof ConnectionLost && error.reason !== 'unreachable') return 1_000;
  const isOfServer =
    error instanceof ApiError && (error.status >= 500 || OF_THE_MOMENT.includes(error.status) || isOfNewKind(error));
  const passes = isOfServer || error instanceof ConnectionLost || error instanceof ConfigurationError;
  return passes ? 5_000 : undefined;
}

/**
 * Whether the owner is of a kind that was installed a moment ago: admission that checks who may own what (OwnerReferencesPermissionEnforcement)
 * learns of new kinds every half minute.
 */
function isOfNewKind({ status, message }: ApiError): boolean {
  return status === 403 && message.includes('cannot find RESTMapping');
}

/** Whether the object is not there: the one answer that callers ask for most. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Whether somebody else was first: the object is there already, is another one, or has changed. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

/** Whether a test in a patch has failed, or the object is one that the server cannot take. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422;
}
