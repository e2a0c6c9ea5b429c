/** What encryption and authentication have in common: how they change the pods. */
import type { DefaultedSpec } from '../api/index.ts';
import type { EnvVar, Volume } from '../kubernetes/pod-template.ts';
import { LOOPBACK } from './ports.ts';

export interface Protection {
  readonly arguments: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly hostname?: string;
  readonly volume: Volume;
  readonly mountPath: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** What exempts a listener of memcached from it, before the address; nothing where none can be exempt. */
  readonly exemption: string | undefined;
}

/**
 * A second listener, for an exporter that knows neither certificates nor passwords, as an argument of memcached.
 * Nothing where the exporter does not need one, or cannot have one.
 */
export function exporterListener(
  { monitoring }: DefaultedSpec,
  protections: readonly Protection[],
): string | undefined {
  const exemptions = protections.map(({ exemption }) => exemption);
  if (!monitoring.enabled || exemptions.length === 0 || exemptions.includes(undefined)) return undefined;
  return `${exemptions.join('')}${LOOPBACK}`;
}
