/** Credentials that get old. */
import { expect, test } from 'vitest';
import type { Surroundings } from './access.ts';
import { type Credential, fileCredentials, refreshedCredentials } from './credentials.ts';
import { ConfigurationError } from './errors.ts';

/** Files and a clock in memory. */
function memory(files: Record<string, string>) {
  const reads: string[] = [];
  const state = { time: 0, wallTime: 0, files, reads };
  const read = (file: string) => {
    reads.push(file);
    const content = state.files[file];
    return content === undefined ? Promise.reject(new Error('ENOENT')) : Promise.resolve(content);
  };
  const surroundings: Surroundings = { read, elapsed: () => state.time, now: () => state.wallTime };
  return { state, surroundings };
}

test('a file is read again when it is some seconds old', async () => {
  const { state, surroundings } = memory({ '/token': 'one\n' });
  const credentials = fileCredentials({ token: '/token' }, {}, surroundings);
  expect(await credentials.current()).toEqual({ token: 'one' });
  state.files['/token'] = 'two\n';
  state.time = 9_999;
  expect(await credentials.current()).toEqual({ token: 'one' });
  expect(state.reads).toHaveLength(1);
  state.time = 10_000;
  expect(await credentials.current()).toEqual({ token: 'two' });
});

test.for([-3_600_000, 3_600_000])('a clock that is set by %i ms makes no difference', async (step) => {
  const { state, surroundings } = memory({ '/token': 'one' });
  const credentials = fileCredentials({ token: '/token' }, {}, surroundings);
  await credentials.current();
  state.wallTime += step;
  await credentials.current();
  expect(state.reads).toHaveLength(1);
  state.files['/token'] = 'two';
  state.time = 10_000;
  expect(await credentials.current()).toEqual({ token: 'two' });
});

test('a rejected credential is replaced at once, and once only', async () => {
  const { state, surroundings } = memory({ '/token': 'one' });
  const credentials = fileCredentials({ token: '/token' }, {}, surroundings);
  const first = await credentials.current();
  state.files['/token'] = 'two';
  credentials.reject(first);
  const second = await credentials.current();
  expect(second).toEqual({ token: 'two' });
  credentials.reject(first); // by a request that was sent with the old one
  expect(await credentials.current()).toBe(second);
  expect(state.reads).toHaveLength(2);
});

test('a file that is gone for a moment costs nothing', async () => {
  const { state, surroundings } = memory({ '/token': 'one' });
  const credentials = fileCredentials({ token: '/token' }, {}, surroundings);
  const first = await credentials.current();
  state.files = {};
  state.time = 20_000;
  expect(await credentials.current()).toBe(first);
  state.files = { '/token': 'two' };
  expect(await credentials.current()).toEqual({ token: 'two' });
});

test('a file that was never there is named', async () => {
  const credentials = fileCredentials({ token: '/token' }, {}, memory({}).surroundings);
  const error: unknown = await credentials.current().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(String(error)).toContain('/token');
});

test('files complete what is given inline', async () => {
  const { surroundings } = memory({ '/key': 'KEY' });
  const credentials = fileCredentials({ key: '/key' }, { certificate: 'CERT' }, surroundings);
  expect(await credentials.current()).toEqual({ certificate: 'CERT', key: 'KEY' });
});

test('the same content stays the same credential', async () => {
  const { state, surroundings } = memory({ '/token': 'one' });
  const credentials = fileCredentials({ token: '/token' }, {}, surroundings);
  const first = await credentials.current();
  state.time = 60_000;
  expect(await credentials.current()).toBe(first);
});

test('who asks at the same time shares one loading, and its failure', async () => {
  let loads = 0;
  const found: Credential[] = [];
  const load = () => {
    loads += 1;
    const [credential] = found;
    return credential ? Promise.resolve({ credential, until: 1 }) : Promise.reject(new Error('none'));
  };
  const credentials = refreshedCredentials(load, { now: () => 0, keepOnFailure: false });
  const ask = () => Promise.allSettled(Array.from({ length: 10 }, () => credentials.current()));
  expect((await ask()).map(({ status }) => status)).toEqual(Array(10).fill('rejected'));
  expect(loads).toBe(1);
  found.push({ token: 'one' });
  expect((await ask()).map(({ status }) => status)).toEqual(Array(10).fill('fulfilled'));
  expect(loads).toBe(2);
});
