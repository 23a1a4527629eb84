// SPDX-License-Identifier: Apache-2.0
/** Latency by stage, split, compared; heat maps; what a request's time is made of. */
import { histograms, quantile, range, selector, sumBy, type HistogramCurve, type Labels } from '../api/prom';
import type { Cloud } from '../charts/ScatterChart';
import type { Line } from '../charts/lines';
import { seconds, windowOf, type Range } from '../state/range';
import { MAX_LINES, nameBy, only, quantileLines, toLines } from './curves';
import { departure, type Departure } from './departure';
import { STAGE_ORDER } from './waterfall';

export interface StageRow {
  key: 'queue' | 'ttft' | 'tpot' | 'e2e';
  metric: string;
  floor: number; // s: less than this above what is usual is no news
}

export const STAGES: StageRow[] = [
  { key: 'queue', metric: 'llm_queue_seconds', floor: 0.05 },
  { key: 'ttft', metric: 'llm_ttft_seconds', floor: 0.05 },
  { key: 'tpot', metric: 'llm_tpot_seconds', floor: 0.002 },
  { key: 'e2e', metric: 'llm_e2e_seconds', floor: 0.1 },
];
export const LATENCY_QUANTILES: Readonly<Record<string, number>> = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, 'p99.9': 0.999 };
/** Splits that a family of their own has. */
export const BANDS = ['prompt_band', 'cached_band'];
const BANDED = 'llm_ttft_by_prompt_seconds';

/** Of which the whole time is asked: as long before the range again. */
const withBefore = (r: Range): Range => ({ ...r, start: r.start - (r.end - r.start) });

export interface StagePicture {
  lines: Line[];
  departure: Departure | null;
}

/** How a stage is looked at. */
export interface View {
  scope: Labels;
  split: string; // a label, or ''
  q: string; // a name of LATENCY_QUANTILES, where it is split
  earlier: string; // compared with so long ago, or ''
}

export async function stagePicture(stage: StageRow, view: View, r: Range, signal: AbortSignal): Promise<StagePicture> {
  const qs = view.split ? { p95: 0.95 } : LATENCY_QUANTILES;
  const [all, split, past] = await Promise.all([
    quantileLines(stage.metric, view.scope, withBefore(r), signal, qs), splitLines(stage, view, r, signal), earlierLines(stage, view, r, signal)]);
  const p95 = all.find((l) => l.name === 'p95');
  const lines = view.split ? split : all.map((l) => from(l, r.start)).filter((l) => l.points.length > 0);
  return { lines: [...lines, ...past], departure: p95 ? departure(p95.points, r.start, stage.floor) : null };
}

const from = (l: Line, start: number): Line => ({ ...l, points: l.points.filter(([at]) => at >= start) });

async function splitLines(stage: StageRow, { scope, split, q }: View, r: Range, signal: AbortSignal): Promise<Line[]> {
  if (!split) return [];
  const isBand = BANDS.includes(split);
  if (isBand && stage.key !== 'ttft') return [];
  const metric = isBand ? BANDED : stage.metric;
  const where = selector(isBand ? only(scope, ['model']) : scope);
  return toLines(await range(quantile(LATENCY_QUANTILES[q] ?? 0.95, metric, where, windowOf(r), [split]), r, signal), nameBy([split]));
}

/** The same so long ago, laid over the range. */
async function earlierLines(stage: StageRow, { scope, split, q, earlier }: View, r: Range, signal: AbortSignal): Promise<Line[]> {
  const by = seconds(earlier);
  if (!(by > 0) || split) return [];
  const then = { ...r, start: r.start - by, end: r.end - by };
  const lines = await quantileLines(stage.metric, scope, then, signal, { [q]: LATENCY_QUANTILES[q] ?? 0.95 });
  return lines.map((l) => ({ ...l, name: `${l.name} −${earlier}`, isDashed: true, points: l.points.map(([at, v]) => [at + by, v] as [number, number]) }));
}

/** Wide enough for samples at both ends of each cell. */
export const heatRange = (r: Range): Range => {
  const step = Math.max(60, r.step);
  return { ...r, step, start: Math.floor(r.start / step) * step, end: Math.ceil(r.end / step) * step };
};

export const heat = (metric: string, scope: Labels, r: Range, signal: AbortSignal): Promise<HistogramCurve[]> =>
  histograms(sumBy([], `increase(${metric}${selector(scope)}[${r.step}s])`), r, signal);

const orderOf = (stage: string): number => STAGE_ORDER.indexOf(stage);

/** Seconds of each stage in a second of all requests' time: what the time is made of. */
export async function stageShares(r: Range, signal: AbortSignal, nameOf: (stage: string) => string): Promise<Line[]> {
  const all = sumBy([], `rate(inferometer_stage_seconds_count{stage="receive"}[${windowOf(r)}])`);
  const curves = await range(`${sumBy(['stage'], `rate(inferometer_stage_seconds_sum[${windowOf(r)}])`)} / scalar(${all}) > 0`, r, signal);
  return curves.sort((a, b) => orderOf(a.labels.stage) - orderOf(b.labels.stage))
    .map((c) => ({ name: nameOf(c.labels.stage), points: c.points, isArea: true, term: `stage_${c.labels.stage}_ms` }));
}

/** Gaps against requests that run at once, at the same moments. */
export async function batchClouds(scope: Labels, r: Range, signal: AbortSignal): Promise<Cloud[]> {
  const by = ['model', 'upstream'];
  const where = selector(only(scope, by));
  const [running, tpot] = await Promise.all([
    range(sumBy(by, `avg_over_time(llm_inflight_requests${where}[${windowOf(r)}])`), r, signal),
    range(quantile(0.5, 'llm_tpot_seconds', selector(scope), windowOf(r), by), r, signal),
  ]);
  const sizes = new Map(running.map((c) => [nameBy(by)(c.labels), new Map(c.points)]));
  return tpot.slice(0, MAX_LINES).map((c) => {
    const name = nameBy(by)(c.labels);
    const at = sizes.get(name);
    return { name, points: c.points.flatMap(([s, v]) => (at?.has(s) ? [[at.get(s)!, v] as [number, number]] : [])) };
  }).filter((c) => c.points.length > 0);
}

