// SPDX-License-Identifier: Apache-2.0
/** Alerts, their rules, silences: Prometheus' and Alertmanager's calls. */
import { getJson, post, remove } from './http';
import type { Labels } from './prom';

export interface Alert {
  labels: Labels;
  annotations: Labels;
  state: 'firing' | 'pending';
  activeAt: string;
  value: string;
}
export interface Rule {
  name: string;
  query: string;
  duration: number; // s
  labels: Labels;
  annotations: Labels;
  alerts: Alert[];
  state: 'firing' | 'pending' | 'inactive' | 'unknown'; // unknown: not evaluated yet
  health: string;
  lastError?: string;
  lastEvaluation: string;
  type: 'alerting' | 'recording';
}
export interface Matcher {
  name: string;
  value: string;
  isRegex: boolean;
  isEqual: boolean;
}
export interface Silence {
  id: string;
  matchers: Matcher[];
  startsAt: string;
  endsAt: string;
  createdBy: string;
  comment: string;
  status: { state: 'active' | 'pending' | 'expired' };
}

export async function activeAlerts(signal?: AbortSignal): Promise<Alert[]> {
  return (await getJson<{ data: { alerts: Alert[] } }>('/api/v1/alerts', {}, signal)).data.alerts;
}

export async function alertRules(signal?: AbortSignal): Promise<(Rule & { group: string; file: string })[]> {
  const { data } = await getJson<{ data: { groups: { name: string; file: string; rules: Rule[] }[] } }>('/api/v1/rules', { type: 'alert' }, signal);
  return data.groups.flatMap((g) => g.rules.map((r) => ({ ...r, group: g.name, file: g.file })));
}

export const silences = (signal?: AbortSignal): Promise<Silence[]> => getJson('/api/v2/silences', {}, signal);

export const addSilence = (s: { matchers: Matcher[]; startsAt: string; endsAt: string; createdBy: string; comment: string }): Promise<unknown> =>
  post('/api/v2/silences', { json: s });

export const endSilence = (id: string): Promise<void> => remove(`/api/v2/silence/${encodeURIComponent(id)}`);
