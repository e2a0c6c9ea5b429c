import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conditionsOf } from './conditions.ts';
import { type DeploymentObservation, FAULTS, type Observation } from './observation.ts';

const NOW = '2025-01-15T10:30:00Z';

const settled: DeploymentObservation = {
  generation: 4,
  observedGeneration: 4,
  wanted: 3,
  total: 3,
  updated: 3,
  ready: 3,
  available: 3,
  isAvailable: true,
  deadlineExceeded: false,
};

const pod = (name: string, problem?: string) => ({
  name,
  ...(problem !== undefined && { problem }),
  lacksRoom: false,
  isLeaving: false,
});

function observation(changes: Partial<Observation> = {}, deployment: Partial<DeploymentObservation> = {}): Observation {
  const basis = { generation: 7, replicas: 3, isPaused: false, isCarriedOut: true, faults: [], pods: [] };
  return { ...basis, deployment: { ...settled, ...deployment }, ...changes };
}

/** "Type=Status/Reason" of each condition. */
function told(seen: Observation): string[] {
  return conditionsOf(seen, [], NOW).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}

test.each<[string, Observation, string[]]>([
  [
    'all is well',
    observation(),
    [
      'Available=True/DeploymentAvailable',
      'Progressing=False/DeploymentComplete',
      'Degraded=False/AllReplicasReady',
      'Ready=True/AllReplicasReady',
    ],
  ],
  [
    'nothing exists yet',
    { generation: 1, replicas: 3, isPaused: false, isCarriedOut: true, faults: [], pods: [] },
    [
      'Available=False/DeploymentUnavailable',
      'Progressing=True/DeploymentProgressing',
      'Degraded=True/ReplicasNotReady',
      'Ready=False/ReplicasNotReady',
    ],
  ],
  [
    'scaled to zero is healthy',
    observation({ replicas: 0 }, { wanted: 0, total: 0, updated: 0, ready: 0, available: 0 }),
    [
      'Available=False/ScaledToZero',
      'Progressing=False/DeploymentComplete',
      'Degraded=False/AllReplicasReady',
      'Ready=True/AllReplicasReady',
    ],
  ],
  [
    'a rollout with a surge pod',
    observation({}, { total: 4, updated: 1 }),
    [
      'Available=True/DeploymentAvailable',
      'Progressing=True/DeploymentProgressing',
      'Degraded=False/AllReplicasReady',
      'Ready=False/DeploymentProgressing',
    ],
  ],
  [
    'a Deployment that its controller has not seen yet',
    observation({}, { generation: 5 }),
    [
      'Available=True/DeploymentAvailable',
      'Progressing=True/DeploymentProgressing',
      'Degraded=False/AllReplicasReady',
      'Ready=False/DeploymentProgressing',
    ],
  ],
  [
    'paused with everything done',
    observation({ isPaused: true }),
    [
      'Available=True/DeploymentAvailable',
      'Progressing=False/Paused',
      'Degraded=False/AllReplicasReady',
      'Ready=True/AllReplicasReady',
    ],
  ],
  [
    'paused with something waiting',
    observation({ isPaused: true, isCarriedOut: false }),
    [
      'Available=True/DeploymentAvailable',
      'Progressing=False/Paused',
      'Degraded=False/AllReplicasReady',
      'Ready=False/Paused',
    ],
  ],
  [
    'stuck',
    observation({}, { ready: 1, available: 1, isAvailable: false, deadlineExceeded: true }),
    [
      'Available=False/DeploymentUnavailable',
      'Progressing=False/ProgressDeadlineExceeded',
      'Degraded=True/RolloutStuck',
      'Ready=False/RolloutStuck',
    ],
  ],
  [
    'a new pod that cannot start, while the old ones serve',
    observation({ pods: [pod('new', 'image "x" cannot be pulled')] }, { total: 4, updated: 1 }),
    [
      'Available=True/DeploymentAvailable',
      'Progressing=True/DeploymentProgressing',
      'Degraded=True/RolloutStuck',
      'Ready=False/RolloutStuck',
    ],
  ],
])('%s', (_, seen, expected) => {
  expect(told(seen)).toEqual(expected);
});

test('the most serious fault wins, and all messages of it are told', () => {
  const faults = [
    { reason: 'ApplyFailed', message: 'Service x: forbidden' },
    { reason: 'ResourceConflict', message: 'Service x is not ours' },
    { reason: 'ResourceConflict', message: 'Deployment x is not ours' },
  ] as const;
  const [, , degraded, ready] = conditionsOf(observation({ faults, isCarriedOut: false }), [], NOW);
  expect(degraded).toMatchObject({
    status: 'True',
    reason: 'ResourceConflict',
    message: 'Service x is not ours; Deployment x is not ours',
  });
  expect(ready).toMatchObject({ status: 'False', reason: 'ResourceConflict' });
});

test('a message that the API would not take is told up to where it gets too long', () => {
  const faults = [{ reason: 'ApplyFailed', message: `${'x'.repeat(4094)}🙂 and so on` }] as const;
  const [, , degraded, ready] = conditionsOf(observation({ faults, isCarriedOut: false }), [], NOW);
  expect(degraded?.message).toBe(`${'x'.repeat(4094)}\ufffd…`);
  expect(ready?.message).toBe(degraded?.message);
});

test.each([
  ['well', observation()],
  ['not well', observation({}, { ready: 2 })],
])('what should be known is said beside Ready, and only there: %s', (_, seen) => {
  const remarks = [{ reason: 'MetricsUnavailable', message: 'Metrics are unavailable' }] as const;
  const messages = conditionsOf({ ...seen, remarks }, [], NOW).map(({ message }) => message);
  expect(messages.map((message) => message.endsWith('. Metrics are unavailable'))).toEqual([false, false, false, true]);
});

test('the cause is read from the pods', () => {
  const pods = [pod('a'), pod('b', 'image "x" cannot be pulled'), pod('c', 'too')];
  const [, , degraded] = conditionsOf(observation({ pods }, { ready: 1 }), [], NOW);
  expect(degraded?.message).toBe('1 of 3 replicas are ready. Pod b: image "x" cannot be pulled (and 1 more)');
});

test('a new pod that waits for the place of an old one is no trouble, unless there is none to wait for', () => {
  const waiting = { ...pod('new', 'no node takes it'), lacksRoom: true };
  const rollout = (leaving: boolean) =>
    observation({ pods: [waiting, { ...pod('old'), isLeaving: leaving }] }, { total: 4, updated: 1 });
  expect(told(rollout(true))).toContain('Degraded=False/AllReplicasReady');
  expect(told(rollout(false))).toContain('Degraded=True/RolloutStuck');
  const short = conditionsOf(
    observation({ pods: [waiting, { ...pod('old'), isLeaving: true }] }, { ready: 2 }),
    [],
    NOW,
  );
  expect(short[2]?.message).toBe('2 of 3 replicas are ready');
});

test('the time of a transition moves only when the status does', () => {
  const before = conditionsOf(observation(), [], '2025-01-01T00:00:00Z');
  const after = conditionsOf(observation({ generation: 8 }, { ready: 2 }), before, NOW);
  const times = Object.fromEntries(after.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  expect(times).toEqual({
    Available: '2025-01-01T00:00:00Z',
    Progressing: '2025-01-01T00:00:00Z',
    Degraded: NOW,
    Ready: NOW,
  });
  expect(after.map(({ observedGeneration }) => observedGeneration)).toEqual([8, 8, 8, 8]);
});

test('Ready is true exactly when nothing is wrong and everything is done', () => {
  const count = fc.integer({ min: 0, max: 3 });
  const deployment = fc.record({
    generation: fc.constantFrom(3, 4),
    observedGeneration: fc.constantFrom(3, 4),
    wanted: count,
    total: count,
    updated: count,
    ready: count,
    available: count,
    isAvailable: fc.boolean(),
    deadlineExceeded: fc.boolean(),
  });
  const any = fc.record({
    generation: fc.constant(1),
    replicas: count,
    isPaused: fc.boolean(),
    isCarriedOut: fc.boolean(),
    faults: fc.array(fc.record({ reason: fc.constantFrom(...FAULTS), message: fc.string() }), { maxLength: 2 }),
    deployment,
    pods: fc.constant([]),
  });
  fc.assert(
    fc.property(any, (seen) => {
      const { wanted, total, updated, ready, available, deadlineExceeded, ...rest } = seen.deployment;
      const isDone = [wanted, total, updated, available].every((number) => number === seen.replicas);
      const isSeen = rest.observedGeneration >= rest.generation;
      const isWell = seen.faults.length === 0 && !deadlineExceeded && ready >= seen.replicas;
      const status = isDone && isSeen && isWell && seen.isCarriedOut ? 'True' : 'False';
      expect(conditionsOf(seen, [], NOW).at(-1)).toMatchObject({ type: 'Ready', status });
    }),
  );
});

test('a namespace that takes no more pods is quoted', () => {
  const replicaFailure = 'pods "cache-1" is forbidden: exceeded quota: small';
  const [, , degraded] = conditionsOf(observation({}, { ready: 2, replicaFailure }), [], NOW);
  expect(degraded?.message).toBe(
    `2 of 3 replicas are ready. No pod can be created: ${replicaFailure}. See to it that the namespace takes more, or lower spec.replicas`,
  );
});
