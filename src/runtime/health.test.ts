import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveHealth } from './health.ts';

let server: Server;
let missing: string | undefined;

beforeEach(async () => {
  missing = undefined;
  server = await serveHealth({ host: '127.0.0.1', port: 0, missing: () => missing });
});

afterEach(() => {
  server.close();
});

async function ask(path: string): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return `${answer.status} ${(await answer.text()).trim()}`;
}

test('is ready when nothing is missing', async () => {
  expect(await ask('/healthz')).toBe('200 ok');
  expect(await ask('/readyz?verbose')).toBe('200 ok');
  expect(await ask('/elsewhere')).toBe('404 not found');
});

test('says what is missing, and is alive all the same', async () => {
  missing = 'still reading: memcacheds';
  expect(await ask('/readyz')).toBe('503 still reading: memcacheds');
  expect(await ask('/healthz')).toBe('200 ok');
});

test('a port in use is an error', async () => {
  const { port } = server.address() as AddressInfo;
  await expect(serveHealth({ host: '127.0.0.1', port, missing: () => undefined })).rejects.toThrow('EADDRINUSE');
});
