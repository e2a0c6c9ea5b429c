/** The credentials of a cluster: certificates, all signed by its own authority, the kubeconfigs that carry them, and a token. */
import { randomBytes, webcrypto } from 'node:crypto';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import 'reflect-metadata'; // @peculiar/x509 asks for it
import * as x509 from '@peculiar/x509';
import { stringify } from 'yaml';
import { addresses, type Instance, kubeconfigOf } from './instance.ts';

const KEYS = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const YEARS = 10;

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

interface Authority {
  readonly certificate: x509.X509Certificate;
  readonly key: webcrypto.CryptoKey;
}

/** Users of the API that prove themselves with a certificate, by the name of their kubeconfig. */
const USERS = {
  admin: { user: 'admin', groups: ['system:masters'] },
  'kube-controller-manager': { user: 'system:kube-controller-manager', groups: [] },
  'kube-scheduler': { user: 'system:kube-scheduler', groups: [] },
  'kube-proxy': { user: 'system:kube-proxy', groups: [] },
  coredns: { user: 'devcluster:coredns', groups: [] },
  kwok: { user: 'devcluster:kwok', groups: ['system:masters'] },
} as const;

export type User = keyof typeof USERS | `node-${number}`;

export function pkiFile(instance: Instance, file: string): string {
  return path.join(instance.directory, 'pki', file);
}

export function kubeconfigFor(instance: Instance, user: User): string {
  return user === 'admin' ? kubeconfigOf(instance) : path.join(instance.directory, 'pki', `${user}.kubeconfig`);
}

/** Writes everything once; the last file written tells that all are there. */
export async function ensureCertificates(instance: Instance, nodes: readonly string[]): Promise<void> {
  const done = pkiFile(instance, 'complete');
  if (await readFile(done).catch(() => undefined)) return;
  x509.cryptoProvider.set(webcrypto);
  await mkdir(pkiFile(instance, ''), { recursive: true, mode: 0o700 });
  const authority = await createAuthority(instance);
  const { apiserver, kubernetesService, node } = addresses(instance);

  const names = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'localhost',
  ];
  await writePair(
    instance,
    'apiserver',
    await issue(authority, 'CN=kube-apiserver', names, [apiserver, kubernetesService, '127.0.0.1']),
  );
  await writePair(
    instance,
    'kubelet-client',
    await issue(authority, 'CN=kube-apiserver-kubelet-client,O=system:masters'),
  );
  await writeServiceAccountKeys(instance);
  await writeToken(instance);
  for (const [name, { user, groups }] of Object.entries(USERS)) {
    const subject = [`CN=${user}`, ...groups.map((group) => `O=${group}`)].join(',');
    await writeKubeconfig(instance, name as User, authority, await issue(authority, subject));
  }
  for (const [index, name] of nodes.entries()) {
    await writePair(instance, name, await issue(authority, `CN=${name}`, [name], [node(index + 1)]));
    await writeKubeconfig(
      instance,
      name as User,
      authority,
      await issue(authority, `CN=system:node:${name},O=system:nodes`),
    );
  }
  await giveToCaller(kubeconfigOf(instance));
  await writeFile(done, '');
}

/** Who has become root by sudo wants to use the cluster as himself. */
async function giveToCaller(file: string): Promise<void> {
  const { SUDO_UID, SUDO_GID } = process.env;
  if (SUDO_UID !== undefined && SUDO_GID !== undefined) await chown(file, Number(SUDO_UID), Number(SUDO_GID));
}

async function createAuthority(instance: Instance): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(KEYS, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${instance.id}`,
    ...validity(),
    keys,
    signingAlgorithm: KEYS,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  await writePair(instance, 'ca', {
    certificate: certificate.toString('pem'),
    key: await privateKeyPem(keys.privateKey),
  });
  return { certificate, key: keys.privateKey };
}

/** A certificate that may act as a server under these names and addresses, and as a client. */
async function issue(
  authority: Authority,
  subject: string,
  names: readonly string[] = [],
  ips: readonly string[] = [],
): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(KEYS, true, ['sign', 'verify']);
  const alternatives: x509.JsonGeneralName[] = [
    ...names.map((value) => ({ type: 'dns', value }) as const),
    ...ips.map((value) => ({ type: 'ip', value }) as const),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: authority.certificate.subject,
    ...validity(),
    signingKey: authority.key,
    publicKey: keys.publicKey,
    signingAlgorithm: KEYS,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate),
      ...(alternatives.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await privateKeyPem(keys.privateKey) };
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  // A minute in the past, for clocks that differ a little.
  return { notBefore: new Date(now - 60_000), notAfter: new Date(now + YEARS * 365 * 86_400_000) };
}

function serialNumber(): string {
  return Buffer.from(webcrypto.getRandomValues(new Uint8Array(8)))
    .toString('hex')
    .replace(/^./, '4');
}

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

async function writeServiceAccountKeys(instance: Instance): Promise<void> {
  const keys = await webcrypto.subtle.generateKey(KEYS, true, ['sign', 'verify']);
  const publicKey = x509.PemConverter.encode(await webcrypto.subtle.exportKey('spki', keys.publicKey), 'PUBLIC KEY');
  await writeSecret(pkiFile(instance, 'service-account.key'), await privateKeyPem(keys.privateKey));
  await writeSecret(pkiFile(instance, 'service-account.pub'), publicKey);
}

/** For the one client that knows neither certificates nor kubeconfigs. */
async function writeToken(instance: Instance): Promise<void> {
  const token = randomBytes(24).toString('hex');
  await writeSecret(pkiFile(instance, 'tokens.csv'), `${token},devcluster:network-policies,network-policies\n`);
  await writeSecret(pkiFile(instance, 'network-policies.token'), token);
}

async function writePair(instance: Instance, name: string, pair: Pair): Promise<void> {
  await writeSecret(pkiFile(instance, `${name}.crt`), `${pair.certificate}\n`);
  await writeSecret(pkiFile(instance, `${name}.key`), `${pair.key}\n`);
}

async function writeKubeconfig(instance: Instance, user: User, authority: Authority, pair: Pair): Promise<void> {
  const base64 = (text: string) => Buffer.from(`${text}\n`).toString('base64');
  const cluster = {
    server: `https://${addresses(instance).apiserver}:6443`,
    'certificate-authority-data': base64(authority.certificate.toString('pem')),
  };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: instance.id, cluster }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key) },
      },
    ],
    contexts: [{ name: instance.id, context: { cluster: instance.id, user } }],
    'current-context': instance.id,
  };
  await writeSecret(kubeconfigFor(instance, user), stringify(kubeconfig));
}

async function writeSecret(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
}
