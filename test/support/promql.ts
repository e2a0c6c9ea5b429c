/** What a query of Prometheus asks for, without understanding more of it than that. */

export interface Asked {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

/** Metrics and labels that a query names, also one of Grafana's for the values of a label. */
export function askedFor(query: string): Asked {
  const [, values, label] = /^label_values\((.*),\s*(\w+)\)$/.exec(query) ?? [];
  const labels = label === undefined ? [] : [label];
  const rest = (values ?? query)
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    .replaceAll(/\{([^}]*)\}/g, (_, matchers: string) => {
      labels.push(...(matchers.match(/\w+(?=\s*[=!])/g) ?? []));
      return ' ';
    })
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g, (_, names: string) => {
      labels.push(...(names.match(/\w+/g) ?? []));
      return ' ';
    })
    .replaceAll(/\[[^\]]*\](?:\s*offset\s+\w+)?/g, ' ');
  const names = rest.match(/\b[a-zA-Z_:][\w:]*\b(?!\s*\()/g) ?? [];
  return { metrics: [...new Set(names.filter((name) => !WORDS.has(name)))], labels: [...new Set(labels)] };
}
