import { expect, test } from 'vitest';
import { exampleSecret as secret } from './example.ts';
import { examinePasswords, judgePasswords } from './passwords.ts';

/** What is wrong with it, and all that is kept of it. */
function examined(data: Readonly<Record<string, string>>) {
  const { instances, ...facts } = examinePasswords(secret(data));
  return { flaw: judge(data).flaw, kept: JSON.stringify([facts, ...instances]) };
}

const judge = (data: Readonly<Record<string, string>>) => judgePasswords(examinePasswords(secret(data)), 'my-cache');
const RIGHT = 'must read "<user>@my-cache:<password>"';

const FINE = 'nothing is wrong';

test.each([
  ['one user', 'keystone@my-cache:CANARY\n', FINE],
  ['without an end of the line', 'keystone@my-cache:CANARY', FINE],
  ['two passwords of one user', 'keystone@my-cache:CANARY\nkeystone@my-cache:CANARY2\n', FINE],
  ['an alphabet of its own', 'keystone@my-cache:CANARYüß\n', FINE],
  ['spaces and quotes', 'keystone@my-cache:CANARY "\' x\n', FINE],
  ['lines between', '\nkeystone@my-cache:CANARY\n\n', FINE],
  ["shared with another Memcached's users", 'nova@other:CANARY\nkeystone@my-cache:CANARY\n', FINE],
  ["another Memcached's users alone", 'nova@other:CANARY\n', 'write "<user>@my-cache:<password>"'],
  ['no host', 'CANARY:CANARY\n', `line 1 ${RIGHT}`],
  ['a second line without a host', 'keystone@my-cache:CANARY\nCANARY:CANARY\n', `line 2 ${RIGHT}`],
  ['a comment', '# CANARY\nkeystone@my-cache:CANARY\n', `line 1 ${RIGHT}`],
  ['no password', 'keystone@my-cache:\n', 'line 1 has no password'],
  ['no colon', 'CANARY@my-cache\n', `line 1 ${RIGHT}`],
  ['no user', '@my-cache:CANARY\n', `line 1 ${RIGHT}`],
  ['two hosts', 'CANARY@CANARY@my-cache:CANARY\n', `line 1 ${RIGHT}`],
  ['a colon in the password', 'keystone@my-cache:CANARY:CANARY\n', 'line 1 has a colon in its password'],
  ['the longest that works', `keystone@my-cache:${'x'.repeat(253 - 18)}\n`, FINE],
  ['too long', `keystone@my-cache:${'x'.repeat(254 - 18)}\n`, 'line 1 is longer than 253 bytes'],
  ['Windows line ends', 'keystone@my-cache:CANARY\r\n', 'line 1 has characters that cannot be typed'],
  ['a zero byte', 'keystone@my-cache:CANARY\0\n', 'line 1 has characters'],
])('a password database with %s', (_, text, expected) => {
  const { flaw, kept } = examined({ 'memcached-sasl-db': text });
  expect(flaw ?? FINE).toContain(expected);
  expect(`${flaw} ${kept}`).not.toContain('CANARY');
});

const users = (count: number) => Array.from({ length: count }, (_, index) => `user${index}:CANARY\n`).join('');

test.each([
  ['one user', 'keystone:CANARY\n', FINE],
  ['without an end of the line', 'keystone:CANARY', FINE],
  ['a colon in the password', 'keystone:CANARY:CANARY\n', FINE],
  ['eight users', users(8), FINE],
  ['nine users', users(9), 'has 9 lines: memcached reads no more than 8'],
  ['an empty line', 'keystone:CANARY\n\n', 'line 2 must read "<user>:<password>"'],
  ['a comment', '# CANARY\nkeystone:CANARY\n', 'line 1 must read'],
  ['no password', 'keystone:\n', 'line 1 has no password'],
  ['no user', ':CANARY\n', 'line 1 must read'],
  ['a space in the user', 'CANARY CANARY:CANARY\n', 'line 1 must read'],
  ['the longest that works', `u:${'x'.repeat(252)}\nv:CANARY\n`, FINE],
  ['too long', `u:${'x'.repeat(253)}\nv:CANARY\n`, 'line 1 is longer than 254 bytes'],
])('a password file with %s', (_, text, expected) => {
  const { flaw, kept } = examined({ 'password-file': text });
  expect(flaw ?? FINE).toContain(expected);
  expect(`${flaw} ${kept}`).not.toContain('CANARY');
});

test('neither file, or an empty one', () => {
  for (const data of [{}, { other: 'x' }, { 'password-file': '' }])
    expect(judge(data).flaw).toContain('neither memcached-sasl-db (for SASL) nor password-file');
});

test('the form and the hash follow the file that is used', () => {
  const database = { 'memcached-sasl-db': 'a@my-cache:b' };
  const both = examinePasswords(secret({ ...database, 'password-file': 'a:b' }));
  expect(both.form).toBe('sasl');
  expect(both.hash).toBe(examinePasswords(secret(database)).hash);
  expect(examinePasswords(secret({ 'password-file': 'a:b' }))).toMatchObject({ form: 'password-file' });
  expect(examinePasswords(secret({ 'memcached-sasl-db': 'a@my-cache:c' })).hash).not.toBe(both.hash);
});
