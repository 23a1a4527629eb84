// SPDX-License-Identifier: Apache-2.0
/** PromQL over the gateway's history, and the pieces that expressions are made of. */
import { getJson } from './http';
import type { Range } from '../state/range';

export type Labels = Record<string, string>;
export interface Sample {
  labels: Labels;
  value: number;
}
export interface Curve {
  labels: Labels;
  points: [number, number][]; // seconds, value
}
/** One moment of a histogram: [lower, upper, count] of each bucket that has something. */
export interface HistogramCurve {
  labels: Labels;
  points: { at: number; buckets: [number, number, number][] }[];
}

interface Answer<R> {
  data: { result: R[] };
}
type RawHistogram = { buckets?: [number, string, string, string][] };

export async function instant(query: string, signal?: AbortSignal, time?: number): Promise<Sample[]> {
  const params: Record<string, string> = time === undefined ? { query } : { query, time: String(time) };
  const answer = await getJson<Answer<{ metric: Labels; value: [number, string] }>>('/api/v1/query', params, signal);
  return answer.data.result.map((r) => ({ labels: r.metric, value: Number(r.value?.[1]) })).filter((s) => !Number.isNaN(s.value));
}

const over = (query: string, { start, end, step }: Range): Record<string, string> =>
  ({ query, start: String(start), end: String(end), step: String(step) });

export async function range(query: string, r: Range, signal?: AbortSignal): Promise<Curve[]> {
  const answer = await getJson<Answer<{ metric: Labels; values?: [number, string][] }>>('/api/v1/query_range', over(query, r), signal);
  return answer.data.result.map(({ metric, values = [] }) => ({
    labels: metric,
    points: values.map(([at, v]) => [at, Number(v)] as [number, number]).filter(([, v]) => Number.isFinite(v)),
  })).filter((c) => c.points.length > 0);
}

export async function histograms(query: string, r: Range, signal?: AbortSignal): Promise<HistogramCurve[]> {
  const answer = await getJson<Answer<{ metric: Labels; histograms?: [number, RawHistogram][] }>>('/api/v1/query_range', over(query, r), signal);
  return answer.data.result.map(({ metric, histograms: all = [] }) => ({
    labels: metric,
    points: all.map(([at, h]) => ({
      at,
      buckets: (h.buckets ?? []).map(([, lower, upper, n]) => [Number(lower), Number(upper), Number(n)] as [number, number, number]),
    })),
  }));
}

export async function labelValues(name: string, match: string, signal?: AbortSignal): Promise<string[]> {
  const answer = await getJson<{ data: string[] }>(`/api/v1/label/${encodeURIComponent(name)}/values`, { 'match[]': match }, signal);
  return answer.data.filter((v) => v !== '');
}

export async function labelNames(match: string, signal?: AbortSignal): Promise<string[]> {
  return (await getJson<{ data: string[] }>('/api/v1/labels', { 'match[]': match }, signal)).data;
}

const quoted = (v: string): string => `"${v.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`;

/** {a="x",b="y"}; what is empty asks for nothing. more: matchers as they are written. */
export function selector(labels: Readonly<Record<string, string | undefined>>, more: string[] = []): string {
  const all = Object.entries(labels).filter(([, v]) => v).map(([k, v]) => `${k}=${quoted(v!)}`);
  return `{${[...all, ...more].join(',')}}`;
}

export const sumBy = (by: string[], expr: string): string => `sum${by.length ? ` by (${by.join(', ')})` : ''} (${expr})`;

/** Quantile of a histogram, from its exponential buckets (off by 2.2 % at most). */
export const quantile = (q: number, metric: string, select: string, window: string, by: string[] = []): string =>
  `histogram_quantile(${q}, ${sumBy(by, `rate(${metric}${select}[${window}])`)})`;

export const rate = (metric: string, select: string, window: string, by: string[] = []): string =>
  sumBy(by, `rate(${metric}${select}[${window}])`);
