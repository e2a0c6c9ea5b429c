/** What the operator starts of the webhooks, and where the API server finds them. */
export { HEALTH_PATH, MUTATE_PATH, VALIDATE_PATH } from './endpoint.ts';
export { addressTowards } from './local.ts';
export { serveWebhooks, type WebhookServerOptions } from './server.ts';
export { type CertificateOrigin, startWebhooks, type Webhooks } from './start.ts';
