/** Credential plugins: real programs, good and bad ones. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConfigurationError } from './errors.ts';
import { type ExecSpec, execCredentials } from './exec-plugin.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
let directory: string;
let clock = 0;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'exec-plugin-'));
});

afterAll(() => rm(directory, { recursive: true }));

async function plugin(name: string, script: string): Promise<string> {
  const file = path.join(directory, name);
  await writeFile(file, `#!/bin/sh\necho run >> ${file}.runs\n${script}\n`);
  await chmod(file, 0o755);
  return `./${name}`;
}

async function runs(name: string): Promise<number> {
  return (await readFile(path.join(directory, `${name}.runs`), 'utf8')).split('\n').length - 1;
}

function credentials(spec: Partial<ExecSpec>, timeLimitMs = 60_000) {
  const cluster = () => Promise.resolve({ server: 'https://here' });
  return execCredentials({ apiVersion, ...spec }, { env, directory, cluster, now: () => clock, timeLimitMs });
}

const credential = (status: object, version = apiVersion) =>
  `echo '${JSON.stringify({ apiVersion: version, kind: 'ExecCredential', status })}'`;

test.for(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'])(
  'a token, by %s',
  async (version) => {
    const command = await plugin('token', credential({ token: 'abc' }, version));
    expect(await credentials({ command, apiVersion: version }).current()).toEqual({ token: 'abc' });
  },
);

test('a certificate with its key', async () => {
  const command = await plugin('pair', credential({ clientCertificateData: 'C', clientKeyData: 'K' }));
  expect(await credentials({ command }).current()).toEqual({ certificate: 'C', key: 'K' });
});

test('arguments, variables and what it is asked', async () => {
  const script = [
    `printf '%s' "$KUBERNETES_EXEC_INFO" > ${directory}/asked`,
    `printf '{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"%s"}}' "$1-$NAME"`,
  ].join('\n');
  const command = await plugin('arguments', script);
  const spec = { command, args: ['one two'], env: [{ name: 'NAME', value: 'three' }], provideClusterInfo: true };
  expect(await credentials(spec).current()).toEqual({ token: 'one two-three' });
  expect(JSON.parse(await readFile(path.join(directory, 'asked'), 'utf8'))).toEqual({
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: { server: 'https://here' } },
  });
});

test('kept until shortly before it expires, or until it is rejected', async () => {
  const command = await plugin('expiring', credential({ token: 'abc', expirationTimestamp: '1970-01-01T01:00:00Z' }));
  const source = credentials({ command });
  await Promise.all(Array.from({ length: 10 }, () => source.current()));
  clock = 3_589_000;
  const last = await source.current();
  expect(await runs('expiring')).toBe(1);
  clock = 3_590_000;
  await source.current();
  expect(await runs('expiring')).toBe(2);
  clock = 0;
  source.reject(last);
  await source.current();
  expect(await runs('expiring')).toBe(3);
});

test.for([
  { name: 'failing', script: 'echo "log in first" >&2; exit 3', says: 'exit code 3: log in first' },
  { name: 'mute', script: 'exit 0', says: 'did not print JSON' },
  { name: 'chatty', script: 'echo hello', says: 'did not print JSON' },
  { name: 'null', script: 'echo null', says: 'did not print an ExecCredential' },
  { name: 'other', script: 'echo \'{"kind":"Status"}\'', says: 'did not print an ExecCredential' },
  { name: 'old', script: credential({ token: 'a' }, 'client.authentication.k8s.io/v1beta1'), says: 'version' },
  { name: 'empty', script: credential({}), says: 'neither a token nor a certificate' },
  { name: 'half', script: credential({ clientCertificateData: 'C' }), says: 'without its key' },
  { name: 'timeless', script: credential({ token: 'a', expirationTimestamp: 'soon' }), says: 'not a time' },
])('a plugin that is $name: $says', async ({ name, script, says }) => {
  const command = await plugin(name, script);
  const error: unknown = await credentials({ command })
    .current()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(String(error)).toContain(says);
});

test('a plugin that hangs is ended, though its child holds on', async () => {
  // It goes when the directory does.
  const command = await plugin('hanging', `while [ -e ${directory} ]; do sleep 1; done & wait`);
  await expect(credentials({ command }, 500).current()).rejects.toThrow('took too long');
});

test('a plugin that is not there, with the hint of who wrote the kubeconfig', async () => {
  const spec = { command: 'no-such-login', installHint: 'get it from the shop' };
  await expect(credentials(spec).current()).rejects.toThrow('install it: get it from the shop');
});

test.for([
  { spec: { command: '' }, says: 'names no command' },
  { spec: { command: 'x', apiVersion: 'client.authentication.k8s.io/v1alpha1' }, says: 'use one of' },
  { spec: { command: 'x', interactiveMode: 'Always' }, says: 'needs a terminal' },
])('configured wrongly: $says', ({ spec, says }) => {
  expect(() => credentials(spec)).toThrow(says);
});
