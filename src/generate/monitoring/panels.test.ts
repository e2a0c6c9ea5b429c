import { expect, test } from 'vitest';
import { dashboards } from './index.ts';
import { dashboardJson } from './panels.ts';

interface Placed {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

const COLUMNS = 24;

/** The cells that a panel takes. */
function* cellsOf({ gridPos: { x, y, w, h } }: Placed) {
  for (let column = x; column < x + w; column += 1)
    for (let line = y; line < y + h; line += 1) yield `${column},${line}`;
}

test.for(dashboards)('$title: panels have numbers and places of their own', (dashboard) => {
  const { panels } = dashboardJson(dashboard) as { panels: Placed[] };
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap((panel) => [...cellsOf(panel)]);
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(COLUMNS);
});

test.for(dashboards)('$title: every panel says what it shows', ({ rows }) => {
  const panels = rows.flatMap((row) => row.panels);
  expect(panels.filter(({ title, description }) => title === '' || description === '')).toEqual([]);
});
