/** Answers the probes of the kubelet: is the process alive, and is it ready to do its work? */
import { createServer, type Server } from 'node:http';

export interface HealthOptions {
  readonly host: string | undefined;
  readonly port: number;
  /** What is still missing before it is ready; nothing when it is. */
  readonly missing: () => string | undefined;
}

/** Serves /healthz and /readyz. Resolves when it listens. */
export function serveHealth({ host, port, missing }: HealthOptions): Promise<Server> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    const reason = path === '/readyz' ? missing() : undefined;
    if (path !== '/healthz' && path !== '/readyz') response.writeHead(404).end('not found\n');
    else if (reason === undefined) response.writeHead(200).end('ok\n');
    else response.writeHead(503).end(`${reason}\n`);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}
