/** The memory of reviews; what a real API server says to them is for the integration tests. */
import { expect, test } from 'vitest';
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import { ManualClock } from '../manual-clock.ts';
import { CallerReviews, TooManyCallers, tokenReviewKind } from './caller-reviews.ts';

type Review = KubernetesObject & { spec: { token?: string; user?: string } };

/** Knows the tokens "good-…" and "poor-…", of which the latter have no rights, and "late-…", which it accepts no more. */
function newReviews() {
  const clock = new ManualClock();
  const asked: string[] = [];
  const state = { gate: Promise.resolve(), failure: undefined as Error | undefined };
  const create = async <T extends KubernetesObject>(kind: Kind, object: T): Promise<T> => {
    const { token = '', user = '' } = (object as unknown as Review).spec;
    asked.push(`${kind.kind} ${token}${user}`);
    await state.gate;
    if (state.failure) throw state.failure;
    const [username] = /^(good|poor|late)(?=-)/.exec(token) ?? [];
    const status =
      kind === tokenReviewKind
        ? { authenticated: username === 'good' || username === 'poor', ...(username && { user: { username } }) }
        : { allowed: user === 'good' || user === 'late' };
    return { ...object, status };
  };
  return { reviews: new CallerReviews({ client: { create }, path: '/metrics', clock }), clock, asked, state };
}

test('whoever is allowed, forbidden or unknown stays so for a while', async () => {
  const { reviews, clock, asked } = newReviews();
  const look = async () => [
    (await reviews.review('good-1')).is,
    (await reviews.review('poor-1')).is,
    (await reviews.review('bad')).is,
    (await reviews.review('late-1')).is,
  ];
  const answers = ['allowed', 'forbidden', 'unknown', 'unknown'];
  expect([await look(), await look()]).toEqual([answers, answers]);
  expect(asked.splice(0)).toEqual([
    'TokenReview good-1',
    'SubjectAccessReview good',
    'TokenReview poor-1',
    'SubjectAccessReview poor',
    'TokenReview bad',
    'TokenReview late-1',
  ]);
  clock.advance(10_000);
  expect(await look()).toEqual(answers);
  expect(asked.splice(0)).toEqual([
    'TokenReview poor-1',
    'SubjectAccessReview poor',
    'TokenReview bad',
    'TokenReview late-1',
  ]);
  clock.advance(50_000);
  await reviews.review('good-1');
  expect(asked).toEqual(['TokenReview good-1', 'SubjectAccessReview good']);
});

test('callers who come together are asked about once, and too many have to come again', async () => {
  const { reviews, asked, state } = newReviews();
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const same = [reviews.review('good-1'), reviews.review('good-1')];
  const others = Array.from({ length: 10 }, (_, number) =>
    reviews.review(`bad-${number}`).then(
      ({ is }) => is,
      (error: unknown) => error instanceof TooManyCallers,
    ),
  );
  gate.resolve();
  expect(await Promise.all(same)).toEqual([{ is: 'allowed' }, { is: 'allowed' }]);
  expect(await Promise.all(others)).toEqual([...Array(7).fill('unknown'), true, true, true]);
  expect(asked.filter((question) => question.includes('good-1'))).toHaveLength(1);
  expect((await reviews.review('bad-9')).is).toBe('unknown');
});

test('a failure is told, and not remembered', async () => {
  const { reviews, state } = newReviews();
  state.failure = new Error('unreachable');
  await expect(reviews.review('good-1')).rejects.toThrow('unreachable');
  state.failure = undefined;
  expect((await reviews.review('good-1')).is).toBe('allowed');
});

test('a thousand tokens push out the oldest answers, and nothing more is kept', async () => {
  const { reviews, asked } = newReviews();
  await reviews.review('good-1');
  for (let number = 0; number < 1000; number += 1) await reviews.review(`bad-${number}`);
  asked.splice(0);
  for (let number = 900; number < 1000; number += 1) await reviews.review(`bad-${number}`);
  expect(asked).toEqual([]);
  await reviews.review('good-1');
  expect(asked).toHaveLength(2);
});
