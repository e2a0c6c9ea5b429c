/** What the page says about the operator and its instances, and that the documentation lists exactly what is on it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Memcached, MemcachedStatus } from '../api/index.ts';
import { memcachedKind } from '../api/index.ts';
import { controllerMetrics, leaderMetrics } from '../runtime/metrics/controller-metrics.ts';
import { processMetrics } from '../runtime/metrics/process-metrics.ts';
import { Registry } from '../runtime/metrics/registry.ts';
import { requestMetrics } from '../runtime/metrics/request-metrics.ts';
import { certificateMetrics, operatorMetrics, type Seen, serverMetrics, webhookMetrics } from './metrics.ts';
import type { SecretFacts } from './secrets/facts.ts';

function newRegistry(): Registry {
  const fail = (message: string) => expect.unreachable(message);
  return new Registry({ debug: fail, info: fail, error: fail });
}

function memcached(name: string, status?: MemcachedStatus): Memcached & { metadata: { name: string } } {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name, namespace: 'team' }, spec: {}, ...(status && { status }) };
}

type Informers = Seen['informers'];

function world(memcacheds: ReturnType<typeof memcached>[], endings: Record<string, number> = {}): Seen {
  const informer = { kind: memcachedKind, endings: new Map(Object.entries(endings)) };
  const list = () => memcacheds;
  return { memcacheds: { list, size: memcacheds.length }, informers: [informer] as unknown as Informers };
}

function condition(type: string, status: 'True' | 'False' | 'Unknown') {
  return { type, status, reason: 'Because', message: '', lastTransitionTime: '' };
}

const figures = {
  cpuUsage: () => ({ user: 1, system: 1 }),
  memoryUsage: () => ({ rss: 1, heapTotal: 1, heapUsed: 1, external: 1 }),
};

const built = { version: '1', node: 'v24' };

/** The lines with numbers, of the metrics whose names begin like this. */
function lines(registry: Registry, beginning: string): string[] {
  return [...registry.pieces()]
    .join('')
    .split('\n')
    .filter((line) => line.startsWith(beginning))
    .map((line) => line.slice(beginning.length));
}

test('an instance is told by its status, and is gone when it is', () => {
  const registry = newRegistry();
  const conditions = [condition('Ready', 'True'), condition('Degraded', 'False'), condition('Progressing', 'Unknown')];
  const memcacheds = [
    memcached('a', { replicas: 3, readyReplicas: 2, currentConnections: 7, hitRatio: '0.25', conditions }),
    memcached('b', { replicas: 0 }),
    memcached('c'),
  ];
  operatorMetrics(registry, [world(memcacheds)], built);
  expect(lines(registry, 'memcached_operator_instance')).toEqual([
    's 3',
    '_desired_replicas{namespace="team",name="a"} 3',
    '_desired_replicas{namespace="team",name="b"} 0',
    '_ready_replicas{namespace="team",name="a"} 2',
    '_connections{namespace="team",name="a"} 7',
    '_hit_ratio{namespace="team",name="a"} 0.25',
    '_condition{namespace="team",name="a",condition="Ready"} 1',
    '_condition{namespace="team",name="a",condition="Degraded"} 0',
  ]);
  memcacheds.shift();
  expect(lines(registry, 'memcached_operator_instance_')).toEqual(['desired_replicas{namespace="team",name="b"} 0']);
});

test('no status makes more than eight series, and not more than 10,000 instances have any', () => {
  const foreign = Array.from({ length: 1000 }, (_, number) => condition(`Foreign${number}`, 'True'));
  const ours = ['Available', 'Progressing', 'Degraded', 'Ready'].map((type) => condition(type, 'True'));
  const status = {
    replicas: 1,
    readyReplicas: 1,
    currentConnections: 1,
    hitRatio: '1.00',
    conditions: [...foreign, ...ours],
  };
  const one = newRegistry();
  operatorMetrics(one, [world([memcached('a', status)])], built);
  expect(lines(one, 'memcached_operator_instance_')).toHaveLength(8);

  const many = newRegistry();
  const halves = ['a', 'b'].map((half) =>
    world(Array.from({ length: 6000 }, (_, number) => memcached(`${half}-${number}`, { replicas: 1 }))),
  );
  operatorMetrics(many, halves, built);
  expect(lines(many, 'memcached_operator_instance_')).toHaveLength(10_000);
  expect(lines(many, 'memcached_operator_instances ')).toEqual(['12000']);
});

test('watches of one kind in several namespaces are counted together', () => {
  const registry = newRegistry();
  operatorMetrics(registry, [world([], { ended: 2, failed: 1 }), world([], { ended: 5 })], built);
  expect(lines(registry, 'memcached_operator_watch_restarts_total')).toEqual([
    '{kind="Memcached",reason="ended"} 7',
    '{kind="Memcached",reason="failed"} 1',
  ]);
});

test('what each server told, by its pod', () => {
  const registry = newRegistry();
  const told = {
    version: '1.6.45',
    connections: 3,
    hits: 300,
    misses: 100,
    items: 5,
    bytes: 6,
    limitBytes: 7,
    evictions: 8,
    uptimeSeconds: 9,
  };
  const answersOf = (key: string) => (key === 'team/a' ? [{ pod: 'a-1', figures: told }] : undefined);
  serverMetrics(registry, { keys: ['team/a', 'team/new'], answersOf });
  const hits = lines(registry, 'memcached_operator_server_get_hits_total');
  expect(hits).toEqual(['{namespace="team",name="a",pod="a-1"} 300']);
});

test('when certificates expire, of those that are in use and were read', () => {
  const registry = newRegistry();
  const withTls = (name: string, enabled: boolean) => ({
    ...memcached(name),
    spec: { security: { tls: { enabled, certificateSecretRef: { name: `${name}-tls` } } } },
  });
  const { memcacheds } = world([withTls('a', true), withTls('off', false), withTls('unread', true), memcached('none')]);
  const validity = { from: 0, until: 1_800_000_000_000 };
  const facts = { certificate: { hash: '', hasCa: false, authorities: [], validity } } as unknown as SecretFacts;
  const lastFacts = (key: string) => (key === 'team/unread-tls' ? undefined : facts);
  certificateMetrics(registry, [{ memcacheds, secrets: { lastFacts } }]);
  expect(lines(registry, 'memcached_operator_instance_certificate_expiry_timestamp_seconds')).toEqual([
    '{namespace="team",name="a"} 1800000000',
  ]);
});

test('when the certificate of the webhooks expires, where there is one', () => {
  const registry = newRegistry();
  const times: number[] = [];
  webhookMetrics(registry, () => times.at(-1));
  const told = () => lines(registry, 'memcached_operator_webhook_certificate_expiry_timestamp_seconds');
  expect(told()).toEqual([]);
  times.push(1_800_000_000_000);
  expect(told()).toEqual([' 1800000000']);
});

test('the documentation lists exactly what there is', () => {
  const registry = newRegistry();
  requestMetrics(registry);
  controllerMetrics(registry, 'memcached', 1);
  leaderMetrics(registry, 'lease', () => true);
  operatorMetrics(registry, [], built);
  certificateMetrics(registry, []);
  webhookMetrics(registry, () => undefined);
  serverMetrics(registry, { keys: [], answersOf: () => undefined });
  processMetrics(registry, { figures, signal: AbortSignal.abort() });
  const wanted = registry.describe().map(({ name, type, labels, help }) => {
    return `| ${name} | ${type} | ${labels.join(', ')} | ${help} |`.replace('|  |', '| |');
  });
  const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| `[a-z_]+` \| (counter|gauge|histogram) /.test(line));
  expect(rows.map((row) => row.replaceAll('`', '')).toSorted()).toEqual(wanted.toSorted());
});
