/** The command line of memcached 1.6, as its getopt sees it. */
import { integer, notBlank, numberAbove, type ValueRule } from './option-values.ts';

export interface Option {
  readonly letter: string;
  readonly name?: string;
  readonly takesValue?: true | 'after =';
  /** Why a user may not set it, and what to do instead. */
  readonly owned?: string;
  /** With any other value, memcached would not start. */
  readonly value?: ValueRule;
}

const LISTEN = 'the operator decides where memcached listens';
const RIGHTS = 'the pod does not have the rights for it';

export const OPTIONS: readonly Option[] = [
  { letter: 'a', name: 'unix-mask', takesValue: true },
  { letter: 'A', name: 'enable-shutdown', owned: 'every client could stop the server' },
  { letter: 'b', name: 'listen-backlog', takesValue: true },
  { letter: 'B', name: 'protocol', takesValue: true, owned: 'the protocol follows from spec.security.sasl' },
  { letter: 'c', name: 'conn-limit', takesValue: true, owned: 'set spec.memcached.maxConnections instead' },
  { letter: 'C', name: 'disable-cas' },
  { letter: 'd', name: 'daemon', owned: 'the container would end at once' },
  { letter: 'D', takesValue: true, value: notBlank },
  { letter: 'e', name: 'memory-file', takesValue: true, owned: 'a pod has no file that would outlive it' },
  { letter: 'f', name: 'slab-growth-factor', takesValue: true, value: numberAbove(1) },
  { letter: 'F', name: 'disable-flush-all' },
  { letter: 'h', name: 'help', owned: 'memcached would print its help and exit' },
  { letter: 'i', name: 'license', owned: 'memcached would print its license and exit' },
  { letter: 'I', name: 'max-item-size', takesValue: true, owned: 'set spec.memcached.maxItemSize instead' },
  { letter: 'k', name: 'lock-memory', owned: RIGHTS },
  { letter: 'l', name: 'listen', takesValue: true, owned: LISTEN },
  { letter: 'L', name: 'enable-largepages', owned: RIGHTS },
  { letter: 'm', name: 'memory-limit', takesValue: true, owned: 'set spec.memcached.maxMemoryMB instead' },
  { letter: 'M', name: 'disable-evictions' },
  { letter: 'n', name: 'slab-min-size', takesValue: true, value: integer(1) },
  { letter: 'N', name: 'napi-ids', takesValue: true, value: integer(1) },
  { letter: 'o', name: 'extended', takesValue: true },
  { letter: 'p', name: 'port', takesValue: true, owned: LISTEN },
  { letter: 'P', name: 'pidfile', takesValue: true },
  { letter: 'r', name: 'enable-coredumps' },
  { letter: 'R', name: 'max-reqs-per-event', takesValue: true, value: integer(1) },
  { letter: 's', name: 'unix-socket', takesValue: true, owned: LISTEN },
  { letter: 'S', name: 'enable-sasl', owned: 'set spec.security.sasl instead' },
  { letter: 't', name: 'threads', takesValue: true, owned: 'set spec.memcached.threads instead' },
  { letter: 'u', name: 'user', takesValue: true, owned: 'set spec.security.podSecurityContext.runAsUser instead' },
  { letter: 'U', name: 'udp-port', takesValue: true, owned: LISTEN },
  { letter: 'v', name: 'verbose', takesValue: 'after =' },
  { letter: 'V', name: 'version', owned: 'memcached would print its version and exit' },
  { letter: 'W', name: 'disable-watch' },
  { letter: 'X', name: 'disable-dumping' },
  { letter: 'Y', name: 'auth-file', takesValue: true, owned: 'set spec.security.sasl instead' },
  { letter: 'Z', name: 'enable-ssl', owned: 'set spec.security.tls instead' },
];
