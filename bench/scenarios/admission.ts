/** Memcacheds are created at a steady rate, with webhooks and without; and the webhooks alone are asked at the same rate. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { memcachedKind } from '../../src/api/index.ts';
import type { WebhookConfiguration } from '../../src/kubernetes/webhook-configuration.ts';
import { configurationName, registrations } from '../../src/webhooks/configurations.ts';
import { memcachedNamed } from '../crowd.ts';
import { createNamespace } from '../floor.ts';
import { timed } from '../progress.ts';
import { type Row, rowsFor } from '../rows.ts';
import type { Scenario, Scene } from '../scenario.ts';
import { kubeconfigOfAdministrator } from '../site.ts';
import { median, quantile } from '../statistics.ts';

const RATES = [10, 100, 500] as const;
/** The rate that the budget speaks of. */
const USUAL = 100;
const BUDGET = { median: 3, p99: 15 } as const;
const SECONDS = 10;
/** As many connections as the API server would open, at most. */
const SOCKETS = 32;

/** What is created is nobody's business, so that nothing but admission costs. */
const flags = ['--watch-namespaces', 'bench-nobody', '--webhook-local-host', 'auto', '--webhook-bind-address', ':0'];

export const admission: Scenario = {
  name: 'admission',
  crowds: ['reference'],
  async measure(scene) {
    const { site } = scene;
    await scene.operator.stop();
    const rows: Row[] = [];
    for (const rate of RATES) {
      const without = await creations(scene, rate, 'without');
      const operator = await site.startOperator(flags, kubeconfigOfAdministrator(site.cluster));
      const asked = await withWebhooks(scene, rate, operator.pid);
      await operator.stop();
      rows.push(...rowsOf(rate, without, asked));
    }
    scene.operator = await site.startOperator();
    return rows;
  },
};

interface Latencies {
  readonly ms: readonly number[];
  readonly others: number;
}

function rowsOf(rate: number, without: Latencies, { created, alone }: { created: Latencies; alone: Latencies }): Row[] {
  const row = rowsFor(`admission, ${rate} each second`);
  const budget = (most: number) => (rate === USUAL ? { most } : {});
  const { others } = alone;
  return [
    row('both webhooks by themselves, median, ms', median(alone.ms), { others, ...budget(BUDGET.median) }),
    row('both webhooks by themselves, 99th percentile, ms', quantile(alone.ms, 0.99), {
      others,
      ...budget(BUDGET.p99),
    }),
    row('a creation, beside one without webhooks, median, ms', median(created.ms), { reference: median(without.ms) }),
    row('a creation, beside one without webhooks, 99th percentile, ms', quantile(created.ms, 0.99), {
      reference: quantile(without.ms, 0.99),
    }),
    row('other programs had of the machine, %', 100 * Math.max(others, created.others, without.others)),
  ];
}

async function withWebhooks(scene: Scene, rate: number, pid: number) {
  const { client, machine } = scene.site;
  const targets = await Promise.all(
    registrations.map(async (registration) => {
      const name = configurationName('memcached-operator-local', registration);
      const { webhooks } = await client.get<WebhookConfiguration>(registration.kind, name);
      const { url = '', caBundle = '' } = webhooks?.[0]?.clientConfig ?? {};
      return { url, ca: Buffer.from(caBundle, 'base64').toString() };
    }),
  );
  const created = await creations(scene, rate, 'with', [pid]);
  const agents = targets.map(({ ca }) => new Agent({ keepAlive: true, maxSockets: SOCKETS, ca }));
  const admit = async () => {
    for (const [index, { url }] of targets.entries()) await ask(url, review(), agents[index]);
  };
  await admit();
  const alone = () => timed(`webhooks alone, ${rate} each second`, atRate(rate, admit, scene.signal));
  const [[ms], others] = await machine.during([pid], alone);
  for (const agent of agents) agent.destroy();
  return { created, alone: { ms, others } };
}

async function creations(scene: Scene, rate: number, how: 'with' | 'without', pids: number[] = []): Promise<Latencies> {
  const { client, machine } = scene.site;
  const { signal } = scene;
  const namespace = `bench-${how}-webhooks-${rate}`;
  await createNamespace(client, namespace, signal);
  let number = 0;
  const create = () => client.create(memcachedKind, memcachedNamed(`cache-${number++}`, namespace), { signal });
  await create(); // the API server has to find us first
  const work = () => timed(`creations ${how} webhooks, ${rate} each second`, atRate(rate, create, signal));
  const [[ms], others] = await machine.during(pids, work);
  return { ms, others };
}

/** Begins so many each second, whether the earlier ones are done or not. Tells how long each took. */
async function atRate(rate: number, work: () => Promise<unknown>, signal: AbortSignal): Promise<number[]> {
  const begin = performance.now();
  const all = Array.from({ length: rate * SECONDS }, async (_, index) => {
    const due = begin + (1000 * index) / rate;
    await sleep(Math.max(0, due - performance.now()), undefined, { signal });
    const since = performance.now();
    await work().catch(() => signal.throwIfAborted()); // a server that has too much to do may refuse: that took its time, too
    return performance.now() - since;
  });
  return Promise.all(all);
}

function review(): string {
  const { apiVersion, kind, plural } = memcachedKind;
  const [group, version] = apiVersion.split('/');
  const object = memcachedNamed('cache', 'default');
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: randomUUID(),
      kind: { group, version, kind },
      resource: { group, version, resource: plural },
      name: object.metadata.name,
      namespace: object.metadata.namespace,
      operation: 'CREATE',
      object,
      oldObject: null,
    },
  });
}

function ask(url: string, body: string, agent: Agent | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asked = request(url, { method: 'POST', headers, ...(agent && { agent }) }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (text: string) => (answer += text));
      response.on('end', () => (answer.includes('"allowed":true') ? resolve() : reject(new Error(answer))));
      response.on('error', reject);
    });
    asked.on('error', reject).end(body);
  });
}
