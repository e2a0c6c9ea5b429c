/** The dashboard of the operator itself: its work, its talk with the API server, and its process. */
import type { Dashboard, Panel, Row } from './panels.ts';

const RANGE = '[$__rate_interval]';
/** The names are those of other controllers, too. */
const OURS = 'controller="memcached"';
/** The pods that tell of themselves as operators; other programs have process metrics, too. */
const MINE = 'and on (instance) memcached_operator_build_info';

const rate = (metric: string, by: string, matching = OURS) =>
  `sum by (${by}) (rate(${metric}${matching === '' ? '' : `{${matching}}`}${RANGE}))`;
const quantile = (share: number, histogram: string, matching = OURS) =>
  `histogram_quantile(${share}, ${rate(`${histogram}_bucket`, 'le', matching)})`;
const figure = (metric: string) => `${metric} ${MINE}`;

const times = (title: string, description: string, histogram: string): Panel => ({
  title,
  description,
  unit: 's',
  queries: [
    { expr: quantile(0.5, histogram), legend: 'half of them, at most' },
    { expr: quantile(0.99, histogram), legend: '99 %, at most' },
  ],
});

const number = (title: string, description: string, expr: string, legend = ''): Panel => ({
  title,
  description,
  unit: 'short',
  form: 'stat',
  width: 6,
  queries: [{ expr, legend }],
});

const OVERVIEW: Row = {
  title: 'Overview',
  panels: [
    number('Memcacheds', 'That there are', 'max(memcached_operator_instances)'),
    number('Replicas', 'Operators that Prometheus finds', 'count(memcached_operator_build_info) or vector(0)'),
    number('Leading', 'Should be 1', `sum(leader_election_master_status ${MINE})`),
    number('Version', 'What runs', 'count by (version) (memcached_operator_build_info)', '{{version}}'),
  ],
};

const WORK: Row = {
  title: 'Work',
  panels: [
    {
      title: 'Reconciles',
      description: 'Each second, by how they ended',
      unit: 'ops',
      queries: [{ expr: rate('controller_runtime_reconcile_total', 'result'), legend: '{{result}}' }],
    },
    {
      title: 'Errors',
      description: 'Reconciles that failed and are tried again, each second',
      unit: 'ops',
      queries: [{ expr: rate('controller_runtime_reconcile_errors_total', 'controller'), legend: 'errors' }],
    },
    times('Time of a reconcile', 'From its begin to its end', 'controller_runtime_reconcile_time_seconds'),
    {
      title: 'Queue',
      description: 'Memcacheds that wait for a worker, or for their turn with new servers',
      unit: 'short',
      queries: [{ expr: `sum(workqueue_depth{${OURS}})`, legend: 'waiting' }],
    },
    times('Time in the queue', 'Until a worker was free', 'workqueue_queue_duration_seconds'),
    {
      title: 'Workers',
      description: 'That are busy, and that there may be',
      unit: 'short',
      queries: [
        { expr: `sum(controller_runtime_active_workers{${OURS}})`, legend: 'busy' },
        { expr: `max(controller_runtime_max_concurrent_reconciles{${OURS}})`, legend: 'at most' },
      ],
    },
  ],
};

const API: Row = {
  title: 'API server',
  panels: [
    {
      title: 'Requests',
      description: 'Each second, by verb and answer',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (verb, code) (rate(rest_client_requests_total${RANGE}) ${MINE})`,
          legend: '{{verb}} {{code}}',
        },
      ],
    },
    {
      title: 'Time of requests',
      description: 'Until the API server began to answer: 99 %, at most',
      unit: 's',
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (verb, le) (rate(rest_client_request_duration_seconds_bucket${RANGE}) ${MINE}))`,
          legend: '{{verb}}',
        },
      ],
    },
    {
      title: 'Watches that began anew',
      description: 'Each second, by kind and reason. Those that ended did so in order',
      unit: 'ops',
      queries: [
        { expr: rate('memcached_operator_watch_restarts_total', 'kind, reason', ''), legend: '{{kind}} {{reason}}' },
      ],
    },
  ],
};

const PROCESS: Row = {
  title: 'Process',
  panels: [
    {
      title: 'CPU',
      description: 'Seconds of CPU time used in each second',
      unit: 'short',
      queries: [{ expr: `rate(process_cpu_seconds_total${RANGE}) ${MINE}`, legend: '{{instance}}' }],
    },
    {
      title: 'Memory',
      description: 'That the process occupies, and what of it JavaScript uses',
      unit: 'bytes',
      queries: [
        { expr: figure('process_resident_memory_bytes'), legend: '{{instance}}' },
        { expr: figure('nodejs_heap_size_used_bytes'), legend: '{{instance}} heap' },
      ],
    },
    {
      title: 'Event loop',
      description: 'By how much timers were late: 99 %, at most',
      unit: 's',
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (instance, le) (rate(nodejs_eventloop_lag_seconds_bucket${RANGE}) ${MINE}))`,
          legend: '{{instance}}',
        },
      ],
    },
  ],
};

export const operatorDashboard: Dashboard = {
  uid: 'memcached-operator',
  title: 'Memcached / Operator',
  description: 'What the Memcached operator does, and what it takes for it',
  variables: [],
  rows: [OVERVIEW, WORK, API, PROCESS],
};
