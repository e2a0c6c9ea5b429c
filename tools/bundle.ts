/** Puts the operator with all its dependencies into one file, which starts faster and takes less memory than its sources. */
import { dirname } from 'node:path';
import { build, type Plugin } from 'esbuild';

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

/** Writes the bundle, and beside it the map that leads stack traces back to the sources (`node --enable-source-maps`). */
export async function bundle(outfile: string): Promise<{ bytes: number; files: number }> {
  const { metafile } = await build({
    absWorkingDir: dirname(import.meta.dirname),
    entryPoints: ['src/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm', // main.ts awaits at its top level
    banner: { js: REQUIRE },
    plugins: [requiredBuiltins],
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  });
  const bytes = Object.entries(metafile.outputs).find(([file]) => !file.endsWith('.map'))?.[1].bytes ?? 0;
  return { bytes, files: Object.keys(metafile.inputs).length };
}

if (import.meta.main) {
  const outfile = 'dist/memcached-operator.js';
  const { bytes, files } = await bundle(outfile);
  console.log(`${outfile}: ${Math.round(bytes / 1000)} kB from ${files} files`);
}
