// SPDX-License-Identifier: Apache-2.0
/** Alerting rules with what they look at, over time. */
import { alertRules, silences, type Rule, type Silence } from '../api/alerts';
import { range, selector, type Labels } from '../api/prom';
import type { Line } from '../charts/lines';
import type { Unit } from '../format/units';
import type { Range } from '../state/range';
import { useAsk, type Asked } from './ask';
import { toLines } from './curves';
import { comparison } from './threshold';

export type GroupedRule = Rule & { group: string; file: string };

const STATES = ['firing', 'pending', 'inactive', 'unknown'];

export const useRules = (): Asked<GroupedRule[]> => useAsk('rules', async (signal) =>
  (await alertRules(signal)).sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state) || a.name.localeCompare(b.name)), { topics: ['alerts'] });

export const useSilences = (): Asked<Silence[]> => useAsk('silences', async (signal) =>
  (await silences(signal)).filter((s) => s.status.state !== 'expired'), { topics: ['alerts'] });

/** By the names of what is measured; a share where nothing says otherwise. */
export function unitOf(expr: string): Unit {
  const c = comparison(expr)?.value ?? expr;
  if (/histogram_quantile|_seconds_sum/.test(c) && /_seconds/.test(c)) return 'seconds';
  if (/ratio|\/ /.test(c)) return 'ratio';
  if (/_seconds(?!_count)/.test(c)) return 'seconds';
  return 'count';
}

export interface RuleCurves {
  lines: Line[];
  threshold?: { value: number; text: string };
}

const nameOfAlert = (labels: Labels): string =>
  Object.entries(labels).filter(([k]) => !['__name__', 'instance', 'job', 'alertname', 'alertstate', 'tier'].includes(k)).map(([, v]) => v).join(' · ');

export async function ruleCurves(rule: Rule, words: string, r: Range, signal: AbortSignal): Promise<RuleCurves> {
  const parts = comparison(rule.query);
  const name = (labels: Labels): string => nameOfAlert(labels) || rule.name;
  if (!parts) return { lines: toLines(await range(rule.query, r, signal), name) };
  const isNumber = /^[\d.eE+-]+$/.test(parts.threshold);
  const [curves, limit] = await Promise.all([
    range(parts.value, r, signal),
    isNumber ? Number(parts.threshold) : range(`max(${parts.threshold})`, r, signal).then((c) => c[0]?.points.at(-1)?.[1]),
  ]);
  return { lines: toLines(curves, name), threshold: limit === undefined ? undefined : { value: limit, text: words } };
}

/** 1 while an alert of that rule fired, a line for each label set. */
export async function firedLines(rule: string, r: Range, signal: AbortSignal): Promise<Line[]> {
  const curves = await range(`ALERTS${selector({ alertname: rule, alertstate: 'firing' })}`, r, signal);
  return toLines(curves, nameOfAlert);
}
