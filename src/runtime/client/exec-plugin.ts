/** Credentials from a program that the kubeconfig names, as cloud providers have them. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Environment } from './access.ts';
import { type Credential, type Credentials, type Fresh, refreshedCredentials } from './credentials.ts';
import { ConfigurationError } from './errors.ts';

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const LONGEST_OUTPUT = 1024 * 1024;
const LONGEST_QUOTE = 500;
/** A minute is long for a program that asks a server for a token; who needs longer waits for a person. */
const TIME_LIMIT_MS = 60_000;
/** A credential that expires on its way to the server is of no use. */
const EARLY_MS = 10_000;

/** The `exec` section of a user. */
export interface ExecSpec {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly interactiveMode?: string;
  readonly provideClusterInfo?: boolean;
}

export interface ExecOptions {
  readonly env: Environment;
  /** Of the kubeconfig: a command such as ./login is meant from there. */
  readonly directory: string;
  /** What the program is told about the cluster if it wants to know. */
  readonly cluster: () => Promise<unknown>;
  readonly now: () => number;
  readonly timeLimitMs?: number;
}

export function execCredentials(spec: ExecSpec, options: ExecOptions): Credentials {
  const { apiVersion = '', command = '', interactiveMode } = spec;
  if (command === '') throw new ConfigurationError('the exec section of the kubeconfig names no command');
  if (!VERSIONS.includes(apiVersion)) {
    throw new ConfigurationError(
      `the credential plugin ${command} is configured for "${apiVersion}"; use one of: ${VERSIONS.join(', ')}`,
    );
  }
  if (interactiveMode === 'Always') {
    throw new ConfigurationError(`the credential plugin ${command} needs a terminal, and there is none`);
  }
  const load = async () => credentialFrom(await run(spec, options), spec, options.now);
  return refreshedCredentials(load, { now: options.now, keepOnFailure: false });
}

/** What the program printed. */
async function run(spec: ExecSpec, options: ExecOptions): Promise<string> {
  const { apiVersion, command = '', args, env, provideClusterInfo } = spec;
  const cluster = provideClusterInfo ? await options.cluster() : undefined;
  const question = { kind: 'ExecCredential', apiVersion, spec: { interactive: false, cluster } };
  const child = spawn(command.includes('/') ? path.resolve(options.directory, command) : command, [...(args ?? [])], {
    env: {
      ...options.env,
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(question),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: options.timeLimitMs ?? TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  return new Promise((resolve, reject) => {
    const fail = (what: string, cause?: unknown) =>
      reject(new ConfigurationError(`the credential plugin ${command} ${what}`, { cause }));
    child.once('error', (error: NodeJS.ErrnoException) => {
      const hint = spec.installHint ? `: ${spec.installHint.trim()}` : '';
      fail(error.code === 'ENOENT' ? `is not there; install it${hint}` : `cannot be run: ${error.message}`, error);
    });
    // Children of a killed program may keep its output open, so its end is not waited for.
    child.once('exit', (_, signal) => signal && fail(`was ended by ${signal}, or took too long`));
    child.once('close', (code) => {
      const said = stderr().trim().slice(-LONGEST_QUOTE);
      if (code === 0) resolve(stdout());
      else fail(`failed with exit code ${code}${said && `: ${said}`}`);
    });
  });
}

/** Gathers what comes, up to a length that no sensible program reaches. */
function textOf(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (more: string) => {
    if (text.length < LONGEST_OUTPUT) text += more;
  });
  return () => text;
}

interface Answer {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function credentialFrom(printed: string, { apiVersion, command }: ExecSpec, now: () => number): Fresh {
  // The output is never quoted: whatever is wrong with it, it may hold a secret.
  const wrong = (what: string) => new ConfigurationError(`the credential plugin ${command} ${what}`);
  let answer: Answer | null;
  try {
    answer = JSON.parse(printed) as Answer | null;
  } catch {
    throw wrong('did not print JSON');
  }
  if (answer?.kind !== 'ExecCredential') throw wrong('did not print an ExecCredential');
  if (answer.apiVersion !== apiVersion) throw wrong(`did not answer in the version it was asked for, ${apiVersion}`);
  const { token, clientCertificateData: certificate, clientKeyData: key, expirationTimestamp } = answer.status ?? {};
  if (!token && !certificate) throw wrong('gave neither a token nor a certificate');
  if (Boolean(certificate) !== Boolean(key)) throw wrong('gave a certificate without its key, or a key alone');
  const expiry = expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
  if (Number.isNaN(expiry)) throw wrong('gave an expirationTimestamp that is not a time');
  const credential: Credential = { ...(token && { token }), ...(certificate && key && { certificate, key }) };
  // What is valid for a moment only is still good for the request at hand.
  return { credential, until: Math.max(expiry - EARLY_MS, now()) };
}
