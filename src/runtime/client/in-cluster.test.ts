/** What a pod finds in its service account's directory. */
import { expect, test } from 'vitest';
import { findAccess } from './access-lookup.ts';
import { ConfigurationError } from './errors.ts';
import { inClusterAccess } from './in-cluster.ts';

const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

function pod(files: Record<string, string>) {
  const directory = '/var/run/secrets/kubernetes.io/serviceaccount';
  const read = (file: string) => {
    const content = files[file.replace(`${directory}/`, '')];
    return content === undefined
      ? Promise.reject(Object.assign(new Error('none'), { code: 'ENOENT' }))
      : Promise.resolve(content);
  };
  return { read, now: () => 0, elapsed: () => 0 };
}

test('address, namespace, authority and token', async () => {
  const files = { token: 'secret\n', namespace: 'operators\n', 'ca.crt': 'CA' };
  const access = await inClusterAccess(env, pod(files));
  expect(access).toMatchObject({ server: 'https://10.0.0.1:443', namespace: 'operators', insecure: false });
  expect(await access.credentials.current()).toEqual({ token: 'secret' });
  expect(await access.authority()).toBe('CA');
  files['ca.crt'] = 'CA2';
  expect(await access.authority()).toBe('CA2');
});

test('an IPv6 address', async () => {
  const access = await inClusterAccess({ ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' }, pod({ token: 'x' }));
  expect(access.server).toBe('https://[fd00::1]:443');
  expect(access.namespace).toBe('default');
});

test('no token, no variables: said so', async () => {
  await expect(inClusterAccess(env, pod({}))).rejects.toThrow(ConfigurationError);
  await expect(inClusterAccess({}, pod({ token: 'x' }))).rejects.toThrow('not a pod');
});

test('a kubeconfig that is named comes before the pod, the pod before the home directory', async () => {
  const config = (server: string) =>
    `{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "${server}"}}]}`;
  const surroundings = pod({
    token: 'x',
    '/named': config('https://named'),
    '/listed': config('https://listed'),
    '/home/.kube/config': config('https://home'),
  });
  const server = async (options: { kubeconfig?: string; context?: string }, variables: Record<string, string>) =>
    (await findAccess({ ...options, env: variables, home: '/home', surroundings })).server;
  expect(await server({ kubeconfig: '/named' }, { ...env, KUBECONFIG: '/listed' })).toBe('https://named');
  expect(await server({}, { ...env, KUBECONFIG: '/listed' })).toBe('https://listed');
  expect(await server({}, env)).toBe('https://10.0.0.1:443');
  expect(await server({ context: 'a' }, env)).toBe('https://home');
  expect(await server({}, {})).toBe('https://home');
});
