import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  closingLine,
  failureList,
  failuresIn,
  type StageResult,
  summaryTable,
  type Tally,
  tallyOfCheck,
  tallyOfTests,
  total,
} from './tally.ts';

const marks = (...lines: string[]) => `${lines.join('\n')}\n`;

test.each([
  [0, { passed: 1, failed: 0, skipped: 0 }],
  [1, { passed: 0, failed: 1, skipped: 0 }],
  [null, { passed: 0, failed: 1, skipped: 0 }],
])('a check that ended with %s', (exitCode, tally) => {
  expect(tallyOfCheck(exitCode)).toEqual(tally);
});

describe('a test run', () => {
  test.each<[string, string, number | null, Tally]>([
    ['all well', marks('passed', 'passed', 'end'), 0, { passed: 2, failed: 0, skipped: 0 }],
    [
      'a failure',
      marks('passed', 'failed x.test.ts > is well: it is not', 'skipped', 'end'),
      1,
      { passed: 1, failed: 1, skipped: 1 },
    ],
    ['an error outside the tests', marks('passed', 'end'), 1, { passed: 1, failed: 1, skipped: 0 }],
    ['a crash midway', marks('passed', 'passed'), null, { passed: 2, failed: 1, skipped: 0 }],
    ['a crash after a failure', marks('passed', 'failed'), null, { passed: 1, failed: 2, skipped: 0 }],
    ['an end without its mark', marks('passed'), 0, { passed: 1, failed: 1, skipped: 0 }],
    ['no tests', marks('end'), 0, { passed: 0, failed: 1, skipped: 0 }],
    ['only skipped tests', marks('skipped', 'skipped', 'end'), 0, { passed: 0, failed: 1, skipped: 2 }],
    ['no report', '', 1, { passed: 0, failed: 1, skipped: 0 }],
  ])('with %s', (_, report, exitCode, tally) => {
    expect(tallyOfTests(report, exitCode)).toEqual(tally);
  });

  test('is green only when something passed, nothing failed, it came to its end, and its program agrees', () => {
    const mark = fc.constantFrom('passed', 'failed', 'skipped');
    const exitCodes = fc.constantFrom(0, 1, 130, null);
    fc.assert(
      fc.property(fc.array(mark), fc.boolean(), exitCodes, (lines, ended, exitCode) => {
        const green = ended && exitCode === 0 && lines.includes('passed') && !lines.includes('failed');
        const tally = tallyOfTests(marks(...lines, ...(ended ? ['end'] : [])), exitCode);
        expect(tally.failed === 0).toBe(green);
        expect(tally.passed).toBe(lines.filter((line) => line === 'passed').length);
      }),
    );
  });
});

const results: StageResult[] = [
  { name: 'lint', seconds: 0.84, tally: { passed: 1, failed: 0, skipped: 0 } },
  { name: 'unit', seconds: 12, tally: { passed: 40, failed: 2, skipped: 3 } },
  { name: 'e2e', seconds: 0 },
];

test('the total sums the stages that ran', () => {
  expect(total(results)).toEqual({ passed: 41, failed: 2, skipped: 3 });
});

test('a run of nothing is a failure', () => {
  expect(closingLine(total([]))).toBe('0 passed, 1 failed');
  expect(closingLine(total([{ name: 'unit', seconds: 0 }]))).toBe('0 passed, 1 failed');
});

test('the closing line speaks of skipped tests only when there are some', () => {
  expect(closingLine({ passed: 5, failed: 0, skipped: 0 })).toBe('5 passed, 0 failed');
  expect(closingLine({ passed: 5, failed: 1, skipped: 2 })).toBe('5 passed, 1 failed, 2 skipped');
});

test('the table has a row per stage', () => {
  expect(summaryTable(results)).toBe(
    [
      'stage          passed   failed  skipped     time',
      'lint                1        0        0    0.8 s',
      'unit               40        2        3   12.0 s',
      'e2e                 -        -        -  not run',
    ].join('\n'),
  );
});

test('what failed is told once more', () => {
  const failures = failuresIn(marks('passed', 'failed x.test.ts > is well: it is not', 'end'));
  expect(failures).toEqual(['x.test.ts > is well: it is not']);
  expect(failureList([...results, { name: 'unit', seconds: 1, failures }])).toBe(
    '\nunit: x.test.ts > is well: it is not',
  );
  expect(failureList([{ name: 'e2e', seconds: 1, unsteady: failures }])).toBe(
    '\ne2e, unsteady (its file passed the second time): x.test.ts > is well: it is not',
  );
  expect(failureList(results)).toBe('');
});
