/** The image that holds a pod's namespaces. */
import { readFileSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { openDebian } from './debian.ts';
import { type ImagePart, imagePart } from './image.ts';
import { runInside, unpack } from './root.ts';

const source = new URL('pause.c', import.meta.url);
const packages = ['gcc', 'libc6-dev'];

export const PAUSE = 'localhost/pause:1';

export function pauseImage(): ImagePart {
  return imagePart({
    reference: PAUSE,
    config: { user: '65535:65535', entrypoint: ['/pause'] },
    inputs: [readFileSync(source, 'utf8'), ...packages],
    oneAtATime: 'debian',
    seconds: 15,
    async fillRoot({ root, workDirectory, ...context }) {
      const debian = await openDebian(context);
      context.report('fetching a compiler');
      const compiler = path.join(workDirectory, 'compiler');
      await unpack(await debian.closure(packages), compiler, context);
      await mkdir(path.join(compiler, 'tmp'));
      await cp(source, path.join(compiler, 'pause.c'));
      context.report('compiling');
      await runInside(
        compiler,
        ['gcc', '-static', '-Os', '-s', '-Wall', '-Werror', '-o', '/pause', '/pause.c'],
        context,
      );
      await cp(path.join(compiler, 'pause'), path.join(root, 'pause'));
    },
  });
}
