/** Reads the metrics of an operator as Prometheus does: with a token of its own, and with Prometheus' parser. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { run } from '../../devcluster/command.ts';
import { programPath } from '../../devcluster/programs.ts';
import type { TestCluster } from './cluster.ts';
import { buildPrograms } from './programs.ts';

export interface Scraped {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
  /** In PEM form. */
  readonly certificate: string;
}

export interface ScrapeOptions {
  readonly token?: string;
  /** Who has to vouch for the server; without it, nobody. */
  readonly ca?: string;
}

/** With a connection of its own, handshake included. */
export async function scrape(port: number, { token, ca }: ScrapeOptions = {}): Promise<Scraped> {
  const since = performance.now();
  const call = request({
    host: '127.0.0.1',
    port,
    path: '/metrics',
    agent: false,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca, servername: 'localhost' }),
  }).end();
  let certificate = '';
  call.once('socket', (socket) =>
    socket.once('secureConnect', () => {
      const { raw } = (socket as TLSSocket).getPeerCertificate();
      certificate = new X509Certificate(raw).toString();
    }),
  );
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, text: await text(answer), ms: performance.now() - since, certificate };
}

/** A service account, and a token of it. */
export async function newAccount(cluster: TestCluster, name: string): Promise<string> {
  await cluster.kubectl(['create', 'serviceaccount', name]);
  return newToken(cluster, name);
}

/** It is good for an hour. */
export async function newToken(cluster: TestCluster, name: string): Promise<string> {
  return (await cluster.kubectl(['create', 'token', name])).trim();
}

/** Lets a service account read metrics, by the role that comes with the operator. */
export async function letRead(cluster: TestCluster, name: string): Promise<void> {
  const role = '--clusterrole=memcached-operator-metrics-reader';
  await cluster.kubectl(['create', 'clusterrolebinding', name, role, `--serviceaccount=default:${name}`]);
}

export interface Series {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value?: string;
  /** Of a histogram: counts by upper bound. */
  readonly buckets?: Readonly<Record<string, string>>;
  readonly count?: string;
  readonly sum?: string;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly metrics: readonly Series[];
}

/** The sum of all series of that name, for those who need one number of a page and not what Prometheus thinks of it. */
export function totalOf(page: string, name: string): number {
  const values = page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))));
  if (values.length === 0) throw new Error(`there is no ${name} among the metrics`);
  return values.reduce((sum, value) => sum + value, 0);
}

let parser: Promise<void> | undefined;

/** What Prometheus understands of a page. Fails where it does not. */
export async function parsed(page: string, signal: AbortSignal): Promise<Family[]> {
  parser ??= buildPrograms(['prom2json'], signal);
  await parser;
  return JSON.parse(await run(programPath('prom2json'), [], { input: page, signal })) as Family[];
}

/** The number of the one series that has these labels, whatever others it has. */
export function valueOf(families: readonly Family[], name: string, labels: Readonly<Record<string, string>> = {}) {
  const family = families.find((one) => one.name === name);
  const series = family?.metrics.filter((one) =>
    Object.entries(labels).every(([label, value]) => one.labels?.[label] === value),
  );
  return series?.length === 1 ? Number(series[0]?.value ?? series[0]?.count) : undefined;
}
