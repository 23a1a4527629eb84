// SPDX-License-Identifier: Apache-2.0
/** Conditions on requests, as they stand in an address and as the API wants them. Pure. */
import type { Range } from '../state/range';

export const SIGNS = ['=', '!=', '>=', '<='] as const;
export type Sign = (typeof SIGNS)[number];
export interface Condition {
  field: string;
  sign: Sign;
  value: string;
}

/** Offered for choice; the API takes every field of docs/RECORD.md. */
export const FIELDS = [
  'model', 'upstream', 'outcome', 'status', 'endpoint', 'is_stream', 'tenant', 'flags', 'ttft_ms', 'e2e_ms', 'tpot_ms', 'queue_ms', 'upstream_ttft_ms', 'total_ms', 'overhead_ms',
  'icl_max_ms', 'n_stalls', 'engine_queue_ms', 'engine_prefill_ms', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'n_attempts', 'finish_reason', 'model_version', 'key_id', 'client_request_id',
];
export const ORDERS = ['time', 'ttft_ms', 'tpot_ms', 'e2e_ms', 'queue_ms', 'total_ms', 'prompt_tokens', 'completion_tokens'];
export const OUTCOMES = [
  'ok', 'http_error', 'connect_failed', 'bad_response', 'stream_error', 'truncated', 'upstream_cut', 'client_gone_before_first', 'client_gone_after_first', 'stalled', 'timeout',
  'cut_by_gateway', 'rejected', 'unauthorized', 'forbidden', 'bad_request', 'internal',
];
const LIMIT = 50;
/** Scope labels of series whose field has another name, or is a business label. */
const FIELD_OF: Record<string, string> = { model: 'model', upstream: 'upstream', version: 'model_version', endpoint: 'endpoint', outcome: 'outcome', tenant: 'labels.tenant', feature: 'labels.feature' };
const RESERVED = ['range', 'from', 'to', 'refresh', 'split', 'q', 'order', 'show', 'cmp', 'where', 'after'];

/** ?where= of the address: conditions, one a line. */
export function parseConditions(text: string): Condition[] {
  return text.split('\n').flatMap((line) => {
    const m = /^([\w.]+)(>=|<=|!=|=)(.*)$/.exec(line);
    return m ? [{ field: m[1], sign: m[2] as Sign, value: m[3] }] : [];
  });
}

export const formatConditions = (all: Condition[]): string => all.map((c) => `${c.field}${c.sign}${c.value}`).join('\n');

/** All conditions of an address: ?where=, and parameters of other pages like model=, outcome=!ok. */
export function conditionsOf(params: Readonly<Record<string, string>>): Condition[] {
  const scope = Object.entries(params).filter(([k, v]) => v && !RESERVED.includes(k)).map(([k, v]): Condition => ({
    field: FIELD_OF[k] ?? `labels.${k}`, sign: v.startsWith('!') ? '!=' : '=', value: v.replace(/^!/, ''),
  }));
  return [...scope, ...parseConditions(params.where ?? '')];
}

/** In the query of the API the sign stands between: ttft_ms>=5 is the name "ttft_ms>" with the value 5. */
const written = ({ field, sign, value }: Condition): string =>
  `${encodeURIComponent(field + sign.slice(0, -1))}=${encodeURIComponent(value)}`;

export function queryOf(conditions: Condition[], order: string, range: Range, after = ''): string {
  const to = range.isLive ? [] : [`to=${range.end}`];
  return [...conditions.map(written), `from=${range.start}`, ...to, `order=${encodeURIComponent(order)}`, `limit=${LIMIT}`, ...(after ? [`after=${encodeURIComponent(after)}`] : [])].join('&');
}
