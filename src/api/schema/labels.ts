/** Labels and annotations that are passed on. */
import { map, string } from './json-schema.ts';

const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';

export function labels(description: string) {
  return map(description, string('Value of the label.', { maxLength: 63, pattern: LABEL_VALUE }));
}

export function annotations(description: string) {
  return map(description, string('Value of the annotation.'));
}
