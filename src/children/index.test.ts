import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withDefaults } from '../api/index.ts';
import { randomValidMemcached } from '../api/random-memcached.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { children, type Surroundings } from './index.ts';
import { randomSurroundings } from './random-surroundings.ts';

const RUNS = 3000;

function built(memcached: Parameters<typeof withDefaults>[0], surroundings: Surroundings): KubernetesObject[] {
  return children.flatMap(({ build }) => build(withDefaults(memcached), surroundings) ?? []);
}

/** Where there is an empty list or map. Empty selectors are not among them: they select everything. */
function empties(value: unknown, path: string): string[] {
  if (value === undefined || value === null) return [path];
  if (typeof value !== 'object') return [];
  const entries = Object.entries(value);
  if (entries.length === 0) return /[sS]elector$/.test(path) ? [] : [path];
  return entries.flatMap(([name, part]) => empties(part, `${path}.${name}`));
}

const followers = new Set(children.filter(({ followsPods }) => followsPods).map(({ kind }) => kind.kind));

test(`${RUNS} random specs: no empty part, always the same, pods count for few, and everything is marked as ours`, () => {
  const counts = new Map<string, number>();
  fc.assert(
    fc.property(randomValidMemcached, randomSurroundings, (memcached, surroundings) => {
      const before = JSON.stringify([memcached, surroundings]);
      const objects = built(memcached, surroundings);
      expect(objects.flatMap((object) => empties(object, object.kind))).toEqual([]);
      expect(JSON.stringify(built(structuredClone(memcached), structuredClone(surroundings)))).toBe(
        JSON.stringify(objects),
      );
      expect(JSON.stringify([memcached, surroundings])).toBe(before);
      const { servers: _, ...rest } = surroundings;
      const withoutPods = ({ kind }: KubernetesObject) => !followers.has(kind);
      expect(built(memcached, rest).filter(withoutPods)).toEqual(objects.filter(withoutPods));
      for (const { kind, metadata } of objects) {
        counts.set(kind, (counts.get(kind) ?? 0) + 1);
        expect(metadata).toMatchObject({
          name: 'random',
          namespace: 'default',
          labels: {
            'app.kubernetes.io/name': 'memcached',
            'app.kubernetes.io/instance': 'random',
            'app.kubernetes.io/managed-by': 'memcached-operator',
          },
          ownerReferences: [{ kind: 'Memcached', name: 'random', uid: 'uid-1', controller: true }],
        });
      }
    }),
    { numRuns: RUNS },
  );
  console.log([...counts].map(([kind, count]) => `${count} ${kind}s`).join(', '));
  for (const { kind } of children) expect(counts.get(kind.kind) ?? 0).toBeGreaterThan(RUNS / 40);
}, 120_000);
