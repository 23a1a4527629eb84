// SPDX-License-Identifier: Apache-2.0
/**
 * One request as bars on one axis, in ms since its last byte was read (t_request is 0). Stages of the gateway follow
 * one another exactly; the engine's own are laid from the end of sending on, as it tells only how long they took, and
 * what they leave of the time to the first token is nobody's. Pure.
 */
import type { RequestRow } from '../api/requests';

export interface Span {
  name: string;
  from: number;
  to: number;
}
export interface Tick {
  at: number;
  events: number;
  tokens: number;
}
export interface Waterfall {
  stages: Span[];
  engine: Span[];
  ticks: Tick[];
  start: number;
  end: number;
}

/** As they follow one another. */
export const STAGE_ORDER = ['receive', 'auth', 'route', 'queue', 'retry', 'connect', 'send', 'wait', 'first_event', 'first_token', 'reasoning', 'answer', 'tail', 'delivery'];
const ENGINE = ['queue', 'load', 'prefill', 'decode'];

const number = (row: RequestRow, field: string): number | null => (typeof row[field] === 'number' ? (row[field] as number) : null);

function stagesOf(row: RequestRow): Span[] {
  const lengths = STAGE_ORDER.flatMap((name) => {
    const ms = number(row, `stage_${name}_ms`);
    return ms === null ? [] : [{ name, ms }];
  });
  let at = -(lengths.find((l) => l.name === 'receive')?.ms ?? 0);
  return lengths.map(({ name, ms }) => {
    const span = { name, from: at, to: at + ms };
    at += ms;
    return span;
  });
}

function engineOf(row: RequestRow, stages: Span[]): Span[] {
  const told = ENGINE.map((name) => ({ name, ms: number(row, `engine_${name}_ms`) })).filter((s) => s.ms !== null);
  if (told.length === 0) return [];
  const rest = number(row, 'engine_unattributed_ms');
  const sent = stages.find((s) => s.name === 'send')?.to ?? 0;
  let at = sent;
  const spans: Span[] = [];
  const add = (name: string, ms: number) => {
    spans.push({ name, from: at, to: at + ms });
    at += ms;
  };
  if (rest !== null) add('unattributed', rest);
  for (const { name, ms } of told) add(name, ms!);
  return spans;
}

export function waterfall(row: RequestRow): Waterfall {
  const stages = stagesOf(row);
  const engine = engineOf(row, stages);
  const ticks = (row.timeline ?? []).map(([at, events, tokens]) => ({ at, events, tokens }));
  const start = stages[0]?.from ?? 0;
  const end = Math.max(...[...stages, ...engine].map((s) => s.to), ...ticks.map((x) => x.at), start + 0.001);
  return { stages, engine, ticks, start, end };
}

const quoted = (text: string): string => `'${text.replace(/'/g, `'\\''`)}'`;
const PATHS: Record<string, string> = {
  chat_completions: '/v1/chat/completions', completions: '/v1/completions', embeddings: '/v1/embeddings', responses: '/v1/responses', messages: '/v1/messages', ollama_chat: '/api/chat', ollama_generate: '/api/generate',
};

/** A request like it. Keys and prompts are not kept, so that they cannot be in it. */
export function curl(row: RequestRow, base: string): string {
  const body = { model: row.model, ...(row.is_stream ? { stream: true } : {}), ...(row.max_tokens ? { max_tokens: row.max_tokens } : {}), messages: [{ role: 'user', content: '…' }] };
  return [`curl -N ${quoted(base + (PATHS[row.endpoint] ?? `/${row.endpoint}`))}`, `-H 'Content-Type: application/json'`, `-H 'Authorization: Bearer KEY'`, `-d ${quoted(JSON.stringify(body))}`].join(' \\\n  ');
}
