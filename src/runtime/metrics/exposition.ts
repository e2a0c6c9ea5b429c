/** The text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/ */

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The two lines before the samples of a metric. */
export function heading(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
}

/** `labels` as `labelText` gives them. */
export function sample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${numberText(value)}\n` : `${name}{${labels}} ${numberText(value)}\n`;
}

/** `a="1",b="2"`, in the order of the names. */
export function labelText<Label extends string>(
  names: readonly Label[],
  values: Readonly<Record<Label, string>>,
): string {
  let text = '';
  for (const name of names) text += `${text === '' ? '' : ','}${name}="${escaped(values[name])}"`;
  return text;
}

function escaped(value: string): string {
  if (!/[\\"\n]/.test(value)) return value; // nearly all
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

export function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
