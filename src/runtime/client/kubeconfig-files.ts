/** The kubeconfig format, and how several files become one. */
import path from 'node:path';
import { ConfigurationError } from './errors.ts';
import type { ExecSpec } from './exec-plugin.ts';

/** The directory of the file that an entry is from: relative paths are meant from there. */
interface Located {
  readonly directory: string;
}

export interface Cluster extends Located {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
  readonly extensions?: readonly { readonly name: string; readonly extension?: unknown }[];
}

export interface User extends Located {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly exec?: ExecSpec;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly username?: string;
  readonly 'auth-provider'?: unknown;
}

export interface Context extends Located {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

export interface Kubeconfig {
  /** The files that there are. */
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly users: ReadonlyMap<string, User>;
  readonly contexts: ReadonlyMap<string, Context>;
}

/** Joins the files as kubectl does: the first one that has an entry has all of it. Of several files, missing ones do not count. */
export async function readKubeconfigs(
  files: readonly string[],
  read: (file: string) => Promise<string>,
): Promise<Kubeconfig> {
  const found: string[] = [];
  const clusters = new Map<string, Cluster>();
  const users = new Map<string, User>();
  const contexts = new Map<string, Context>();
  let currentContext: string | undefined;
  for (const file of files) {
    const content = await contentOf(file, read);
    if (!content) continue;
    found.push(file);
    const directory = path.dirname(path.resolve(file));
    collect(clusters, content['clusters'], 'cluster', directory);
    collect(users, content['users'], 'user', directory);
    collect(contexts, content['contexts'], 'context', directory);
    currentContext ??= asText(content['current-context']);
  }
  if (found.length === 0) {
    throw new ConfigurationError(
      `there is no kubeconfig ${files.join(':')}; name one with --kubeconfig or in the variable KUBECONFIG`,
    );
  }
  return { files: found, currentContext, clusters, users, contexts };
}

type Content = Readonly<Record<string, unknown>>;

async function contentOf(file: string, read: (file: string) => Promise<string>): Promise<Content | undefined> {
  let text: string;
  try {
    text = await read(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigurationError(`the kubeconfig ${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  const { parse } = await import('yaml'); // only here, because a pod has no kubeconfig and need not pay for it
  let content: unknown;
  try {
    content = parse(text, { logLevel: 'error' });
  } catch (error) {
    // Without the cause: the parser quotes lines of the file, which may be secret.
    const { code } = error as { code?: string };
    throw new ConfigurationError(`the kubeconfig ${file} is not YAML${code ? ` (${code})` : ''}`);
  }
  if (content === null) return {};
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new ConfigurationError(`the kubeconfig ${file} does not hold a Config object`);
  }
  return content as Content;
}

function collect<Entry extends Located>(into: Map<string, Entry>, list: unknown, field: string, directory: string) {
  for (const item of Array.isArray(list) ? (list as unknown[]) : []) {
    const entry = item as Record<string, unknown> | null;
    const name = asText(entry?.['name']);
    if (name !== undefined && !into.has(name)) into.set(name, { ...(entry?.[field] as object), directory } as Entry);
  }
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The content of a field whose name ends in -data. */
export function decoded(data: string): string {
  return Buffer.from(data, 'base64').toString('utf8');
}
