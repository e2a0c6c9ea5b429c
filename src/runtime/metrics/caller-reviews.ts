/** Asks the API server who a caller is and what he may, and remembers the answers for a short while. */
import { createHash } from 'node:crypto';
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import type { Client } from '../client/index.ts';
import { type Clock, systemClock } from '../clock.ts';

export const tokenReviewKind: Kind = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
};

export const accessReviewKind: Kind = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type Verdict =
  | { readonly is: 'unknown' }
  | { readonly is: 'forbidden'; readonly username: string }
  | { readonly is: 'allowed' };

export interface CallerReviewsOptions {
  readonly client: Pick<Client, 'create'>;
  /** The path that callers want to get. */
  readonly path: string;
  readonly clock?: Clock;
}

/** A right that is taken away counts for so long; one that is given may take the shorter time. */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
/** Real callers are few. Whoever tries many tokens pushes out the oldest answers, and nothing more. */
const MOST_ANSWERS = 100;
/** Nor does he make us flood the API server. */
const MOST_QUESTIONS = 8;
/** Prometheus waits ten seconds for everything. */
const QUESTION_MS = 5000;

/** So many unknown callers are being looked at that this one has to come again. */
export class TooManyCallers extends Error {
  override readonly name = 'TooManyCallers';
}

export class CallerReviews {
  readonly #options: CallerReviewsOptions;
  readonly #clock: Clock;
  /** By a hash of the token: tokens are not kept. */
  readonly #answers = new Map<string, { readonly verdict: Verdict; readonly until: number }>();
  readonly #questions = new Map<string, Promise<Verdict>>();

  constructor(options: CallerReviewsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Rejects when the API server could not be asked. */
  async review(token: string): Promise<Verdict> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#answers.get(key);
    if (known && this.#clock.now() < known.until) return known.verdict;
    const asked = this.#questions.get(key);
    if (asked) return asked;
    if (this.#questions.size >= MOST_QUESTIONS) throw new TooManyCallers('too many callers at once');
    const question = this.#ask(token);
    this.#questions.set(key, question);
    try {
      const verdict = await question;
      this.#remember(key, verdict);
      return verdict;
    } finally {
      this.#questions.delete(key);
    }
  }

  #remember(key: string, verdict: Verdict): void {
    this.#answers.delete(key); // to the end of the line
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size >= MOST_ANSWERS) this.#answers.delete(oldest);
    const until = this.#clock.now() + (verdict.is === 'allowed' ? ALLOWED_MS : REFUSED_MS);
    this.#answers.set(key, { verdict, until });
  }

  async #ask(token: string): Promise<Verdict> {
    const signal = AbortSignal.timeout(QUESTION_MS);
    const { authenticated = false, user } = await this.#create<{ authenticated?: boolean; user?: User }>(
      tokenReviewKind,
      { token },
      signal,
    );
    if (!authenticated || !user?.username) return { is: 'unknown' };
    const { username, ...rest } = user;
    const nonResourceAttributes = { path: this.#options.path, verb: 'get' };
    const spec = { user: username, ...rest, nonResourceAttributes };
    const { allowed = false } = await this.#create<{ allowed?: boolean }>(accessReviewKind, spec, signal);
    return allowed ? { is: 'allowed' } : { is: 'forbidden', username };
  }

  /** What the API server makes of a question. */
  async #create<Status>(kind: Kind, spec: object, signal: AbortSignal): Promise<Partial<Status>> {
    const question = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: {}, spec };
    const answer = await this.#options.client.create(kind, question as unknown as KubernetesObject, { signal });
    return (answer as KubernetesObject & { status?: Partial<Status> }).status ?? {};
  }
}
