import fc from 'fast-check';
import { expect, test } from 'vitest';
import { valueOf } from '../random-memcached.ts';
import { specSchema } from '../schema/spec.ts';
import { statusSchema } from '../schema/status.ts';
import { describeErrors } from './field-error.ts';
import { structureErrors } from './structure.ts';

function errors(spec: unknown): string[] {
  return structureErrors(specSchema, spec, 'spec').map((error) => describeErrors([error]));
}

// The texts are the API server's: test/integration/crd.test.ts compares them with what it says.
test.for<[spec: unknown, error: string]>([
  [undefined, 'spec: Invalid value: "undefined": spec in body must be of type object: "undefined"'],
  [{ replicas: -1 }, 'spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0'],
  [{ replicas: 65 }, 'spec.replicas: Invalid value: 65: spec.replicas in body should be less than or equal to 64'],
  [
    { replicas: 'x' },
    'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
  ],
  [{ image: null }, 'spec.image: Invalid value: "null": spec.image in body must be of type string: "null"'],
  [
    { memcached: { maxItemSize: '1g' } },
    'spec.memcached.maxItemSize: Invalid value: "1g": spec.memcached.maxItemSize in body should match \'^[0-9]+(k|m)$\'',
  ],
  [
    { highAvailability: { antiAffinityPreset: 'hardest' } },
    'spec.highAvailability.antiAffinityPreset: Unsupported value: "hardest": supported values: "soft", "hard"',
  ],
  [{ imagePullSecrets: [{}] }, 'spec.imagePullSecrets[0].name: Required value'],
])('%j', ([spec, error]) => {
  expect(errors(spec)).toEqual([error]);
});

test('a field that the schema does not have is left to the API server, whatever its name', () => {
  expect(
    errors(JSON.parse('{ "__proto__": 1, "constructor": 1, "toString": {}, "podLabels": { "__proto__": "a" } }')),
  ).toEqual([]);
});

test('everything that the schema describes passes', () => {
  for (const schema of [specSchema, statusSchema]) {
    fc.assert(
      fc.property(valueOf(schema), (value) => {
        expect(structureErrors(schema, value, 'x')).toEqual([]);
      }),
    );
  }
});
