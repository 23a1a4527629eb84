// SPDX-License-Identifier: Apache-2.0
/** Figures of the overview: of now (over five minutes, or since the start), and of the range. */
import { status } from '../api/status';
import { instant, quantile, range, rate, selector, sumBy, type Labels, type Sample } from '../api/prom';
import type { Line } from '../charts/lines';
import type { Range } from '../state/range';
import { FAILED, MAX_LINES, nameBy, only, toLines } from './curves';

const NOW_S = 300;
const LEAST_S = 30; // two samples at least

/** Over how many seconds figures of now are: no longer than there was a gateway. */
export const nowLength = (uptime_s: number): number => Math.max(LEAST_S, Math.min(NOW_S, Math.ceil(uptime_s)));
const nowWindow = async (signal: AbortSignal): Promise<string> => `${nowLength((await status(signal)).uptime_s)}s`;

export interface Now {
  requestRate: number | null;
  failedRatio: number | null;
  tokenRate: number | null;
  ttftP95: number | null;
  e2eP99: number | null;
  inFlight: number | null;
  waiting: number | null;
  kv: number | null;
  gpu: number | null;
}

const ratioOf = (a: string, b: string): string => `(${a} or 0 * ${b}) / ${b}`;
const failed = (scope: Labels, window: string, by: string[]): string => rate('llm_requests_total', selector(scope, [`outcome=~"${FAILED}"`]), window, by);

function nowQueries(scope: Labels, window: string): Record<keyof Now, string> {
  const all = rate('llm_requests_total', selector(scope), window);
  const where = selector(only(scope, ['model', 'upstream']));
  const upstream = selector(only(scope, ['upstream']));
  return {
    requestRate: all,
    failedRatio: ratioOf(failed(scope, window, []), all),
    tokenRate: rate('llm_tokens_total', selector(scope, ['type="completion"']), window),
    ttftP95: quantile(0.95, 'llm_ttft_seconds', selector(scope), window),
    e2eP99: quantile(0.99, 'llm_e2e_seconds', selector(scope), window),
    inFlight: `sum(llm_inflight_requests${where})`,
    waiting: `(sum(inferometer_admission_waiting${upstream}) or vector(0)) + (sum(engine_waiting${upstream}) or vector(0))`,
    kv: `max(engine_kv_usage_ratio${upstream})`,
    gpu: 'avg(gpu_utilization_ratio)',
  };
}

export async function overviewNow(scope: Labels, signal: AbortSignal): Promise<Now> {
  const queries = nowQueries(scope, await nowWindow(signal));
  const all = await Promise.all(Object.entries(queries).map(async ([k, expr]) => [k, (await instant(expr, signal))[0]?.value ?? null] as const));
  return Object.fromEntries(all) as unknown as Now;
}

// --- a row for each model and upstream ---

export interface Row {
  model: string;
  upstream: string;
  requestRate: number | null;
  failedRatio: number | null;
  ttftP95: number | null;
  tpotP95: number | null;
  e2eP95: number | null;
  tokenRate: number | null;
  inFlight: number | null;
}
type Figure = Exclude<keyof Row, 'model' | 'upstream'>;

const BY = ['model', 'upstream'];

function rowQueries(scope: Labels, window: string): Record<Figure, string> {
  const where = selector(scope);
  const all = rate('llm_requests_total', where, window, BY);
  return {
    requestRate: all,
    failedRatio: ratioOf(failed(scope, window, BY), all),
    ttftP95: quantile(0.95, 'llm_ttft_seconds', where, window, BY),
    tpotP95: quantile(0.95, 'llm_tpot_seconds', where, window, BY),
    e2eP95: quantile(0.95, 'llm_e2e_seconds', where, window, BY),
    tokenRate: rate('llm_tokens_total', selector(scope, ['type="completion"']), window, BY),
    inFlight: sumBy(BY, `llm_inflight_requests${selector(only(scope, BY))}`),
  };
}

function join(figures: [Figure, Sample[]][]): Row[] {
  const rows = new Map<string, Row>();
  for (const [figure, samples] of figures)
    for (const { labels, value } of samples) {
      const { model = '', upstream = '' } = labels;
      const key = JSON.stringify([model, upstream]);
      const row = rows.get(key) ?? { model, upstream, requestRate: null, failedRatio: null, ttftP95: null, tpotP95: null, e2eP95: null, tokenRate: null, inFlight: null };
      row[figure] = value;
      rows.set(key, row);
    }
  // Series live on after the last request; what has neither requests nor streams is no news.
  return [...rows.values()].filter((r) => r.requestRate || r.inFlight);
}

export async function overviewRows(scope: Labels, signal: AbortSignal): Promise<Row[]> {
  const all = Object.entries(rowQueries(scope, await nowWindow(signal))) as [Figure, string][];
  return join(await Promise.all(all.map(async ([figure, expr]) => [figure, await instant(expr, signal)] as [Figure, Sample[]])));
}

// --- over time ---

export async function kvLines(scope: Labels, r: Range, signal: AbortSignal): Promise<Line[]> {
  return toLines(await range(`max by (upstream) (engine_kv_usage_ratio${selector(only(scope, ['upstream']))})`, r, signal), nameBy(['upstream']));
}

export async function gpuLines(r: Range, signal: AbortSignal): Promise<Line[]> {
  return toLines(await range('avg by (instance) (gpu_utilization_ratio)', r, signal), nameBy(['instance']));
}

export interface WaitingWords {
  gateway: string;
  engine: string;
  inFlight: string;
}

export async function waitingLines(scope: Labels, words: WaitingWords, r: Range, signal: AbortSignal): Promise<Line[]> {
  const upstream = selector(only(scope, ['upstream']));
  const parts: [string, string][] = [
    [words.inFlight, `sum by (upstream) (llm_inflight_requests${selector(only(scope, ['model', 'upstream']))})`],
    [words.gateway, `sum by (upstream) (inferometer_admission_waiting${upstream})`],
    [words.engine, `sum by (upstream) (engine_waiting${upstream})`],
  ];
  const all = await Promise.all(parts.map(async ([what, expr]) => (await range(expr, r, signal)).map((c) => ({ ...c, what }))));
  const curves = all.flat();
  const isOne = new Set(curves.map((c) => c.labels.upstream)).size === 1;
  return curves.slice(0, MAX_LINES).map((c) => ({ name: isOne ? c.what : `${c.labels.upstream}: ${c.what}`, points: c.points }));
}
