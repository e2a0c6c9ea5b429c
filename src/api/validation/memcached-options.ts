/** The command line of memcached 1.6, as its getopt sees it. */

export interface Option {
  readonly letter: string;
  readonly name?: string;
  readonly takesValue?: true | 'after =';
  /** Why a user may not set it, and what to do instead. */
  readonly owned?: string;
  /** A value that is no number above this makes memcached exit. */
  readonly above?: number;
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
  { letter: 'D', takesValue: true },
  { letter: 'e', name: 'memory-file', takesValue: true, owned: 'a pod has no file that would outlive it' },
  { letter: 'f', name: 'slab-growth-factor', takesValue: true, above: 1 },
  { letter: 'F', name: 'disable-flush-all' },
  { letter: 'h', name: 'help', owned: 'memcached would print its help and exit' },
  { letter: 'i', name: 'license', owned: 'memcached would print its license and exit' },
  { letter: 'I', name: 'max-item-size', takesValue: true, owned: 'set spec.memcached.maxItemSize instead' },
  { letter: 'k', name: 'lock-memory', owned: RIGHTS },
  { letter: 'l', name: 'listen', takesValue: true, owned: LISTEN },
  { letter: 'L', name: 'enable-largepages', owned: RIGHTS },
  { letter: 'm', name: 'memory-limit', takesValue: true, owned: 'set spec.memcached.maxMemoryMB instead' },
  { letter: 'M', name: 'disable-evictions' },
  { letter: 'n', name: 'slab-min-size', takesValue: true, above: 0 },
  { letter: 'N', name: 'napi_ids', takesValue: true, above: 0 },
  { letter: 'o', name: 'extended', takesValue: true },
  { letter: 'p', name: 'port', takesValue: true, owned: LISTEN },
  { letter: 'P', name: 'pidfile', takesValue: true },
  { letter: 'r', name: 'enable-coredumps' },
  { letter: 'R', name: 'max-reqs-per-event', takesValue: true, above: 0 },
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

/** The extended options that are the user's to set, besides those that begin with ext_. */
export const EXTENDED_OPTIONS: ReadonlySet<string> = new Set(
  `drop_privileges hash_algorithm hashpower hot_lru_pct hot_max_factor idle_timeout inline_ascii_resp lru_crawler
  lru_crawler_sleep lru_crawler_tocrawl lru_maintainer maxconns_fast modern no_chunked_items no_drop_privileges no_hashexpand
  no_inline_ascii_resp no_lru_crawler no_lru_maintainer no_maxconns_fast no_modern no_slab_automove no_slab_reassign
  read_buf_mem_limit resp_obj_mem_limit slab_automove slab_automove_freeratio slab_automove_ratio slab_automove_window
  slab_chunk_max slab_reassign slab_sizes sock_cookie_id tail_repair_time temporary_ttl track_sizes warm_lru_pct
  warm_max_factor watcher_logbuf_size worker_logbuf_size`.split(/\s+/),
);
