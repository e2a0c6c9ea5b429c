/** How much memory a server needs, by measure of real ones under load. */

export interface MemoryUse {
  readonly maxMemoryMB: number;
  readonly maxConnections: number;
  readonly isEncrypted: boolean;
}

/** In Mi, with the cache full and all connections busy. */
export function safeMebibytes({ maxMemoryMB, maxConnections, isEncrypted }: MemoryUse): number {
  const connectionKi = isEncrypted ? 32 : 8;
  return Math.ceil(1.1 * maxMemoryMB + 48 + (maxConnections * connectionKi) / 1024);
}
