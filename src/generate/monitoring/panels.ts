/** The pieces that a Grafana dashboard is made of. */

export interface Query {
  readonly expr: string;
  /** What stands in the legend, with labels in double braces. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** A graph unless something else is said: one number, or a table of the latest ones. */
  readonly form?: 'timeseries' | 'stat';
  /** Of the 24 columns of a dashboard. */
  readonly width?: 4 | 6 | 8 | 12 | 24;
}

type Unit = 'short' | 'percentunit' | 'bytes' | 'Bps' | 'ops' | 'reqps' | 's' | 'dateTimeFromNow';

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** Asks Prometheus for the values of a label. */
  readonly query: string;
}

export interface Dashboard {
  /** Of the file and in links; it stays the same whatever the title becomes. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

const SOURCE = { type: 'prometheus', uid: '${datasource}' };
const COLUMNS = 24;
const HEIGHTS = { stat: 4, timeseries: 8 } as const;

/** The JSON that Grafana imports. */
export function dashboardJson({ uid, title, description, variables, rows }: Dashboard): object {
  return {
    uid,
    title,
    description,
    tags: ['memcached'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [sourceVariable(), ...variables.map(queryVariable)] },
    annotations: { list: [] },
    panels: arranged(rows),
  };
}

function sourceVariable(): object {
  return { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {} };
}

function queryVariable({ name, label, query }: Variable): object {
  return {
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  };
}

/** Rows below each other, and in each the panels from left to right, as many as fit. */
function arranged(rows: readonly Row[]): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y += 1;
    let [x, height] = [0, 0];
    for (const panel of panels) {
      const [w, h] = [panel.width ?? 8, HEIGHTS[panel.form ?? 'timeseries']];
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0];
      placed.push(panelJson(panel, placed.length + 1, { x, y, w, h }));
      [x, height] = [x + w, Math.max(height, h)];
    }
    y += height;
  }
  return placed;
}

function panelJson({ title, description, unit, queries, form = 'timeseries' }: Panel, id: number, gridPos: object) {
  const isStat = form === 'stat';
  return {
    id,
    type: form,
    title,
    description,
    gridPos,
    datasource: SOURCE,
    fieldConfig: {
      defaults: { unit, min: isStat ? undefined : 0, custom: isStat ? {} : { fillOpacity: 10 } },
      overrides: [],
    },
    options: isStat
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
      ...(isStat && { instant: true }),
    })),
  };
}
