import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { bodyReader } from './body.ts';

const LIMITS = { each: 10, together: 15 };

/** A request whose body comes when it is pushed. */
function pending(): IncomingMessage & Readable {
  return new Readable({ read() {} }) as IncomingMessage & Readable;
}

function whole(...parts: readonly string[]): IncomingMessage {
  return Readable.from(parts.map((part) => Buffer.from(part))) as IncomingMessage;
}

test('a body is read as a whole, whatever its parts', async () => {
  const [first, second] = [Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1)];
  const request = Readable.from([first, second, Buffer.from('b')]) as IncomingMessage;
  expect(await bodyReader(LIMITS)(request)).toBe('äb');
  expect(await bodyReader(LIMITS)(whole())).toBe('');
});

test('a body that is too large is refused, and the connection lives to hear it', async () => {
  const request = whole('123456', '78901', '2');
  await expect(bodyReader(LIMITS)(request)).rejects.toMatchObject({ status: 413, message: 'a body may have 10 bytes' });
  expect(request.destroyed).toBe(false);
});

test('bodies that are too much together are refused, until others are read', async () => {
  const read = bodyReader(LIMITS);
  const first = pending();
  const reading = read(first);
  first.push(Buffer.from('0123456789'));
  await new Promise(setImmediate);
  await expect(read(whole('012345'))).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect(await read(whole('01234'))).toBe('01234');
  first.push(null);
  expect(await reading).toBe('0123456789');
  expect(await read(whole('0123456789'))).toBe('0123456789');
});

test('a caller who goes away leaves nothing behind', async () => {
  const read = bodyReader(LIMITS);
  for (let round = 0; round < 10; round += 1) {
    const gone = pending();
    const reading = read(gone);
    gone.push(Buffer.from('012345678'));
    await new Promise(setImmediate);
    gone.destroy(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  }
  expect(await read(whole('0123456789'))).toBe('0123456789');
});
