/** Webhooks that lead to an operator on a developer's machine: registered while it runs, and gone with it. */
import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { type Client, isNotFound } from '../runtime/client/index.ts';
import type { Identity } from './certificates/keyring.ts';
import { configurationFor, configurationName, registrations } from './configurations.ts';

const WHERE = 'memcached-operator-local';

/** Makes the API server ask at that URL. What an earlier process left, because it was killed, is replaced. */
export async function register(client: Client, url: string, bundle: string): Promise<void> {
  const caBundle = Buffer.from(bundle).toString('base64');
  for (const registration of registrations) {
    const configuration = configurationFor(registration, WHERE, { url: `${url}${registration.path}`, caBundle });
    await client.apply(registration.kind, configuration, { fieldManager: WHERE, force: true });
  }
}

export async function unregister(client: Client): Promise<void> {
  for (const registration of registrations) {
    await client
      .delete(registration.kind, configurationName(WHERE, registration), undefined)
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }
}

/** Our address as the API server sees it, most likely: the one that we reach it from. */
export async function addressTowards(server: string): Promise<string> {
  const { hostname, port, protocol } = new URL(server);
  const socket = connect(Number(port || (protocol === 'https:' ? 443 : 80)), hostname.replace(/^\[|\]$/g, ''));
  try {
    await once(socket, 'connect');
    return socket.localAddress ?? '127.0.0.1';
  } finally {
    socket.destroy();
  }
}

/** What a certificate for the host has to say. */
export function identityOf(host: string): Identity {
  return isIP(host) === 0 ? { dnsNames: [host] } : { dnsNames: [], ipAddresses: [host] };
}

export function urlOf(host: string, port: number): string {
  return `https://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
