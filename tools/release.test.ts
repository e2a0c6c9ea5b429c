import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = path.dirname(import.meta.dirname);
const read = (name: string) => readFileSync(path.join(root, name), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

interface Workflow {
  readonly on: object;
  readonly permissions?: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  /** Another workflow of ours, instead of steps. */
  readonly uses?: string;
  readonly needs?: string;
  readonly 'timeout-minutes'?: number;
  readonly strategy?: { readonly matrix: { readonly target: readonly string[] } };
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[];
}

const workflows = globSync('.github/workflows/*.yaml', { cwd: root }).map((name) => {
  return { name, workflow: parse(read(name)) as Workflow };
});

test('there are workflows for checks, tests and releases', () => {
  const names = workflows.map(({ name }) => path.basename(name, '.yaml'));
  expect(new Set(names)).toEqual(new Set(['check', 'release', 'test']));
});

test.for(workflows)('$name gets few rights, ends some time, and calls what exists', ({ workflow }) => {
  expect(workflow.permissions).toBeDefined();
  const targets = new Set(
    [...read('Makefile').matchAll(/^([a-z-]+(?: [a-z-]+)*):/gm)].flatMap(([, all = '']) => all.split(' ')),
  );
  for (const { uses: other, steps = [], strategy, 'timeout-minutes': minutes } of Object.values(workflow.jobs)) {
    const isOurs = workflows.some(({ name }) => `./${name}` === other); // it says itself when it ends
    expect(isOurs || (minutes ?? 0) > 0).toBe(true);
    for (const target of strategy?.matrix.target ?? []) expect(targets).toContain(target);
    for (const { uses = 'none/none@v1', run = '' } of steps) {
      expect(uses).toMatch(/^[\w-]+\/[\w-]+@(v\d+|[0-9a-f]{40})$/);
      for (const [, target] of run.matchAll(/\bmake ([a-z-]+)/g)) expect(targets).toContain(target);
    }
  }
});

test('what is released has passed all tests', () => {
  const release = workflows.find(({ name }) => name.endsWith('release.yaml'))?.workflow.jobs['release'];
  expect(release?.needs).toBe('test');
});

test('the version is the same wherever it has to be written down', () => {
  expect((JSON.parse(read('package-lock.json')) as { version: string }).version).toBe(version);
  expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## ${version}\\b`, 'm'));
});
