/** What is in the images; and that they are reproducible: the same inputs give the same bytes. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildImage, labels } from '../../deploy/image.ts';
import { imageFile, images } from '../../devcluster/images/index.ts';
import { programPart } from '../../devcluster/programs.ts';
import { buildMissing } from '../../devcluster/progress.ts';
import { contentsOf } from '../support/image-archive.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'images-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

test.each(['localhost/pause:1', 'docker.io/prom/memcached-exporter:v0.15.4'])('%s', async (reference) => {
  const { signal } = new AbortController();
  const image = images(programPart('memcached_exporter')).find((part) => part.reference === reference);
  if (!image) throw new Error(`there is no image ${reference}`);
  await buildMissing(image.needs ?? [], signal, process.stdout);
  const digests: string[] = [];
  for (const attempt of ['first', 'second']) {
    const place = await mkdtemp(path.join(directory, attempt));
    await image.build(place, { signal, report: () => {} });
    digests.push(
      createHash('sha256')
        .update(await readFile(path.join(place, imageFile)))
        .digest('hex'),
    );
  }
  expect(digests[1]).toBe(digests[0]);
});

test("the operator's image has what it needs, what belongs to it, and no shell", async ({ signal }) => {
  const file = path.join(directory, 'image.tar');
  const { digest } = await buildImage('example.com/operator:v1', file, { signal, output: process.stdout });
  const { config, names } = await contentsOf(file, digest, directory, signal);
  expect(config).toMatchObject({ User: '65532:65532', Labels: labels() });
  const script = ['memcached-operator.mjs', 'memcached-operator.mjs.map'];
  expect(names).toEqual(
    expect.arrayContaining([
      'usr/bin/node',
      ...script,
      'memcached-operator.licenses.txt',
      'memcached-operator.cdx.json',
    ]),
  );
  const programs = names.filter((name) => /(^|\/)s?bin\/[^/]+$/.test(name));
  console.log(
    `${names.length} files, ${((await stat(file)).size / 1e6).toFixed(1)} MB; programs: ${programs.join(', ')}`,
  );
  expect(programs).toEqual(['usr/bin/node']);
});
