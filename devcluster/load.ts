/** Gives the nodes of a running cluster an image that they did not have from the start. */
import { access } from 'node:fs/promises';
import { containerdOf, importArchive } from './containerd.ts';
import { requireRoot } from './host.ts';
import { type Instance, withInstance } from './instance.ts';
import type { LockOptions } from './lock.ts';
import { NODE_NAMES, prepareNode } from './node.ts';
import { Problem } from './problem.ts';
import { isRunning } from './processes.ts';

export interface LoadOptions extends LockOptions {
  /** An OCI archive that names its image. */
  readonly archive: string;
  readonly signal: AbortSignal;
}

/** Imports the archive into every node. An image of the same name is replaced. */
export async function load(instance: Instance, { archive, ...options }: LoadOptions): Promise<void> {
  requireRoot();
  await access(archive).catch((error: unknown) => {
    throw new Problem(`There is no image ${archive}.`, 'Name an OCI archive; `make image` writes one.', {
      cause: error,
    });
  });
  const loadEach = async () => {
    for (const name of NODE_NAMES) {
      if (!(await isRunning(instance, containerdOf(name)))) throw notRunning(instance, name);
      await importArchive(await prepareNode(instance, name), archive, options.signal);
    }
  };
  await withInstance(instance, loadEach, options);
}

function notRunning({ name }: Instance, node: string): Problem {
  return new Problem(
    `The cluster "${name}" has no ${node} that runs, so there is nothing to load the image into.`,
    'Images need real nodes (NODE=real): start or heal them with `make cluster`.',
  );
}
