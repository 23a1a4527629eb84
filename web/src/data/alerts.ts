// SPDX-License-Identifier: Apache-2.0
import { activeAlerts, type Alert } from '../api/alerts';
import type { Labels } from '../api/prom';
import { useAsk, type Asked } from './ask';

const TIERS = ['P0', 'P1', 'P2'];
const rank = (a: Alert): number => (a.state === 'firing' ? 0 : 10) + (TIERS.indexOf(a.labels.tier) + 1 || TIERS.length + 1);

/** What fires before what is pending; the most pressing tier first, then the newest. */
export async function sortedAlerts(signal: AbortSignal): Promise<Alert[]> {
  return (await activeAlerts(signal)).sort((a, b) => rank(a) - rank(b) || b.activeAt.localeCompare(a.activeAt));
}

export const useAlerts = (): Asked<Alert[]> => useAsk('alerts', sortedAlerts, { topics: ['alerts'] });

export const useFiringCount = (): number => useAlerts().value?.filter((a) => a.state === 'firing').length ?? 0;

/** What tells alerts of one rule apart. */
export function ownLabels(labels: Labels): [string, string][] {
  return Object.entries(labels).filter(([k]) => !['alertname', 'tier', 'instance', 'job'].includes(k));
}

/** Where to look for what an alert is about. */
export function scopeOfAlert(labels: Labels): Labels {
  return Object.fromEntries(['model', 'upstream'].filter((k) => labels[k]).map((k) => [k, labels[k]]));
}
