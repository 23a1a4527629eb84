// SPDX-License-Identifier: Apache-2.0
/** The measuring itself, measured. */
import { instant, range } from '../api/prom';
import type { Line } from '../charts/lines';
import { windowOf, type Range } from '../state/range';
import { manyLines, quantileLines, toLines } from './curves';

export function coverageLines(r: Range, signal: AbortSignal, words: { ttft: string; usage: string }): Promise<Line[]> {
  const share = (metric: string): string => `sum(rate(${metric}[${windowOf(r)}])) / sum(rate(inferometer_streams_total[${windowOf(r)}]))`;
  return manyLines({ [words.ttft]: share('inferometer_streams_with_ttft_total'), [words.usage]: share('inferometer_streams_with_usage_total') }, r, signal);
}

export const overheadLines = (r: Range, signal: AbortSignal): Promise<Line[]> => quantileLines('inferometer_overhead_seconds', { phase: 'request' }, r, signal);

export async function scrapeLines(r: Range, signal: AbortSignal): Promise<Line[]> {
  return toLines(await range('scrape_duration_seconds', r, signal), (l) => l.instance);
}

export const memoryLines = (r: Range, signal: AbortSignal): Promise<Line[]> =>
  manyLines({ RSS: 'sum(inferometer_memory_resident_bytes) > 0' }, r, signal);

export const ruleLines = (r: Range, signal: AbortSignal): Promise<Line[]> =>
  manyLines({ p: 'max(inferometer_rule_tick_microseconds) / 1e6' }, r, signal).then((all) => all.map((l) => ({ ...l, name: 'tick' })));

export async function clockOffset(signal: AbortSignal): Promise<number | null> {
  return (await instant('max(abs(clock_offset_seconds))', signal))[0]?.value ?? null;
}
