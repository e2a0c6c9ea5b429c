/** Images are reproducible: the same inputs give the same bytes. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageFile, images } from '../../devcluster/images/index.ts';
import { programPart } from '../../devcluster/programs.ts';
import { buildMissing } from '../../devcluster/progress.ts';

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
