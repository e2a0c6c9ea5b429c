import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageFile, writeImage } from './oci.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'oci-test-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const deepName = `usr/lib/${'deep/'.repeat(20)}module.py`;

async function makeRoot(name: string, order: readonly string[]): Promise<string> {
  const root = path.join(directory, name);
  for (const file of order) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), `content of ${file}`);
  }
  await chmod(path.join(root, 'bin/program'), 0o700);
  await symlink('program', path.join(root, 'bin/alias'));
  await mkdir(path.join(root, 'tmp'));
  await chmod(path.join(root, 'tmp'), 0o1777);
  return root;
}

async function write(name: string, ...layers: string[]): Promise<Buffer> {
  const target = path.join(directory, name);
  await mkdir(target);
  const config = { user: 'someone', entrypoint: ['/bin/program'], ports: ['80/tcp'] };
  await writeImage(target, { reference: 'example.test/a/b:1.2', layers, config }, new AbortController().signal);
  expect(await readdir(target)).toEqual([imageFile]);
  return readFile(path.join(target, imageFile));
}

/** Reads the image as another program would: with tar. */
async function extract(name: string): Promise<(file: string) => Promise<Buffer>> {
  const target = path.join(directory, `${name}-extracted`);
  await mkdir(target);
  execFileSync('tar', ['-xf', path.join(directory, name, imageFile), '-C', target]);
  return (file) => readFile(path.join(target, file));
}

test('the same tree gives the same bytes, whatever its times, modes and order of creation', async () => {
  const files = ['bin/program', 'etc/b', 'etc/a', deepName];
  const one = await makeRoot('one', files);
  const other = await makeRoot('other', files.toReversed());
  await chmod(path.join(other, 'etc/a'), 0o600);
  await utimes(path.join(other, 'etc/b'), 1, 1);
  expect((await write('image-one', one)).equals(await write('image-other', other))).toBe(true);
});

test('a changed file gives another image', async () => {
  const root = await makeRoot('root', ['bin/program']);
  const before = await write('before', root);
  await writeFile(path.join(root, 'bin/program'), 'changed');
  expect((await write('after', root)).equals(before)).toBe(false);
});

test('every blob has the digest and the size that its descriptor says', async () => {
  await write('image', await makeRoot('lower', ['bin/program', deepName]), await makeRoot('upper', ['bin/program']));
  const read = await extract('image');
  const json = async (file: string) => JSON.parse((await read(file)).toString());
  const blob = async (descriptor: { digest: string; size: number }) => {
    const bytes = await read(descriptor.digest.replace(':', '/').replace(/^/, 'blobs/'));
    expect(bytes.length).toBe(descriptor.size);
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(descriptor.digest);
    return bytes;
  };

  const [entry] = (await json('index.json')).manifests;
  expect(entry.annotations).toEqual({
    'io.containerd.image.name': 'example.test/a/b:1.2',
    'org.opencontainers.image.ref.name': '1.2',
  });
  const manifest = JSON.parse((await blob(entry)).toString());
  const config = JSON.parse((await blob(manifest.config)).toString());
  const [lower, upper] = await Promise.all(manifest.layers.map(blob));
  expect([lower.includes(deepName.slice(-100)), upper.includes(deepName.slice(-100))]).toEqual([true, false]);
  expect(config.rootfs.diff_ids).toEqual(manifest.layers.map(({ digest }: { digest: string }) => digest));
  expect(config.config).toMatchObject({
    User: 'someone',
    Entrypoint: ['/bin/program'],
    ExposedPorts: { '80/tcp': {} },
  });
  expect(config).not.toHaveProperty('created');
});

test('the layer holds files, links and modes as tar understands them', async () => {
  await write('image', await makeRoot('root', ['bin/program', deepName]));
  const read = await extract('image');
  const index = JSON.parse((await read('index.json')).toString());
  const manifest = JSON.parse((await read(index.manifests[0].digest.replace('sha256:', 'blobs/sha256/'))).toString());
  const layer = path.join(directory, 'image-extracted', manifest.layers[0].digest.replace('sha256:', 'blobs/sha256/'));
  const listing = execFileSync('tar', ['-tvf', layer, '--numeric-owner', '--utc'], { encoding: 'utf8' });
  const lines = listing.trim().split('\n');
  expect(lines).toContainEqual(expect.stringMatching(/^lrwxrwxrwx 0\/0 .* 1970-01-01 00:00 bin\/alias -> program$/));
  expect(lines).toContainEqual(expect.stringMatching(/^-rwxr-xr-x 0\/0 +22 1970-01-01 00:00 bin\/program$/));
  expect(lines).toContainEqual(expect.stringMatching(/^drwxrwxrwt 0\/0 .* tmp\/$/));
  expect(lines.some((line) => line.endsWith(deepName) && line.startsWith('-rw-r--r--'))).toBe(true);
  expect(execFileSync('tar', ['-xOf', layer, deepName], { encoding: 'utf8' })).toBe(`content of ${deepName}`);
});
