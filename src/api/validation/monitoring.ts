/** Prometheus has rules of its own. */
import type { Warning } from './field-error.ts';

const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  y: 31_536_000,
};

export const scrapesOverlap: Warning = ({ spec }) => {
  const { enabled, serviceMonitor } = spec.monitoring;
  const { interval, scrapeTimeout } = serviceMonitor;
  if (!enabled || seconds(scrapeTimeout) <= seconds(interval)) return undefined;
  return `spec.monitoring.serviceMonitor.scrapeTimeout: Prometheus refuses a timeout (${scrapeTimeout}) that is longer than the interval (${interval}); make it shorter`;
};

function seconds(duration: string): number {
  const parts = duration.matchAll(/(\d+)(ms|[smhdwy])/g);
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (SECONDS[unit] ?? 0), 0);
}
