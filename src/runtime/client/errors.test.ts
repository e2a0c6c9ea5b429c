/** Answers of the server, and the errors that they become. */
import { expect, test } from 'vitest';
import { ApiError, apiErrorFrom, ConfigurationError, ConnectionLost, longestWaitMs, retryAfterFrom } from './errors.ts';

test('a Status object gives the reason, the message and the details', () => {
  const details = { name: 'x', kind: 'secrets', retryAfterSeconds: 3 };
  const answer = { kind: 'Status', code: 404, reason: 'NotFound', message: 'secrets "x" not found', details };
  for (const error of [apiErrorFrom(JSON.stringify(answer), 404), apiErrorFrom(answer)]) {
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 404, reason: 'NotFound', message: 'secrets "x" not found', details });
    expect(error.retryAfterSeconds).toBe(3);
  }
});

test('of a refusal with very many words, enough is kept', () => {
  const message = `invalid: ${'🙂'.repeat(9000)}`;
  const causes = Array.from({ length: 500 }, (_, index) => ({ field: `spec.list[${index}]`, message: 'invalid' }));
  const error = apiErrorFrom({ kind: 'Status', message, details: { name: 'x', causes } }, 422);
  expect([error.message.length, error.message.at(-1), error.details?.name]).toEqual([4096, '…', 'x']);
  expect(error.message.isWellFormed()).toBe(true);
  expect(error.details?.causes?.at(-1)).toEqual(causes[9]);
});

test.for([
  { answer: '404 page not found\n', message: '404 page not found' },
  { answer: '', message: 'the API server answered 404' },
  { answer: 'null', message: 'null' },
  { answer: '{"kind":"Status"}', message: 'the API server answered 404' },
  { answer: 'x'.repeat(10_000), message: 'x'.repeat(500) },
])('an answer that is not a Status object is quoted: $answer', ({ answer, message }) => {
  expect(apiErrorFrom(answer, 404)).toMatchObject({ status: 404, reason: '', message });
});

test.for([
  { header: undefined, seconds: undefined },
  { header: '', seconds: undefined },
  { header: '7', seconds: 7 },
  { header: '-1', seconds: 0 },
  { header: 'Thu, 01 Jan 1970 00:01:00 GMT', seconds: 50 },
  { header: 'Thu, 01 Jan 1970 00:00:05 GMT', seconds: 0 },
  { header: 'soon', seconds: undefined },
])('Retry-After: $header', ({ header, seconds }) => {
  expect(retryAfterFrom(header, () => 10_000)).toBe(seconds);
});

test.for([
  { reason: 'unreachable', unprocessed: true },
  { reason: 'refused', unprocessed: true },
  { reason: 'closed', unprocessed: false },
  { reason: 'timeout', unprocessed: false },
  { reason: 'silent', unprocessed: false },
] as const)('after "$reason" the server has certainly done nothing: $unprocessed', ({ reason, unprocessed }) => {
  expect(new ConnectionLost(reason, 'x').unprocessed).toBe(unprocessed);
});

test.for([
  ...(['refused', 'closed', 'silent', 'timeout', 'garbled'] as const).map((reason) => ({
    error: new ConnectionLost(reason, 'x'),
    ms: 1000,
  })),
  { error: new ConnectionLost('unreachable', 'x'), ms: 5000 },
  { error: new ConfigurationError('the token cannot be read'), ms: 5000 },
  ...[401, 409, 410, 429, 500, 503, 504].map((status) => ({ error: new ApiError(status, {}), ms: 5000 })),
  ...[400, 403, 404, 413, 422].map((status) => ({ error: new ApiError(status, {}), ms: undefined })),
  { error: new ApiError(403, { message: 'services "x" is forbidden: … cannot find RESTMapping for …' }), ms: 5000 },
  { error: new TypeError('a mistake of ours'), ms: undefined },
])('$error.name $error.reason $error.status is waited for at most $ms ms', ({ error, ms }) => {
  expect(longestWaitMs(error)).toBe(ms);
});
