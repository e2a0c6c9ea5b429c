/** Watch events out of bytes, however these were cut. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WatchEvent } from './client.ts';
import { ConnectionLost } from './errors.ts';
import { eventsOf } from './watch-stream.ts';

async function* cut(bytes: Buffer, places: readonly number[]): AsyncGenerator<Buffer, void> {
  let start = 0;
  for (const place of [...places.map((one) => one % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)) {
    yield bytes.subarray(start, place);
    start = place;
  }
}

async function read(text: string, places: readonly number[] = [], longest?: number): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of eventsOf(cut(Buffer.from(text), places), longest)) events.push(event);
  return events;
}

const type = fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR');
const eventLists = fc.array(fc.record({ type, object: fc.jsonValue({ stringUnit: 'binary' }) }));

test('any cut of the bytes gives the same events', async () => {
  await fc.assert(
    fc.asyncProperty(eventLists, fc.array(fc.nat()), async (sent, places) => {
      const text = sent.map((event) => `${JSON.stringify(event)}\n`).join('');
      expect(await read(text, places)).toEqual(JSON.parse(JSON.stringify(sent)));
    }),
  );
});

test('a character that is cut in two stays whole', async () => {
  const text = `{"type":"ADDED","object":"€"}\n`;
  const middle = Buffer.from(text).indexOf('€') + 1;
  expect(await read(text, [middle])).toEqual([{ type: 'ADDED', object: '€' }]);
});

test('empty lines mean nothing', async () => {
  expect(await read('\n\r\n{"type":"ADDED","object":1}\r\n\n')).toEqual([{ type: 'ADDED', object: 1 }]);
});

test.for([
  { text: '{"type":"ADDED"', reason: 'closed' },
  { text: '{"type":"ADDED","object":1}', reason: 'closed' }, // complete by chance only
  { text: 'rubbish\n', reason: 'garbled' },
  { text: 'null\n', reason: 'garbled' },
  { text: '{"object":1}\n', reason: 'garbled' },
  { text: `{"type":"ADDED","object":"${'x'.repeat(100)}"}`, reason: 'garbled', longest: 50 },
])('$text is not taken for an event ($reason)', async ({ text, reason, longest }) => {
  const error: unknown = await read(text, [20, 40, 60, 80], longest).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConnectionLost);
  expect(error).toMatchObject({ reason });
});

test('what came before the fault is delivered', async () => {
  const stream = eventsOf(cut(Buffer.from('{"type":"ADDED","object":1}\n{"ty'), []));
  expect(await stream.next()).toEqual({ done: false, value: { type: 'ADDED', object: 1 } });
  await expect(stream.next()).rejects.toMatchObject({ reason: 'closed' });
});
