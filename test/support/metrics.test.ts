import { expect, test } from 'vitest';
import { totalOf } from './metrics.ts';

const page = `# HELP tries Tries that there were
# TYPE tries counter
tries{result="success"} 40
tries{result="er ror"} 2
tries_total{result="success"} 9
wait_sum 1.5
wait_count 3
idle{name="a"} 0
`;

test.each([
  ['tries', 42],
  ['tries_total', 9],
  ['wait_sum', 1.5],
  ['idle', 0],
])('the total of %s is %d', (name, total) => {
  expect(totalOf(page, name)).toBe(total);
});

test('a name that is not there is an error, and not 0', () => {
  expect(() => totalOf(page, 'trie')).toThrow('there is no trie among the metrics');
});
