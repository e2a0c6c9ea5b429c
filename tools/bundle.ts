/** Puts the operator with all its dependencies into one file, which starts faster and takes less memory than its sources. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { billOfMaterials, type Component, licences, ownComponent, packagesOf } from './bill-of-materials.ts';

const ROOT = dirname(import.meta.dirname);

/** Gives modules of the new kind what those of the old kind load others with. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * Loads the parts of Node by `require`: an import statement reads everything that a part exports, and with node:http that
 * loads a second HTTP client, 4 MB and tens of milliseconds, for the sake of a WebSocket that nobody asked for.
 */
const requiredBuiltins: Plugin = {
  name: 'required-builtins',
  setup(on) {
    on.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'builtin' } : { path, external: true },
    );
    on.onLoad({ filter: /^/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require('${path}');`,
    }));
  },
};

/**
 * The commit that the operator is bundled from: $COMMIT where the history is not at hand, as in an image's build.
 * Changes that were not committed are told of if they can be in the bundle.
 */
export function commitOf(env: NodeJS.ProcessEnv): string {
  if (env['COMMIT']) return env['COMMIT'];
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--', 'src', 'package.json', 'package-lock.json') !== '';
    return `${git('rev-parse', '--short=12', 'HEAD')}${isChanged ? '-dirty' : ''}`;
  } catch {
    return 'unknown';
  }
}

export interface BundleOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** What it is shipped with besides. */
  readonly platform?: readonly Component[];
}

/**
 * Writes the bundle, and beside it the map that leads stack traces back to the sources (`node --enable-source-maps`),
 * the licences of what is in it, and its bill of materials.
 */
export async function bundle(outfile: string, options: BundleOptions = {}): Promise<{ bytes: number; files: number }> {
  const { env = process.env, platform = [] } = options;
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm', // main.ts awaits at its top level
    banner: { js: REQUIRE },
    define: { COMMIT: JSON.stringify(commitOf(env)) },
    plugins: [requiredBuiltins],
    // Node keeps the text of the bundle in memory. Names stay, for those who read stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  });
  const files = Object.keys(metafile.inputs);
  const packages = packagesOf(files, ROOT);
  writeFileSync(besides(outfile, 'licenses.txt'), licences(packages));
  writeFileSync(besides(outfile, 'cdx.json'), billOfMaterials(ownComponent(ROOT), [...packages, ...platform]));
  const bytes = Object.entries(metafile.outputs).find(([file]) => !file.endsWith('.map'))?.[1].bytes ?? 0;
  return { bytes, files: files.length };
}

/** The name of a file that goes with the bundle. */
function besides(outfile: string, extension: string): string {
  return outfile.replace(/\.m?js$/, `.${extension}`);
}

if (import.meta.main) {
  const outfile = process.argv[2] ?? 'dist/memcached-operator.js';
  const { bytes, files } = await bundle(outfile);
  console.log(`${outfile}: ${Math.round(bytes / 1000)} kB from ${files} files`);
}
