/** The name of a Memcached is also that of its Service, and the start of its servers' names. */
import { type Check, invalid } from './field-error.ts';

const DNS_1035_LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const MAX_LENGTH = 60;

export const nameFitsService: Check = ({ metadata: { name } }) => {
  // With generateName, the API may not have made a name yet.
  if (!name || (name.length <= MAX_LENGTH && DNS_1035_LABEL.test(name))) return [];
  return [
    invalid(
      'metadata.name',
      name,
      `the name of a Memcached must be a DNS-1035 label of at most ${MAX_LENGTH} characters (it names a Service, and its servers are name-63 at most)`,
    ),
  ];
};
