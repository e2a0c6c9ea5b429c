/** The alerts: what somebody should be woken up for, or look at on the next day. Each has a section in docs/runbooks.md. */
import { LEASE } from '../../controller/permissions.ts';
import { LABELS, NAMESPACE } from '../rbac.ts';

const RUNBOOKS = 'https://github.com/c5c3/memcached-operator/blob/main/docs/runbooks.md';

export interface Alert {
  readonly alert: string;
  readonly severity: 'critical' | 'warning' | 'info';
  /** How long it has to be so. */
  readonly for: string;
  readonly expr: string;
  readonly summary: string;
  readonly description: string;
}

/** Every replica of the operator tells of every instance: the same, to be counted once. */
const instance = (metric: string) => `max by (namespace, name) (memcached_operator_instance_${metric})`;

/** Of all servers of an instance together, each second. */
const rate = (counter: string, window: string) =>
  `sum by (namespace, name) (rate(memcached_operator_server_${counter}_total${window}))`;

const gets = (window: string) => `(${rate('get_hits', window)} + ${rate('get_misses', window)})`;
const hitRatio = (window: string) => `${rate('get_hits', window)} / ${gets(window)}`;

const NOW = '[30m]';
const YESTERDAY = '[1d] offset 30m';
const CACHE = '{{ $labels.namespace }}/{{ $labels.name }}';

const CACHES: readonly Alert[] = [
  {
    alert: 'MemcachedDown',
    severity: 'critical',
    for: '5m',
    expr: `${instance('ready_replicas')} == 0 and ${instance('desired_replicas')} > 0`,
    summary: `No server of ${CACHE} is ready`,
    description: `Memcached ${CACHE} has had no ready server for 5 minutes: its clients have no cache.`,
  },
  {
    alert: 'MemcachedDegraded',
    severity: 'warning',
    for: '15m',
    expr: `${instance('condition{condition="Degraded"}')} == 1`,
    summary: `${CACHE} is degraded`,
    description: `Memcached ${CACHE} has been degraded for 15 minutes. Its condition Degraded says why, and what to do.`,
  },
  {
    alert: 'MemcachedHitRatioFallen',
    severity: 'warning',
    for: '15m',
    expr: `${hitRatio(NOW)} < 0.7 * (${hitRatio(YESTERDAY)}) and ${gets(NOW)} > 1`,
    summary: `Gets of ${CACHE} find their keys less often than before`,
    description: `The hit ratio of Memcached ${CACHE} is {{ $value | humanizePercentage }}, less than 70 % of what it was in the day before.`,
  },
  {
    alert: 'MemcachedEvictionsRising',
    severity: 'warning',
    for: '15m',
    expr: `${rate('evictions', NOW)} > 3 * ${rate('evictions', YESTERDAY)} and ${rate('evictions', NOW)} > 1`,
    summary: `${CACHE} throws away more items than before`,
    description: `Memcached ${CACHE} evicts {{ $value | humanize }} items a second, more than three times as many as in the day before.`,
  },
  {
    alert: 'MemcachedMemoryNearLimit',
    severity: 'info',
    for: '1h',
    expr: 'max by (namespace, name) (memcached_operator_server_bytes / memcached_operator_server_limit_bytes) > 0.9',
    summary: `${CACHE} is full`,
    description: `Items take {{ $value | humanizePercentage }} of the memory of a server of Memcached ${CACHE}: new ones push out old ones.`,
  },
  {
    alert: 'MemcachedConnectionsNearLimit',
    severity: 'warning',
    for: '10m',
    expr: 'max by (namespace, service, pod) (memcached_current_connections / memcached_max_connections) > 0.85',
    summary: '{{ $labels.namespace }}/{{ $labels.pod }} has nearly as many connections as it may',
    description:
      'Server {{ $labels.pod }} of Memcached {{ $labels.namespace }}/{{ $labels.service }} has {{ $value | humanizePercentage }} of the connections that it may have; then others have to wait.',
  },
  {
    alert: 'MemcachedCertificateExpiring',
    severity: 'warning',
    for: '1h',
    expr: `${instance('certificate_expiry_timestamp_seconds')} - time() < 7 * 86400`,
    summary: `The certificate of ${CACHE} expires soon`,
    description: `The certificate of the servers of Memcached ${CACHE} expires in {{ $value | humanizeDuration }}.`,
  },
];

const OPERATOR: readonly Alert[] = [
  {
    alert: 'MemcachedOperatorDown',
    severity: 'critical',
    for: '10m',
    expr: 'absent(memcached_operator_build_info)',
    summary: 'The Memcached operator is gone',
    description: 'Prometheus has found no Memcached operator for 10 minutes. Caches go on, but nobody repairs them.',
  },
  {
    alert: 'MemcachedOperatorWithoutLeader',
    severity: 'critical',
    for: '5m',
    expr: `max(leader_election_master_status{name="${LEASE}"}) == 0`,
    summary: 'No replica of the Memcached operator leads',
    description: 'The replicas of the Memcached operator have all stood by for 5 minutes: nothing is carried out.',
  },
  {
    alert: 'MemcachedOperatorReconcileErrors',
    severity: 'warning',
    for: '30m',
    expr: 'sum by (controller) (increase(controller_runtime_reconcile_errors_total{controller="memcached"}[15m])) > 0',
    summary: 'The Memcached operator fails at something again and again',
    description:
      'Reconciles have failed for more than 30 minutes, {{ $value | humanize }} in the last 15. The log of the operator says at which Memcached, and why.',
  },
  {
    alert: 'MemcachedOperatorCertificateExpiring',
    severity: 'warning',
    for: '1h',
    expr: 'min by (namespace, pod) (memcached_operator_webhook_certificate_expiry_timestamp_seconds) - time() < 7 * 86400',
    summary: 'The certificate of the webhooks of the Memcached operator expires soon',
    description:
      'The certificate with which {{ $labels.namespace }}/{{ $labels.pod }} serves webhooks expires in {{ $value | humanizeDuration }}. Then Memcacheds can be neither created nor changed.',
  },
];

/** As the Prometheus operator wants them. */
export function alertRules(): object {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'memcached-operator-alerts', namespace: NAMESPACE, labels: LABELS },
    spec: ruleGroups(),
  };
}

/** As Prometheus itself wants them. */
export function ruleGroups(): { groups: { name: string; rules: object[] }[] } {
  return {
    groups: [
      { name: 'memcached', rules: CACHES.map(ruleFor) },
      { name: 'memcached-operator', rules: OPERATOR.map(ruleFor) },
    ],
  };
}

export const alerts: readonly Alert[] = [...CACHES, ...OPERATOR];

function ruleFor({ alert, severity, for: duration, expr, summary, description }: Alert): object {
  const annotations = { summary, description, runbook_url: `${RUNBOOKS}#${alert.toLowerCase()}` };
  return { alert, expr, for: duration, labels: { severity }, annotations };
}
