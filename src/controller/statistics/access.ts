/** How the operator gets at the servers of a Memcached: with the certificates and passwords that its Secrets hold. */
import { createSecureContext } from 'node:tls';
import { isAnswering, mechanismsOf, type Server } from '../../memcached/index.ts';

/** The same object as long as nothing of it has changed. */
export interface Access {
  readonly server: Pick<Server, 'tls' | 'authentication'>;
  /** A client without a certificate, where there must be none. */
  readonly stranger?: Required<Pick<Server, 'tls'>>;
}

/** The files of a certificate Secret, as PEM. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  readonly authority?: string | undefined;
  /** For clients, where the server's own is not meant to be one. */
  readonly client?: { readonly certificate: string; readonly key: string } | undefined;
}

export interface AccessOptions {
  readonly tls?: CertificateFiles | undefined;
  readonly requiresClientCertificate: boolean;
  readonly authentication?: Server['authentication'] | undefined;
}

export function accessWith({ tls, requiresClientCertificate, authentication }: AccessOptions): Access {
  const identified = authentication && { authentication };
  if (!tls) return { server: { ...identified } };
  const { certificate, key } = tls.client ?? tls;
  // Without an authority, the certificate is trusted for itself.
  const trust = { ca: tls.authority ?? tls.certificate, allowPartialTrustChain: true };
  if (!requiresClientCertificate) return { server: { tls: createSecureContext(trust), ...identified } };
  return {
    server: { tls: createSecureContext({ ...trust, cert: certificate, key }), ...identified },
    stranger: { tls: createSecureContext(trust) },
  };
}

/** How a server lets in others than it should; nothing if it does not. */
export async function breachOf(server: Server, { stranger }: Access): Promise<string | undefined> {
  const { host, port, tls, authentication } = server;
  const form = authentication && { form: authentication.form };
  if (stranger && (await isAnswering({ host, port, ...stranger, ...form })))
    return 'answers clients without a certificate';
  if (authentication?.form !== 'sasl') return undefined;
  const offered = await mechanismsOf({ host, port, ...(tls && { tls }) });
  if (offered.length === 1 && offered[0] === 'PLAIN') return undefined;
  return `offers other SASL mechanisms than PLAIN alone: ${offered.filter(isName).join(', ') || 'none that has a name'}`;
}

/** What a server says is not repeated unless it looks like what it should be. */
function isName(text: string): boolean {
  return /^[A-Z0-9_-]{1,20}$/.test(text);
}
