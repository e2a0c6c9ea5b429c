/** What a running Node process holds on to, looked at from outside. */
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';

export interface Figures {
  /** Live objects, after everything else was collected. */
  readonly heapMB: number;
  readonly residentMB: number;
  /** Open files and connections. */
  readonly handles: number;
}

/** Makes Node answer `figuresOf` at that port, and say nothing about it. */
export function inspectable(port: number): string[] {
  return [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http'];
}

export async function figuresOf(pid: number, inspectorPort: number): Promise<Figures> {
  // The inspector's own connection would count as one.
  const handles = (await readdir(`/proc/${pid}/fd`)).length;
  const heapMB = await liveHeapMB(inspectorPort);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { heapMB, residentMB: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024, handles };
}

export function shown({ heapMB, residentMB, handles }: Figures): string {
  return `${heapMB.toFixed(2)} MB live, ${residentMB.toFixed(0)} MB resident, ${handles} handles`;
}

async function liveHeapMB(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await once(socket, 'open');
  try {
    await ask(socket, 1, 'HeapProfiler.collectGarbage');
    const { usedSize } = (await ask(socket, 2, 'Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize / 2 ** 20;
  } finally {
    socket.close();
    await once(socket, 'close');
  }
}

async function ask(socket: WebSocket, id: number, method: string): Promise<unknown> {
  const answered = Promise.withResolvers<unknown>();
  const hear = ({ data }: MessageEvent) => {
    const answer = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (answer.id === id) answered.resolve(answer.result);
  };
  const lost = () => answered.reject(new Error(`no answer to ${method}`));
  socket.addEventListener('message', hear);
  socket.addEventListener('close', lost);
  socket.send(JSON.stringify({ id, method }));
  try {
    return await answered.promise;
  } finally {
    socket.removeEventListener('message', hear);
    socket.removeEventListener('close', lost);
  }
}
