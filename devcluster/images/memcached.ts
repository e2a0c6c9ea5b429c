/** memcached under the names of its published images: the current one, compiled, and an old one, from Debian 12. */
import { cp, mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Problem } from '../problem.ts';
import { type Debian, openDebian } from './debian.ts';
import { type ImagePart, imagePart, type Workshop } from './image.ts';
import type { ImageConfig } from './oci.ts';
import { addBasics, linkBusybox, runInside, slim, unpack } from './root.ts';

const runtimePackages = ['libevent-2.1-7', 'libsasl2-2', 'libsasl2-modules', 'libssl3', 'busybox-static'];
const compilePackages = ['gcc', 'libc6-dev', 'make', 'libevent-dev', 'libsasl2-dev', 'libssl-dev'];
/** The rest of what a configure script calls is in busybox; its tar does not recognise how an archive is compressed. */
const shellPackages = ['busybox-static', 'gzip', 'tar', 'xz-utils'];

/** Those of the published image. */
const configureOptions = ['--enable-extstore', '--enable-proxy', '--enable-sasl', '--enable-sasl-pwdb', '--enable-tls'];

/** The operator builds on what older ones lack, above all the loopback listener beside SASL. */
const oldest = [1, 6, 45] as const;

const config: ImageConfig = { user: 'memcache', entrypoint: ['memcached'], ports: ['11211/tcp'] };

export function memcachedImage(): ImagePart {
  return imagePart({
    reference: 'docker.io/library/memcached:1.6',
    config,
    inputs: [...runtimePackages, ...compilePackages, ...shellPackages, ...configureOptions, ...oldest.map(String)],
    oneAtATime: 'debian',
    seconds: 40,
    async fillRoot(workshop) {
      const debian = await openDebian(workshop);
      const program = await compile(debian, workshop);
      await assemble(debian, program, workshop);
    },
  });
}

export function oldMemcachedImage(): ImagePart {
  return imagePart({
    reference: 'docker.io/library/memcached:1.6.18',
    config,
    inputs: runtimePackages,
    oneAtATime: 'debian',
    seconds: 10,
    async fillRoot(workshop) {
      const debian = await openDebian(workshop);
      const unpacked = path.join(workshop.workDirectory, 'package');
      await unpack([await debian.single('memcached')], unpacked, workshop);
      await assemble(debian, path.join(unpacked, 'usr/bin/memcached'), workshop);
    },
  });
}

async function compile(debian: Debian, workshop: Workshop): Promise<string> {
  workshop.report("fetching memcached's source");
  const compiler = path.join(workshop.workDirectory, 'compiler');
  await mkdir(path.join(compiler, 'tmp'), { recursive: true });
  const tar = await debian.source('memcached', compiler);
  requireCurrent(tar);
  workshop.report('fetching a compiler');
  await unpack(await debian.closure([...compilePackages, ...shellPackages]), compiler, workshop);
  await runInside(compiler, ['/bin/busybox', '--install', '-s'], workshop);
  workshop.report('compiling');
  const script = [
    `mkdir /build && tar -xf "/${tar}" -C /build --strip-components=1 && cd /build`,
    `./configure --prefix=/usr/local ${configureOptions.join(' ')}`,
    `make -C vendor && make -j${availableParallelism()} memcached && strip memcached`,
  ].join(' && ');
  await runInside(compiler, ['/bin/busybox', 'sh', '-c', script], workshop);
  return path.join(compiler, 'build/memcached');
}

async function assemble(debian: Debian, program: string, workshop: Workshop): Promise<void> {
  const { root, report } = workshop;
  report('fetching the libraries');
  await unpack(await debian.closure(runtimePackages), root, workshop);
  await slim(root);
  await linkBusybox(root);
  await addBasics(root, { name: 'memcache', id: 11211 });
  await mkdir(path.join(root, 'usr/local/bin'), { recursive: true });
  await cp(program, path.join(root, 'usr/local/bin/memcached'));
  // A library that is missing shows here, and not first in a pod.
  await runInside(root, ['memcached', '--version'], workshop);
}

/** Refuses a source that is too old for the operator. */
export function requireCurrent(tar: string): void {
  const version = /_(\d+)\.(\d+)\.(\d+)/.exec(tar)?.slice(1).map(Number) ?? [];
  for (const [place, wanted] of oldest.entries()) {
    const found = version[place] ?? -1;
    if (found > wanted) return;
    if (found < wanted) {
      throw new Problem(
        `The Debian archive offers ${tar}, and memcached ${oldest.join('.')} or later is needed.`,
        'The mirror is out of date: set another one in /etc/apt, run `apt-get update`, and start again.',
      );
    }
  }
}
