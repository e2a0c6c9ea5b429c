/**
 * What a Memcached means where its author said nothing.
 *
 * There are two steps. `withStoredDefaults` fills in what the webhook writes into the object: plain values that a user may as well
 * read there, and only where nothing stands, not even something empty. `withDefaults` goes on to what the builders of children need, and is never stored: for security contexts and
 * graceful shutdown "unset" has a meaning of its own, which would be lost if the default were written down, because
 * a later `kubectl apply` of half a section would be merged into it.
 */
import { defaultValues } from './default-values.ts';
import type { Memcached, MemcachedSpec } from './memcached.ts';

export interface DefaultOptions {
  /** In place of the built-in image of memcached. */
  readonly image?: string;
  /** In place of the built-in image of the exporter. */
  readonly exporterImage?: string;
  /** What unset replicas mean for a cache that has just stopped scaling itself: as many as there are. */
  readonly replicas?: number;
}

type Section<Name extends keyof MemcachedSpec> = NonNullable<MemcachedSpec[Name]>;
type Settled<Type, Names extends keyof Type> = Type & { readonly [Name in Names]-?: NonNullable<Type[Name]> };
type HighAvailability = Section<'highAvailability'>;
type Monitoring = Section<'monitoring'>;
type Security = Section<'security'>;

/** A spec in which everything that has a default is there. `replicas` is missing exactly when the cache scales itself. */
export interface DefaultedSpec extends Settled<MemcachedSpec, 'image'> {
  readonly memcached: Required<Section<'memcached'>>;
  readonly autoscaling: Settled<Section<'autoscaling'>, 'enabled'>;
  readonly highAvailability: Settled<HighAvailability, 'antiAffinityPreset'> & {
    readonly gracefulShutdown: Required<NonNullable<HighAvailability['gracefulShutdown']>>;
    readonly podDisruptionBudget: Settled<NonNullable<HighAvailability['podDisruptionBudget']>, 'enabled'>;
  };
  readonly monitoring: Settled<Monitoring, 'enabled' | 'exporterImage'> & {
    readonly serviceMonitor: Settled<NonNullable<Monitoring['serviceMonitor']>, 'interval' | 'scrapeTimeout'>;
  };
  readonly security: Settled<Omit<Security, 'networkPolicy'>, 'podSecurityContext' | 'containerSecurityContext'> & {
    readonly sasl: Settled<NonNullable<Security['sasl']>, 'enabled'>;
    readonly tls: Settled<NonNullable<Security['tls']>, 'enabled' | 'enableClientCert'>;
  };
  /** Also what was said in `security.networkPolicy`. */
  readonly networkPolicy: Required<Section<'networkPolicy'>>;
}

export interface DefaultedMemcached extends Memcached {
  readonly spec: DefaultedSpec;
}

/** The Memcached with everything that has a default. */
export function withDefaults(memcached: Memcached, options: DefaultOptions = {}): DefaultedMemcached {
  const stored = withStoredDefaults(memcached, options);
  const { highAvailability = {}, monitoring = {}, autoscaling = {}, security: securityWithPolicy = {} } = stored.spec;
  const { networkPolicy: alsoNetworkPolicy = {}, ...security } = securityWithPolicy;
  const spec: DefaultedSpec = {
    ...stored.spec,
    image: stored.spec.image || memcachedImage(options),
    autoscaling: {
      enabled: false,
      behavior: defaultValues.autoscaling.behavior,
      ...autoscaling,
      ...(autoscaling.enabled && { metrics: autoscaling.metrics?.length ? autoscaling.metrics : scaling.metrics }),
    },
    highAvailability: {
      antiAffinityPreset: defaultValues.antiAffinityPreset,
      ...highAvailability,
      podDisruptionBudget: { enabled: false, ...highAvailability.podDisruptionBudget },
      gracefulShutdown: highAvailability.gracefulShutdown
        ? { ...defaultValues.gracefulShutdown, ...highAvailability.gracefulShutdown }
        : defaultValues.shutdown,
    },
    monitoring: {
      enabled: false,
      ...monitoring,
      exporterImage: monitoring.exporterImage || exporterImage(options),
      serviceMonitor: { ...defaultValues.serviceMonitor, ...monitoring.serviceMonitor },
    },
    security: {
      podSecurityContext: defaultValues.podSecurityContext,
      containerSecurityContext: defaultValues.containerSecurityContext,
      ...security,
      sasl: { enabled: false, ...security.sasl },
      tls: { enabled: false, enableClientCert: false, ...security.tls },
    },
    networkPolicy: {
      enabled: false,
      allowedSources: [],
      allowedMetricsSources: [],
      ...(stored.spec.networkPolicy ?? alsoNetworkPolicy),
    },
  };
  return { ...memcached, spec };
}

/** The Memcached as the defaulting webhook stores it. */
export function withStoredDefaults(
  memcached: Memcached,
  options: DefaultOptions = {},
): Memcached & { readonly spec: Pick<DefaultedSpec, 'image' | 'memcached'> } {
  const { spec } = memcached;
  const { monitoring, autoscaling } = spec;
  const { serviceMonitor } = monitoring ?? {};
  return {
    ...memcached,
    spec: {
      ...spec,
      ...(autoscaling?.enabled ? {} : { replicas: spec.replicas ?? options.replicas ?? defaultValues.replicas }),
      image: spec.image ?? memcachedImage(options),
      memcached: { ...defaultValues.memcached, ...spec.memcached },
      ...(autoscaling?.enabled && { autoscaling: { ...scaling, ...autoscaling } }),
      ...(monitoring && {
        monitoring: {
          ...monitoring,
          exporterImage: monitoring.exporterImage ?? exporterImage(options),
          ...(serviceMonitor && { serviceMonitor: { ...defaultValues.serviceMonitor, ...serviceMonitor } }),
        },
      }),
    },
  };
}

const scaling = {
  minReplicas: defaultValues.autoscaling.minReplicas,
  metrics: defaultValues.autoscaling.metrics,
};

function memcachedImage(options: DefaultOptions): string {
  return options.image ?? defaultValues.image;
}

function exporterImage(options: DefaultOptions): string {
  return options.exporterImage ?? defaultValues.exporterImage;
}
