/** Notices that the peer of a connection is gone though nobody said so: a cut cable, a lost node, a process that hangs. */

export interface Peer {
  /** Sends something that has to be answered. */
  ping(): void;
  bytesRead(): number;
  bytesWritten(): number;
}

export interface PingOptions {
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
}

/**
 * A connection that is reset in the moment of a write may stay open in Node's eyes: the failed write counts as under way, nothing else
 * is written, and nothing read that would tell. So a ping has to leave us in this time; what it takes to come back is another matter.
 */
const LEAVE_MS = 1_000;

/** Calls once when a ping got no answer, nor anything else came, or when it was not even sent. Returns how to stop. */
export function watchPeer(peer: Peer, options: PingOptions, onSilence: () => void): () => void {
  let checks: NodeJS.Timeout[] = [];
  let before = { read: 0, written: 0 };
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    clearInterval(interval);
    checks.forEach(clearTimeout);
  };
  const isHeard = () => peer.bytesRead() !== before.read;
  const hasLeft = () => isHeard() || peer.bytesWritten() !== before.written;
  const judge = (isWell: () => boolean) => {
    if (isStopped || isWell()) return;
    stop();
    onSilence();
  };
  // If it was ourselves who were busy, the answer waits to be read: Node does that between a timer and an immediate.
  const check = (ms: number, isWell: () => boolean) => setTimeout(() => setImmediate(judge, isWell), ms);
  const ask = () => {
    if (checks.length > 0 && !isHeard()) return; // it still has time
    checks.forEach(clearTimeout);
    before = { read: peer.bytesRead(), written: peer.bytesWritten() };
    peer.ping();
    checks = [check(LEAVE_MS, hasLeft), check(options.pingTimeoutMs, isHeard)];
  };
  const interval = setInterval(ask, options.pingIntervalMs);
  ask();
  return stop;
}
