/** A lock between processes that cannot be left behind: an abstract socket, which the kernel takes back when its holder ends. */
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface LockOptions {
  readonly signal?: AbortSignal;
  /** Called once, when somebody else holds the lock. */
  readonly onWait?: () => void;
}

/** Runs `work` while no other process on this machine holds the lock of that name. */
export async function withLock<T>(name: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  let held = await tryLock(name);
  if (!held) options.onWait?.();
  while (!held) {
    await sleep(200, undefined, options.signal ? { signal: options.signal } : {});
    held = await tryLock(name);
  }
  try {
    return await work();
  } finally {
    held.close();
  }
}

function tryLock(name: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('listening', () => resolve(server.unref()));
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    // Hashed, because such an address has room for about a hundred bytes only.
    const address = createHash('sha256').update(name).digest('hex').slice(0, 32);
    server.listen({ path: `\0memcached-devcluster/${address}`, exclusive: true });
  });
}
