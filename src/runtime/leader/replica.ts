/** For tests: one of several operators, as a process that can be stopped, killed and cut off, with clocks of its own. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { ManualClock } from '../manual-clock.ts';
import { LeaderElector } from './elector.ts';
import { clientOf, type Fate, type LeaseServer, type Message } from './lease-server.ts';

/** It began at another time than others, runs a little too fast or too slow, and rings for nobody who is stopped. */
class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #rate: number;
  readonly #missed: (() => void)[] = [];
  isStopped = false;

  constructor(world: Clock, rate: number) {
    this.#world = world;
    this.#rate = rate;
  }

  now(): number {
    return 1e6 + this.#world.now() * this.#rate;
  }

  after(ms: number, callback: () => void): () => void {
    let isCancelled = false;
    const ring = () => {
      if (this.isStopped) this.#missed.push(ring);
      else if (!isCancelled) callback();
    };
    const cancel = this.#world.after(Math.max(0, ms) / this.#rate, ring);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  /** What was missed comes one after another, and what follows from each comes before the next. */
  async goOn(): Promise<void> {
    this.isStopped = false;
    for (const ring of this.#missed.splice(0)) {
      ring(); // missed again, should it have been ended meanwhile
      await turn();
    }
  }
}

export interface ReplicaOptions {
  readonly world: ManualClock;
  readonly server: LeaseServer;
  readonly name: string;
  /** How fast its clock runs. */
  readonly rate: number;
  readonly random: () => number;
}

export class Replica {
  readonly line: Record<Message, Fate> = { request: 'arrives', answer: 'arrives' };
  /** By how much the time of day is wrong. */
  wrongMs = 1e9;
  elector: LeaderElector;
  /** What it has asked for since it was started. */
  sent: readonly string[] = [];
  readonly #options: ReplicaOptions;
  #clock: ProcessClock;
  #lives = 0;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#clock = new ProcessClock(options.world, options.rate);
    this.elector = this.#start();
  }

  stop(): void {
    this.#clock.isStopped = true;
  }

  goOn(): Promise<void> {
    return this.#clock.goOn();
  }

  /** Ends it at once; what it has sent is still under way. Another process follows. */
  restart(): void {
    this.stop();
    this.#clock = new ProcessClock(this.#options.world, this.#options.rate);
    this.elector = this.#start();
  }

  #start(): LeaderElector {
    const { world, server, name, random } = this.#options;
    const clock = this.#clock;
    const send = (what: Message) => ({ fate: this.line[what], ms: random() * 1000 });
    const client = clientOf(server, { network: world, process: clock, send });
    this.sent = client.sent;
    this.#lives += 1;
    const silent = () => undefined;
    const elector = new LeaderElector({
      client,
      namespace: 'system',
      name: 'lock',
      identity: `${name}-${this.#lives}`,
      log: { debug: silent, info: silent, error: silent },
      onLost: () => this.restart(),
      clock,
      now: () => new Date(world.now() + this.wrongMs),
      random,
    });
    void elector.lead(new AbortController().signal);
    return elector;
  }
}
