/** Memcacheds and their children on a test cluster, as the tests of the operator make and read them. */
import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import { deploymentKind, MANAGED_BY } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import { eventKind } from '../../src/controller/events.ts';
import type { Deployment } from '../../src/kubernetes/deployment.ts';
import type { Kind, KubernetesObject, ObjectMeta } from '../../src/kubernetes/object.ts';
import type { Service } from '../../src/kubernetes/service.ts';
import { type Client, createClient, findAccess, isNotFound } from '../../src/runtime/client/index.ts';
import { startCluster, stopCluster, type TestCluster, type TestClusterOptions } from './cluster.ts';
import { watchOver } from './evidence.ts';
import { installOperator, Operator } from './operator.ts';

export const NAMESPACE = 'default';

/** A cluster with a running operator, and an administrator. */
export interface Stage {
  readonly cluster: TestCluster;
  /** The administrator's. */
  readonly client: Client;
  /** The kubeconfig of the operator. */
  readonly kubeconfig: string;
  operator: Operator;
  /** Ends when the tests of the file do. */
  readonly signal: AbortSignal;
}

/** One cluster for all tests of a file. The operator has to live until the last of them. */
export function stage(options: Omit<TestClusterOptions, 'signal'>, flags: readonly string[] = []): Stage {
  const ended = new AbortController();
  const built = { signal: ended.signal } as { -readonly [Name in keyof Stage]: Stage[Name] };
  beforeAll(async () => {
    await stopCluster(options);
    built.cluster = await startCluster(options);
    built.client = await administrator(built.cluster);
    await watchOver(options.name, async () => {
      built.kubeconfig = await installOperator(built.cluster, ended.signal);
      built.operator = await Operator.start(built.kubeconfig, ended.signal, flags);
    });
  });
  afterAll(async () => {
    ended.abort();
    try {
      await built.operator?.stop();
    } finally {
      await built.client?.close();
      await stopCluster(options);
    }
  });
  return built;
}

/** A client that may do everything. */
export async function administrator({ instance }: TestCluster): Promise<Client> {
  const access = await findAccess({ kubeconfig: kubeconfigOf(instance), env: {}, home: homedir() });
  return createClient({ access, userAgent: 'test/1' });
}

export function memcached(name: string, spec: MemcachedSpec = {}, metadata: Partial<ObjectMeta> = {}): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE, ...metadata }, spec };
}

/** All that most questions need. */
export type Asking = Pick<Stage, 'client'>;

export const getMemcached = ({ client }: Asking, name: string) => client.get<Memcached>(memcachedKind, name, NAMESPACE);
export const getDeployment = ({ client }: Asking, name: string) =>
  client.get<Deployment>(deploymentKind, name, NAMESPACE);
export const getService = ({ client }: Asking, name: string) => client.get<Service>(serviceKind, name, NAMESPACE);

/** Changes fields of a Memcached. */
export function change(at: Asking, name: string, body: object): Promise<Memcached> {
  return at.client.patch<Memcached>(memcachedKind, name, NAMESPACE, { type: 'merge', body });
}

/** "True/AllReplicasReady" and the like, by type. */
export function conditions({ status }: Memcached): Record<string, string> {
  return Object.fromEntries((status?.conditions ?? []).map((one) => [one.type, `${one.status}/${one.reason}`]));
}

export function message({ status }: Memcached, type: string): string {
  return status?.conditions?.find((one) => one.type === type)?.message ?? '';
}

/** Whether the status is about this very spec, and good. */
export function isReady(seen: Memcached): boolean {
  return isUpToDate(seen) && conditions(seen)['Ready']?.startsWith('True/') === true;
}

/** Whether the status speaks of the present spec. */
export function isUpToDate({ metadata, status }: Memcached): boolean {
  return status?.conditions?.every((one) => one.observedGeneration === metadata.generation) ?? false;
}

/** Nothing when there is no such object. */
export async function find<T extends KubernetesObject>(at: Asking, kind: Kind, name: string): Promise<T | undefined> {
  try {
    return await at.client.get<T>(kind, name, NAMESPACE);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

interface Event extends KubernetesObject {
  readonly reason: string;
  readonly note: string;
  readonly eventTime: string;
  readonly reportingController: string;
  readonly regarding: { readonly name: string };
}

/** What the operator had to say about a Memcached, oldest first: "Created: Created Deployment, Service" and the like. */
export async function eventsOf(at: Asking, name: string): Promise<string[]> {
  const { items } = await at.client.list<Event>(eventKind, { namespace: NAMESPACE });
  return items
    .filter((event) => event.regarding.name === name && event.reportingController === MANAGED_BY)
    .toSorted((a, b) => (a.eventTime < b.eventTime ? -1 : 1))
    .map(({ reason, note }) => `${reason}: ${note}`);
}

export interface Seen<T> {
  readonly value: T;
  /** How long it took. */
  readonly ms: number;
}

/** Looks again and again, without sparing anybody, until something is so; fails only after very long. */
export async function until<T>(
  at: Pick<Stage, 'operator'>,
  what: string,
  look: () => Promise<T>,
  isRight: (seen: T) => boolean,
  signal: AbortSignal,
  patienceMs = 240_000,
): Promise<Seen<T>> {
  const start = performance.now();
  for (;;) {
    signal.throwIfAborted();
    at.operator.assertAlive();
    const value = await look();
    const ms = performance.now() - start;
    if (isRight(value)) return { value, ms };
    if (ms > patienceMs)
      throw new Error(
        `${what}: not so after ${Math.round(ms)} ms; last seen: ${JSON.stringify(value)}\n${at.operator.tail()}`,
      );
    await sleep(20, undefined, { signal });
  }
}

/** Creates a Memcached and waits until it is ready. */
export async function createReady(at: Stage, object: Memcached, signal: AbortSignal): Promise<Seen<Memcached>> {
  const { name } = object.metadata;
  await at.client.create(memcachedKind, object);
  return until(at, `${name} is ready`, () => getMemcached(at, name), isReady, signal);
}

/** Everything of an object but what the server counts and records. */
export function withoutRecords<T extends KubernetesObject>(object: T): Omit<T, 'status'> {
  const { status: _, metadata, ...rest } = object as T & { status?: unknown };
  const {
    managedFields: _m,
    resourceVersion: _r,
    generation: _g,
    ...kept
  } = metadata as ObjectMeta & {
    managedFields?: unknown;
  };
  return { ...rest, metadata: kept } as unknown as Omit<T, 'status'>;
}

type Fields = { readonly [path: string]: Fields };

/** The part of an object that the operator has set, by what the server says of it. */
export function ownPart(object: KubernetesObject): unknown {
  const { managedFields = [] } = object.metadata as {
    managedFields?: { manager: string; operation: string; fieldsV1: Fields }[];
  };
  const entry = managedFields.find(({ manager, operation }) => manager === MANAGED_BY && operation === 'Apply');
  const { apiVersion, kind, metadata } = object;
  const { metadata: own = {}, ...rest } = part(object, entry?.fieldsV1 ?? {}) as { metadata?: object };
  return { apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace, ...own }, ...rest };
}

function part(value: unknown, fields: Fields): unknown {
  const names = Object.keys(fields).filter((name) => name !== '.');
  if (names.length === 0) return value;
  if (!Array.isArray(value)) {
    const object = value as Record<string, unknown>;
    return Object.fromEntries(names.map((name) => [name.slice(2), part(object[name.slice(2)], fields[name] ?? {})]));
  }
  return value.flatMap((item: unknown) => {
    const name = names.find((one) => isNamed(item, JSON.parse(one.slice(2)), one.startsWith('k:')));
    return name === undefined ? [] : [part(item, fields[name] ?? {})];
  });
}

function isNamed(item: unknown, id: unknown, byKeys: boolean): boolean {
  if (!byKeys) return item === id;
  return Object.entries(id as object).every(([key, value]) => (item as Record<string, unknown>)[key] === value);
}

/** Follows the conditions of a Memcached through every version of it. */
export class Trail {
  readonly #seen: string[] = [];
  readonly #versions = new Set<string | undefined>();
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  readonly #at: Stage;
  readonly #name: string;

  private constructor(at: Stage, name: string) {
    this.#at = at;
    this.#name = name;
    this.#done = this.#follow();
    onTestFinished(async () => {
      this.#stop.abort();
      await this.#done;
    });
  }

  /** Begins with the Memcached as it is now. */
  static async begin(at: Stage, name: string, signal: AbortSignal): Promise<Trail> {
    const trail = new Trail(at, name);
    await trail.#catchUp(signal);
    return trail;
  }

  /** "Progressing=True/DeploymentProgressing" and so on, each once in a row, up to now. */
  async end(signal: AbortSignal): Promise<string[]> {
    await this.#catchUp(signal);
    this.#stop.abort();
    await this.#done;
    return this.#seen;
  }

  async #catchUp(signal: AbortSignal): Promise<void> {
    // Looked at each time: a watch that begins late never tells of a version that was replaced before.
    const hasSeen = async () => this.#versions.has((await getMemcached(this.#at, this.#name)).metadata.resourceVersion);
    await until(this.#at, 'the watch has told it', hasSeen, Boolean, signal);
  }

  async #follow(): Promise<void> {
    // Without the namespace, Kubernetes 1.31 tells nothing.
    const options = { namespace: NAMESPACE, fieldSelector: `metadata.name=${this.#name}`, signal: this.#stop.signal };
    const last: Record<string, string> = {};
    for await (const { object } of this.#at.client.watch(memcachedKind, options)) {
      const seen = object as Memcached;
      for (const [type, now] of Object.entries(conditions(seen))) {
        if (last[type] === now) continue;
        last[type] = now;
        this.#seen.push(`${type}=${now}`);
      }
      this.#versions.add(seen.metadata.resourceVersion);
    }
  }
}
