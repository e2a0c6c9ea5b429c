/** Tar archives whose bytes depend on names, contents and executable bits alone: not on owner, umask, clock or directory order. */
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';

const block = 512;

export interface Entry {
  readonly name: string;
  readonly mode: number;
  readonly size?: number;
  /** What a symbolic link points to. */
  readonly target?: string;
}

/** The header of a file, of a symbolic link (it has a target), or of a directory (its name ends in a slash). */
export function header(entry: Entry): Buffer {
  const { prefix, name } = split(entry.name);
  const target = entry.target ?? '';
  if (Buffer.byteLength(target) > 100) throw new Error(`the link ${entry.name} points too far for a tar: ${target}`);
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0);
  bytes.write(octal(entry.mode, 7), 100);
  bytes.write(octal(0, 7), 108); // owner: root
  bytes.write(octal(0, 7), 116); // group: root
  bytes.write(octal(entry.size ?? 0, 11), 124);
  bytes.write(octal(0, 11), 136); // modified: 1970
  bytes.write(' '.repeat(8), 148); // the checksum counts itself as blanks
  bytes.write(entry.target !== undefined ? '2' : entry.name.endsWith('/') ? '5' : '0', 156);
  bytes.write(target, 157);
  bytes.write('ustar\x0000', 257);
  bytes.write(prefix, 345);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${octal(sum, 6)}\0 `, 148);
  return bytes;
}

/** A name of more than 100 bytes is told in two pieces, cut at a slash. */
function split(full: string): { prefix: string; name: string } {
  if (Buffer.byteLength(full) <= 100) return { prefix: '', name: full };
  for (let cut = full.indexOf('/'); cut !== -1; cut = full.indexOf('/', cut + 1)) {
    const prefix = full.slice(0, cut);
    const name = full.slice(cut + 1);
    if (name !== '' && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name };
  }
  throw new Error(`too long a name for a tar: ${full}`);
}

function octal(value: number, digits: number): string {
  const text = value.toString(8).padStart(digits, '0');
  if (text.length > digits) throw new Error(`too large a number for a tar: ${value}`);
  return text;
}

/** What follows the content of a file, up to the next block. */
export function padding(size: number): Buffer {
  return Buffer.alloc((block - (size % block)) % block);
}

/** What ends an archive. */
export function trailer(): Buffer {
  return Buffer.alloc(2 * block);
}

/** The archive of everything below a directory. */
export async function* treeTar(root: string): AsyncGenerator<Buffer> {
  yield* below(root, '');
  yield trailer();
}

async function* below(root: string, directory: string): AsyncGenerator<Buffer> {
  for (const child of (await readdir(path.join(root, directory))).toSorted()) {
    const name = path.posix.join(directory, child);
    const file = path.join(root, name);
    const found = await lstat(file);
    if (found.isDirectory()) {
      yield header({ name: `${name}/`, mode: found.mode & 0o1000 ? 0o1777 : 0o755 });
      yield* below(root, name);
    } else if (found.isSymbolicLink()) {
      yield header({ name, mode: 0o777, target: await readlink(file) });
    } else if (found.isFile()) {
      yield header({ name, mode: found.mode & 0o100 ? 0o755 : 0o644, size: found.size });
      for await (const chunk of createReadStream(file)) yield chunk as Buffer;
      yield padding(found.size);
    } else {
      throw new Error(`${file} is neither a file, nor a directory, nor a symbolic link`);
    }
  }
}
