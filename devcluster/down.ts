/** Removes an instance without a trace: processes, mounts, namespaces, cgroups, files. */
import { rm, rmdir } from 'node:fs/promises';
import { removeCgroups } from './cgroups.ts';
import { requireRoot } from './host.ts';
import {
  findInstance,
  type Instance,
  isOrphan,
  placeOf,
  RUN_ROOT,
  registeredInstances,
  withInstance,
  withInstances,
} from './instance.ts';
import type { LockOptions } from './lock.ts';
import { removeNamespaces, removePrivatePlaces } from './namespaces.ts';
import { killAll } from './processes.ts';

/** Removes the instance of that name. Tells whether there was one. */
export async function down(root: string, name: string, options: LockOptions): Promise<boolean> {
  if (!(await findInstance(root, name))) return false;
  requireRoot();
  return withInstance(
    placeOf(root, name),
    async () => {
      const instance = await findInstance(root, name);
      if (instance) await destroy(instance);
      return instance !== undefined;
    },
    options,
  );
}

/** Removes every instance whose clone was deleted. */
export async function removeOrphans(say: (line: string) => void, options: LockOptions): Promise<void> {
  for (const instance of await registeredInstances()) {
    if (!(await isOrphan(instance))) continue;
    const remove = async () => {
      if (!(await isOrphan(instance))) return; // somebody else was faster
      say(`removing what is left of ${instance.directory}, which was deleted`);
      await destroy(instance);
    };
    await withInstance(instance, remove, options);
  }
}

/** Everything is ended the hard way, because nothing of it is kept. Works on what is left of an instance, too. */
async function destroy(instance: Instance): Promise<void> {
  await killAll(instance);
  await removeNamespaces(instance);
  await removeCgroups(instance);
  await rm(instance.directory, { recursive: true, force: true });
  await withInstances(async () => {
    await rm(instance.runDirectory, { recursive: true, force: true });
    if ((await registeredInstances()).length > 0) return;
    await removePrivatePlaces();
    await rmdir(RUN_ROOT).catch(() => {});
  });
}
