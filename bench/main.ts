/** The benchmark: the operator and a bare client do the same on a cluster of their own, and both are measured. */
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { run } from '../devcluster/command.ts';
import { runCommandLine } from '../devcluster/command-line.ts';
import { auditLog } from '../devcluster/control-plane.ts';
import { kubeconfigOf } from '../devcluster/instance.ts';
import { createClient, findAccess } from '../src/runtime/client/index.ts';
import { ROOT, startCluster, stopCluster, type TestCluster } from '../test/support/cluster.ts';
import { installOperator } from '../test/support/operator.ts';
import { AuditLog } from './audit.ts';
import { REPLICAS } from './crowd.ts';
import { measureBareNode, measureFloor, removeNamespaces } from './floor.ts';
import { Machine } from './machine.ts';
import { measureArrival, measureQuiet, measureStart } from './measurement.ts';
import { Operator, USER_AGENT } from './operator.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { say, timed } from './progress.ts';
import { type Results, rowsOf, tableOf } from './verdicts.ts';

const NAME = 'bench';
const NAMESPACES = ['bench-warm-up', 'bench-floor', 'bench-crowd', 'bench-floor-again'] as const;
/** Before the floor is measured, so that it is not the one who finds everything cold. */
const WARM_UP = 32;
const PODS_PER_NODE = 100;

async function main(args: readonly string[], signal: AbortSignal): Promise<void> {
  const options = readOptions(args);
  if (options === 'help') return void process.stdout.write(HELP);
  if (!options.sources) say((await run(process.execPath, ['tools/bundle.ts'], { cwd: ROOT, signal })).trim());
  try {
    // Of one floor the pods may still be there when the next comes.
    const fakeNodes = Math.max(10, Math.ceil((3 * REPLICAS * options.count) / PODS_PER_NODE));
    const cluster = await startCluster({ name: NAME, form: 'fake', audit: true, fakeNodes, signal });
    const results = await measure(cluster, options, signal);
    await tell(results, options);
  } finally {
    if (!options.keep) {
      await stopCluster({ name: NAME });
      say(`cluster "${NAME}" is gone`);
    }
  }
}

async function measure(cluster: TestCluster, options: Options, signal: AbortSignal): Promise<Results> {
  const { count } = options;
  const kubeconfig = await installOperator(cluster, signal);
  const access = await findAccess({ kubeconfig: kubeconfigOf(cluster.instance), env: {}, home: homedir() });
  const client = createClient({ access, userAgent: 'bench/1' });
  const audit = new AuditLog(auditLog(cluster.instance), USER_AGENT);
  const script = path.join(ROOT, options.sources ? 'src/main.ts' : 'dist/memcached-operator.js');
  const machine = await Machine.of(cluster.instance);
  const start = () => Operator.start({ script, nodeFlags: options.nodeFlags, kubeconfig, signal });
  const [warmUp, before, crowd, after] = NAMESPACES;
  let operator: Operator | undefined;
  try {
    const bareNodeMB = await measureBareNode();
    await removeNamespaces(client, NAMESPACES, signal);
    await measureFloor(client, warmUp, WARM_UP, signal);
    const floorOf = async (namespace: string) => {
      await timed('until the cluster is calm', machine.calm(signal));
      return machine.during([], () => measureFloor(client, namespace, count, signal));
    };
    const [floor, othersBefore] = await floorOf(before);
    await removeNamespaces(client, [warmUp, before], signal);
    await audit.next();

    await timed('until the cluster is calm', machine.calm(signal));
    operator = await start();
    const firstStart = await measureStart({ client, operator, audit, signal });
    const scene = { client, operator, audit, namespace: crowd, count, signal };
    const [arrival, othersMeanwhile] = await machine.during([operator.pid], () => measureArrival(scene));
    const quiet = await measureQuiet(scene);
    say('a restart');
    await operator.stop();
    await audit.next();
    operator = await start();
    const restart = await measureStart({ ...scene, operator });
    await operator.stop();

    const [floorAgain, othersAfter] = await floorOf(after);
    const others = [othersBefore, othersMeanwhile, othersAfter];
    return { count, bareNodeMB, others, floors: [floor, floorAgain], firstStart, arrival, quiet, restart };
  } finally {
    await operator?.stop();
    await client.close();
  }
}

async function tell(results: Results, { sources, nodeFlags }: Options): Promise<void> {
  const { count, arrival } = results;
  const rows = rowsOf(results);
  const node = process.version;
  const how = `${sources ? 'sources' : 'bundle'}, Node ${[node, ...nodeFlags].join(' ')}`;
  process.stdout.write(
    `\n${count} Memcacheds with ${REPLICAS} replicas each; ${how}\n\n${tableOf(rows)}\n\nper Memcached:`,
  );
  for (const [sort, times] of Object.entries(arrival.bySort))
    process.stdout.write(`  ${(times / count).toFixed(2)} ${sort}`);
  const floors = results.floors.map(({ childrenMs }) => (childrenMs / 1000).toFixed(2)).join(' and ');
  const others = results.others.map((share) => `${(share * 100).toFixed(0)} %`).join(', ');
  process.stdout.write(`\nfloor for all children: ${floors} s, before and after the operator\n`);
  process.stdout.write(`other programs took ${others} of the machine before, meanwhile and after\n`);

  const directory = path.join(ROOT, 'bench/results');
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, `${new Date().toISOString().replace(/[:.]/g, '-')}.json`);
  await writeFile(file, `${JSON.stringify({ node, sources, nodeFlags, rows, ...results }, undefined, 2)}\n`);
  process.stdout.write(`written to ${path.relative(process.cwd(), file)}\n`);
}

await runCommandLine((signal) => main(process.argv.slice(2), signal));
