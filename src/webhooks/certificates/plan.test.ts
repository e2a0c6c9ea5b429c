import { expect, test } from 'vitest';
import { newKeyring, prepared } from './keyring.ts';
import { nextStep } from './plan.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const now = Date.parse('2030-01-01T00:00:00Z');
const order = { identity: { dnsNames: ['webhooks.system.svc'] }, lifetimeMs: 90 * DAY, now };
const keyring = newKeyring(order);
const renewing = prepared(keyring, { ...order, now: now + 60 * DAY });
const calm = { kept: keyring, remembered: keyring, trustedForMs: 0, lifetimeMs: 90 * DAY, now };

test('without any, one is made; what is remembered is put back first', () => {
  expect(nextStep({ ...calm, kept: undefined, remembered: undefined })).toEqual({ act: 'issue' });
  expect(nextStep({ ...calm, kept: undefined })).toEqual({ act: 'restore', keyring });
});

test('the next one is made when two thirds of the time are over', () => {
  const renewal = now - HOUR + ((90 * DAY + HOUR) * 2) / 3;
  expect(nextStep(calm)).toEqual({ act: 'wait', ms: renewal - now });
  expect(nextStep({ ...calm, now: renewal - 1 })).toEqual({ act: 'wait', ms: 1 });
  expect(nextStep({ ...calm, now: renewal })).toEqual({ act: 'prepare', keyring });
  expect(nextStep({ ...calm, now: renewal, trustedForMs: undefined })).toEqual({ act: 'prepare', keyring });
});

test('the next one is served when it has been trusted for a while', () => {
  const later = { ...calm, kept: renewing, now: now + 60 * DAY };
  expect(nextStep({ ...later, trustedForMs: undefined })).toEqual({ act: 'wait', ms: 30 * DAY });
  expect(nextStep({ ...later, trustedForMs: 0 })).toEqual({ act: 'wait', ms: 30_000 });
  expect(nextStep({ ...later, trustedForMs: 29_999 })).toEqual({ act: 'wait', ms: 1 });
  expect(nextStep({ ...later, trustedForMs: 30_000 })).toEqual({ act: 'promote', keyring: renewing });
});

test('a short life leaves less time for that', () => {
  const short = { ...order, lifetimeMs: 10_000 };
  for (const present of [newKeyring(short), keyring]) {
    const kept = prepared(present, short);
    expect(nextStep({ ...calm, kept, trustedForMs: 0 })).toEqual({ act: 'wait', ms: 550 });
  }
});

test('where much shorter lives are wanted now, a long one ends early', () => {
  expect(nextStep({ ...calm, lifetimeMs: 46 * DAY }).act).toBe('wait');
  expect(nextStep({ ...calm, lifetimeMs: 44 * DAY })).toEqual({ act: 'prepare', keyring });
  expect(nextStep({ ...calm, lifetimeMs: 900 * DAY }).act).toBe('wait');
});
