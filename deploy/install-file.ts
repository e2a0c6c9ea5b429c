/** Everything that installs the operator, in one file: for `kubectl apply --server-side -f`, on machines that have no more than that. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { run } from '../devcluster/command.ts';
import { programPart, programPath } from '../devcluster/programs.ts';
import { buildMissing, type ProgressOutput } from '../devcluster/progress.ts';
import { ownComponent } from '../tools/bill-of-materials.ts';
import { CONFIG, parseManifests, withImage } from './manifests.ts';

const ROOT = path.dirname(import.meta.dirname);

export interface InstallFileOptions {
  readonly image: string;
  readonly signal: AbortSignal;
  readonly output: ProgressOutput;
}

/** Rendered by a kustomize that is pinned: the same sources give the same bytes. */
export async function writeInstallFile(file: string, { image, signal, output }: InstallFileOptions): Promise<void> {
  await buildMissing([programPart('kustomize')], signal, output);
  const rendered = parseManifests(await run(programPath('kustomize'), ['build', CONFIG], { signal }));
  const documents = rendered.map((manifest) =>
    stringify(withImage(manifest, image), { lineWidth: 0, aliasDuplicateObjects: false }),
  );
  const { name, version } = ownComponent(ROOT);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(
    file,
    `# ${name} ${version}: kubectl apply --server-side -f install.yaml\n${documents.join('---\n')}`,
  );
}
