/** What the operator starts of the webhooks, and where the API server finds them. */
export { HEALTH_PATH, MUTATE_PATH, VALIDATE_PATH } from './endpoint.ts';
export { serveWebhooks, type WebhookServerOptions } from './server.ts';
