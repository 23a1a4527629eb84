// SPDX-License-Identifier: Apache-2.0
/** Questions over time that several pages ask, as lines. */
import { quantile, range, rate, selector, type Curve, type Labels } from '../api/prom';
import type { Line } from '../charts/lines';
import { windowOf, type Range } from '../state/range';

/** As the shipped alert rules count failures. */
export const FAILED = 'http_error|connect_failed|bad_response|stream_error|truncated|upstream_cut|stalled|timeout|rejected|internal';
export const QUANTILES: Readonly<Record<string, number>> = { p50: 0.5, p95: 0.95, p99: 0.99 };
export const MAX_LINES = 8;

const lastOf = (c: Curve): number => c.points[c.points.length - 1][1];

/** A line per label set, the largest first, no more than can be told apart. */
export function toLines(curves: Curve[], nameOf: (labels: Labels) => string, more: Partial<Line> = {}): Line[] {
  return [...curves].sort((a, b) => lastOf(b) - lastOf(a)).slice(0, MAX_LINES).map((c) => ({ name: nameOf(c.labels), points: c.points, ...more }));
}

export const nameBy = (by: string[]) => (labels: Labels): string => by.map((b) => labels[b] ?? '–').join(' · ');

/** What is less than a histogram can tell from nothing is nothing: a quantile is laid into the lowest bucket's width. */
const leastOf = (metric: string): number => (metric.endsWith('_seconds') ? 1e-6 : 1);

/** One line per expression, all of the same range. */
export async function manyLines(expressions: Record<string, string>, r: Range, signal: AbortSignal): Promise<Line[]> {
  const all = await Promise.all(Object.entries(expressions).map(async ([name, expr]) =>
    (await range(expr, r, signal)).slice(0, 1).map((c) => ({ name, points: c.points }))));
  return all.flat();
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
