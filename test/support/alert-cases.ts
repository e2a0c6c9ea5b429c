/** For each alert, figures at which it has to fire, and figures at which it must not; one value for each minute, as promtool reads them. */

export interface AlertCase {
  readonly alert: string;
  readonly series: Readonly<Record<string, string>>;
  /** When it is looked at, in minutes. */
  readonly minute: number;
  /** The labels of the alert; without them it must be silent. */
  readonly fires?: string;
}

const CACHE = 'namespace="team",name="cache"';
const instance = (metric: string) => `memcached_operator_instance_${metric}{${CACHE},instance="1"}`;
const server = (metric: string) => `memcached_operator_server_${metric}{${CACHE},pod="cache-1",instance="1"}`;
const condition = `memcached_operator_instance_condition{${CACHE},condition="Degraded",instance="1"}`;
const leader = (replica: number) => `leader_election_master_status{name="d4f3c8a2.c5c3.io",instance="${replica}"}`;
const errors = (controller: string) => `controller_runtime_reconcile_errors_total{controller="${controller}"}`;
const connections = (metric: string) =>
  `memcached_${metric}_connections{namespace="team",service="cache",pod="cache-1"}`;
const expiry = instance('certificate_expiry_timestamp_seconds');
const webhooks = 'memcached_operator_webhook_certificate_expiry_timestamp_seconds{namespace="system",pod="operator-1"}';
const warning = `{${CACHE},severity="warning"}`;
const DAY = 1440;

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'MemcachedDown',
    series: { [instance('ready_replicas')]: '0x20', [instance('desired_replicas')]: '3x20' },
    minute: 10,
    fires: `{${CACHE},severity="critical"}`,
  },
  {
    alert: 'MemcachedDown', // none are wanted
    series: { [instance('ready_replicas')]: '0x20', [instance('desired_replicas')]: '0x20' },
    minute: 10,
  },
  { alert: 'MemcachedDegraded', series: { [condition]: '1x30' }, minute: 20, fires: warning },
  { alert: 'MemcachedDegraded', series: { [condition]: '1x10 0x20' }, minute: 20 },
  {
    alert: 'MemcachedHitRatioFallen',
    series: {
      [server('get_hits_total')]: `0+60x${DAY} 86410+10x90`,
      [server('get_misses_total')]: `0+10x${DAY} 14460+60x90`,
    },
    minute: DAY + 60,
    fires: warning,
  },
  {
    alert: 'MemcachedHitRatioFallen', // as it was
    series: { [server('get_hits_total')]: `0+60x${DAY + 90}`, [server('get_misses_total')]: `0+10x${DAY + 90}` },
    minute: DAY + 60,
  },
  {
    alert: 'MemcachedHitRatioFallen', // hardly anybody asks
    series: {
      [server('get_hits_total')]: `0+60x${DAY} 86401+1x90`,
      [server('get_misses_total')]: `0+10x${DAY} 14406+6x90`,
    },
    minute: DAY + 60,
  },
  {
    alert: 'MemcachedEvictionsRising',
    series: { [server('evictions_total')]: `0+6x${DAY} 9240+600x90` },
    minute: DAY + 60,
    fires: warning,
  },
  { alert: 'MemcachedEvictionsRising', series: { [server('evictions_total')]: `0+600x${DAY + 90}` }, minute: DAY + 60 },
  {
    alert: 'MemcachedMemoryNearLimit',
    series: { [server('bytes')]: '95x90', [server('limit_bytes')]: '100x90' },
    minute: 80,
    fires: `{${CACHE},severity="info"}`,
  },
  {
    alert: 'MemcachedMemoryNearLimit',
    series: { [server('bytes')]: '85x90', [server('limit_bytes')]: '100x90' },
    minute: 80,
  },
  {
    alert: 'MemcachedConnectionsNearLimit',
    series: { [connections('current')]: '900x30', [connections('max')]: '1024x30' },
    minute: 20,
    fires: '{namespace="team",service="cache",pod="cache-1",severity="warning"}',
  },
  {
    alert: 'MemcachedConnectionsNearLimit',
    series: { [connections('current')]: '100x30', [connections('max')]: '1024x30' },
    minute: 20,
  },
  { alert: 'MemcachedCertificateExpiring', series: { [expiry]: '259200x120' }, minute: 100, fires: warning },
  { alert: 'MemcachedCertificateExpiring', series: { [expiry]: '2592000x120' }, minute: 100 },
  { alert: 'MemcachedOperatorDown', series: {}, minute: 15, fires: '{severity="critical"}' },
  { alert: 'MemcachedOperatorDown', series: { 'memcached_operator_build_info{version="1"}': '1x30' }, minute: 15 },
  {
    alert: 'MemcachedOperatorWithoutLeader',
    series: { [leader(1)]: '0x20', [leader(2)]: '0x20' },
    minute: 10,
    fires: '{severity="critical"}',
  },
  { alert: 'MemcachedOperatorWithoutLeader', series: { [leader(1)]: '0x20', [leader(2)]: '1x20' }, minute: 10 },
  {
    alert: 'MemcachedOperatorReconcileErrors',
    series: { [errors('memcached')]: '0+1x90' },
    minute: 60,
    fires: '{controller="memcached",severity="warning"}',
  },
  {
    alert: 'MemcachedOperatorReconcileErrors', // it was once, and others fail all the time
    series: { [errors('memcached')]: '0x10 5x80', [errors('other')]: '0+1x90' },
    minute: 60,
  },
  {
    alert: 'MemcachedOperatorCertificateExpiring',
    series: { [webhooks]: '259200x120' },
    minute: 100,
    fires: '{namespace="system",pod="operator-1",severity="warning"}',
  },
  { alert: 'MemcachedOperatorCertificateExpiring', series: { [webhooks]: '2592000x120' }, minute: 100 },
];
