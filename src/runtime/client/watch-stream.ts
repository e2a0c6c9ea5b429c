/** The events of a watch, one line of JSON each, out of chunks that are cut anywhere. */
import type { WatchEvent } from './client.ts';
import { ConnectionLost } from './errors.ts';

const NEWLINE = 0x0a;
/** Etcd takes objects of 1.5 MB; a line ten times as long is not one. */
const LONGEST_LINE = 16 * 1024 * 1024;

export async function* eventsOf(
  chunks: AsyncIterable<Buffer>,
  longestLine = LONGEST_LINE,
): AsyncGenerator<WatchEvent, void> {
  for await (const line of linesOf(chunks, longestLine)) if (line.trim() !== '') yield parsed(line);
}

async function* linesOf(chunks: AsyncIterable<Buffer>, longest: number): AsyncGenerator<string, void> {
  let begun: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      begun.push(chunk.subarray(start, end));
      // Only whole lines are decoded: a chunk may end in the middle of a character.
      yield (begun.length === 1 ? (begun[0] ?? chunk) : Buffer.concat(begun)).toString('utf8');
      begun = [];
      length = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    begun.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > longest) throw new ConnectionLost('garbled', `an event of the watch is longer than ${longest} bytes`);
  }
  if (length > 0) throw new ConnectionLost('closed', 'the watch ended in the middle of an event');
}

function parsed(line: string): WatchEvent {
  let event: Partial<WatchEvent> | null;
  try {
    event = JSON.parse(line) as Partial<WatchEvent> | null;
  } catch (error) {
    throw new ConnectionLost('garbled', 'an event of the watch is not JSON', error);
  }
  if (typeof event?.type !== 'string') throw new ConnectionLost('garbled', 'an event of the watch has no type');
  return event as WatchEvent;
}
