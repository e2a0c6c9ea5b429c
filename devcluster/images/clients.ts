/** The Python clients that our users' software has, for the tests to speak through. */
import { readFileSync } from 'node:fs';
import { glob, mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../command.ts';
import { Problem } from '../problem.ts';
import { openDebian } from './debian.ts';
import { type ImagePart, imagePart, type Workshop } from './image.ts';
import { addBasics, linkBusybox, runInside, slim, unpack } from './root.ts';

const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url));
const runtimePackages = ['python3.11', 'busybox-static'];
const installPackages = ['python3.11', 'python3-pip-whl'];
const sitePackages = 'usr/lib/python3/dist-packages';

export function clientsImage(): ImagePart {
  return imagePart({
    reference: 'localhost/memcached-clients:1',
    config: {
      user: '65532:65532',
      command: ['sleep', 'infinity'],
      environment: ['PYTHONDONTWRITEBYTECODE=1', 'PYTHONUNBUFFERED=1'],
    },
    inputs: [readFileSync(requirements, 'utf8'), ...runtimePackages, ...installPackages],
    oneAtATime: 'debian',
    seconds: 25,
    async fillRoot(workshop) {
      const { root, workDirectory, report } = workshop;
      const debian = await openDebian(workshop);
      report('fetching Python');
      const installer = path.join(workDirectory, 'installer');
      await unpack(await debian.closure(installPackages), installer, workshop);
      await unpack(await debian.closure(runtimePackages), root, workshop);
      await slim(root);
      await linkBusybox(root);
      await addBasics(root, { name: 'client', id: 65532 });
      await symlink('python3.11', path.join(root, 'usr/bin/python3'));
      report('installing the clients');
      await installClients(installer, workshop);
      const imports = 'import pymemcache, dogpile.cache, bmemcached, memcache, oslo_cache.core';
      await runInside(root, ['python3', '-B', '-c', imports], workshop);
    },
  });
}

/**
 * Debian's Python runs pip outside of its root, by its own loader: it takes packages for that Python whatever this
 * machine has, while the index, proxies and certificates are those that this machine is set up for.
 */
async function installClients(installer: string, { root, signal }: Workshop): Promise<void> {
  const [loader = ''] = await found(installer, 'lib/*-linux-gnu/ld-linux-*.so.*');
  const [wheel = ''] = await found(installer, 'usr/share/python-wheels/pip-*.whl');
  const libraries = await found(installer, '{lib,usr/lib}/*-linux-gnu');
  const target = path.join(root, sitePackages);
  await mkdir(target, { recursive: true });
  const python = [loader, '--library-path', libraries.join(':'), path.join(installer, 'usr/bin/python3.11')];
  const install = ['install', '--no-compile', '--no-cache-dir', '--only-binary=:all:', '--require-hashes'];
  const pip = [...python, path.join(wheel, 'pip'), ...install, '--target', target, '--requirement', requirements];
  const env = { PYTHONHOME: path.join(installer, 'usr'), PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: '' };
  await run(pip[0] as string, pip.slice(1), { env, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new Problem(
      'The Python package index did not deliver.',
      'See that `pip download pymemcache` works on this machine; if it does, renew devcluster/images/requirements.txt.',
      { cause: error },
    );
  });
  // Start scripts name the Python that installed them, and RECORD has their checksums: different in each build.
  await rm(path.join(target, 'bin'), { recursive: true, force: true });
  for (const record of await found(target, '*.dist-info/RECORD')) await rm(record);
}

async function found(directory: string, pattern: string): Promise<string[]> {
  const names: string[] = [];
  for await (const name of glob(pattern, { cwd: directory })) names.push(path.join(directory, name));
  return names.toSorted();
}
