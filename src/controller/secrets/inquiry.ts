/** Reads the Secrets that a Memcached names, and says whether servers can work with them. */
import type { Memcached } from '../../api/index.ts';
import type { Surroundings } from '../../children/index.ts';
import type { Fault } from '../../status/observation.ts';
import { judgeCertificate, type Verdict } from './certificate.ts';
import type { SecretFacts } from './facts.ts';
import { judgePasswords } from './passwords.ts';
import { type SecretReference, secretReferences } from './references.ts';
import type { Secrets } from './secrets.ts';

export interface Inquiry {
  /** Complete only if nothing is wrong. */
  readonly found: Pick<Surroundings, 'tls' | 'authentication'>;
  readonly faults: readonly Fault[];
  /** Why the API does not tell what is in a Secret: that says nothing about the Secret. */
  readonly error?: Error;
  /** When the answer may be another one although no Secret has changed, in milliseconds since 1970. */
  readonly changesAt?: number;
}

export async function inquire(
  memcached: Memcached,
  secrets: Pick<Secrets, 'facts'>,
  now: Date,
  signal: AbortSignal,
): Promise<Inquiry> {
  const answers = await Promise.all(
    secretReferences(memcached).map((reference) => answerOf(reference, memcached, secrets, now, signal)),
  );
  const error = answers.find((answer) => answer.error)?.error;
  const times = answers.flatMap(({ changesAt }) => changesAt ?? []);
  return {
    found: Object.assign({}, ...answers.map(({ found }) => found)) as Inquiry['found'],
    faults: answers.flatMap(({ faults }) => faults),
    ...(error && { error }),
    ...(times.length > 0 && { changesAt: Math.min(...times) }),
  };
}

async function answerOf(
  reference: SecretReference,
  memcached: Memcached,
  secrets: Pick<Secrets, 'facts'>,
  now: Date,
  signal: AbortSignal,
): Promise<Inquiry> {
  const { name, field } = reference;
  try {
    const facts = await secrets.facts(`${memcached.metadata.namespace}/${name}`, signal);
    if (!facts) return fault('SecretNotFound', `Secret ${name} does not exist: create it, or correct ${field}`);
    const { flaw, ...verdict } = judge(reference, memcached, facts, now);
    return flaw === undefined
      ? { found: foundIn(reference, facts), faults: [], ...verdict }
      : { ...fault('SecretInvalid', `Secret ${name}: ${flaw}`), ...verdict };
  } catch (caught) {
    const error = caught instanceof Error ? caught : new Error(String(caught));
    return { ...fault('ApplyFailed', `Secret ${name} cannot be read: ${error.message}`), error };
  }
}

function judge({ use }: SecretReference, memcached: Memcached, facts: SecretFacts, now: Date): Verdict {
  if (use === 'authentication') return judgePasswords(facts.passwords, memcached.metadata.name);
  const needsCa = memcached.spec.security?.tls?.enableClientCert === true;
  return judgeCertificate(facts.certificate, { needsCa, now });
}

function foundIn({ use }: SecretReference, { certificate, passwords }: SecretFacts): Inquiry['found'] {
  if (use === 'tls') return { tls: { hash: certificate.hash, hasCa: certificate.hasCa } };
  return passwords.form ? { authentication: { hash: passwords.hash, form: passwords.form } } : {};
}

function fault(reason: Fault['reason'], message: string): Inquiry {
  return { found: {}, faults: [{ reason, message }] };
}
