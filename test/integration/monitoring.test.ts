/** Alerts and dashboards: that they ask for what a real exporter and the operator tell, and that alerts fire when they should. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { run } from '../../devcluster/command.ts';
import { programPath } from '../../devcluster/programs.ts';
import { certificateMetrics, operatorMetrics, serverMetrics, webhookMetrics } from '../../src/controller/metrics.ts';
import { alerts, dashboards, ruleGroups } from '../../src/generate/monitoring/index.ts';
import { controllerMetrics, leaderMetrics } from '../../src/runtime/metrics/controller-metrics.ts';
import { processMetrics } from '../../src/runtime/metrics/process-metrics.ts';
import { Registry } from '../../src/runtime/metrics/registry.ts';
import { requestMetrics } from '../../src/runtime/metrics/request-metrics.ts';
import { alertCases } from '../support/alert-cases.ts';
import { eventually } from '../support/cluster.ts';
import { memcachedRoot, startMemcached } from '../support/memcached-binary.ts';
import { parsed } from '../support/metrics.ts';
import { freePort } from '../support/operator.ts';
import { needPrograms } from '../support/programs.ts';
import { askedFor } from '../support/promql.ts';

/** Prometheus puts these on everything that it scrapes in a cluster. */
const OF_TARGETS = ['namespace', 'pod', 'service', 'instance'];

let directory: string;

needPrograms('memcached_exporter', 'promtool');
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'monitoring-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Labels by the name of the metric. */
type Told = ReadonlyMap<string, readonly string[]>;

function toldByOperator(): Told {
  const registry = new Registry({ debug() {}, info() {}, error() {} });
  requestMetrics(registry);
  controllerMetrics(registry, 'memcached', 1);
  leaderMetrics(registry, 'lease', () => true);
  operatorMetrics(registry, [], { version: '1', node: 'v24' });
  certificateMetrics(registry, []);
  webhookMetrics(registry, () => undefined);
  serverMetrics(registry, { keys: [], answersOf: () => undefined });
  processMetrics(registry, { figures: process, signal: AbortSignal.abort() });
  return new Map(
    registry
      .describe()
      .flatMap(({ name, type, labels }): [string, readonly string[]][] =>
        type === 'histogram' ? [[`${name}_bucket`, [...labels, 'le']]] : [[name, labels]],
      ),
  );
}

/** The page of a real exporter beside a real memcached. */
async function exporterPage(signal: AbortSignal): Promise<string> {
  const [port, web] = [await freePort(), await freePort()];
  const root = await memcachedRoot(signal);
  const memcached = await startMemcached(root, port, ['-l', '127.0.0.1', '-p', String(port)]);
  const addresses = [`--memcached.address=127.0.0.1:${port}`, `--web.listen-address=127.0.0.1:${web}`];
  const exporter = spawn(programPath('memcached_exporter'), addresses, { stdio: 'ignore' });
  const ended = once(exporter, 'exit');
  try {
    const look = () => fetch(`http://127.0.0.1:${web}/metrics`).then((answer) => answer.text(), String);
    return await eventually('the exporter tells', look, (text) => text.includes('memcached_up 1'), signal);
  } finally {
    exporter.kill();
    await ended;
    await memcached.stop();
  }
}

async function toldByExporter(signal: AbortSignal): Promise<Told> {
  const families = await parsed(await exporterPage(signal), signal);
  return new Map(
    families.map(({ name, metrics }) => [
      name,
      [...new Set(metrics.flatMap(({ labels = {} }) => Object.keys(labels)))],
    ]),
  );
}

const panels = dashboards.flatMap(({ rows }) => rows.flatMap((row) => row.panels));
const dashboardQueries = panels.flatMap((panel) => panel.queries.map(({ expr }) => expr));
const variableQueries = dashboards.flatMap(({ variables }) => variables.map(({ query }) => query));

/** What a query asks for, and nobody tells. */
function unanswered(query: string, told: Told): string[] {
  const { metrics, labels } = askedFor(query);
  const known = new Set([...OF_TARGETS, ...metrics.flatMap((metric) => told.get(metric) ?? [])]);
  return [
    ...(metrics.length === 0 ? [`${query}: asks for nothing`] : []),
    ...metrics.filter((metric) => !told.has(metric)).map((metric) => `${query}: no metric ${metric}`),
    ...labels.filter((label) => !known.has(label)).map((label) => `${query}: no label ${label}`),
  ];
}

test('every query asks for metrics and labels that the operator or the exporter tells', async ({ signal }) => {
  const told = new Map([...toldByOperator(), ...(await toldByExporter(signal))]);
  const queries = [...alerts.map(({ expr }) => expr), ...dashboardQueries, ...variableQueries];
  console.log(`${queries.length} queries, ${told.size} metrics`);
  expect(queries.flatMap((query) => unanswered(query, told))).toEqual([]);
  expect(unanswered('sum by (moon) (rate(memcached_operator_instances[5m]))', told)).toHaveLength(1);
  expect(unanswered('memcached_moons', told)).toHaveLength(1);
});

async function promtool(args: readonly string[], signal: AbortSignal): Promise<string> {
  return run(programPath('promtool'), args, { cwd: directory, signal });
}

test('Prometheus understands every alert and every query of the dashboards', async ({ signal }) => {
  await writeFile(path.join(directory, 'rules.yaml'), stringify(ruleGroups()));
  const rules = dashboardQueries.map((query, index) => ({
    record: `query_${index}`,
    expr: query.replaceAll('$__rate_interval', '5m'),
  }));
  await writeFile(path.join(directory, 'queries.yaml'), stringify({ groups: [{ name: 'queries', rules }] }));
  const said = await promtool(['check', 'rules', '--lint-fatal', 'rules.yaml', 'queries.yaml'], signal);
  expect(said).toContain(`${alerts.length} rules found`);
  expect(said).toContain(`${dashboardQueries.length} rules found`);
});

test('every alert fires when it should, and is silent when it should', async ({ signal }) => {
  const untested = alerts.filter(({ alert }) => {
    const cases = alertCases.filter((one) => one.alert === alert);
    return !cases.some(({ fires }) => fires) || !cases.some(({ fires }) => !fires);
  });
  expect(untested).toEqual([]);
  await writeFile(path.join(directory, 'rules.yaml'), stringify(ruleGroups()));
  const tests = alertCases.map(({ alert, series, minute, fires }) => ({
    name: `${alert} ${fires ? 'fires' : 'is silent'}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `ALERTS{alertname="${alert}",alertstate="firing"}`,
        eval_time: `${minute}m`,
        exp_samples: fires
          ? [{ labels: `ALERTS{alertname="${alert}",alertstate="firing",${fires.slice(1)}`, value: 1 }]
          : [],
      },
    ],
  }));
  const file = { rule_files: ['rules.yaml'], evaluation_interval: '5m', tests };
  await writeFile(path.join(directory, 'tests.yaml'), stringify(file));
  expect(await promtool(['test', 'rules', 'tests.yaml'], signal)).toContain('SUCCESS');
});

test('an alert says of which cache it speaks, and in numbers what is wrong', async ({ signal }) => {
  await writeFile(path.join(directory, 'rules.yaml'), stringify(ruleGroups()));
  const labels = { namespace: 'team', service: 'cache', pod: 'cache-1', severity: 'warning' };
  const series = (metric: string) => `memcached_${metric}_connections{namespace="team",service="cache",pod="cache-1"}`;
  const expected = {
    exp_labels: labels,
    exp_annotations: {
      summary: 'team/cache-1 has nearly as many connections as it may',
      description:
        'Server cache-1 of Memcached team/cache has 90% of the connections that it may have; then others have to wait.',
      runbook_url:
        'https://github.com/c5c3/memcached-operator/blob/main/docs/runbooks.md#memcachedconnectionsnearlimit',
    },
  };
  const told = {
    interval: '1m',
    input_series: [
      { series: series('current'), values: '900x30' },
      { series: series('max'), values: '1000x30' },
    ],
    alert_rule_test: [{ eval_time: '20m', alertname: 'MemcachedConnectionsNearLimit', exp_alerts: [expected] }],
  };
  await writeFile(path.join(directory, 'text.yaml'), stringify({ rule_files: ['rules.yaml'], tests: [told] }));
  expect(await promtool(['test', 'rules', 'text.yaml'], signal)).toContain('SUCCESS');
});
