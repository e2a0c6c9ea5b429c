/** What tests of the API client ask, of a faulty server or a real one. */
import type { ServerHttp2Stream } from 'node:http2';
import { onTestFinished } from 'vitest';
import { createClient } from '../../src/runtime/client/api-client.ts';
import type { Client, WatchEvent } from '../../src/runtime/client/client.ts';
import type { ClientOptions } from '../../src/runtime/client/options.ts';
import { Cable } from './fault-proxy/cable.ts';
import { FaultyServer, type FaultyServerOptions } from './faulty-server.ts';

export const configMaps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };

export const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

/** All of these live as long as the test. */
export async function faultyServer(options: FaultyServerOptions): Promise<FaultyServer> {
  const server = await FaultyServer.start(options);
  onTestFinished(() => server.close());
  return server;
}

export async function cableTo(server: FaultyServer): Promise<Cable> {
  const cable = await Cable.to(server.port);
  onTestFinished(() => cable.close());
  return cable;
}

export function clientOf(server: FaultyServer, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ access: server.access(), userAgent: 'test/1', ...options });
  onTestFinished(() => client.close());
  return client;
}

export const read = (client: Client, signal?: AbortSignal) => client.get(configMaps, 'a', 'default', { signal });
export const write = (client: Client) => client.create(configMaps, configMap('a'));

/** What the promise was rejected with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

export const line = (object: unknown) => `${JSON.stringify({ type: 'ADDED', object })}\n`;

/** A watch whose first event has come. */
export async function begunWatch(client: Client, signal: AbortSignal): Promise<AsyncGenerator<WatchEvent, void>> {
  const watch = client.watch(configMaps, { signal });
  const first = await watch.next();
  if (first.done) throw new Error('the watch ended before it began');
  return watch;
}

/** A server that keeps watches open after a first event, and answers everything else. */
export function watchable(): {
  watches: ServerHttp2Stream[];
  onRequest: NonNullable<FaultyServerOptions['onRequest']>;
} {
  const watches: ServerHttp2Stream[] = [];
  return {
    watches,
    onRequest: ({ stream, headers, answer }) => {
      if (!headers[':path']?.includes('watch=1')) {
        answer(200, configMap('a'));
        return;
      }
      watches.push(stream);
      stream.respond({ ':status': 200 });
      stream.write(line(1));
    },
  };
}
