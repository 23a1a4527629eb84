// SPDX-License-Identifier: Apache-2.0
import { getJson } from './http';

export interface Budget {
  slo: string;
  objective: string;
  target: number;
  threshold_s?: number; // of durations
  match: Record<string, string[]>; // which requests: labels with their values, qwen* is a beginning
  requests: number;
  bad: number;
  good_ratio: number | null;
  window_s: number;
  window_requests: number;
  window_bad: number;
  spent_ratio: number | null;
  left_ratio: number | null;
}

export async function budgets(signal?: AbortSignal): Promise<Budget[]> {
  return (await getJson<{ data: { budgets: Budget[] } }>('/api/v1/slo/review', { since: '30d', only: 'budgets' }, signal)).data.budgets;
}
