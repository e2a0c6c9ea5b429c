/** Where the pods listen, by name and number. */

/** memcached, for clients. */
export const SERVER_PORT = { name: 'memcached', port: 11211 } as const;

/** The exporter, for Prometheus. */
export const METRICS_PORT = { name: 'metrics', port: 9150 } as const;

/** memcached, for an exporter that the port of the clients would not let in. Only the pod itself can connect there. */
export const LOOPBACK = '127.0.0.1:11212';
