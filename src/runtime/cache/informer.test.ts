/** The informer on a server that fails as it is told to: single stories, then any of them in any order. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { keyOf } from '../key.ts';
import { ManualClock } from '../manual-clock.ts';
import { Informer, type InformerOptions } from './informer.ts';
import { FAULTS, ScriptedServer } from './scripted-server.ts';
import type { Change, StoredObject } from './store.ts';

const kind = { apiVersion: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const project = ({ metadata: { name, namespace, resourceVersion } }: KubernetesObject): StoredObject => ({
  metadata: { name, namespace, resourceVersion },
});

/** An informer under way, and a handler that adds up what it hears. */
function start(server: ScriptedServer, options: Partial<InformerOptions<StoredObject>> = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const logged: unknown[][] = [];
  const log = { debug: () => {}, info: () => {}, error: (...said: unknown[]) => logged.push(said) };
  const informer = new Informer({ client: server, kind, project, log, clock, random: () => 1, ...options });
  const changes: string[] = [];
  const heard = new Map<string, StoredObject>();
  const mistakes: Change<StoredObject>[] = [];
  informer.onChange((change) => {
    const key = keyOf(change.new ?? change.old ?? { metadata: { name: 'nothing' } });
    const isRepeated = change.new && change.old?.metadata.resourceVersion === change.new.metadata.resourceVersion;
    if (heard.get(key) !== change.old || informer.get(key) !== change.new || isRepeated) mistakes.push(change);
    if (change.new) heard.set(key, change.new);
    else heard.delete(key);
    changes.push(`${change.old ? '-' : ''}${change.new ? '+' : ''}${key.slice('team/'.length)}`);
  });
  const presence: boolean[] = [];
  informer.onPresence((isPresent) => presence.push(isPresent));
  const ended = informer.run(stop.signal);
  const end = async () => {
    stop.abort();
    await ended;
  };
  const pass = async (ms: number) => {
    await turn();
    clock.advance(ms);
    await turn();
  };
  return { informer, clock, changes, heard, mistakes, presence, logged, end, pass };
}

type Started = ReturnType<typeof start>;

const names = ({ informer }: Pick<Started, 'informer'>) => informer.list().map(({ metadata }) => metadata.name);

function serverWith(...things: string[]): ScriptedServer {
  const server = new ScriptedServer();
  for (const name of things) server.put(name);
  return server;
}

/** An informer that has its contents, and forgets the requests that this took. */
async function startSynced(server: ScriptedServer, options: Partial<InformerOptions<StoredObject>> = {}) {
  const started = start(server, options);
  onTestFinished(started.end);
  await started.pass(0);
  expect(started.informer.hasSynced()).toBe(true);
  server.requests.length = 0;
  started.changes.length = 0;
  return started;
}

test('one streaming list gives the contents and all that follows', async () => {
  const server = serverWith('a', 'b');
  const started = start(server);
  expect(started.informer.hasSynced()).toBe(false);
  await started.informer.synced;
  expect(names(started)).toEqual(['a', 'b']);
  server.put('c');
  server.put('a');
  server.remove('b');
  await turn();
  expect(started.changes).toEqual(['+a', '+b', '+c', '-+a', '-b']);
  expect(started.presence).toEqual([true]);
  expect(server.requests).toEqual(['stream']);
  await started.end();
  expect(server.watches).toBe(0);
});

test('changes before the end of the list are part of it', async () => {
  const server = serverWith('a', 'b');
  server.endsContentsLate = true;
  const started = start(server);
  await turn();
  server.put('c');
  server.put('a');
  server.remove('b');
  await turn();
  expect([started.changes, started.informer.hasSynced()]).toEqual([[], false]);
  server.bookmark();
  await turn();
  expect(started.changes).toEqual(['+a', '+c']);
  await started.end();
});

test('where the server refuses a streaming list, pages do', async () => {
  const server = serverWith('a', 'b', 'c', 'd', 'e');
  server.canStream = false;
  const started = start(server);
  await started.pass(0);
  expect(server.requests).toEqual(['stream', 'list', 'page', 'page', 'watch']);
  server.put('f');
  await turn();
  expect(names(started)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  expect(started.logged).toEqual([]);
  await started.end();
});

test('a watch that the server ends goes on where it was, at once, then with care', async () => {
  const server = serverWith('a');
  const started = await startSynced(server);
  server.endWatches();
  server.put('b');
  await turn();
  expect(server.requests).toEqual(['watch']);
  expect(started.changes).toEqual(['+b']);
  server.endWatches();
  await turn();
  expect(server.requests).toEqual(['watch']);
  await started.pass(250);
  expect(server.requests).toEqual(['watch', 'watch']);
  await started.pass(10_000); // long enough to be well again
  server.endWatches();
  await turn();
  expect(server.requests).toEqual(['watch', 'watch', 'watch']);
  expect(Object.fromEntries(started.informer.endings)).toEqual({ ended: 3 });
});

test('a watch that was well makes earlier failures forgotten', async () => {
  const server = serverWith('a');
  for (const after of [0, 0, 0, 3]) server.faults.push({ how: 'lost', after });
  const started = start(server);
  for (const wait of [250, 500, 1000, 10_000]) await started.pass(wait);
  expect(server.requests).toEqual(['stream', 'stream', 'stream', 'stream']);
  server.put('b'); // the third event of the fourth request, its last
  await started.pass(250);
  expect(server.requests.slice(4)).toEqual(['watch']);
  await started.end();
  expect(Object.fromEntries(started.informer.endings)).toEqual({ failed: 4 }); // our own end is none
});

test('to be stopped is no failure', async () => {
  const server = serverWith('a', 'b', 'c');
  server.canStream = false;
  const started = start(server);
  while (!server.requests.includes('list')) await Promise.resolve();
  await started.end();
  expect(server.requests).toEqual(['stream', 'list']);
  expect(started.logged).toEqual([]);
});

test('a bookmark is a place to go on from', async () => {
  const server = serverWith('a');
  const started = await startSynced(server);
  server.bookmark();
  await turn();
  server.compact();
  server.endWatches();
  await turn();
  expect(server.requests).toEqual(['watch']);
  expect(started.informer.state).toBe('watch');
});

test('after a lost connection nothing is missed', async () => {
  const server = serverWith('a', 'b');
  server.faults.push({ how: 'lost', after: 4 });
  const started = await startSynced(server);
  server.put('a');
  await turn();
  expect(started.informer.state).toBe('waiting');
  server.put('c');
  server.remove('b');
  await started.pass(250);
  expect(server.requests).toEqual(['watch']);
  expect(started.changes).toEqual(['-+a', '+c', '-b']);
  expect(started.logged).toHaveLength(1);
});

test.for([
  { how: 'refused when it wants to go on', inStream: false },
  { how: 'broken off in the middle', inStream: true },
])('history that is gone ($how) is made up for by a list, as one difference', async ({ inStream }) => {
  const server = serverWith('kept', 'changed', 'gone');
  if (inStream) server.faults.push({ how: 'gone', after: 5 });
  const started = await startSynced(server);
  const seen: string[][] = [];
  started.informer.onChange(() => seen.push(names(started).toSorted()));
  seen.length = 0;
  started.changes.length = 0;
  if (inStream) server.bookmark();
  else server.endWatches();
  server.put('changed');
  server.remove('gone');
  server.put('come');
  server.compact();
  await started.pass(500);
  expect(started.changes).toEqual(['-gone', '-+changed', '+come']);
  // Whoever looks while he is told of the first change sees the last one.
  expect(seen).toEqual(Array.from({ length: 3 }, () => ['changed', 'come', 'kept']));
  expect(started.mistakes).toEqual([]);
});

test('it knows how far it is: by changes, by bookmarks, and by a list of what was missed', async () => {
  const server = serverWith('a'); // version 2
  const started = await startSynced(server);
  const { informer } = started;
  const reached = (...versions: string[]) => versions.filter((version) => informer.hasReached(version));
  expect(reached('1', '2', '3', '10')).toEqual(['1', '2']);
  server.put('b');
  await turn();
  expect(reached('3', '4', '10')).toEqual(['3']);
  server.bookmark();
  await turn();
  expect(reached('4', '5')).toEqual(['4']);
  server.endWatches();
  for (let count = 0; count < 4; count += 1) server.put('c');
  server.remove('c'); // version 9
  server.compact();
  await started.pass(250);
  expect(names(started)).toEqual(['a', 'b']);
  expect(reached('4', '9', '10')).toEqual(['4', '9']);
});

test.for([
  { how: 'lost', waits: [0.25, 0.5, 1, 1, 1, 1, 1, 1, 1, 1] },
  { how: 'broken', waits: [0.25, 0.5, 1, 2, 4, 5, 5, 5, 5, 5] },
  { how: 'forbidden', waits: [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30] },
] as const)('waits get longer when the server is $how, up to a limit', async ({ how, waits: expected }) => {
  const server = serverWith('a');
  server.faults.push(...Array.from({ length: 12 }, () => ({ how, after: 0 })));
  const started = start(server);
  const times: number[] = [];
  for (let asked = 0; asked < 12; asked = server.requests.length) {
    if (server.requests.length > times.length) times.push(started.clock.now());
    await started.pass(250);
  }
  const waits = times.map((time, index) => (time - (times[index - 1] ?? 0)) / 1000);
  expect(waits.slice(1)).toEqual(expected);
  await started.end();
});

test('the server can ask for a longer wait', async () => {
  const server = serverWith('a');
  server.faults.push({ how: 'busy', after: 0 });
  const started = start(server);
  await started.pass(999);
  expect(server.requests).toHaveLength(1);
  await started.pass(1);
  expect(names(started)).toEqual(['a']);
  await started.end();
});

test('a kind that is not installed has no contents, is looked for, and found when someone knows more', async () => {
  const server = new ScriptedServer();
  server.isInstalled = false;
  const started = start(server);
  await started.informer.synced;
  expect([started.informer.isPresent(), started.informer.state]).toEqual([false, 'absent']);
  for (let tries = 0; tries < 10; tries += 1) await started.pass(30_000);
  server.requests.length = 0;
  server.isInstalled = true;
  server.put('a');
  started.informer.wake();
  await turn();
  expect(server.requests).toEqual(['stream']);
  expect([names(started), started.informer.isPresent(), started.presence]).toEqual([['a'], true, [false, true]]);
  expect([started.logged, started.clock.timers]).toEqual([[], 0]);
  await started.end();
});

test('who is woken while he asks, asks again at once', async () => {
  const server = new ScriptedServer();
  server.isInstalled = false;
  const started = start(server);
  started.informer.wake(); // the first request is on its way
  await turn();
  expect(server.requests).toEqual(['stream', 'stream']);
  await started.end();
});

test('a kind that is uninstalled leaves nothing behind, and comes back', async () => {
  const server = serverWith('a', 'b');
  const started = await startSynced(server);
  server.uninstall();
  await turn();
  expect(started.changes).toEqual(['-a', '-b']);
  await started.pass(250);
  expect(started.informer.state).toBe('absent');
  server.isInstalled = true;
  server.put('a');
  await started.pass(500);
  expect(started.changes).toEqual(['-a', '-b', '+a']);
  expect(started.presence).toEqual([true, false, true]);
});

test('a kind that is leaving counts as gone while its last objects are there, until it is known to stay', async () => {
  const started = await startSynced(serverWith('a'));
  started.informer.leave(true);
  started.informer.leave(true);
  expect([started.informer.isPresent(), names(started)]).toEqual([false, ['a']]);
  const late: boolean[] = [];
  started.informer.onPresence((isPresent) => late.push(isPresent));
  started.informer.leave(false); // another definition has its name by now
  expect([started.informer.isPresent(), started.presence, late]).toEqual([true, [true, false, true], [false, true]]);
});

test('a kind that leaves from the start is never told as there, and comes back', async () => {
  const server = serverWith('a');
  const started = start(server);
  started.informer.leave(true);
  await started.informer.synced;
  expect([started.informer.isPresent(), started.presence]).toEqual([false, [false]]);
  server.uninstall();
  await started.pass(250);
  expect([started.informer.state, names(started)]).toEqual(['absent', []]);
  started.informer.leave(true); // said late
  expect(started.presence).toEqual([false]);
  server.isInstalled = true;
  await started.pass(500); // also when nobody says that it stays
  expect([started.informer.isPresent(), started.presence]).toEqual([true, [false, true]]);
  await started.end();
});

test('one answer that the kind is missing is not enough to take all objects for deleted', async () => {
  const server = serverWith('a', 'b');
  const started = await startSynced(server);
  server.faults.push({ how: 'missing', after: 0 });
  server.endWatches();
  await started.pass(250);
  expect(server.requests).toEqual(['watch', 'stream']);
  expect([started.changes, started.presence]).toEqual([[], [true]]);
});

test('a handler that fails does not disturb the others', async () => {
  const server = serverWith('a');
  const started = await startSynced(server);
  const error = new Error('mine');
  started.informer.onChange(() => {
    throw error;
  });
  const heard: unknown[] = [];
  started.informer.onChange((change) => heard.push(change));
  server.put('b');
  await turn();
  expect(heard).toHaveLength(2); // what was there, and what came
  expect(started.logged).toEqual([
    ['listener failed', { kind: 'Thing', error }],
    ['listener failed', { kind: 'Thing', error }],
  ]);
});

test('an object that cannot be projected keeps the form that it had', async () => {
  const server = serverWith('good', 'bad');
  let isBroken = false;
  const options = {
    project: (object: KubernetesObject) => {
      if (isBroken && object.metadata.name === 'bad') throw new Error('what is this');
      return project(object);
    },
  };
  const started = await startSynced(server, options);
  const before = started.informer.get('team/bad');
  isBroken = true;
  server.put('bad');
  server.put('good');
  await turn();
  expect(started.changes).toEqual(['-+good']);
  server.compact();
  server.endWatches();
  server.put('bad');
  await started.pass(500);
  expect(started.informer.get('team/bad')).toBe(before);
  expect(started.changes).toEqual(['-+good']);
});

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('fault' as const), how: fc.constantFrom(...FAULTS), after: fc.nat(8) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('compact' as const, 'bookmark' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('endWatches' as const, 'turn' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('uninstall' as const, 'install' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('set' as const), canStream: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('set' as const), endsContentsLate: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(20_000) }) },
);

async function perform(
  next: typeof step extends fc.Arbitrary<infer T> ? T : never,
  server: ScriptedServer,
  on: Started,
) {
  if (next.do === 'put' || next.do === 'remove') server[next.do](next.name);
  else if (next.do === 'fault') server.faults.push(next);
  else if (next.do === 'install') server.isInstalled = true;
  else if (next.do === 'set') Object.assign(server, next);
  else if (next.do === 'pass') await on.pass(next.ms);
  else if (next.do === 'turn') await turn();
  else server[next.do]();
}

const versions = (objects: Iterable<StoredObject>) =>
  [...objects].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted();

test('whatever happens: once the faults are over, contents and handlers have what the server has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
      const server = new ScriptedServer();
      const started = start(server);
      for (const next of steps) await perform(next, server, started);
      server.faults.length = 0;
      server.isInstalled = true;
      server.endsContentsLate = false;
      server.endWatches(); // a watch may have its fault still before it
      for (let tries = 0; tries < 4; tries += 1) await started.pass(30_000);
      server.put('last');
      await turn();
      const { informer, heard, mistakes } = started;
      expect(versions(informer.list())).toEqual(versions(server.objects.values()));
      expect(versions(heard.values())).toEqual(versions(server.objects.values()));
      expect(mistakes).toEqual([]);
      expect(server.watches).toBe(1);
      await started.end();
      expect([server.watches, started.clock.timers]).toEqual([0, 0]);
    }),
    { numRuns: 300 },
  );
});

test('history that is gone at any point of any of its requests', async () => {
  for (let after = 0; after <= 8; after += 1) {
    for (const canStream of [true, false]) {
      const server = serverWith('a', 'b', 'c');
      server.canStream = canStream;
      for (let request = 0; request < 3; request += 1) server.faults.push({ how: 'gone', after });
      const started = start(server);
      for (const thing of ['d', 'b', 'e', 'b', 'f']) {
        server.put(thing);
        server.remove('a');
        server.compact();
        await started.pass(1000);
      }
      await started.pass(30_000);
      expect(versions(started.informer.list())).toEqual(versions(server.objects.values()));
      expect(versions(started.heard.values())).toEqual(versions(server.objects.values()));
      expect(started.mistakes).toEqual([]);
      await started.end();
    }
  }
});
