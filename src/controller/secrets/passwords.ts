/** Whether a Secret has passwords that memcached can read, and that let in only those who are meant. */

import type { Verdict } from './certificate.ts';
import { bytesOf, hashOf, type Secret } from './content.ts';

/** memcached's password database for SASL, and its password file for the ASCII protocol. */
const FILES = { sasl: 'memcached-sasl-db', 'password-file': 'password-file' } as const;

/** memcached takes no more of a password file. */
const MOST_USERS = 8;
/** The longest line of either file, in bytes: what is longer would spill into another line. */
const LONGEST = { sasl: 253, 'password-file': 254 } as const;

/** What was found, whoever asks. */
export interface PasswordFacts {
  /** Nothing where neither file is there. */
  readonly form?: keyof typeof FILES;
  readonly hash: string;
  /** What is wrong with it for everyone. `<name>` stands for the name of the Memcached. */
  readonly flaw?: string;
  /** The Memcacheds whose users a password database has. */
  readonly instances: ReadonlySet<string>;
}

export function examinePasswords(secret: Secret): PasswordFacts {
  const form = (['sasl', 'password-file'] as const).find((one) => bytesOf(secret, FILES[one]));
  if (!form) return { hash: '', instances: new Set() };
  const lines = linesOf(bytesOf(secret, FILES[form])?.toString('latin1') ?? '');
  const flaw = form === 'sasl' ? databaseFlaw(lines) : fileFlaw(lines);
  return {
    form,
    hash: hashOf(secret, [FILES[form]]),
    ...(flaw !== undefined && { flaw: `${FILES[form]}: ${flaw}` }),
    instances: new Set(form === 'sasl' ? lines.flatMap((line) => partsOf(line)?.instance ?? []) : []),
  };
}

/** For the Memcached of that name. */
export function judgePasswords({ form, flaw, instances }: PasswordFacts, name: string): Verdict {
  if (!form) {
    return {
      flaw: `neither ${FILES.sasl} (for SASL) nor ${FILES['password-file']} (for the ASCII protocol) is there: add one of them`,
    };
  }
  if (flaw !== undefined) return { flaw: flaw.replaceAll('<name>', name) };
  if (form === 'sasl' && !instances.has(name)) {
    return { flaw: `${FILES.sasl}: no line is for this Memcached: write "<user>@${name}:<password>"` };
  }
  return {};
}

/** The last line may or may not be closed. */
function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

function databaseFlaw(lines: readonly string[]): string | undefined {
  const right = '"<user>@<name>:<password>"';
  return firstFlaw(lines, (line) => {
    if (line === '') return undefined; // passed over by memcached, here as in no other file
    const parts = partsOf(line);
    if (!parts) return `must read ${right}`;
    if (parts.password === '') return `has no password: it must read ${right}`;
    if (parts.password.includes(':'))
      return 'has a colon in its password: memcached would also accept what stands before it';
    return line.length > LONGEST.sasl
      ? `is longer than ${LONGEST.sasl} bytes: memcached would cut it in two`
      : undefined;
  });
}

function fileFlaw(lines: readonly string[]): string | undefined {
  const right = '"<user>:<password>"';
  if (lines.length > MOST_USERS) return `has ${lines.length} lines: memcached reads no more than ${MOST_USERS}`;
  return firstFlaw(lines, (line) => {
    const longest = LONGEST['password-file'];
    if (!/^[^:\s]+:/.test(line)) return `must read ${right}`;
    if (line.endsWith(':')) return `has no password: it must read ${right}`;
    return line.length > longest ? `is longer than ${longest} bytes: memcached would cut it in two` : undefined;
  });
}

/** Tells the line by its number: it is a secret itself. */
function firstFlaw(lines: readonly string[], flawOf: (line: string) => string | undefined): string | undefined {
  for (const [index, line] of lines.entries()) {
    const flaw = hasControls(line)
      ? 'has characters that cannot be typed, such as Windows line ends: remove them'
      : flawOf(line);
    if (flaw !== undefined) return `line ${index + 1} ${flaw}`;
  }
  return undefined;
}

/** Each character is a byte here. Those above 127 are letters of other alphabets. */
function hasControls(line: string): boolean {
  return /[^ -~\x80-\xff]/.test(line);
}

interface Parts {
  readonly instance: string;
  readonly password: string;
}

/** memcached looks a user up as user@host, and the host is the name of the Memcached. */
function partsOf(line: string): Parts | undefined {
  const [, instance = '', password = ''] = /^[^@:]+@([^@:]+):(.*)$/.exec(line) ?? [];
  return instance === '' ? undefined : { instance, password };
}
