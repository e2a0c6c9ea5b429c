/** Whether something grows with time, or only wavers. */

export interface Slope {
  /** Per unit of x. */
  readonly value: number;
  /** With 95 % confidence the true slope is no further away than this. */
  readonly margin: number;
}

/** A straight line through the points, by least squares; at least three of them. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): Slope {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const sum = (values: readonly number[]) => mean(values) * values.length;
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))];
  const spread = sum(points.map((point) => (point.x - x) ** 2));
  const value = sum(points.map((point) => (point.x - x) * (point.y - y))) / spread;
  const freedom = points.length - 2;
  const residual = sum(points.map((point) => (point.y - y - value * (point.x - x)) ** 2));
  return { value, margin: studentT(freedom) * Math.sqrt(residual / freedom / spread) };
}

/** The 97.5 % quantile of Student's t distribution, from that of the normal one (Cornish and Fisher). */
function studentT(freedom: number): number {
  const z = 1.959964;
  return z + (z ** 3 + z) / (4 * freedom) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2);
}
