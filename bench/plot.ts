/** Lines over the number of Memcacheds, as SVG. */

export interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
}

interface Line {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

const SIZE = { width: 640, height: 360 } as const;
const MARGIN = { left: 60, right: 170, top: 40, bottom: 50 } as const;
const COLOURS = ['#1668b8', '#c4501b', '#2e8540', '#7b4ea3'];
const TICKS = 5;

export function plotOf({ title, unit, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points);
  const most = { x: Math.max(...points.map(({ x }) => x)), y: roundUp(Math.max(...points.map(({ y }) => y))) };
  const inner = {
    width: SIZE.width - MARGIN.left - MARGIN.right,
    height: SIZE.height - MARGIN.top - MARGIN.bottom,
  };
  const at = {
    x: (value: number) => MARGIN.left + (value / most.x) * inner.width,
    y: (value: number) => SIZE.height - MARGIN.bottom - (value / most.y) * inner.height,
  };
  const ticks = Array.from({ length: TICKS + 1 }, (_, index) => (most.y * index) / TICKS);
  const sizes = [...new Set(points.map(({ x }) => x))];
  const body = [
    text(SIZE.width / 2, 22, title, 'middle', 16),
    ...ticks.map((value) => grid(at.y(value), MARGIN.left + inner.width)),
    ...ticks.map((value) => text(MARGIN.left - 8, at.y(value) + 4, String(Number(value.toPrecision(3))), 'end')),
    ...sizes.map((size) => text(at.x(size), SIZE.height - MARGIN.bottom + 18, String(size), 'middle')),
    text(MARGIN.left + inner.width / 2, SIZE.height - 10, 'Memcacheds', 'middle'),
    text(14, MARGIN.top - 12, unit, 'start'),
    ...lines.flatMap((line, index) => drawn(line, COLOURS[index % COLOURS.length] ?? '', at)),
  ];
  const { width, height } = SIZE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${body.join('\n')}
</svg>
`;
}

interface Scale {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

function drawn({ name, points }: Line, colour: string, at: Scale): string[] {
  const places = points.map(({ x, y }) => [at.x(x), at.y(y)] as const);
  const [lastX = 0, lastY = 0] = places.at(-1) ?? [];
  return [
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')}"/>`,
    ...places.map(([x, y]) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${colour}"/>`),
    text(lastX + 8, lastY + 4, name, 'start', 12, colour),
  ];
}

function grid(y: number, right: number): string {
  return `<line x1="${MARGIN.left}" x2="${right}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}" stroke="#dddddd"/>`;
}

function text(x: number, y: number, content: string, anchor: string, size = 12, colour = '#333333'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-size="${size}" fill="${colour}">${content}</text>`;
}

/** To one, two or five times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
