/** A CPU profile of Node as a flame graph, and as a list. */

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/** A function, called from a certain place, with the time that it and those below it took. */
interface Frame {
  readonly name: string;
  own: number;
  total: number;
  readonly below: Map<string, Frame>;
}

const WIDTH = 1400;
const ROW = 16;
/** Narrower ones cannot be seen. */
const NARROWEST = 0.5;
const LETTER = 6.5;

export function flameGraphOf(profile: CpuProfile, title: string): string {
  const root = frameOf(profile);
  const rects: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, x: number, depth: number) => {
    const width = (frame.total / root.total) * WIDTH;
    if (width < NARROWEST) return;
    deepest = Math.max(deepest, depth);
    rects.push(rectangle(frame, x, depth, width, root.total));
    let left = x;
    for (const child of [...frame.below.values()].toSorted((a, b) => b.total - a.total)) {
      draw(child, left, depth + 1);
      left += (child.total / root.total) * WIDTH;
    }
  };
  draw(root, 0, 1);
  const height = (deepest + 2) * ROW;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="4" y="12">${escaped(title)}: ${seconds(root.total)} s of work, callers above, hover for names</text>
${rects.join('\n')}
</svg>
`;
}

/** The functions that took most themselves. */
export function hottest(profile: CpuProfile, most: number): string {
  const own = new Map<string, number>();
  const root = frameOf(profile);
  const add = (frame: Frame) => {
    own.set(frame.name, (own.get(frame.name) ?? 0) + frame.own);
    for (const child of frame.below.values()) add(child);
  };
  add(root);
  const sorted = [...own].toSorted(([, a], [, b]) => b - a).slice(0, most);
  return sorted.map(([name, time]) => `${((100 * time) / root.total).toFixed(1).padStart(6)} %  ${name}`).join('\n');
}

/** Calls of the same function from the same place are one frame, and idle time is none. */
function frameOf({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const times = new Map<number, number>();
  for (const [index, id] of samples.entries()) times.set(id, (times.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const root: Frame = { name: 'all', own: 0, total: 0, below: new Map() };
  const fill = (frame: Frame, node: ProfileNode): number => {
    const own = times.get(node.id) ?? 0;
    frame.own += own;
    let total = own;
    for (const child of (node.children ?? []).flatMap((id) => byId.get(id) ?? [])) {
      const name = nameOf(child);
      if (name === '(idle)') continue;
      const next = frame.below.get(name) ?? { name, own: 0, total: 0, below: new Map<string, Frame>() };
      frame.below.set(name, next);
      total += fill(next, child);
    }
    frame.total += total;
    return total;
  };
  const [first] = nodes;
  if (first) fill(root, first);
  return root;
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = url.split('/').pop() ?? '';
  return `${functionName || '(anonymous)'}${file === '' ? '' : ` ${file}:${lineNumber + 1}`}`;
}

function rectangle({ name, total }: Frame, x: number, depth: number, width: number, all: number): string {
  const label = name.slice(0, Math.max(0, Math.floor(width / LETTER) - 1));
  const y = depth * ROW;
  return [
    `<g><title>${escaped(name)}: ${((100 * total) / all).toFixed(2)} %</title>`,
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${colourOf(name)}"/>`,
    label.length < 3 ? '' : `<text x="${(x + 2).toFixed(1)}" y="${y + 11}">${escaped(label)}</text>`,
    '</g>',
  ].join('');
}

/** Ours, the garbage collector's, and Node's. */
function colourOf(name: string): string {
  if (name.includes('memcached-operator')) return '#f2a65a';
  return name.startsWith('(') ? '#d98880' : '#a9cce3';
}

function seconds(microseconds: number): string {
  return (microseconds / 1e6).toFixed(1);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
