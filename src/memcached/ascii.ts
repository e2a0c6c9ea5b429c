/** The text protocol. */
import { type Connection, MemcachedError } from './connection.ts';

/** Every figure that the server has, by name. */
export function stats(connection: Connection): Promise<Map<string, string>> {
  return connection.ask('stats\r\n', async () => {
    const lines = await connection.lines((line) => !line.startsWith('STAT '));
    const last = lines.pop() ?? '';
    if (last !== 'END') throw unexpected(last, 'stats');
    return new Map(lines.map(nameAndValue));
  });
}

/** Proves who we are, as servers with a password file ask for it: with a `set` of any key. */
export function authenticate(connection: Connection, user: string, password: string): Promise<void> {
  const value = Buffer.from(`${user} ${password}`);
  const question = Buffer.concat([Buffer.from(`set auth 0 0 ${value.length}\r\n`), value, Buffer.from('\r\n')]);
  return connection.ask(question, async () => {
    const line = await connection.line();
    if (line !== 'STORED') throw unexpected(line, 'the password');
  });
}

export function set(connection: Connection, key: string, value: string): Promise<void> {
  return connection.ask(`set ${key} 0 0 ${Buffer.byteLength(value)}\r\n${value}\r\n`, async () => {
    const line = await connection.line();
    if (line !== 'STORED') throw unexpected(line, 'set');
  });
}

/** The value; nothing where the server has none. */
export function get(connection: Connection, key: string): Promise<string | undefined> {
  return connection.ask(`get ${key}\r\n`, async () => {
    const line = await connection.line();
    if (line === 'END') return undefined;
    const length = Number(/^VALUE \S+ \d+ (\d+)$/.exec(line)?.[1] ?? Number.NaN);
    if (!Number.isSafeInteger(length)) throw unexpected(line, 'get');
    const value = (await connection.bytes(length)).toString();
    if ((await connection.line()) !== '' || (await connection.line()) !== 'END') throw unexpected('', 'get');
    return value;
  });
}

/** Whether it answers at all, be it with a refusal. */
export function answers(connection: Connection): Promise<boolean> {
  return connection.ask('version\r\n', async () => (await connection.line()) !== '');
}

const FIGURE = /^STAT \S+ .*$/;

function nameAndValue(line: string): [name: string, value: string] {
  if (!FIGURE.test(line)) throw unexpected(line, 'stats');
  const end = line.indexOf(' ', 'STAT '.length); // by hand: an expression that takes them out makes five things of each line
  return [line.slice('STAT '.length, end), line.slice(end + 1)];
}

function unexpected(line: string, question: string): MemcachedError {
  return line.startsWith('CLIENT_ERROR')
    ? new MemcachedError('refused', `the server refused ${question}`)
    : new MemcachedError('nonsense', `no sensible answer to ${question}`);
}
