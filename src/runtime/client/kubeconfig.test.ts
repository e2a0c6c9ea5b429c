/** Kubeconfigs as people have them. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ConfigurationError } from './errors.ts';
import { type KubeconfigOptions, kubeconfigAccess } from './kubeconfig.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

function access(files: Record<string, unknown>, options: Partial<KubeconfigOptions> = {}) {
  const read = (file: string) => {
    const content = files[file];
    if (content === undefined) return Promise.reject(Object.assign(new Error('none'), { code: 'ENOENT' }));
    return Promise.resolve(typeof content === 'string' ? content : stringify(content));
  };
  const given = options.files ?? ['/etc/kube/config'];
  return kubeconfigAccess({
    env: {},
    ...options,
    files: given,
    surroundings: { read, now: () => 0, elapsed: () => 0 },
  });
}

function config({ cluster = {}, user = {}, context = {} }: Record<string, object>) {
  return {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...context } }],
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  };
}

test.for([
  { name: 'token', user: { token: 'abc' }, gives: { token: 'abc' } },
  { name: 'token file', user: { tokenFile: 'token' }, gives: { token: 'from file' } },
  { name: 'token file before token', user: { tokenFile: 'token', token: 'abc' }, gives: { token: 'from file' } },
  {
    name: 'certificate inline',
    user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
    gives: { certificate: 'CERT', key: 'KEY' },
  },
  {
    name: 'certificate in files beside the kubeconfig',
    user: { 'client-certificate': 'pki/tls.crt', 'client-key': '/abs/tls.key' },
    gives: { certificate: 'file CERT', key: 'file KEY' },
  },
  {
    name: 'inline before files',
    user: {
      'client-certificate': 'pki/tls.crt',
      'client-certificate-data': base64('CERT'),
      'client-key': '/abs/tls.key',
    },
    gives: { certificate: 'CERT', key: 'file KEY' },
  },
  { name: 'nobody', user: {}, gives: {} },
])('user: $name', async ({ user, gives }) => {
  const files = {
    '/etc/kube/config': config({ user }),
    '/etc/kube/token': 'from file\n',
    '/etc/kube/pki/tls.crt': 'file CERT',
    '/abs/tls.key': 'file KEY',
  };
  expect(await (await access(files)).credentials.current()).toEqual(gives);
});

test.for([
  { cluster: { 'certificate-authority-data': base64('CA') }, authority: 'CA' },
  { cluster: { 'certificate-authority': '../ca.crt' }, authority: 'file CA' },
  { cluster: {}, authority: undefined },
])('authority: $authority', async ({ cluster, authority }) => {
  const found = await access({ '/etc/kube/config': config({ cluster }), '/etc/ca.crt': 'file CA' });
  expect(await found.authority()).toBe(authority);
});

test.for([
  { context: {}, cluster: {}, gives: { server: 'https://10.0.0.1:6443', namespace: 'default', insecure: false } },
  { context: { namespace: 'mine' }, cluster: {}, gives: { namespace: 'mine' } },
  {
    context: {},
    cluster: { server: 'https://host/k8s/clusters/c-1/' },
    gives: { server: 'https://host/k8s/clusters/c-1' },
  },
  { context: {}, cluster: { 'tls-server-name': 'api' }, gives: { serverName: 'api' } },
  { context: {}, cluster: { 'insecure-skip-tls-verify': true }, gives: { insecure: true } },
])('$cluster $context', async ({ cluster, context, gives }) => {
  expect(await access({ '/etc/kube/config': config({ cluster, context }) })).toMatchObject(gives);
});

test('acting for someone else', async () => {
  const user = { as: 'jane', 'as-uid': '1', 'as-groups': ['a', 'b'], 'as-user-extra': { Scope: ['x'] } };
  expect((await access({ '/etc/kube/config': config({ user }) })).headers).toEqual({
    'impersonate-user': 'jane',
    'impersonate-uid': '1',
    'impersonate-group': ['a', 'b'],
    'impersonate-extra-scope': ['x'],
  });
});

test('several files: the first that has an entry has all of it, missing files do not count', async () => {
  const files = ['/missing', '/a/config', '/b/config'];
  const contents = {
    '/a/config': { users: [{ name: 'u', user: { tokenFile: 'token' } }], clusters: null },
    '/b/config': config({ user: { token: 'b', as: 'jane' }, cluster: { server: 'https://b' } }),
    '/a/token': 'a',
  };
  const found = await access(contents, { files });
  expect(found).toMatchObject({ server: 'https://b', headers: {} });
  expect(await found.credentials.current()).toEqual({ token: 'a' });
});

test('another context than the current one', async () => {
  const two = config({});
  two.contexts.push({ name: 'there', context: { cluster: 'd', user: 'u' } });
  two.clusters.push({ name: 'd', cluster: { server: 'https://there' } });
  expect(await access({ '/etc/kube/config': two }, { context: 'there' })).toMatchObject({ server: 'https://there' });
});

test.for([
  { name: 'no file', content: undefined, says: 'there is no kubeconfig /etc/kube/config' },
  { name: 'empty', content: '', says: 'no context is chosen' },
  { name: 'not YAML', content: '{', says: 'is not YAML' },
  { name: 'a list', content: '[]', says: 'does not hold a Config object' },
  { name: 'no current context', content: { ...config({}), 'current-context': '' }, says: 'there is: here' },
  {
    name: 'unknown context',
    content: config({}),
    context: 'x',
    says: '"x", is not in /etc/kube/config; there is: here',
  },
  { name: 'unknown cluster', content: { ...config({}), clusters: [] }, says: 'the cluster of context "here", "c"' },
  { name: 'unknown user', content: { ...config({}), users: [] }, says: 'the user of context "here", "u"' },
  { name: 'HTTP', content: config({ cluster: { server: 'http://localhost:8080' } }), says: 'not an https URL' },
  { name: 'no server', content: config({ cluster: { server: '' } }), says: 'not an https URL' },
  { name: 'a proxy', content: config({ cluster: { 'proxy-url': 'http://a:b@proxy' } }), says: 'proxy-url' },
  {
    name: 'insecure with authority',
    content: config({ cluster: { 'insecure-skip-tls-verify': true, 'certificate-authority': 'x' } }),
    says: 'exclude each other',
  },
  { name: 'half a pair', content: config({ user: { 'client-key-data': base64('KEY') } }), says: 'a key alone' },
  { name: 'a password', content: config({ user: { username: 'a', password: 'b' } }), says: 'username and password' },
  { name: 'a provider', content: config({ user: { 'auth-provider': { name: 'gcp' } } }), says: 'auth-provider' },
])('$name: $says', async ({ content, context, says }) => {
  const files = content === undefined ? {} : { '/etc/kube/config': content };
  const error: unknown = await access(files, { context }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(String(error)).toContain(says);
});

test('what is secret in a broken kubeconfig is not told', async () => {
  const error: unknown = await access({ '/etc/kube/config': 'users: [{token: hunter2' }).catch(
    (thrown: unknown) => thrown,
  );
  expect(JSON.stringify([String(error), (error as Error).cause])).not.toContain('hunter2');
});
