/** What the API server has recorded of those who asked it. */
import { open, stat } from 'node:fs/promises';
import { auditLog } from '../../devcluster/control-plane.ts';
import type { TestCluster } from './cluster.ts';

export interface AuditEntry {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

const OPERATOR = 'memcached-operator/';

/** The request that a line of the log tells of, if somebody made it whose user agent begins so: each is told of once. */
export function requestIn(line: string, agent = OPERATOR): AuditEntry | undefined {
  if (!line.includes(`"userAgent":"${agent}`)) return undefined; // saves parsing what all the others do
  const entry = JSON.parse(line) as AuditEntry;
  // A watch counts when it begins: it ends long after.
  return entry.stage === (entry.verb === 'watch' ? 'ResponseStarted' : 'ResponseComplete') ? entry : undefined;
}

/** A place in the log. */
export type Mark = number;

export async function markOf({ instance }: TestCluster): Promise<Mark> {
  return (await stat(auditLog(instance))).size;
}

/** Every request of the operator since then. */
export async function requestsSince({ instance }: TestCluster, mark: Mark): Promise<AuditEntry[]> {
  const file = await open(auditLog(instance));
  try {
    const { size } = await file.stat();
    const start = Math.max(0, mark - 1);
    const buffer = Buffer.alloc(size - start);
    await file.read(buffer, 0, buffer.length, start);
    // The mark may be in the midst of a line, which had begun before it. The last one is not whole yet, or empty.
    const lines = buffer
      .toString('utf8')
      .split('\n')
      .slice(mark === 0 ? 0 : 1, -1);
    return lines.flatMap((line) => requestIn(line) ?? []);
  } finally {
    await file.close();
  }
}

/** Which of those who share an account it was. */
export function credentialOf({ user }: AuditEntry): string {
  return user.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '';
}

/** "patch memcacheds/status" and the like. */
export function nameOf({ verb, objectRef: { resource = '', subresource } = {} }: AuditEntry): string {
  return `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
}

export function isWrite({ verb }: Pick<AuditEntry, 'verb'>): boolean {
  return !['get', 'list', 'watch'].includes(verb);
}

/** How often each was asked: "3 patch deployments, …". */
export function summary(entries: readonly AuditEntry[]): string {
  const counts = Map.groupBy(entries, nameOf);
  return [...counts].map(([name, { length }]) => `${length} ${name}`).join(', ') || 'nothing';
}
