/** What one asks a memcached, whichever way it wants to be asked. */
import * as ascii from './ascii.ts';
import * as binary from './binary.ts';
import { type Address, Connection, type Limits } from './connection.ts';
import { type Figures, figuresOf } from './figures.ts';

export interface Authentication {
  /** Which of its two ways the server knows. */
  readonly form: 'sasl' | 'password-file';
  readonly user: string;
  readonly password: string;
}

export interface Server extends Address {
  readonly authentication?: Authentication;
}

/** A server that knows us, to be asked as often as one likes. */
export interface Acquaintance {
  readonly isOpen: boolean;
  figures(): Promise<Figures>;
  close(): void;
}

export async function meet({ authentication, ...address }: Server, limits?: Limits): Promise<Acquaintance> {
  const connection = await Connection.open(address, limits);
  const protocol = authentication?.form === 'sasl' ? binary : ascii;
  if (authentication) await protocol.authenticate(connection, authentication.user, authentication.password);
  return {
    get isOpen() {
      return connection.isOpen;
    },
    figures: async () => figuresOf(await protocol.stats(connection)),
    close: () => connection.close(),
  };
}

/** How a server with SASL lets clients prove who they are. Anything but PLAIN alone is a hole. */
export function mechanismsOf(address: Address, limits?: Limits): Promise<readonly string[]> {
  return during(address, limits, binary.mechanisms);
}

/** Whether a server answers whoever connects like this: under TLS 1.3 a refused certificate shows at the first answer only. */
export async function isAnswering(
  { form, ...address }: Address & { readonly form?: Authentication['form'] },
  limits?: Limits,
): Promise<boolean> {
  try {
    if (form !== 'sasl') return await during(address, limits, ascii.answers);
    return (await mechanismsOf(address, limits)).length > 0;
  } catch {
    return false;
  }
}

/** Connects, asks, and hangs up. */
export async function during<T>(
  address: Address,
  limits: Limits | undefined,
  ask: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await Connection.open(address, limits);
  try {
    return await ask(connection);
  } finally {
    connection.close();
  }
}
