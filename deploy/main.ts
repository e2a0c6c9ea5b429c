/** The operator's image, and the operator in a cluster: built, deployed, removed. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runCommandLine } from '../devcluster/command-line.ts';
import { Problem } from '../devcluster/problem.ts';
import { buildImage } from './image.ts';
import { fullReference } from './image-reference.ts';

const HELP = `Usage: node deploy/main.ts <command> [options]

Commands:
  image            build the operator's image, an OCI archive

Options:
  --image <name>   the image's name (default: ghcr.io/c5c3/memcached-operator:latest)
  --archive <file> where the image is written (default: dist/image.tar)
  --help           this text
`;

async function main(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { values, positionals } = parseOrExplain(args);
  const [command] = positionals;
  if (values.help || command === undefined) {
    process.stdout.write(HELP);
    return;
  }
  if (command !== 'image') throw new Problem(`There is no command "${command}".`, 'See --help.');
  const reference = fullReference(values.image);
  const { file, digest } = await buildImage(reference, values.archive, { signal, output: process.stdout });
  process.stdout.write(`${path.relative(process.cwd(), file)}: ${reference}, ${digest}\n`);
}

function parseOrExplain(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        image: { type: 'string', default: 'ghcr.io/c5c3/memcached-operator:latest' },
        archive: { type: 'string', default: path.join(path.dirname(import.meta.dirname), 'dist/image.tar') },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new Problem(error instanceof Error ? error.message : String(error), 'See --help.');
  }
}

await runCommandLine((signal) => main(process.argv.slice(2), signal));
