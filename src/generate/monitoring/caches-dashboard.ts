/** The dashboard of the caches: what the operator tells of all of them, and the exporters of those that have one. */
import type { Dashboard, Panel, Query, Row } from './panels.ts';

/** Those that were chosen above. With `honorLabels` these labels are the instance's own. */
const CHOSEN = 'namespace=~"$namespace",name=~"$name"';
/** Of exporters: the Service has the name of the Memcached. */
const EXPORTED = 'namespace=~"$namespace",service=~"$name"';
const RANGE = '[$__rate_interval]';
/** The operator asks servers once a minute; over less than some minutes there would be steps. */
const MINUTES = '[5m]';

/** All replicas of the operator tell the same of an instance. */
const instance = (metric: string) => `max by (namespace, name) (memcached_operator_instance_${metric}{${CHOSEN}})`;
const ofServers = (metric: string) => `sum by (namespace, name) (memcached_operator_server_${metric}{${CHOSEN}})`;
const rate = (metric: string) =>
  `sum by (namespace, name) (rate(memcached_operator_server_${metric}{${CHOSEN}}${MINUTES}))`;
const byPod = (metric: string) => `max by (namespace, pod) (memcached_operator_server_${metric}{${CHOSEN}})`;
const exported = (metric: string) => `sum by (namespace, pod) (memcached_${metric}{${EXPORTED}})`;
const exportedRate = (metric: string, by = 'namespace, pod') =>
  `sum by (${by}) (rate(memcached_${metric}{${EXPORTED}}${RANGE}))`;

const each = (expr: string): Query => ({ expr, legend: '{{namespace}}/{{name}}' });
const pod = (expr: string, what = ''): Query => ({ expr, legend: `{{namespace}}/{{pod}}${what}` });
const number = (title: string, description: string, expr: string, unit: Panel['unit'] = 'short'): Panel => ({
  title,
  description,
  unit,
  form: 'stat',
  width: 4,
  queries: [{ expr, legend: '' }],
});

const OVERVIEW: Row = {
  title: 'Overview',
  panels: [
    number('Caches', 'Memcacheds that were chosen', `count(${instance('desired_replicas')})`),
    number('Not ready', 'Memcacheds whose condition Ready is False', notReady()),
    number('Servers wanted', 'Of all caches together', `sum(${instance('desired_replicas')})`),
    number('Servers ready', 'Of all caches together', `sum(${instance('ready_replicas')})`),
    number('Connections', 'Of all caches together', `sum(${instance('connections')})`),
    number(
      'Next certificate expires',
      'The first of all certificates of servers to expire',
      `1000 * min(${instance('certificate_expiry_timestamp_seconds')})`,
      'dateTimeFromNow',
    ),
  ],
};

function notReady(): string {
  const ready = `memcached_operator_instance_condition{condition="Ready",${CHOSEN}}`;
  return `count(max by (namespace, name) (${ready}) == 0) or vector(0)`;
}

const CACHES: Row = {
  title: 'Caches',
  panels: [
    {
      title: 'Hit ratio',
      description: 'Share of the gets that found their key',
      unit: 'percentunit',
      queries: [each(`${rate('get_hits_total')} / (${rate('get_hits_total')} + ${rate('get_misses_total')})`)],
    },
    {
      title: 'Gets',
      description: 'Each second, of all servers of a cache together',
      unit: 'ops',
      queries: [each(`${rate('get_hits_total')} + ${rate('get_misses_total')}`)],
    },
    {
      title: 'Evictions',
      description: 'Items that made room for others, each second',
      unit: 'ops',
      queries: [each(rate('evictions_total'))],
    },
    {
      title: 'Ready servers',
      description: 'Share of the servers that are wanted',
      unit: 'percentunit',
      queries: [each(`${instance('ready_replicas')} / (${instance('desired_replicas')} > 0)`)],
    },
    {
      title: 'Memory',
      description: 'Share of the memory that items may take',
      unit: 'percentunit',
      queries: [each(`${ofServers('bytes')} / ${ofServers('limit_bytes')}`)],
    },
    {
      title: 'Items',
      description: 'That are kept, of all servers of a cache together',
      unit: 'short',
      queries: [each(ofServers('items'))],
    },
  ],
};

const SERVERS: Row = {
  title: 'Servers',
  panels: [
    {
      title: 'Connections',
      description: 'Open ones of each server',
      unit: 'short',
      queries: [pod(byPod('connections'))],
    },
    { title: 'Memory of items', description: 'Of each server', unit: 'bytes', queries: [pod(byPod('bytes'))] },
    {
      title: 'Uptime',
      description: 'Since the server started: a fall to 0 is a restart, with an empty cache',
      unit: 's',
      queries: [pod(byPod('uptime_seconds'))],
    },
  ],
};

const EXPORTERS: Row = {
  title: 'Exporters (spec.monitoring.enabled)',
  panels: [
    {
      title: 'Commands',
      description: 'Each second, by command and how it ended',
      unit: 'ops',
      width: 12,
      queries: [{ expr: exportedRate('commands_total', 'command, status'), legend: '{{command}} {{status}}' }],
    },
    {
      title: 'Connections of what is allowed',
      description: 'Share of maxConnections; beyond it, clients have to wait',
      unit: 'percentunit',
      width: 12,
      queries: [pod(`${exported('current_connections')} / ${exported('max_connections')}`)],
    },
    {
      title: 'Network',
      description: 'Bytes that servers read and wrote each second',
      unit: 'Bps',
      queries: [pod(exportedRate('read_bytes_total'), ' read'), pod(exportedRate('written_bytes_total'), ' written')],
    },
    {
      title: 'Refused connections',
      description: 'How often a server had as many connections as it may have, and stopped listening, each second',
      unit: 'ops',
      queries: [
        pod(exportedRate('connections_rejected_total'), ' rejected'),
        pod(exportedRate('connections_listener_disabled_total'), ' stopped listening'),
      ],
    },
    {
      title: 'Exporter reaches its server',
      description: '1 where it does. With a password file it never can',
      unit: 'short',
      queries: [pod(`min by (namespace, pod) (memcached_up{${EXPORTED}})`)],
    },
  ],
};

export const cachesDashboard: Dashboard = {
  uid: 'memcached-caches',
  title: 'Memcached / Caches',
  description: 'The caches that the Memcached operator runs',
  variables: [
    {
      name: 'namespace',
      label: 'Namespace',
      query: 'label_values(memcached_operator_instance_desired_replicas, namespace)',
    },
    {
      name: 'name',
      label: 'Memcached',
      query: 'label_values(memcached_operator_instance_desired_replicas{namespace=~"$namespace"}, name)',
    },
  ],
  rows: [OVERVIEW, CACHES, SERVERS, EXPORTERS],
};
