/** The Secret that replicas share their certificate through, and the configurations that have to trust it, as they are now. */
import type { Kind, KubernetesObject, OwnerReference } from '../../kubernetes/object.ts';
import type { WebhookConfiguration } from '../../kubernetes/webhook-configuration.ts';
import { Informer, type StoredObject } from '../../runtime/cache/index.ts';
import { type Client, isConflict, isNotFound, isRefused } from '../../runtime/client/index.ts';
import type { Log } from '../../runtime/log.ts';
import { configurationName, registrations } from '../configurations.ts';
import { bundleOf, dataOf, type Keyring } from './keyring.ts';

export const secretKind: Kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };

interface Secret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface StoredSecret extends StoredObject {
  readonly data: Readonly<Record<string, string>>;
  readonly owners: readonly OwnerReference[];
}

interface StoredConfiguration extends StoredObject {
  /** In base64, one for each webhook. */
  readonly bundles: readonly string[];
}

export interface CertificateStoreOptions {
  readonly client: Client;
  readonly log: Log;
  readonly namespace: string;
}

export const CERTIFICATE_SECRET = 'memcached-operator-webhook-certificate';

export class CertificateStore {
  readonly #options: CertificateStoreOptions;
  readonly #secrets: Informer<StoredSecret>;
  readonly #configurations: readonly Informer<StoredConfiguration>[];

  constructor(options: CertificateStoreOptions) {
    const { client, log, namespace } = options;
    this.#options = options;
    const named = (one: string) => ({ client, log, fieldSelector: `metadata.name=${one}` });
    this.#secrets = new Informer({ ...named(CERTIFICATE_SECRET), kind: secretKind, namespace, project: secretOf });
    this.#configurations = registrations.map(
      (registration) =>
        new Informer({
          ...named(configurationName('memcached-operator', registration)),
          kind: registration.kind,
          project: configurationOf,
        }),
    );
  }

  /** Follows them until the signal is given, and tells of every change. */
  async run(signal: AbortSignal, onChange: () => void): Promise<void> {
    const all = [this.#secrets, ...this.#configurations];
    for (const informer of all) {
      void informer.synced.then(onChange);
      informer.onChange(onChange);
    }
    await Promise.all(all.map((informer) => informer.run(signal)));
  }

  isComplete(): boolean {
    return [this.#secrets, ...this.#configurations].every((informer) => informer.hasSynced());
  }

  /** Whatever the Secret holds; nothing when there is none. */
  get data(): Readonly<Record<string, string>> | undefined {
    return this.#secret()?.data;
  }

  /** Whether there are configurations that need a certificate. */
  isNeeded(): boolean {
    return this.#present().length > 0;
  }

  #secret(): StoredSecret | undefined {
    return this.#secrets.list()[0];
  }

  /** Keeps it for all replicas. False when somebody else has just kept another one: it will be told. */
  async keep(keyring: Keyring, signal: AbortSignal): Promise<boolean> {
    const secret = this.#secret();
    try {
      await (secret ? this.#change(secret, keyring, signal) : this.#create(keyring, signal));
      return true;
    } catch (error) {
      const isAnother = isConflict(error) || (isNotFound(error) && secret);
      if (isAnother) return false;
      throw error;
    }
  }

  async #create(keyring: Keyring, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const data = Object.fromEntries(Object.entries(dataOf(keyring)).filter(([, value]) => value !== null));
    const labels = { 'app.kubernetes.io/name': 'memcached-operator' };
    const metadata = { name: CERTIFICATE_SECRET, namespace, labels, ownerReferences: this.#owners() };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data };
    await client.create(secretKind, secret, { signal });
  }

  async #change({ metadata }: StoredSecret, keyring: Keyring, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    // With a version in it, a patch is refused unless the object still has that version.
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, data: dataOf(keyring) };
    try {
      await client.patch(secretKind, CERTIFICATE_SECRET, namespace, { type: 'merge', body, signal });
    } catch (error) {
      const cannotChange = isRefused(error); // somebody made it immutable
      if (!cannotChange) throw error;
      await client.delete(secretKind, CERTIFICATE_SECRET, namespace, { uid: metadata.uid, signal });
    }
  }

  /** Sees to it that the Secret goes when the configurations do, which alone need it: Kubernetes deletes what has no owner left. */
  async tie(signal: AbortSignal): Promise<void> {
    const [secret, owners] = [this.#secret(), this.#owners()];
    if (!secret || owners.every(({ uid }) => secret.owners.some((one) => one.uid === uid))) return;
    const others = secret.owners.filter(
      (one) => !owners.some(({ kind, name }) => one.kind === kind && one.name === name),
    );
    const { resourceVersion } = secret.metadata;
    const body = { metadata: { resourceVersion, ownerReferences: [...others, ...owners] } };
    const { client, namespace } = this.#options;
    await client.patch(secretKind, CERTIFICATE_SECRET, namespace, { type: 'merge', body, signal }).catch(unlessChanged);
  }

  #owners(): OwnerReference[] {
    return this.#present().map(({ kind: { apiVersion, kind }, stored: { metadata } }) => ({
      apiVersion,
      kind,
      name: metadata.name,
      uid: metadata.uid ?? '',
    }));
  }

  /** Whether everybody who calls us trusts what is kept. */
  trusts(keyring: Keyring): boolean {
    const bundle = encoded(keyring);
    return this.#present().every(({ stored }) => stored.bundles.every((one) => one === bundle));
  }

  /** Makes every configuration trust what is kept. Tells the names of those that had to be changed. */
  async spread(keyring: Keyring, signal: AbortSignal): Promise<string[]> {
    const bundle = encoded(keyring);
    const changed: string[] = [];
    for (const { kind, stored } of this.#present()) {
      if (stored.bundles.every((one) => one === bundle)) continue;
      if (await this.#trust(kind, stored, bundle, signal)) changed.push(stored.metadata.name);
    }
    return changed;
  }

  /** False when the configuration is no longer what we know: it will be told. */
  async #trust(kind: Kind, { metadata, bundles }: StoredConfiguration, bundle: string, signal: AbortSignal) {
    const body = [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion }, // or it is refused, as above
      ...bundles.map((_, index) => ({ op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: bundle })),
    ];
    const patching = this.#options.client.patch(kind, metadata.name, undefined, { type: 'json', body, signal });
    return patching.then(() => true, unlessChanged);
  }

  #present(): { kind: Kind; stored: StoredConfiguration }[] {
    return this.#configurations.flatMap((informer) =>
      informer.list().map((stored) => ({ kind: informer.kind, stored })),
    );
  }
}

/** False when the object is no longer what we know: it will be told. */
function unlessChanged(error: unknown): false {
  if (isNotFound(error) || isConflict(error)) return false;
  throw error;
}

function encoded(keyring: Keyring): string {
  return Buffer.from(bundleOf(keyring)).toString('base64');
}

function secretOf(object: KubernetesObject): StoredSecret {
  const { metadata, data = {} } = object as Secret;
  return { metadata: identityOf(metadata), data, owners: metadata.ownerReferences ?? [] };
}

function configurationOf(object: KubernetesObject): StoredConfiguration {
  const { metadata, webhooks = [] } = object as WebhookConfiguration;
  return { metadata: identityOf(metadata), bundles: webhooks.map(({ clientConfig }) => clientConfig.caBundle ?? '') };
}

function identityOf({ name, namespace, uid, resourceVersion }: KubernetesObject['metadata']) {
  return { name, namespace, uid, resourceVersion };
}
