// SPDX-License-Identifier: Apache-2.0
/** Budgets of objectives, how fast they go, and who spends them. */
import { instant, range, selector } from '../api/prom';
import { budgets, type Budget } from '../api/slo';
import type { Line } from '../charts/lines';
import type { Range } from '../state/range';
import { useMoment } from '../state/refresh';
import { useAsk, type Asked } from './ask';
import { FAILED, MAX_LINES, nameBy } from './curves';

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
  const all = await Promise.all(['5m', '1h', '6h'].map(async (w) =>
    (await range(`(slo:bad:increase${w}${where} / slo:total:increase${w}${where}) / ${1 - b.target}`, r, signal)).slice(0, 1).map((c) => ({ name: w, points: c.points }))));
  return all.flat();
}

/** What is left of the budget at each moment: the bad ones from then back over its window, as far as there is history. */
export async function budgetLines(b: Budget, r: Range, signal: AbortSignal): Promise<Line[]> {
  const where = selector({ slo: b.slo, objective: b.objective });
  const w = `${b.window_s}s`;
  const total = `sum(increase(llm_slo_total${where}[${w}]))`;
  const good = `sum(increase(llm_slo_good_total${where}[${w}]))`;
  const curves = await range(`1 - (1 - ${good} / ${total}) / ${1 - b.target}`, r, signal);
  return curves.slice(0, 1).map((c) => ({ name: b.objective, points: c.points }));
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

/** Failed requests of the last hour by each value of a business label; counts of SLOs have none. */
export async function failuresBy(label: string, signal: AbortSignal): Promise<Failures[]> {
  const of = (more: string[]) => instant(`sum by (${label}) (increase(llm_requests_total${selector({}, more)}[1h]))`, signal);
  const [total, bad] = await Promise.all([of([]), of([`outcome=~"${FAILED}"`])]);
  const badOf = new Map(bad.map((s) => [s.labels[label], s.value]));
  return total.filter((s) => s.labels[label] && s.value > 0).map((s) => ({ name: s.labels[label], total: s.value, bad: badOf.get(s.labels[label]) ?? 0 }))
    .sort((a, b) => b.bad - a.bad).slice(0, MAX_LINES);
}
