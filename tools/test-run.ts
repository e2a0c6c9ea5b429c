/** Runs the checks and tests that are asked for, and closes with one line that sums them up. */
import { delimiter, resolve } from 'node:path';
import { runStages } from './stage-run.ts';
import { type Stage, stages } from './stages.ts';
import { closingLine, failureList, summaryTable, total } from './tally.ts';

const usage = `Runs the checks and tests of the project. Run it from the root.

  node tools/test-run.ts [stage…] [-- argument for vitest…]

Without names all stages run, in this order:
${stages.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join('\n')}

A failing stage stops nothing. Ctrl-C ends the running stage in order; once more, at once.
The last line says "N passed, N failed"; a check counts as one. The exit code is 0 only when nothing failed.`;

/** The stages that are named, in their own order, or what is wrong with the names. */
function chosenStages(args: readonly string[]): readonly Stage[] | string {
  const divider = args.includes('--') ? args.indexOf('--') : args.length;
  const names = args.slice(0, divider);
  const forVitest = args.slice(divider + 1);
  const unknown = names.find((name) => !stages.some((stage) => stage.name === name));
  if (unknown !== undefined) return `There is no stage "${unknown}".`;
  return stages
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((stage) => (stage.countsTests ? { ...stage, command: [...stage.command, ...forVitest] } : stage));
}

async function main(args: readonly string[]): Promise<number> {
  const chosen = chosenStages(args.filter((arg) => arg !== '--help'));
  if (args.includes('--help')) {
    console.log(usage);
    return 0;
  }
  if (typeof chosen === 'string') {
    console.error(`${chosen}\n\n${usage}`);
    return 2;
  }

  const stop = new AbortController();
  const kill = new AbortController();
  const interrupt = () => (stop.signal.aborted ? kill : stop).abort();
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  process.env['PATH'] = [resolve('node_modules/.bin'), process.env['PATH']].join(delimiter);

  const results = await runStages(chosen, { stop: stop.signal, kill: kill.signal, print: console.log });
  const sum = total(results);
  console.log(`\n${summaryTable(results)}\n${failureList(results)}\n${closingLine(sum)}`);
  if (stop.signal.aborted) return 130;
  return sum.failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
