import { expect, test } from 'vitest';
import type { Log } from '../log.ts';
import { Registry } from './registry.ts';

function newRegistry() {
  const logged: string[] = [];
  const say = (message: string, fields = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: say, info: say, error: say };
  return { registry: new Registry(log), logged };
}

function textOf(registry: Registry): string {
  return [...registry.pieces()].join('');
}

test('counters, histograms and what is computed, as Prometheus reads them', () => {
  const { registry } = newRegistry();
  const requests = registry.counter({ name: 'requests_total', help: 'Requests', labels: ['verb', 'code'] });
  const seconds = registry.histogram({ name: 'seconds', help: 'Time', labels: ['verb'] }, [0.1, 1]);
  registry.computed('gauge', { name: 'depth', help: 'Depth' }, () => 3);
  registry.computed('gauge', { name: 'ready', help: 'Ready', labels: ['name'] }, () => [[{ name: 'a' }, 1]]);
  requests({ verb: 'get', code: '200' });
  requests({ code: '200', verb: 'get' }, 2);
  requests({ verb: 'list', code: '410' }, 0);
  for (const value of [0.1, 0.5, 0.7, 30]) seconds({ verb: 'get' }, value);
  expect(textOf(registry)).toBe(`# HELP requests_total Requests
# TYPE requests_total counter
requests_total{verb="get",code="200"} 3
requests_total{verb="list",code="410"} 0
# HELP seconds Time
# TYPE seconds histogram
seconds_bucket{verb="get",le="0.1"} 1
seconds_bucket{verb="get",le="1"} 3
seconds_bucket{verb="get",le="+Inf"} 4
seconds_sum{verb="get"} 31.3
seconds_count{verb="get"} 4
# HELP depth Depth
# TYPE depth gauge
depth 3
# HELP ready Ready
# TYPE ready gauge
ready{name="a"} 1
`);
});

test('a metric without labels counts, too', () => {
  const { registry } = newRegistry();
  registry.counter({ name: 'a_total', help: 'A' })({});
  registry.histogram({ name: 'b', help: 'B' }, [1])({}, 2);
  expect(textOf(registry)).toContain('a_total 1\n');
  expect(textOf(registry)).toContain('b_bucket{le="+Inf"} 1\nb_sum 2\nb_count 1\n');
});

test('what would break a line is escaped', () => {
  const { registry } = newRegistry();
  const count = registry.counter({ name: 'a_total', help: 'one\\two\nthree', labels: ['x'] });
  count({ x: 'say "a\\b"\nand go' });
  expect(textOf(registry)).toBe(
    '# HELP a_total one\\\\two\\nthree\n# TYPE a_total counter\na_total{x="say \\"a\\\\b\\"\\nand go"} 1\n',
  );
});

test('numbers without end have names', () => {
  const { registry } = newRegistry();
  const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e21, 0.1];
  registry.computed('gauge', { name: 'a', help: 'A', labels: ['x'] }, () =>
    values.map((value, index) => [{ x: String(index) }, value] as const),
  );
  expect([...textOf(registry).matchAll(/} (.*)/g)].map(([, value]) => value)).toEqual([
    '+Inf',
    '-Inf',
    'NaN',
    '1e+21',
    '0.1',
  ]);
});

test('labels without end do not fill the memory: beyond a limit they are counted together', () => {
  const { registry } = newRegistry();
  const count = registry.counter({ name: 'a_total', help: 'A', labels: ['x', 'y'] });
  for (let round = 0; round < 2; round += 1)
    for (let number = 0; number < 1000; number += 1) count({ x: String(number), y: 'y' });
  const lines = textOf(registry).trim().split('\n').slice(2);
  expect(lines).toHaveLength(201);
  expect(lines[0]).toBe('a_total{x="0",y="y"} 2');
  expect(lines.at(-1)).toBe('a_total{x="other",y="other"} 1600');
});

test('a metric that cannot be computed does not take the page with it', () => {
  const { registry, logged } = newRegistry();
  registry.computed('gauge', { name: 'bad', help: 'Bad' }, () => {
    throw new Error('no such file');
  });
  registry.computed('gauge', { name: 'good', help: 'Good' }, () => 1);
  expect(textOf(registry)).toBe('# HELP good Good\n# TYPE good gauge\ngood 1\n');
  expect(logged).toEqual([expect.stringContaining('"metric":"bad"')]);
});

test('a name is taken once', () => {
  const { registry } = newRegistry();
  registry.counter({ name: 'a_total', help: 'A' });
  expect(() => registry.counter({ name: 'a_total', help: 'A' })).toThrow('there is a metric a_total already');
});
