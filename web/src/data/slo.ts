// SPDX-License-Identifier: Apache-2.0
/** Budgets of objectives, how fast they go, and who spends them. */
import { instant, range, selector } from '../api/prom';
import { budgets, type Budget } from '../api/slo';
import type { Line } from '../charts/lines';
import type { Range } from '../state/range';
import { useMoment } from '../state/refresh';
import { useAsk, type Asked } from './ask';
import { FAILED, manyLines, MAX_LINES, nameBy } from './curves';

/** Rules count no more often. */
const EVERY_S = 30;

/** The most spent first. */
export const useBudgets = (): Asked<Budget[]> => useAsk('budgets', async (signal) =>
  (await budgets(signal)).sort((a, b) => (a.left_ratio ?? 1) - (b.left_ratio ?? 1)), { when: Math.floor(useMoment() / EVERY_S) });

/** Times as fast as evenly, over the last hour; null: no requests. */
export async function burnRates(all: Budget[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const ratios = await instant('slo:bad:increase1h / slo:total:increase1h', signal);
  const targets = new Map(all.map((b) => [`${b.slo} ${b.objective}`, b.target]));
  return new Map(ratios.map(({ labels, value }) => {
    const key = `${labels.slo} ${labels.objective}`;
    return [key, value / (1 - (targets.get(key) ?? 0))] as const;
  }));
}

/** Of each window that alerts look at. */
export async function burnLines(b: Budget, r: Range, signal: AbortSignal): Promise<Line[]> {
  const where = selector({ slo: b.slo, objective: b.objective });
  const rateOver = (w: string): string => `(slo:bad:increase${w}${where} / slo:total:increase${w}${where}) / ${1 - b.target}`;
  return manyLines(Object.fromEntries(['5m', '1h', '6h'].map((w) => [w, rateOver(w)])), r, signal);
}

/** What is left of the budget at each moment: the bad ones from then back over its window, as far as there is history. */
export async function budgetLines(b: Budget, name: string, r: Range, signal: AbortSignal): Promise<Line[]> {
  const where = selector({ slo: b.slo, objective: b.objective });
  const w = `${b.window_s}s`;
  const total = `sum(increase(llm_slo_total${where}[${w}]))`;
  const good = `sum(increase(llm_slo_good_total${where}[${w}]))`;
  const curves = await range(`1 - (1 - ${good} / ${total}) / ${1 - b.target}`, r, signal);
  return curves.slice(0, 1).map((c) => ({ name, points: c.points }));
}

/** Bad requests by model and upstream, in the last hour. */
export async function worst(b: Budget, signal: AbortSignal): Promise<Failures[]> {
  const where = selector({ slo: b.slo, objective: b.objective });
  const by = ['model', 'upstream'];
  const [total, good] = await Promise.all(['llm_slo_total', 'llm_slo_good_total'].map((m) =>
    instant(`sum by (${by.join(', ')}) (increase(${m}${where}[1h]))`, signal)));
  const goodOf = new Map(good.map((s) => [nameBy(by)(s.labels), s.value]));
  return total.map((s) => {
    const name = nameBy(by)(s.labels);
    return { name, total: s.value, bad: Math.max(0, s.value - (goodOf.get(name) ?? 0)) };
  }).filter((x) => x.total > 0).sort((a, b2) => b2.bad - a.bad).slice(0, MAX_LINES);
}

export interface Failures {
  name: string;
  bad: number;
  total: number;
}

interface Family {
  metric: string;
  field: string; // of rows
  more: string[]; // matchers: which of it the objective is about
  lacks: string[]; // labels that it has not
}

/** Where the values of a duration are; counts of SLOs have no business labels, these have. */
const FAMILIES: Readonly<Record<string, Family>> = {
  ttft: { metric: 'llm_ttft_seconds', field: 'ttft_ms', more: [], lacks: ['stream'] },
  tpot: { metric: 'llm_tpot_seconds', field: 'tpot_ms', more: [], lacks: [] },
  queue: { metric: 'llm_queue_seconds', field: 'queue_ms', more: [], lacks: ['stream'] },
  e2e: { metric: 'llm_e2e_seconds', field: 'e2e_ms', more: ['stream="false"'], lacks: ['stream'] },
};

export const familyOf = (b: Budget): Family | null => (b.threshold_s === undefined ? null : FAMILIES[b.objective] ?? null);

const literally = (v: string): string => v.replace(/[.+?^${}()|[\]\\*]/g, '\\$&');
const likeness = (v: string): string => (v.endsWith('*') ? `${literally(v.slice(0, -1))}.*` : literally(v));

/** The requests that an SLO is of, as matchers. */
function matchersOf(b: Budget, lacks: string[]): string[] {
  return Object.entries(b.match).filter(([label]) => !lacks.includes(label))
    .map(([label, values]) => `${label}=~${JSON.stringify(values.map(likeness).join('|'))}`);
}

/**
 * Bad requests of the last hour by each value of a business label: those that failed, or those whose time lies beyond the
 * threshold by the histogram (off by 2.2 % of the time; requests that ended without one are not in it).
 */
export async function worstBy(b: Budget, label: string, signal: AbortSignal): Promise<Failures[]> {
  const family = familyOf(b);
  const metric = family?.metric ?? 'llm_requests_total';
  const all = (more: string[] = []): string => `sum by (${label}) (increase(${metric}${selector({}, [...matchersOf(b, family?.lacks ?? []), ...(family?.more ?? []), ...more])}[1h]))`;
  const [total, part] = await Promise.all([
    instant(family ? `histogram_count(${all()})` : all(), signal),
    instant(family ? `histogram_fraction(${b.threshold_s}, +Inf, ${all()})` : all([`outcome=~"${FAILED}"`]), signal),
  ]);
  const partOf = new Map(part.map((s) => [s.labels[label], s.value]));
  return total.filter((s) => s.labels[label] && s.value > 0).map((s) => {
    const some = partOf.get(s.labels[label]) ?? 0;
    return { name: s.labels[label], total: s.value, bad: family ? some * s.value : some };
  }).sort((x, y) => y.bad / y.total - x.bad / x.total).slice(0, MAX_LINES);
}
