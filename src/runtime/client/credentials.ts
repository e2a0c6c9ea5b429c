/** Proofs of who we are, which expire, rotate and get rejected. */
import type { Surroundings } from './access.ts';
import { ConfigurationError } from './errors.ts';

/** A token goes with each request, a certificate with each connection. */
export interface Credential {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
}

export interface Credentials {
  /** Cheap: asked before every request. */
  current(): Promise<Credential>;
  /** The server did not accept this one (401): get another, unless that has happened already. */
  reject(credential: Credential): void;
}

/** Kubelets rotate tokens minutes before the old one expires, so this age is never too old. */
const FILE_AGE_MS = 10_000;

export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => Promise.resolve(credential), reject: () => undefined };
}

export interface CredentialFiles {
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Credentials in files that others rewrite: read again every few seconds, and when the server rejects what was in them. */
export function fileCredentials(
  files: CredentialFiles,
  fixed: Credential,
  { read, elapsed }: Surroundings,
): Credentials {
  const load = async (): Promise<Fresh> => {
    const credential: { -readonly [Field in keyof Credential]: Credential[Field] } = { ...fixed };
    for (const field of ['token', 'certificate', 'key'] as const) {
      const file = files[field];
      if (file !== undefined) credential[field] = await contentOf(file, read);
    }
    return { credential, until: elapsed() + FILE_AGE_MS };
  };
  return refreshedCredentials(load, { now: elapsed, keepOnFailure: true });
}

async function contentOf(file: string, read: Surroundings['read']): Promise<string> {
  try {
    return (await read(file)).trim();
  } catch (error) {
    throw new ConfigurationError(`the credential file ${file} cannot be read`, { cause: error });
  }
}

export interface Fresh {
  readonly credential: Credential;
  /** When to load again, by the clock that the one who loads goes by. */
  readonly until: number;
}

export interface RefreshOptions {
  readonly now: () => number;
  /** Whether an old credential is better than none; the server will tell if not. */
  readonly keepOnFailure: boolean;
}

/** Credentials that are loaded when they are asked for and the last ones are out of date. Who asks meanwhile shares the loading. */
export function refreshedCredentials(load: () => Promise<Fresh>, options: RefreshOptions): Credentials {
  const { now, keepOnFailure } = options;
  let fresh: Fresh | undefined;
  let loading: Promise<Credential> | undefined;

  const refresh = async (): Promise<Credential> => {
    const last = fresh;
    try {
      fresh = await load();
      // A rotation that changed nothing must not look like a new identity, which would cost new connections.
      if (last && isSame(last.credential, fresh.credential)) fresh = { ...fresh, credential: last.credential };
      return fresh.credential;
    } catch (error) {
      if (!last || !keepOnFailure) throw error;
      return last.credential;
    } finally {
      loading = undefined;
    }
  };

  return {
    current: () => {
      if (fresh && now() < fresh.until) return Promise.resolve(fresh.credential);
      loading ??= refresh();
      return loading;
    },
    reject: (credential) => {
      if (fresh?.credential === credential) fresh = { credential, until: Number.NEGATIVE_INFINITY };
    },
  };
}

function isSame(one: Credential, other: Credential): boolean {
  return one.token === other.token && one.certificate === other.certificate && one.key === other.key;
}
