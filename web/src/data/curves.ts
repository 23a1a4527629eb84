// SPDX-License-Identifier: Apache-2.0
/** Questions over time that several pages ask, as lines. */
import { quantile, range, rate, selector, type Curve, type Labels } from '../api/prom';
import type { Line } from '../charts/lines';
import { windowOf, type Range } from '../state/range';
import { nameBy, toldApart } from './names';

export { nameBy } from './names';

/** As the shipped alert rules count failures. */
export const FAILED = 'http_error|connect_failed|bad_response|stream_error|truncated|upstream_cut|stalled|timeout|rejected|internal';
export const QUANTILES: Readonly<Record<string, number>> = { p50: 0.5, p95: 0.95, p99: 0.99 };
export const MAX_LINES = 8;

const lastOf = (c: Curve): number => c.points[c.points.length - 1][1];

/** A line per label set, the largest first, no more than can be told apart. */
export function toLines(curves: Curve[], nameOf: (labels: Labels) => string, more: Partial<Line> = {}): Line[] {
  const shown = [...curves].sort((a, b) => lastOf(b) - lastOf(a)).slice(0, MAX_LINES);
  const names = toldApart(shown.map((c) => nameOf(c.labels)), shown);
  return shown.map((c, i) => ({ name: names[i], points: c.points, ...more }));
}

/** Tells the expressions of one question apart. */
const OF = 'line_of';

/** What is less than a histogram can tell from nothing is nothing: a quantile is laid into the lowest bucket's width. */
const leastOf = (metric: string): number => (metric.endsWith('_seconds') ? 1e-6 : 1);

/** One line per expression, all of the same range: one question, so that what they have in common is read once. */
export async function manyLines(expressions: Record<string, string>, r: Range, signal: AbortSignal): Promise<Line[]> {
  const marked = Object.values(expressions).map((expr, i) => `label_replace(${expr}, "${OF}", "${i}", "", "")`);
  const curves = await range(marked.join(' or '), r, signal);
  return Object.keys(expressions).flatMap((name, i) =>
    curves.filter((c) => c.labels[OF] === String(i)).slice(0, 1).map((c) => ({ name, points: c.points })));
}

export async function quantileLines(metric: string, scope: Labels, r: Range, signal: AbortSignal, qs = QUANTILES): Promise<Line[]> {
  const expressions = Object.fromEntries(Object.entries(qs).map(([name, q]) => [name, quantile(q, metric, selector(scope), windowOf(r))]));
  const least = leastOf(metric);
  const floored = ([at, v]: [number, number]): [number, number] => [at, v < least ? 0 : v];
  return (await manyLines(expressions, r, signal)).map((l) => ({ ...l, points: l.points.map(floored) }));
}

type NameOf = (labels: Labels) => string;

export async function rateLines(metric: string, scope: Labels, by: string[], r: Range, signal: AbortSignal, nameOf: NameOf = nameBy(by)): Promise<Line[]> {
  const curves = await range(`${rate(metric, selector(scope), windowOf(r), by)} > 0`, r, signal);
  return toLines(curves, nameOf, { isArea: true });
}

/** Labels of the scope that a family has not are no condition on it. */
export const only = (scope: Labels, names: string[]): Labels => Object.fromEntries(Object.entries(scope).filter(([k]) => names.includes(k)));
