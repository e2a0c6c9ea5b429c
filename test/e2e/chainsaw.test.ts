/** What YAML says best: each folder in chainsaw/ is a behaviour that Chainsaw plays through, in a namespace of its own. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { programPath } from '../../devcluster/programs.ts';
import { deployed } from '../support/deployed.ts';
import { needPrograms } from '../support/programs.ts';

const at = deployed('test-chainsaw');
const FOLDER = path.join(import.meta.dirname, 'chainsaw');
/** No time decides: these are for machines that are very slow. */
const PATIENCE = ['assert', 'error', 'apply', 'delete', 'cleanup', 'exec'].map((what) => `--${what}-timeout=180s`);

needPrograms('chainsaw');

/** What Chainsaw prints, whether it succeeds or not. */
async function chainsaw(folder: string, signal: AbortSignal): Promise<string> {
  const args = ['test', '--test-dir', path.join(FOLDER, folder), '--no-color', ...PATIENCE];
  const env = { ...process.env, ...at.env };
  const said = await promisify(execFile)(programPath('chainsaw'), args, { env, signal }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return `${said.stdout}\n${said.stderr}`;
}

test.concurrent.for(readdirSync(FOLDER))('%s', async (folder, { signal }) => {
  expect(await chainsaw(folder, signal)).toMatch(/Passed\s+tests 1\b/i);
});
