/** Notices that the peer of a connection is gone though nobody said so: a cut cable, a lost node, a process that hangs. */

export interface Peer {
  /** Sends something that has to be answered. */
  ping(): void;
  bytesRead(): number;
}

export interface PingOptions {
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
}

/** Calls once when a ping got no answer, nor anything else came. Returns how to stop. */
export function watchPeer(peer: Peer, options: PingOptions, onSilence: () => void): () => void {
  let check: NodeJS.Timeout | undefined;
  let before = 0;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    clearInterval(interval);
    clearTimeout(check);
  };
  const isHeard = () => peer.bytesRead() !== before;
  const judge = () => {
    check = undefined;
    if (isStopped || isHeard()) return;
    stop();
    onSilence();
  };
  const interval = setInterval(() => {
    if (check && !isHeard()) return;
    clearTimeout(check);
    before = peer.bytesRead();
    peer.ping();
    // If it was ourselves who were busy, the answer waits to be read: Node does that between a timer and an immediate.
    check = setTimeout(() => setImmediate(judge), options.pingTimeoutMs);
  }, options.pingIntervalMs);
  return stop;
}
