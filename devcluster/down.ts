/** Removes an instance without a trace: processes, mounts, namespaces, cgroups, files. */
import { rm, rmdir } from 'node:fs/promises';
import { removeCgroups } from './cgroups.ts';
import { requireRoot } from './host.ts';
import { findInstance, type Instance, RUN_ROOT, registeredInstances } from './instance.ts';
import { withLock } from './lock.ts';
import { removeNamespaces, removePrivatePlaces } from './namespaces.ts';
import { killAll } from './processes.ts';

/** Removes the instance of that name. Tells whether there was one. */
export async function down(root: string, name: string): Promise<boolean> {
  const instance = await findInstance(root, name);
  if (!instance) return false;
  requireRoot();
  await withLock(`instance/${instance.id}`, () => destroy(instance));
  return true;
}

/** Everything is ended the hard way, because nothing of it is kept. Works on what is left of an instance, too. */
export async function destroy(instance: Instance): Promise<void> {
  await killAll(instance);
  await removeNamespaces(instance);
  await removeCgroups(instance);
  await rm(instance.directory, { recursive: true, force: true });
  await rm(instance.runDirectory, { recursive: true, force: true });
  if ((await registeredInstances()).length > 0) return;
  await removePrivatePlaces();
  await rmdir(RUN_ROOT).catch(() => {});
}
