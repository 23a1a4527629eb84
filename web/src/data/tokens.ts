// SPDX-License-Identifier: Apache-2.0
/** Tokens: how many, how heavy requests are, what the cache saves, what they cost. */
import { instant, range, rate, selector, type Labels } from '../api/prom';
import type { Price, Prices } from '../api/prices';
import type { Line } from '../charts/lines';
import { windowOf, type Range } from '../state/range';
import { nameBy, toLines } from './curves';

export interface Change {
  requests: number | null; // against the time before, as a factor
  weight: number | null; // tokens per request, likewise
}

/** More requests, or heavier ones? */
export async function change(scope: Labels, r: Range, signal: AbortSignal): Promise<Change> {
  const length = `${r.end - r.start}s`;
  const where = selector(scope);
  const sumOver = async (metric: string, at: number, more: string[] = []) =>
    (await instant(`sum(increase(${metric}${more.length ? selector(scope, more) : where}[${length}]))`, signal, at))[0]?.value ?? 0;
  const [n, before, tokens, tokensBefore] = await Promise.all([
    sumOver('llm_requests_total', r.end), sumOver('llm_requests_total', r.start),
    sumOver('llm_tokens_total', r.end, ['type=~"prompt|completion"']), sumOver('llm_tokens_total', r.start, ['type=~"prompt|completion"']),
  ]);
  return { requests: before > 0 ? n / before : null, weight: before > 0 && n > 0 && tokensBefore > 0 ? tokens / n / (tokensBefore / before) : null };
}

export async function hitLines(scope: Labels, r: Range, signal: AbortSignal): Promise<Line[]> {
  const of = (type: string) => rate('llm_tokens_total', selector(scope, [`type="${type}"`]), windowOf(r), ['model']);
  return toLines(await range(`${of('cached')} / ${of('prompt')}`, r, signal), nameBy(['model']));
}

export async function gpuLines(scope: Labels, r: Range, signal: AbortSignal): Promise<Line[]> {
  const tokens = rate('llm_tokens_total', selector(scope, ['type="completion"']), windowOf(r));
  return toLines(await range(`${tokens} / scalar(count(gpu_utilization_ratio))`, r, signal), () => 'tok/GPU·s');
}

// --- totals ---

export const TYPES = ['prompt', 'completion', 'cached', 'reasoning'] as const;
export type TokenType = (typeof TYPES)[number];
export interface Total extends Record<TokenType, number> {
  model: string;
  upstream: string;
  requests: number;
}

export async function totals(scope: Labels, r: Range, signal: AbortSignal): Promise<Total[]> {
  const by = ['model', 'upstream'];
  const length = `${r.end - r.start}s`;
  const [tokens, requests] = await Promise.all([
    instant(`sum by (${[...by, 'type'].join(', ')}) (increase(llm_tokens_total${selector(scope)}[${length}]))`, signal, r.end),
    instant(`sum by (${by.join(', ')}) (increase(llm_requests_total${selector(scope)}[${length}]))`, signal, r.end),
  ]);
  const rows = new Map<string, Total>();
  const rowOf = (labels: Labels): Total => {
    const key = nameBy(by)(labels);
    if (!rows.has(key)) rows.set(key, { model: labels.model ?? '', upstream: labels.upstream ?? '', requests: 0, prompt: 0, completion: 0, cached: 0, reasoning: 0 });
    return rows.get(key)!;
  };
  for (const s of requests) rowOf(s.labels).requests = s.value;
  for (const s of tokens) if ((TYPES as readonly string[]).includes(s.labels.type)) rowOf(s.labels)[s.labels.type as TokenType] = s.value;
  return [...rows.values()].filter((x) => x.requests > 0);
}

// --- cost ---

const fits = ({ model }: Price, name: string): boolean => (model.endsWith('*') ? name.startsWith(model.slice(0, -1)) : name === model);

/** Cached tokens are part of the prompt's and have a price of their own. null: no price. */
export function costOf(x: Total, { models, tokens }: Prices): number | null {
  const p = models.find((m) => fits(m, x.model));
  return p ? ((x.prompt - x.cached) * p.prompt + x.cached * p.cached + x.completion * p.completion) / tokens : null;
}
