/** A port of a pod, reachable on this machine for as long as it is needed. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { environment } from './command.ts';

export interface PortForwardOptions {
  /** kubectl, and what it needs to find the cluster and the namespace. */
  readonly kubectl: readonly [program: string, ...args: string[]];
  /** What kubectl takes: "pod/name". */
  readonly target: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Runs `work` with a local port that leads to the pod's. */
export async function withPortForward<T>(options: PortForwardOptions, work: (port: number) => Promise<T>): Promise<T> {
  const [program, ...args] = options.kubectl;
  const child = spawn(program, [...args, 'port-forward', options.target, `:${options.port}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environment(options.env),
    signal: options.signal,
  });
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`kubectl port-forward to ${options.target} ended`)));
  });
  ended.catch(() => {}); // it also ends when the work is done
  const lines = createInterface({ input: child.stdout });
  const port = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      const found = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
  });
  try {
    return await Promise.race([ended, port.then(work)]);
  } finally {
    child.kill();
  }
}
