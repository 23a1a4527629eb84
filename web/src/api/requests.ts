// SPDX-License-Identifier: Apache-2.0
/** Rows of requests: docs/RECORD.md. */
import { getJson } from './http';

export interface RequestRow {
  started_at: string;
  request_id: string;
  client_request_id?: string;
  labels?: Record<string, string>;
  endpoint: string;
  method: string;
  upstream: string;
  model: string;
  outcome: string;
  outcome_reason?: string;
  status: number;
  is_stream: boolean;
  n_attempts: number;
  flags: string[];
  total_ms: number;
  ttft_ms: number | null;
  e2e_ms: number | null;
  tpot_ms?: number;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  cached_tokens?: number;
  max_tokens?: number;
  timeline?: [ms: number, events: number, tokens: number][];
  [field: string]: unknown;
}
export interface RequestPage {
  requests: RequestRow[];
  next: string | null;
}

/** query: as it stands in the address, since a condition may be FIELD>=VALUE. */
export const requestPage = (query: string, signal?: AbortSignal): Promise<RequestPage> => getJson(`/api/v1/requests?${query}`, {}, signal);

export const requestById = (id: string, signal?: AbortSignal): Promise<RequestRow> => getJson(`/api/v1/requests/${encodeURIComponent(id)}`, {}, signal);
