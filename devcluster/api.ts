/** Just enough of an API client for the launcher to see how far the cluster is. */
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { parse } from 'yaml';
import { type CommandOptions, run, WITHOUT_PROXY } from './command.ts';
import { type Instance, kubeconfigOf } from './instance.ts';
import { programPath } from './programs.ts';

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

/** The body of a GET as the administrator, or nothing when the answer is anything but 200. */
export async function get(instance: Pick<Instance, 'directory'>, path: string): Promise<string | undefined> {
  const kubeconfig = parse(await readFile(kubeconfigOf(instance), 'utf8')) as Kubeconfig;
  const [cluster, user] = [kubeconfig.clusters[0]?.cluster, kubeconfig.users[0]?.user];
  if (!cluster || !user) throw new Error(`${kubeconfigOf(instance)} has no cluster or no user`);
  const pem = (data: string) => Buffer.from(data, 'base64');
  const options = {
    ca: pem(cluster['certificate-authority-data']),
    cert: pem(user['client-certificate-data']),
    key: pem(user['client-key-data']),
    agent: false,
    timeout: 2000,
  };
  return new Promise((resolve) => {
    const call = request(new URL(path, cluster.server), options, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('end', () => resolve(response.statusCode === 200 ? body : undefined));
      response.once('error', () => resolve(undefined));
    });
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(undefined));
    call.end();
  });
}

/** Runs the cluster's own kubectl as the administrator. */
export function kubectl(
  instance: Pick<Instance, 'directory'>,
  args: readonly string[],
  options: Pick<CommandOptions, 'input' | 'signal'> = {},
): Promise<string> {
  return run(programPath('kubectl'), [`--kubeconfig=${kubeconfigOf(instance)}`, ...args], {
    ...options,
    env: WITHOUT_PROXY,
  });
}
