import { expect, test } from 'vitest';
import { newKeyring, prepared } from './keyring.ts';
import { nextStep } from './plan.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const now = Date.parse('2030-01-01T00:00:00Z');
const order = { identity: { dnsNames: ['webhooks.system.svc'] }, lifetimeMs: 90 * DAY, now };
const keyring = newKeyring(order);
const renewing = prepared(keyring, { ...order, now: now + 30 * DAY });
const calm = {
  kept: keyring,
  remembered: keyring,
  successor: undefined,
  isNeeded: true,
  trustedForMs: 0,
  lifetimeMs: 90 * DAY,
  now,
};

test('without any, one is made; what is remembered is put back first', () => {
  expect(nextStep({ ...calm, kept: undefined, remembered: undefined })).toEqual({ act: 'issue' });
  expect(nextStep({ ...calm, kept: undefined })).toEqual({ act: 'restore', keyring });
  expect(nextStep({ ...calm, kept: undefined, successor: renewing })).toEqual({ act: 'restore', keyring });
  const lost = { ...calm, kept: undefined, remembered: undefined, successor: renewing };
  expect(nextStep(lost)).toEqual({ act: 'promote', keyring: renewing });
});

test('nothing is put back that nobody needs any more', () => {
  const removed = { ...calm, kept: undefined, isNeeded: false };
  expect(nextStep(removed)).toEqual({ act: 'wait', ms: Number.POSITIVE_INFINITY });
  expect(nextStep({ ...removed, remembered: undefined })).toEqual({ act: 'issue' }); // webhooks may come later than we do
});

const third = (90 * DAY + HOUR) / 3;
const [afterOne, afterTwo] = [now - HOUR + third, now - HOUR + 2 * third];

test('the next one is made when one third of the time is over', () => {
  expect(nextStep(calm)).toEqual({ act: 'wait', ms: afterOne - now });
  expect(nextStep({ ...calm, now: afterOne - 1 })).toEqual({ act: 'wait', ms: 1 });
  expect(nextStep({ ...calm, now: afterOne })).toEqual({ act: 'prepare', keyring });
  expect(nextStep({ ...calm, now: afterOne, trustedForMs: undefined })).toEqual({ act: 'prepare', keyring });
});

test('it is served when two thirds are over', () => {
  const later = { ...calm, kept: renewing, now: afterOne };
  expect(nextStep({ ...later, trustedForMs: 0 })).toEqual({ act: 'wait', ms: third });
  expect(nextStep({ ...later, now: afterTwo, trustedForMs: third })).toEqual({ act: 'promote', keyring: renewing });
});

test('it is not served before it has been trusted for a while', () => {
  const late = { ...calm, kept: renewing, now: now + 80 * DAY };
  expect(nextStep({ ...late, trustedForMs: undefined })).toEqual({ act: 'wait', ms: 10 * DAY });
  expect(nextStep({ ...late, trustedForMs: 0 })).toEqual({ act: 'wait', ms: 30_000 });
  expect(nextStep({ ...late, trustedForMs: 29_999 })).toEqual({ act: 'wait', ms: 1 });
  expect(nextStep({ ...late, trustedForMs: 30_000 })).toEqual({ act: 'promote', keyring: renewing });
});

test('a short life leaves less time for that', () => {
  const short = { ...order, lifetimeMs: 10_000 };
  const kept = prepared(newKeyring(short), short);
  expect(nextStep({ ...calm, kept, trustedForMs: 0, now: now + 9000 })).toEqual({ act: 'wait', ms: 550 });
});

test('nothing is waited for beyond the end of the present one', () => {
  const short = newKeyring({ ...order, lifetimeMs: 10_000 });
  const kept = prepared(short, { ...order, now: now + 9900 });
  const late = { ...calm, kept, trustedForMs: 0 };
  expect(nextStep({ ...late, now: now + 9000 })).toEqual({ act: 'wait', ms: 550 });
  expect(nextStep({ ...late, now: now + 9900 })).toEqual({ act: 'wait', ms: 100 });
});

test('where much shorter lives are wanted now, a long one ends early', () => {
  expect(nextStep({ ...calm, lifetimeMs: 46 * DAY }).act).toBe('wait');
  expect(nextStep({ ...calm, lifetimeMs: 44 * DAY }).act).toBe('prepare');
  const short = { ...calm, lifetimeMs: 10_000 };
  expect(nextStep(short)).toEqual({ act: 'prepare', keyring });
  const kept = prepared(keyring, { ...order, lifetimeMs: 10_000 });
  expect(nextStep({ ...short, kept, trustedForMs: 0 })).toEqual({ act: 'wait', ms: 550 });
  expect(nextStep({ ...short, kept, trustedForMs: 550 })).toEqual({ act: 'promote', keyring: kept });
});
