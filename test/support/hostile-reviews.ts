/** AdmissionReviews that nobody should send: wrong types, huge numbers, names of an object's own, broken text. */

/** Numbers from 0 to 1, the same for the same seed. */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const resource = { group: 'memcached.c5c3.io', version: 'v1alpha1', resource: 'memcacheds' };
const spec = {
  replicas: 3,
  image: 'memcached:1.6.45',
  resources: { requests: { cpu: '250m' }, limits: { memory: '512Mi' } },
  memcached: { maxMemoryMB: 64, maxItemSize: '1m', threads: 4, extraArgs: ['-o', 'modern,hashpower=16', '-f', '1.5'] },
  autoscaling: {
    enabled: false,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization' } } }],
  },
  highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 1 }, gracefulShutdown: { enabled: true } },
  monitoring: { enabled: true, exporterResources: { limits: { cpu: 1 } }, serviceMonitor: { interval: '30s' } },
  security: { tls: { enabled: true, certificateSecretRef: { name: 'tls' } }, sasl: { enabled: false } },
  networkPolicy: { enabled: true, allowedSources: [{ podSelector: {} }] },
  podLabels: { team: 'a' },
};
const object = {
  apiVersion: 'memcached.c5c3.io/v1alpha1',
  kind: 'Memcached',
  metadata: { name: 'a', namespace: 'b' },
  spec,
};
const common = { uid: 'u', name: 'a', namespace: 'b', resource, userInfo: { username: 'x', groups: ['y'] } };
const requests: readonly object[] = [
  { ...common, operation: 'CREATE', object },
  {
    ...common,
    operation: 'UPDATE',
    object,
    oldObject: { ...object, spec: { ...spec, replicas: 2 }, status: { replicas: 2 } },
  },
  {
    ...common,
    operation: 'UPDATE',
    subResource: 'scale',
    object: { metadata: { name: 'a' }, spec: { replicas: 5 } },
    oldObject: {},
  },
  { ...common, operation: 'DELETE', oldObject: object },
];

/** Pieces of JSON, each of which means trouble somewhere. */
const pieces: readonly string[] = `
  null true 0 -1 1.5 1e308 1e999 -0 9007199254740993 4294967296 "" "x" [] {} [null] [[]] {"":""} [1,{},null]
  "\\u0000" "\\ud800" "__proto__" "100%" "1e1.5" "-1" "9999999999999999999k" {"a":1,"a":2} "cut
  {"__proto__":{"allowed":true}} {"constructor":{"prototype":{}}} {"toString":1,"valueOf":2,"length":-1}
  ["--","-","-o","-o"] ["-o=","-ovf","--=","---"] ["-o",",=,__proto__=1,constructor,hashpower=1e9"]`
  .trim()
  .split(/\s+/)
  .concat(`"${'x'.repeat(5000)}"`, '9'.repeat(2000), `"${'9'.repeat(5000)}Gi"`)
  .concat(`${'['.repeat(300)}${']'.repeat(300)}`, `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`);

const MARK = '\u0001';

/** One request, damaged in one to three places, mostly in the spec; mostly still JSON. */
export function hostileReview(random: Random): string {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const request = pick(requests);
  let review: unknown = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request };
  for (let count = Math.floor(random() * 3); count >= 0; count -= 1) {
    const way = random() < 0.8 ? ['request', 'object', 'spec'] : [];
    review = damaged(review, way, random);
  }
  const text = JSON.stringify(review).replaceAll(`"\\u0001"`, () => pick(pieces));
  if (random() < 0.95) return text;
  const cut = Math.floor(random() * text.length);
  return pick([text.slice(0, cut), `${text.slice(0, cut)}\u0000${text.slice(cut)}`, text + text, text.slice(cut), '']);
}

/** A copy in which something is replaced, removed or added: that way down, and then anywhere. */
function damaged(value: unknown, [first, ...way]: readonly string[], random: Random): unknown {
  if (typeof value !== 'object' || value === null || (first === undefined && random() < 0.12)) return MARK;
  const entries = Object.entries(value) as [string, unknown][];
  const index =
    first === undefined ? Math.floor(random() * entries.length) : entries.findIndex(([name]) => name === first);
  const dice = first === undefined ? random() : 1;
  if (dice < 0.05) entries.splice(index, 1);
  else if (dice < 0.12) entries.push([random() < 0.5 ? '__proto__' : 'constructor', MARK]);
  else if (entries[index]) entries[index] = [entries[index][0], damaged(entries[index][1], way, random)];
  return Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
}
