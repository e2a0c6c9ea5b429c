import { expect, onTestFinished, test } from 'vitest';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { ApiError, type Client } from '../../runtime/client/index.ts';
import type { Secret } from './content.ts';
import { exampleSecret } from './example.ts';
import { Secrets } from './secrets.ts';

const KEY = 'default/secret';
const { signal } = new AbortController();

/** A server with one Secret, or none, that tells of it by a watch and counts how often it is asked. */
async function server(present: Secret | undefined) {
  const stop = new AbortController();
  let told = Promise.withResolvers<void>();
  const state = {
    present,
    reads: 0,
    refusal: undefined as ApiError | undefined,
    /** The Secret is another one, and the watch tells it. */
    async change(to: Secret) {
      state.present = to;
      const heard = Promise.withResolvers<void>();
      secrets.informer.onChange(
        (change) => change.new?.metadata.resourceVersion === to.metadata.resourceVersion && heard.resolve(),
      );
      told.resolve();
      await heard.promise;
    },
  };
  const client: Pick<Client, 'get' | 'list' | 'watch'> = {
    get: async <T extends KubernetesObject>() => {
      state.reads += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (state.refusal) throw state.refusal;
      if (!state.present) throw new ApiError(404, { reason: 'NotFound' });
      return state.present as unknown as T;
    },
    list: () => Promise.reject(new Error('nobody lists')),
    async *watch() {
      if (state.present) yield { type: 'ADDED', object: state.present };
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      yield { type: 'BOOKMARK', object: { metadata: { name: '', resourceVersion: '1', annotations } } };
      while (!stop.signal.aborted) {
        await Promise.race([told.promise, new Promise((resolve) => stop.signal.addEventListener('abort', resolve))]);
        told = Promise.withResolvers();
        yield { type: 'MODIFIED', object: state.present };
      }
    },
  };
  const log = { debug() {}, info() {}, error() {} };
  const secrets = new Secrets({ client, log });
  const running = secrets.informer.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  await secrets.informer.synced;
  return { state, secrets };
}

const passwords = (text: string, version: string) => exampleSecret({ 'password-file': text }, version);

test('however many ask, each version is read once', async () => {
  const { state, secrets } = await server(passwords('a:b', '1'));
  const first = await Promise.all([secrets.facts(KEY, signal), secrets.facts(KEY, signal)]);
  expect(first[0]?.passwords.form).toBe('password-file');
  expect(await secrets.facts(KEY, signal)).toBe(first[1]);
  expect(state.reads).toBe(1);
  await state.change(passwords('a:c', '2'));
  const second = await Promise.all([secrets.facts(KEY, signal), secrets.facts(KEY, signal)]);
  expect(state.reads).toBe(2);
  expect(second[0]?.passwords.hash).not.toBe(first[0]?.passwords.hash);
});

test('a Secret that is not there is asked for once, until it is', async () => {
  const { state, secrets } = await server(undefined);
  expect(await secrets.facts(KEY, signal)).toBeUndefined();
  expect(await secrets.facts(KEY, signal)).toBeUndefined();
  expect(state.reads).toBe(1);
  await state.change(passwords('a:b', '1'));
  expect((await secrets.facts(KEY, signal))?.passwords.form).toBe('password-file');
});

test('a Secret that the watch has not told of yet is found', async () => {
  const { state, secrets } = await server(undefined);
  state.present = passwords('a:b', '1');
  expect((await secrets.facts(KEY, signal))?.passwords.form).toBe('password-file');
});

test('what nobody names any more is forgotten', async () => {
  const { state, secrets } = await server(passwords('a:b', '1'));
  await secrets.facts(KEY, signal);
  secrets.forget(KEY);
  await secrets.facts(KEY, signal);
  expect(state.reads).toBe(2);
});

test('a refusal is not a missing Secret, and is forgotten', async () => {
  const { state, secrets } = await server(passwords('a:b', '1'));
  state.refusal = new ApiError(403, { reason: 'Forbidden' });
  await expect(secrets.facts(KEY, signal)).rejects.toThrow(ApiError);
  state.refusal = undefined;
  expect(await secrets.facts(KEY, signal)).toBeDefined();
});

test('what is kept of a Secret says which it is, and nothing else', async () => {
  const { secrets } = await server(exampleSecret({ key: 'text' }));
  const kept = secrets.informer.get(KEY);
  expect({ ...kept }).toEqual({ key: KEY, resourceVersion: '1' });
  expect(kept).toHaveProperty('metadata.name', 'secret');
  expect(kept).toHaveProperty('metadata.namespace', 'default');
});
