/** Random values of Kubernetes' own types, such as the API server takes them, odd forms and empty parts included. */
import fc from 'fast-check';

type Shape = Record<string, fc.Arbitrary<unknown>>;

/** Any part of it may be missing. */
const some = (shape: Shape) => fc.record(shape, { requiredKeys: [], noNullPrototype: true });
/** All of it is there. */
const all = (shape: Shape) => fc.record(shape, { noNullPrototype: true });
const few = (item: fc.Arbitrary<unknown>) => fc.array(item, { maxLength: 2 });
const is = fc.constant;
const of = fc.constantFrom;
const id = fc.nat(65_535);

const name = fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?$/);
const prefix = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,9}[a-z0-9])?\.example$/);
/** The key of a label or an annotation. */
export const labelKey = fc.oneof(
  name,
  fc.tuple(prefix, name).map((parts) => parts.join('/')),
  of('app.kubernetes.io/instance', 'app.kubernetes.io/version', 'memcached.c5c3.io/restart-trigger'),
);

const requirement = fc.oneof(
  all({ key: labelKey, operator: of('In', 'NotIn'), values: fc.array(name, { minLength: 1, maxLength: 2 }) }),
  all({ key: labelKey, operator: of('Exists', 'DoesNotExist') }),
);
const labels = fc.dictionary(labelKey, name, { maxKeys: 2, noNullPrototype: true });
const selector = some({ matchLabels: labels, matchExpressions: few(requirement) });

/** Requests are below limits. */
const resources = some({
  requests: some({ cpu: of('100m', '0.25', '.1', '1e-1'), memory: of('64Mi', '96Mi', '100M', 67_108_864) }),
  limits: some({ cpu: of('1', '1500m', 2, '2000m'), memory: of('1Gi', '1.5Gi', '2000M', '0.5Gi', 536_870_912) }),
});

const toleration = fc.oneof(
  all({ key: labelKey, operator: is('Equal'), value: name, effect: of('NoSchedule', 'PreferNoSchedule') }),
  all({ key: labelKey, operator: is('Exists'), effect: is('NoExecute'), tolerationSeconds: fc.nat(100) }),
  all({ operator: is('Exists') }),
);

const spread = { maxSkew: fc.integer({ min: 1, max: 5 }), topologyKey: labelKey };
const policies = { nodeAffinityPolicy: of('Honor', 'Ignore'), nodeTaintsPolicy: of('Honor', 'Ignore') };
const constraint = fc.oneof(
  all({ ...spread, whenUnsatisfiable: is('ScheduleAnyway') }),
  all({ ...spread, whenUnsatisfiable: is('ScheduleAnyway'), labelSelector: selector, ...policies }),
  all({ ...spread, whenUnsatisfiable: is('DoNotSchedule'), minDomains: fc.integer({ min: 1, max: 3 }) }),
  all({ ...spread, whenUnsatisfiable: is('DoNotSchedule'), matchLabelKeys: is(['pod-template-hash']) }),
);

const profile = fc.oneof(
  all({ type: of('RuntimeDefault', 'Unconfined') }),
  all({ type: is('Localhost'), localhostProfile: is('profiles/memcached.json') }),
);
const shared = {
  runAsUser: id,
  runAsGroup: id,
  runAsNonRoot: fc.boolean(),
  seccompProfile: profile,
  appArmorProfile: profile,
  seLinuxOptions: some({ level: is('s0:c123,c456'), role: is('r'), type: is('t'), user: is('u') }),
};
const podSecurityContext = some({
  ...shared,
  fsGroup: id,
  fsGroupChangePolicy: of('Always', 'OnRootMismatch'),
  supplementalGroups: few(id),
  supplementalGroupsPolicy: of('Merge', 'Strict'),
  sysctls: of([], [{ name: 'net.core.somaxconn', value: '1024' }]),
});
const securityContext = some({
  ...shared,
  allowPrivilegeEscalation: fc.boolean(),
  privileged: is(false),
  readOnlyRootFilesystem: fc.boolean(),
  procMount: is('Default'),
  capabilities: some({ add: of([], ['NET_BIND_SERVICE']), drop: of([], ['ALL'], ['CHOWN', 'KILL']) }),
});

const peer = fc.oneof(
  all({ podSelector: selector }),
  fc.record({ namespaceSelector: selector, podSelector: selector }, { requiredKeys: ['namespaceSelector'] }),
  all({
    ipBlock: of({ cidr: '10.0.0.0/8' }, { cidr: '10.0.0.0/8', except: [] }, { cidr: '::/0', except: ['fd00::/8'] }),
  }),
);

const amount = of('100m', '1', '0.5', '64Mi', '1.5Gi', '1000M', 1000);
const utilization = all({ type: is('Utilization'), averageUtilization: fc.integer({ min: 1, max: 200 }) });
const averageValue = all({ type: is('AverageValue'), averageValue: amount });
const value = all({ type: is('Value'), value: amount });
const metric = fc.record({ name, selector }, { requiredKeys: ['name'], noNullPrototype: true });
const resourceTarget = { name: of('cpu', 'memory'), target: fc.oneof(utilization, averageValue) };
const metricSpec = fc.oneof(
  all({ type: is('Resource'), resource: all(resourceTarget) }),
  all({
    type: is('ContainerResource'),
    containerResource: all({ ...resourceTarget, container: is('memcached') }),
  }),
  all({ type: is('Pods'), pods: all({ metric, target: averageValue }) }),
  all({ type: is('External'), external: all({ metric, target: fc.oneof(value, averageValue) }) }),
  all({
    type: is('Object'),
    object: all({ metric, target: value, describedObject: is({ apiVersion: 'v1', kind: 'Service', name: 'other' }) }),
  }),
);

const scalingRules = some({
  stabilizationWindowSeconds: fc.nat(3600),
  selectPolicy: of('Max', 'Min', 'Disabled'),
  tolerance: of('50m', '0.05', '0.1'),
  policies: few(
    all({
      type: of('Pods', 'Percent'),
      value: fc.integer({ min: 1, max: 100 }),
      periodSeconds: fc.integer({ min: 1, max: 1800 }),
    }),
  ),
});

export const randomKubernetes: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  LocalObjectReference: all({ name: of('secret-a', 'secret-b') }),
  ResourceRequirements: resources,
  Toleration: toleration,
  TopologySpreadConstraint: constraint,
  PodSecurityContext: podSecurityContext,
  SecurityContext: securityContext,
  NetworkPolicyPeer: peer,
  MetricSpec: metricSpec,
  HorizontalPodAutoscalerBehavior: some({ scaleUp: scalingRules, scaleDown: scalingRules }),
};
