/** What the operator's image has besides the operator: Node, the libraries that it needs, and what tells of them. */
import { globSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../devcluster/command.ts';
import { openDebian } from '../devcluster/images/debian.ts';
import { addBasics, runInside, slim, unpack } from '../devcluster/images/root.ts';
import type { BuildContext, Part } from '../devcluster/parts.ts';
import { Problem } from '../devcluster/problem.ts';
import type { Component } from '../tools/bill-of-materials.ts';

const NODE = path.join(path.dirname(import.meta.dirname), 'node_modules', `node-linux-${process.arch}`);
/** What Node is linked with, as Debian has it. */
const packages = ['libstdc++6'];

/** Where scanners of images without a package manager look for packages. */
const STATUS = 'var/lib/dpkg/status.d';

/** Node, and the packages of Debian in that root. */
export async function platformOf(root: string, node: string): Promise<Component[]> {
  const found: Component[] = [{ type: 'platform', name: 'node', version: node, purl: `pkg:generic/node@${node}` }];
  for (const file of globSync(`${STATUS}/*`, { cwd: root }).toSorted()) {
    const control = await readFile(path.join(root, file), 'utf8');
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(control)?.[1] ?? '';
    const [name, version] = [field('Package'), field('Version')];
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${field('Architecture')}&distro=debian-12`;
    found.push({ type: 'library', name, version, purl });
  }
  return found;
}

/** Everything but the operator itself: it changes with Node and with Debian only. */
export async function nodePart(): Promise<Part> {
  const version = await nodeVersion();
  return {
    name: 'operator-base',
    version,
    inputs: [...packages, 'with licences and a list of packages'],
    oneAtATime: 'debian',
    seconds: 10,
    async build(directory, context) {
      const root = path.join(directory, 'root');
      const debian = await openDebian(context);
      context.report("fetching Node's libraries");
      const debs = await debian.closure(packages);
      await unpack(debs, root, context);
      const copyrights = await readAll(root, 'usr/share/doc/*/copyright');
      await slim(root);
      await writeAll(root, [...copyrights, ...(await controls(debs, context))]);
      for (const programs of ['bin', 'sbin', 'usr/bin', 'usr/sbin']) {
        await rm(path.join(root, programs), { recursive: true, force: true });
      }
      await addBasics(root, { name: 'operator', id: 65532 });
      await mkdir(path.join(root, 'usr/bin'));
      await cp(path.join(NODE, 'bin/node'), path.join(root, 'usr/bin/node'));
      await cp(path.join(NODE, 'LICENSE'), path.join(root, 'usr/share/doc/node/copyright'));
      // A library that is missing shows here, and not first in a pod.
      await runInside(root, ['node', '--version'], context);
    },
  };
}

type File = readonly [name: string, content: Buffer | string];

async function readAll(root: string, pattern: string): Promise<File[]> {
  const names = globSync(pattern, { cwd: root });
  return Promise.all(names.map(async (name) => [name, await readFile(path.join(root, name))] as const));
}

async function writeAll(root: string, files: readonly File[]): Promise<void> {
  for (const [name, content] of files) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), content);
  }
}

/** What each package says of itself. */
function controls(debs: readonly string[], { signal }: BuildContext): Promise<File[]> {
  const read = async (deb: string): Promise<File> => {
    const control = await run('dpkg-deb', ['--field', deb], { signal });
    return [path.join(STATUS, path.basename(deb).split('_')[0] ?? ''), control];
  };
  return Promise.all(debs.map(read));
}

async function nodeVersion(): Promise<string> {
  try {
    const { version } = JSON.parse(await readFile(path.join(NODE, 'package.json'), 'utf8')) as { version: string };
    return version;
  } catch (error) {
    throw new Problem(
      `There is no Node for the image in ${NODE}.`,
      'Run `npm ci`, on Linux on x86-64 or arm64; then run the same command again.',
      { cause: error },
    );
  }
}
