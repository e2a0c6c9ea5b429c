/** The few forms of DER, the notation of certificates, that our certificates are written in. */

/** A value of any form: its tag, its length, its contents. */
export function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body)]), body]);
}

/** Up to 127 it is one byte; above that, the first byte tells how many bytes follow. */
function lengthOf({ length }: Buffer): number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  if (length < 0x10000) return [0x82, length >> 8, length & 0xff];
  throw new RangeError(`${length} bytes are more than a certificate has`);
}

export const sequence = (...parts: readonly Uint8Array[]) => tagged(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]) => tagged(0x31, ...parts);
export const octets = (contents: Uint8Array) => tagged(0x04, contents);
export const text = (value: string) => tagged(0x0c, Buffer.from(value, 'utf8'));
export const yes = () => tagged(0x01, Buffer.from([0xff]));

/** A field that is named by its number. */
export const field = (number: number, ...parts: readonly Uint8Array[]) => tagged(0xa0 + number, ...parts);
/** The same, for a field that holds plain bytes. */
export const plainField = (number: number, contents: Uint8Array) => tagged(0x80 + number, contents);

/** A number that is not negative, given as its bytes. It begins with 0 where it would look negative. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Buffer.from([0]) : bytes.subarray(first);
  return tagged(0x02, (digits[0] ?? 0) >= 0x80 ? Buffer.from([0, ...digits]) : digits);
}

/** Whole bytes of bits, the last of them with so many that do not count. */
export const bits = (contents: Uint8Array, unused = 0) => tagged(0x03, Buffer.from([unused]), contents);

/** "1.2.840.10045" and the like: the first two numbers share a byte, the others take seven bits of a byte at a time. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...others.flatMap(sevenBits)]));
}

function sevenBits(number: number): number[] {
  const bytes = [number & 0x7f];
  for (let rest = number >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

/** Until 2049 the year has two digits; so the standard says. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}
