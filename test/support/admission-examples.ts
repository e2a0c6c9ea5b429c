/** The examples of the specification of the validation webhook, and what is said about each. */

export interface AdmissionExample {
  readonly what: string;
  readonly spec: string;
  /** None: it is accepted. */
  readonly errors: readonly string[];
}

const MEMORY =
  'spec.resources.limits.memory: Invalid value: "64Mi": memory limit must be at least 96Mi (maxMemoryMB=64Mi + 32Mi overhead)';
const BUDGET =
  'spec.highAvailability.podDisruptionBudget.minAvailable: Invalid value: 3: minAvailable (3) must be less than replicas (3)';
const SASL =
  'spec.security.sasl.credentialsSecretRef.name: Required value: credentialsSecretRef.name is required when SASL is enabled';

export const admissionExamples: readonly AdmissionExample[] = [
  {
    what: 'insufficient memory limit',
    errors: [MEMORY],
    spec: `
      memcached:
        maxMemoryMB: 64
      resources:
        limits:
          memory: "64Mi"`,
  },
  {
    what: 'budget as large as replicas',
    errors: [BUDGET],
    spec: `
      replicas: 3
      highAvailability:
        podDisruptionBudget:
          enabled: true
          minAvailable: 3`,
  },
  {
    what: 'budget with both',
    errors: [
      'spec.highAvailability.podDisruptionBudget: Invalid value: "": minAvailable and maxUnavailable are mutually exclusive, specify only one',
    ],
    spec: `
      replicas: 3
      highAvailability:
        podDisruptionBudget: { enabled: true, minAvailable: 1, maxUnavailable: 1 }`,
  },
  {
    what: 'budget with neither',
    errors: [
      'spec.highAvailability.podDisruptionBudget: Required value: one of minAvailable or maxUnavailable must be set when PDB is enabled',
    ],
    spec: `
      replicas: 3
      highAvailability:
        podDisruptionBudget: { enabled: true }`,
  },
  {
    what: 'SASL without Secret',
    errors: [SASL],
    spec: `
      security:
        sasl:
          enabled: true`,
  },
  {
    what: 'TLS without Secret',
    errors: [
      'spec.security.tls.certificateSecretRef.name: Required value: certificateSecretRef.name is required when TLS is enabled',
    ],
    spec: `
      security:
        tls:
          enabled: true`,
  },
  {
    what: 'graceful shutdown timing',
    errors: [
      'spec.highAvailability.gracefulShutdown.terminationGracePeriodSeconds: Invalid value: 10: terminationGracePeriodSeconds (10) must exceed preStopDelaySeconds (10)',
    ],
    spec: `
      highAvailability:
        gracefulShutdown:
          enabled: true
          preStopDelaySeconds: 10
          terminationGracePeriodSeconds: 10`,
  },
  {
    // As the specification prints it, it has no CPU request either, which is another of its own errors.
    what: 'autoscaling with replicas',
    errors: [
      'spec.replicas: Invalid value: 3: spec.replicas and spec.autoscaling.enabled are mutually exclusive',
      'spec.resources.requests.cpu: Required value: resources.requests.cpu is required when using CPU utilization metrics',
    ],
    spec: `
      replicas: 3
      autoscaling:
        enabled: true
        minReplicas: 2
        maxReplicas: 10`,
  },
  {
    what: 'minReplicas above maxReplicas',
    errors: [
      'spec.autoscaling.minReplicas: Invalid value: 10: minReplicas (10) must not exceed maxReplicas (5)',
      'spec.resources.requests.cpu: Required value: resources.requests.cpu is required when using CPU utilization metrics',
    ],
    spec: `
      autoscaling:
        enabled: true
        minReplicas: 10
        maxReplicas: 5`,
  },
  {
    what: 'CPU utilization without CPU request',
    errors: [
      'spec.resources.requests.cpu: Required value: resources.requests.cpu is required when using CPU utilization metrics',
    ],
    spec: `
      autoscaling:
        enabled: true
        minReplicas: 2
        maxReplicas: 10`,
  },
  {
    what: 'multiple violations',
    errors: [MEMORY, BUDGET, SASL],
    spec: `
      replicas: 3
      memcached:
        maxMemoryMB: 64
      resources:
        limits:
          memory: "64Mi"
      highAvailability:
        podDisruptionBudget:
          enabled: true
          minAvailable: 3
      security:
        sasl:
          enabled: true`,
  },
  {
    what: 'valid, with all features',
    errors: [],
    spec: `
      replicas: 3
      image: "memcached:1.6.28"
      memcached:
        maxMemoryMB: 256
      resources:
        limits:
          memory: "320Mi"
      highAvailability:
        podDisruptionBudget:
          enabled: true
          minAvailable: 2
        gracefulShutdown:
          enabled: true
          preStopDelaySeconds: 10
          terminationGracePeriodSeconds: 30
      security:
        sasl:
          enabled: true
          credentialsSecretRef:
            name: "sasl-secret"
        tls:
          enabled: true
          certificateSecretRef:
            name: "tls-secret"`,
  },
  { what: 'minimal', errors: [], spec: ' {}' },
];
