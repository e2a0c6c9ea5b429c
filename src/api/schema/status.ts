/** What the operator says about a Memcached. */
import { choice, integer, list, object, string } from './json-schema.ts';

const conditionSchema = object(
  'One aspect of the state.',
  {
    type: string('What it is about: Available, Progressing, Degraded or Ready.', { maxLength: 316 }),
    status: choice('Whether it is so.', ['True', 'False', 'Unknown']),
    reason: string('Why, in one word.', {
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: string('Why, in a sentence, and what to do about it.', { maxLength: 32768 }),
    lastTransitionTime: string('Since when it is so.', { format: 'date-time' }),
    observedGeneration: integer('The metadata.generation of the Memcached that this is said about.', {
      format: 'int64',
      minimum: 0,
    }),
  },
  { required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'] },
);

export const statusSchema = object('What the cache is like, as the operator saw it last.', {
  replicas: integer('Number of servers that are wanted.'),
  readyReplicas: integer('Number of servers that are ready.'),
  memcachedVersion: string('Version of memcached, as the servers say it.'),
  currentConnections: integer('Open connections, of all servers together.'),
  hitRatio: string('Share of the gets that found their key, of all servers together, from 0.00 to 1.00.', {
    pattern: '^[0-1]\\.\\d{2}$',
  }),
  observedGeneration: integer('The metadata.generation of the spec that was carried out last.', { format: 'int64' }),
  serverList: list(
    'Addresses of the servers, in the order in which clients should list them.',
    string('Address and port of one server.'),
  ),
  selector: string('Label selector of the pods, for those who scale through the scale subresource.'),
  conditions: list('The state: Available, Progressing, Degraded and Ready.', conditionSchema, ['type']),
});
