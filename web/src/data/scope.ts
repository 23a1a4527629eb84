// SPDX-License-Identifier: Apache-2.0
/** Which part of the traffic is looked at: model, upstream and business labels, from the address. */
import { labelNames, labelValues, type Labels } from '../api/prom';
import { useRoute } from '../state/route';

const REQUESTS = 'llm_requests_total';
/** What a request's series have beside the labels that the configuration names. */
const OWN = ['__name__', 'instance', 'job', 'model', 'endpoint', 'upstream', 'version', 'stream', 'outcome'];
const SCOPE = ['model', 'upstream', 'version', 'endpoint'];
/** Parameters of addresses that are no labels. */
const NOT_LABELS = ['range', 'from', 'to', 'refresh', 'split', 'q', 'order', 'show', 'cmp'];

export interface Dimension {
  name: string;
  values: string[];
}

export const businessLabels = async (signal: AbortSignal): Promise<string[]> => (await labelNames(REQUESTS, signal)).filter((n) => !OWN.includes(n));

/** What can be chosen: each label with its values, those with one value left out unless it is chosen. */
export async function dimensions(signal: AbortSignal): Promise<Dimension[]> {
  const names = await labelNames(REQUESTS, signal);
  const business = names.filter((n) => !OWN.includes(n));
  const wanted = [...SCOPE.filter((n) => names.includes(n)), ...business];
  return Promise.all(wanted.map(async (name) => ({ name, values: await labelValues(name, REQUESTS, signal) })));
}

export function useScope(): Labels {
  const { params } = useRoute();
  return Object.fromEntries(Object.entries(params).filter(([k, v]) => v && !NOT_LABELS.includes(k) && /^[a-zA-Z_]\w*$/.test(k)));
}

export const scopeKey = (scope: Labels): string => JSON.stringify(scope);
