// SPDX-License-Identifier: Apache-2.0
import { getJson, post } from './http';
import type { Labels } from './prom';

export interface IncidentSummary {
  id: string;
  state: 'open' | 'ending' | 'closed';
  tier: string;
  started_at: string;
  ended_at: string | null;
  alerts: string[];
  times_fired: number;
  firing: number;
  notes: number;
  acknowledged_by: string | null;
  is_noise: boolean;
}
export interface Episode {
  name: string;
  tier: string;
  is_firing: boolean;
  is_noise: boolean;
  started_at: string;
  ended_at: string | null;
  value: number | null;
  last_value: number | null;
  labels: Labels;
  annotations: Labels;
  evidence: Labels;
  requests: string[];
  expr: string;
}
export interface IncidentCurve {
  name: string;
  title: string;
  unit: string;
  expr: string;
  is_complete: boolean;
  from?: string;
  step_seconds?: number;
  series_left_out?: number;
  series?: { labels: Labels; values: (number | null)[] }[];
}
export interface Note {
  at: string;
  author: string;
  text?: string;
  act?: string;
  alert?: string;
}
export interface Incident {
  id: string;
  state: 'open' | 'ending' | 'closed';
  tier: string;
  started_at: string;
  ended_at: string | null;
  acknowledged_by: string | null;
  alerts: Episode[];
  notes: Note[];
  marks: Note[];
  curves: IncidentCurve[];
}

export async function incidents(signal?: AbortSignal): Promise<IncidentSummary[]> {
  return (await getJson<{ data: IncidentSummary[] }>('/api/v1/incidents', { limit: '200' }, signal)).data;
}

const pathOf = (id: string): string => `/api/v1/incidents/${encodeURIComponent(id)}`;

export async function incident(id: string, signal?: AbortSignal): Promise<Incident> {
  return (await getJson<{ data: Incident }>(pathOf(id), {}, signal)).data;
}

export const markdownOf = (id: string): string => `${pathOf(id)}?format=markdown`;
export const addNote = (id: string, author: string, text: string): Promise<unknown> => post(`${pathOf(id)}/notes`, { form: { author, text } });
export const acknowledge = (id: string, author: string): Promise<unknown> => post(`${pathOf(id)}/ack`, { form: { author } });
export const markNoise = (id: string, author: string): Promise<unknown> => post(`${pathOf(id)}/noise`, { form: { author } });
