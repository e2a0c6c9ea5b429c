/** Keys of labels and annotations, whose values the schema checks. */
import { type Check, invalid, type Warning } from './field-error.ts';

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const keysAreWellFormed: Check = ({ spec }) => {
  const maps = {
    'spec.podLabels': spec.podLabels,
    'spec.podAnnotations': spec.podAnnotations,
    'spec.nodeSelector': spec.nodeSelector,
    'spec.service.annotations': spec.service?.annotations,
    'spec.monitoring.serviceMonitor.additionalLabels': spec.monitoring.serviceMonitor.additionalLabels,
  };
  return Object.entries(maps).flatMap(([field, map = {}]) =>
    Object.keys(map)
      .filter((key) => !isKey(key))
      .map((key) =>
        invalid(
          field,
          key,
          'a key must be a name of at most 63 letters, digits, "-", "_" or ".", beginning and ending with a letter or digit, with an optional DNS name and "/" before it',
        ),
      ),
  );
};

const OWN_LABELS: readonly string[] = ['name', 'instance', 'managed-by', 'version'].map(
  (name) => `app.kubernetes.io/${name}`,
);

export const labelsAreTaken: Warning = ({ spec }) => {
  const taken = Object.keys(spec.podLabels ?? {}).filter((key) => OWN_LABELS.includes(key));
  if (taken.length === 0) return undefined;
  return `spec.podLabels: the operator sets ${taken.join(', ')} itself, and what stands here is ignored; use another key`;
};

function isKey(key: string): boolean {
  const [name = '', prefix, ...more] = key.split('/').toReversed();
  return (
    more.length === 0 && NAME.test(name) && (prefix === undefined || (prefix.length <= 253 && PREFIX.test(prefix)))
  );
}
