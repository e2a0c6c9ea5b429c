/** Stands between the operator and a real API server, and lets things go wrong on request. */
import { readFile, writeFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { type Pair, selfSigned } from '../self-signed.ts';
import { Cable } from './cable.ts';
import { type Fault, type FaultName, faults, type Random } from './faults.ts';
import { type Call, Relay, type Upstream } from './relay.ts';

export { type FaultName, faults } from './faults.ts';
export { chosenSeed, randomFrom } from './random.ts';

interface Kubeconfig {
  readonly clusters: readonly {
    readonly name: string;
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
}

/**
 * The operator connects to the cable, the cable to the relay, the relay to the API server. Both sides speak HTTP/2 over TLS;
 * who asks is told by the token that the operator sends with each request.
 */
export class FaultProxy {
  /** Requests so far. */
  readonly calls = { watches: 0, reads: 0, writes: 0 };
  /** How long after the last fault the first of them came. */
  askedAgainAfterMs: number | undefined;
  readonly cable: Cable;
  readonly relay: Relay;
  #pair: Pair;
  #end = () => {};
  #healedAt = 0;

  private constructor(cable: Cable, relay: Relay, pair: Pair) {
    this.cable = cable;
    this.relay = relay;
    this.#pair = pair;
    relay.onCall = (call) => this.#count(call);
  }

  /** Before the API server of a kubeconfig. */
  static async before(kubeconfig: string): Promise<FaultProxy> {
    const { clusters } = parse(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
    const { server = '', 'certificate-authority-data': data = '' } = clusters[0]?.cluster ?? {};
    const upstream: Upstream = { server, authority: Buffer.from(data, 'base64').toString('utf8') };
    const pair = await selfSigned();
    const relay = await Relay.start(upstream, pair);
    return new FaultProxy(await Cable.to(relay.port), relay, pair);
  }

  /** How often something has gone wrong by its doing. */
  get harm(): number {
    return this.cable.harm + this.relay.harm;
  }

  /** Whom to trust. */
  get authority(): string {
    return this.#pair.certificate;
  }

  /** The same kubeconfig by way of the proxy; the authority is kept in a file beside it, and `user` replaces the user's credentials. */
  async writeKubeconfig(from: string, to: string, user?: object): Promise<void> {
    const config = parse(await readFile(from, 'utf8')) as Kubeconfig & {
      users: readonly { name: string; user: object }[];
    };
    const cluster = { server: `https://127.0.0.1:${this.cable.port}`, 'certificate-authority': `${to}.ca` };
    await writeFile(`${to}.ca`, this.authority);
    const clusters = config.clusters.map(({ name }) => ({ name, cluster }));
    const users = config.users.map((entry) => ({ ...entry, user: user ?? entry.user }));
    await writeFile(to, stringify({ ...config, clusters, users }), { mode: 0o600 });
  }

  /** Another certificate, of another authority, for all connections from now on. */
  rotateCertificate(next: Pair): void {
    this.#pair = next;
    this.relay.useCertificate(next);
  }

  /** Lets it go wrong until `heal`. */
  suffer(name: FaultName, random: Random): void {
    this.heal();
    const { disturb, everyMs, intervene, hold }: Fault = faults[name];
    const end = hold?.(this, random);
    const healing = new AbortController();
    this.relay.untilHealed = healing.signal;
    this.relay.intervene = (call) => intervene?.(call, random);
    const timer = disturb && setInterval(() => disturb(this, random), everyMs);
    disturb?.(this, random);
    this.#end = () => {
      clearInterval(timer);
      healing.abort();
      this.relay.intervene = () => undefined;
      end?.();
    };
  }

  /** Nothing goes wrong any more. Connections that fell silent stay so. */
  heal(): void {
    this.#end();
    this.#end = () => {};
    this.#healedAt = performance.now();
    this.askedAgainAfterMs = undefined;
  }

  close(): void {
    this.heal();
    this.cable.close();
    this.relay.close();
  }

  #count({ isWatch, isWrite }: Call): void {
    this.askedAgainAfterMs ??= performance.now() - this.#healedAt;
    this.calls[isWatch ? 'watches' : isWrite ? 'writes' : 'reads'] += 1;
  }
}
