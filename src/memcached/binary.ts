/** The binary protocol, the only one that servers with SASL speak to strangers. */
import { type Connection, MemcachedError } from './connection.ts';

const HEADER = 24;
const QUESTION = 0x80;
const ANSWER = 0x81;
const STAT = 0x10;
const LIST_MECHANISMS = 0x20;
const AUTHENTICATE = 0x21;
const AUTHENTICATION_ERROR = 0x20;

interface Packet {
  readonly key: string;
  readonly value: string;
}

/** How one may prove who one is. */
export function mechanisms(connection: Connection): Promise<readonly string[]> {
  return connection.ask(question(LIST_MECHANISMS), async () => {
    const { value } = await answer(connection, LIST_MECHANISMS);
    return value.split(' ').filter(Boolean);
  });
}

export function authenticate(connection: Connection, user: string, password: string): Promise<void> {
  return connection.ask(question(AUTHENTICATE, 'PLAIN', `\0${user}\0${password}`), async () => {
    await answer(connection, AUTHENTICATE);
  });
}

/** Every figure that the server has, by name. */
export function stats(connection: Connection): Promise<Map<string, string>> {
  return connection.ask(question(STAT), async () => {
    const figures = new Map<string, string>();
    for (;;) {
      const { key, value } = await answer(connection, STAT);
      if (key === '') return figures;
      figures.set(key, value);
    }
  });
}

function question(operation: number, key = '', value = ''): Buffer {
  const body = Buffer.from(key + value);
  const header = Buffer.alloc(HEADER);
  header[0] = QUESTION;
  header[1] = operation;
  header.writeUInt16BE(Buffer.byteLength(key), 2);
  header.writeUInt32BE(body.length, 8);
  return Buffer.concat([header, body]);
}

async function answer(connection: Connection, operation: number): Promise<Packet> {
  const header = await connection.bytes(HEADER);
  const [magic, answered, extras = 0] = [header[0], header[1], header[4]];
  const keyLength = header.readUInt16BE(2);
  const status = header.readUInt16BE(6);
  const length = header.readUInt32BE(8);
  if (magic !== ANSWER || answered !== operation || extras + keyLength > length)
    throw new MemcachedError('nonsense', 'no sensible answer');
  const body = await connection.bytes(length);
  if (status === AUTHENTICATION_ERROR) throw new MemcachedError('refused', 'the server refused the password');
  if (status !== 0) throw new MemcachedError('refused', `the server refused with status ${status}`);
  return {
    key: body.toString('latin1', extras, extras + keyLength),
    value: body.toString('latin1', extras + keyLength),
  };
}
