/** Where the API is, and how to prove who we are there. */
import { readFile } from 'node:fs/promises';
import type { Credentials } from './credentials.ts';

/** The environment variables that we are told about; `process` is main's alone. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Access {
  /** Such as https://10.0.0.1:6443, perhaps with a path that everything else is under; no slash at the end. */
  readonly server: string;
  /** Whether we are a pod of the cluster. */
  readonly inCluster: boolean;
  /** The namespace to use when none is named: of a pod, its own. */
  readonly namespace: string;
  /** Read anew for each connection, because authorities are rotated too. Without one, those that Node trusts. */
  readonly authority: () => Promise<string | undefined>;
  readonly insecure: boolean;
  /** The name that the server's certificate must have, when it is not that of the address. */
  readonly serverName?: string | undefined;
  /** What every request carries, such as whom to act for. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly credentials: Credentials;
}

/** What reading credentials depends on besides its input. */
export interface Surroundings {
  readonly read: (file: string) => Promise<string>;
  /** Milliseconds since 1970; whoever sets the clock makes them jump. */
  readonly now: () => number;
  /** Milliseconds since some moment; they never jump. */
  readonly elapsed: () => number;
}

export const realSurroundings: Surroundings = {
  read: (file) => readFile(file, 'utf8'),
  now: Date.now,
  elapsed: () => performance.now(),
};
