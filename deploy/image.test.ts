import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ownComponent } from '../tools/bill-of-materials.ts';
import { config, labels } from './image.ts';

const root = path.dirname(import.meta.dirname);

test('the Dockerfile makes an image that runs in the same way', () => {
  const file = readFileSync(path.join(root, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '');
  const final = file.slice(file.lastIndexOf('\nFROM '));
  const word = (instruction: string) => new RegExp(`^${instruction} (.*)$`, 'm').exec(final)?.[1] ?? '';
  expect(word('USER')).toBe(config.user);
  expect(word('ENV').split(' ')).toEqual(config.environment);
  expect(word('EXPOSE').split(' ')).toEqual(config.ports);
  const [node, ...rest] = JSON.parse(word('ENTRYPOINT')) as string[];
  expect(node).toBe('/nodejs/bin/node'); // where distroless has it
  expect(rest).toEqual(config.entrypoint?.slice(1));
  expect(rest).toContain('--expose-gc'); // without it, memory is not given back after work, and nobody complains
  const shown = [...word('LABEL').matchAll(/(\S+?)="(.*?)"/g)].map(([, name, value]) => [name, value]);
  const { version } = ownComponent(root);
  expect(Object.fromEntries(shown)).toEqual({
    ...labels(),
    'org.opencontainers.image.version': '$VERSION',
    'org.opencontainers.image.revision': '$COMMIT',
  });
  expect(labels()).toHaveProperty(['org.opencontainers.image.version'], version);
});

test('the image is built on the Node that the tests run on, and has no shell', () => {
  const file = readFileSync(path.join(root, 'Dockerfile'), 'utf8');
  const [major] = process.versions.node.split('.');
  const bases = [...file.matchAll(/^FROM (?:--\S+ )?(\S+)/gm)].map(([, base]) => base);
  expect(bases).toEqual([
    `docker.io/library/node:${major}-bookworm-slim`,
    `gcr.io/distroless/nodejs${major}-debian12:nonroot`,
  ]);
});
