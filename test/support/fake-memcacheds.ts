/** One process that answers for every simulated pod of a cluster: as a memcached would, or as nobody should. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { run } from '../../devcluster/command.ts';
import { addresses, type Instance } from '../../devcluster/instance.ts';
import { networkNamespace } from '../../devcluster/namespaces.ts';
import type { Manner, Orders, Tally } from './fake-memcacheds-process.ts';

export { MANNERS, type Manner, type Tally } from './fake-memcacheds-process.ts';

export class FakeMemcacheds {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  private constructor(child: ChildProcess, closed: Promise<unknown>) {
    this.#child = child;
    this.#closed = closed;
  }

  /** In the network of the cluster, to which the addresses of its simulated pods belong from now on. They go with the cluster. */
  static async start(instance: Instance): Promise<FakeMemcacheds> {
    const enter = `--net=${networkNamespace(instance)}`;
    await run('nsenter', [enter, 'ip', 'route', 'replace', 'local', addresses(instance).fakePods, 'dev', 'lo']);
    const program = path.join(import.meta.dirname, 'fake-memcacheds-process.ts');
    const child = spawn('nsenter', [enter, process.execPath, program], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const closed = once(child, 'close'); // perhaps before it is told to: Ctrl-C ends it, too
    await messageOf(child, closed); // it listens
    return new FakeMemcacheds(child, closed);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Those of whom nothing is said stay as they are; at first all of them are good, with one connection. */
  async behave(manners: ReadonlyMap<string, Manner>): Promise<void> {
    await this.#order({ manners: [...manners] });
  }

  /** How many connections these tell of from now on. */
  async count(hosts: readonly string[], connections: number): Promise<void> {
    await this.#order({ connections: hosts.map((host) => [host, connections]) });
  }

  /** What has happened so far. */
  tally(): Promise<Tally> {
    return this.#order({});
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  async #order(orders: Orders): Promise<Tally> {
    const answered = messageOf<Tally>(this.#child, this.#closed);
    this.#child.send(orders);
    return answered;
  }
}

/** What it says next. */
async function messageOf<T>(child: ChildProcess, closed: Promise<unknown>): Promise<T> {
  const lost = closed.then(() => Promise.reject(new Error('the process that answers for all pods has ended')));
  const [message] = await Promise.race([once(child, 'message') as Promise<[T]>, lost]);
  return message;
}
