/** The manifests in config/, rendered, and told which image to run. */
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Target } from './target.ts';

export const CONFIG = path.join(path.dirname(import.meta.dirname), 'config/default');

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface DeploymentManifest extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
    };
  };
}

/** All of them, in an order in which they can be applied. kubectl has kustomize built in. */
export async function manifests({ kubectl }: Pick<Target, 'kubectl'>): Promise<Manifest[]> {
  return parseManifests(await kubectl(['kustomize', CONFIG]));
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** For kubectl, whatever its age: an older one does not understand JSON with `---` in between. */
export function textOf(objects: readonly Manifest[]): string {
  return objects.map((object) => JSON.stringify(object)).join('\n');
}

export function isDeployment(manifest: Manifest): manifest is DeploymentManifest {
  return manifest.kind === 'Deployment';
}

/** The same Deployment with this image. The digest makes its pods new ones when the image is another under the same name. */
export function withImage(manifest: Manifest, image: string, digest?: string): Manifest {
  if (!isDeployment(manifest)) return manifest;
  const { template } = manifest.spec;
  const annotations = { ...template.metadata.annotations, ...(digest && { 'memcached.c5c3.io/image-digest': digest }) };
  const containers = template.spec.containers.map((container) => ({ ...container, image }));
  const deployment: DeploymentManifest = {
    ...manifest,
    spec: {
      ...manifest.spec,
      template: {
        ...template,
        metadata: { ...template.metadata, annotations },
        spec: { ...template.spec, containers },
      },
    },
  };
  return deployment;
}
