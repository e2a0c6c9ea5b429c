/** Helm and kustomize, as people run them. */
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { run, WITHOUT_PROXY } from '../../devcluster/command.ts';
import { programPath } from '../../devcluster/programs.ts';
import { ROOT } from './cluster.ts';

export const CHART = path.join(ROOT, 'charts/memcached-operator');
export const RELEASE = 'memcached-operator';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export function helm(args: readonly string[], signal?: AbortSignal): Promise<string> {
  return run(programPath('helm'), args, { env: WITHOUT_PROXY, ...(signal && { signal }) });
}

/** What the chart renders with these arguments, as a release of its own name in the operator's own namespace. */
export async function rendered(args: readonly string[] = [], release = RELEASE): Promise<Manifest[]> {
  const place = ['--namespace', 'memcached-operator-system', '--kube-version', '1.31.0'];
  return parse(await helm(['template', release, CHART, ...place, ...args]));
}

/** What a directory of config/ renders. */
export async function kustomized(directory: string): Promise<Manifest[]> {
  return parse(await run(programPath('kustomize'), ['build', path.join(ROOT, 'config', directory)]));
}

function parse(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}
