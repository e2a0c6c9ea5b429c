/** Asks the servers of every Memcached for their figures, again and again, beside the reconciles and never in their way. */
import { type Acquaintance, type Figures, meet, type Server } from '../../memcached/index.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { partsOf } from '../../runtime/key.ts';
import type { Log } from '../../runtime/log.ts';
import { type Access, breachOf } from './access.ts';
import { Turnstile } from './turnstile.ts';

/** A pod that serves. */
export interface ServingPod {
  readonly name: string;
  readonly host: string;
}

/** What one server told. */
export interface Answer {
  readonly pod: string;
  readonly figures: Figures;
  /** How the server lets in others than it should. */
  readonly breach?: string;
}

export interface GathererOptions {
  /** Those that can be asked now. */
  readonly podsOf: (key: string) => readonly ServingPod[];
  /** How they want to be asked. Rejects when that cannot be told now. */
  readonly accessOf: (key: string) => Promise<Access>;
  /** How long to wait before they are asked again. */
  readonly intervalOf: (key: string) => number;
  readonly onGathered: (key: string) => void;
  readonly port: number;
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** Conversations at once, over all Memcacheds: each may take five seconds, should a server be mute, or eight when it falls silent. */
const MOST_AT_ONCE = 400;
/** Of these with servers that were mute the last time: they wait for each other, and for nobody else. */
const MOST_MUTE_AT_ONCE = 50;
/** The first questions, and those to new servers, are spread over this time: to connect to a thousand at once leaves 20 MB of garbage. */
const FIRST_MS = 2000;
/** Those to whom a connection is kept are asked together when they are due in the same second: to wake up costs more than to ask. */
const TOGETHER_MS = 1000;
/** Connections are kept to servers that were met so long ago: who is new may soon go, as in a rollout, and a thousand who come together cost memory. */
const NEW_MS = 30_000;
/** Where no server answers, each time is twice as long after the one before, up to this. */
const LATEST_MS = 300_000;
/** How often a server that was found safe is tried again. */
const TRUST_MS = 3_600_000;

interface Subject {
  cancel: () => void;
  /** Between two rounds it waits, for long or only a moment; or a round is under way, and perhaps comes too early for somebody. */
  state: 'waiting' | 'hurrying' | 'asking' | 'missing somebody';
  /** Nothing before the first round. */
  answers: readonly Answer[] | undefined;
  /** In how many rounds in a row nobody has answered, since servers were new. */
  inVain: number;
  /** When each server was met first. */
  readonly metAt: Map<string, number>;
  /** Connections are kept: to connect costs more than to ask, with TLS much more. */
  readonly kept: Map<string, { readonly access: Access; readonly acquaintance: Acquaintance }>;
  /** Those that were found safe, and when. */
  readonly trusted: Map<string, { readonly access: Access; readonly at: number }>;
  /** Those that did not answer when they were last asked. */
  readonly mute: Set<string>;
}

export class Gatherer {
  readonly #options: GathererOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #turnstile = new Turnstile(MOST_AT_ONCE);
  readonly #turnstileOfMute = new Turnstile(MOST_MUTE_AT_ONCE);
  readonly #subjects = new Map<string, Subject>();

  constructor(options: GathererOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  /** From now on its servers are asked. */
  follow(key: string): void {
    if (this.#subjects.has(key)) return;
    const subject: Subject = {
      cancel: () => {},
      state: 'waiting',
      answers: undefined,
      inVain: 0,
      metAt: new Map(),
      kept: new Map(),
      trusted: new Map(),
      mute: new Set<string>(),
    };
    this.#subjects.set(key, subject);
    this.#hurry(key, subject);
  }

  /** Its servers have changed: they are asked in a moment, not only when it is time. */
  hurry(key: string): void {
    const subject = this.#subjects.get(key);
    if (!subject) return;
    subject.inVain = 0;
    this.#askSoon(key, subject);
  }

  /** Servers may let us in now who did not: who was asked in vain is asked in a moment. Who answers is not pressed. */
  retry(key: string): void {
    const subject = this.#subjects.get(key);
    if (subject && subject.inVain > 0) this.#askSoon(key, subject);
  }

  #askSoon(key: string, subject: Subject): void {
    if (subject.state === 'asking') subject.state = 'missing somebody';
    if (subject.state !== 'waiting') return;
    subject.cancel();
    this.#hurry(key, subject);
  }

  /** A server has gone: what it told is no longer so. */
  dismiss(key: string, pod: string): void {
    const subject = this.#subjects.get(key);
    if (!subject) return;
    hangUp(subject, pod);
    if (subject.answers) subject.answers = subject.answers.filter((answer) => answer.pod !== pod);
  }

  forget(key: string): void {
    const subject = this.#subjects.get(key);
    this.#subjects.delete(key);
    subject?.cancel();
    if (subject) forgetOthers(subject, new Set());
  }

  /** What was told last; nothing where nobody was asked yet. */
  answersOf(key: string): readonly Answer[] | undefined {
    return this.#subjects.get(key)?.answers;
  }

  /** Those whose servers are asked. */
  get keys(): Iterable<string> {
    return this.#subjects.keys();
  }

  close(): void {
    for (const key of this.#subjects.keys()) this.forget(key);
  }

  #hurry(key: string, subject: Subject): void {
    this.#schedule(key, subject, this.#random() * FIRST_MS);
    subject.state = 'hurrying';
  }

  #schedule(key: string, subject: Subject, ms: number): void {
    subject.state = 'waiting';
    subject.cancel = this.#clock.after(ms, () => {
      subject.state = 'asking';
      void this.#gather(key, subject).finally(() => {
        if (this.#subjects.get(key) !== subject) return;
        if (subject.state === 'missing somebody') return this.#hurry(key, subject);
        this.#scheduleNext(key, subject);
      });
    });
  }

  #scheduleNext(key: string, subject: Subject): void {
    // A little earlier each time, so that those who began together drift apart, and nobody waits for longer.
    const ms = this.#pauseOf(key, subject) * (1 - 0.1 * this.#random());
    const isToConnect = subject.metAt.size > subject.kept.size;
    const early = isToConnect ? 0 : (this.#clock.now() + ms) % TOGETHER_MS;
    this.#schedule(key, subject, Math.max(0, ms - early));
  }

  #pauseOf(key: string, { inVain }: Subject): number {
    const ms = this.#options.intervalOf(key);
    return Math.max(ms, Math.min(ms * 2 ** (inVain - 1), LATEST_MS));
  }

  /** Asks all servers of one Memcached at once. Never rejects. */
  async #gather(key: string, subject: Subject): Promise<void> {
    const pods = this.#options.podsOf(key);
    forgetOthers(subject, new Set(pods.map(({ name }) => name)));
    try {
      const access = await this.#options.accessOf(key);
      const answers = await Promise.all(pods.map((pod) => this.#askPolitely(key, subject, pod, access)));
      if (this.#subjects.get(key) !== subject) return forgetOthers(subject, new Set());
      const isInVain = pods.length > 0 && !answers.some((answer) => answer) && subject.state !== 'missing somebody';
      subject.inVain = isInVain ? subject.inVain + 1 : 0;
      const serving = new Set(this.#options.podsOf(key).map(({ name }) => name)); // some may have gone meanwhile
      subject.answers = answers.flatMap((answer) => (answer && serving.has(answer.pod) ? [answer] : []));
      this.#options.onGathered(key);
    } catch (error) {
      this.#options.log.debug('servers cannot be asked', { ...partsOf(key), error });
    }
  }

  /** Nothing from a server that does not answer. It is spoken of once, not each time. */
  async #askPolitely(key: string, subject: Subject, pod: ServingPod, access: Access): Promise<Answer | undefined> {
    const turnstile = subject.mute.has(pod.name) ? this.#turnstileOfMute : this.#turnstile;
    try {
      const answer = await turnstile.during(() => this.#ask(subject, pod, access));
      subject.mute.delete(pod.name);
      return answer;
    } catch (error) {
      if (!subject.mute.has(pod.name))
        this.#options.log.debug('a server does not answer', { ...partsOf(key), pod: pod.name, error });
      subject.mute.add(pod.name);
      return undefined;
    }
  }

  async #ask(subject: Subject, { name, host }: ServingPod, access: Access): Promise<Answer> {
    const server: Server = { host, port: this.#options.port, ...access.server };
    const figures = await this.#figuresOf(subject, name, server, access);
    const trust = subject.trusted.get(name);
    if (trust?.access === access && this.#clock.now() - trust.at < TRUST_MS) return { pod: name, figures };
    const breach = await breachOf(server, access);
    if (breach !== undefined) return { pod: name, figures, breach };
    subject.trusted.set(name, { access, at: this.#clock.now() });
    return { pod: name, figures };
  }

  async #figuresOf(subject: Subject, name: string, server: Server, access: Access): Promise<Figures> {
    const kept = subject.kept.get(name);
    if (kept?.acquaintance.isOpen && kept.access === access) {
      const figures = await kept.acquaintance.figures().catch(() => undefined);
      if (figures) return figures; // else it may have been the connection, which can die without a word
    }
    hangUp(subject, name);
    const acquaintance = await meet(server);
    subject.kept.set(name, { access, acquaintance });
    const now = this.#clock.now();
    const metAt = subject.metAt.get(name) ?? now;
    subject.metAt.set(name, metAt);
    return acquaintance.figures().finally(() => now - metAt < NEW_MS && hangUp(subject, name));
  }
}

function hangUp({ kept }: Subject, pod: string): void {
  kept.get(pod)?.acquaintance.close();
  kept.delete(pod);
}

function forgetOthers(subject: Subject, pods: ReadonlySet<string>): void {
  for (const name of subject.kept.keys()) if (!pods.has(name)) hangUp(subject, name);
  for (const names of [subject.metAt, subject.trusted, subject.mute])
    for (const name of names.keys()) if (!pods.has(name)) names.delete(name);
}
