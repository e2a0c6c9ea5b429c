import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fetchModules } from './go-modules.ts';
import { Problem } from './problem.ts';

let directory: string;
let server: Server | undefined;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'modules-'));
  await writeFile(path.join(directory, 'go.mod'), 'module example\n\ngo 1.21\n\nrequire example.com/thing v1.0.0\n');
});

afterEach(async () => {
  server?.close();
  server = undefined;
  await rm(directory, { recursive: true });
});

function fetchFrom(proxy: string, patienceMs: number, signal?: AbortSignal): Promise<void> {
  const env = { GOPROXY: proxy, GOMODCACHE: path.join(directory, 'cache'), GOFLAGS: '-mod=mod', GOSUMDB: 'off' };
  return fetchModules('example.com/thing', {
    cwd: directory,
    env,
    patienceMs,
    report: () => {},
    ...(signal && { signal }),
  });
}

/** Accepts connections and never answers. */
async function silentProxy(): Promise<string> {
  server = createServer();
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

test('a proxy that refuses is a problem with a remedy', async () => {
  const failure = await fetchFrom('http://127.0.0.1:1', 60_000).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Problem);
  expect((failure as Problem).message).toContain('example.com/thing could not be fetched');
  expect((failure as Problem).remedy).toContain('GOPROXY');
});

test('a proxy that never answers is not waited for without end', async () => {
  const failure = await fetchFrom(await silentProxy(), 300).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Problem);
  expect((failure as Problem).message).toContain('the proxy said nothing for 0.3 s');
});

test('an interruption is passed on as such', async () => {
  const interrupt = new AbortController();
  const fetching = fetchFrom(await silentProxy(), 60_000, interrupt.signal);
  interrupt.abort();
  await expect(fetching).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});
