// SPDX-License-Identifier: Apache-2.0
/**
 * /api/v1/events: which things changed, as numbers that are others then. The browser connects again by itself; while
 * there is no stream pages ask by time.
 */
import { Store, useStore } from '../state/store';

export type Topic = 'requests' | 'alerts' | 'incidents' | 'targets';
export const TOPICS: readonly Topic[] = ['requests', 'alerts', 'incidents', 'targets'];
type Versions = Partial<Record<Topic | 'process', number>>;

const isConnected = new Store(false);
const told = new Set<(topic: Topic) => void>();
let known: Versions | null = null;

export const useIsConnected = (): boolean => useStore(isConnected);
export const onEvent = (f: (topic: Topic) => void): void => void told.add(f);

function take(data: string): void {
  const now = JSON.parse(data) as Versions;
  const before = known;
  known = now;
  if (!before) return;
  for (const topic of TOPICS)
    if (now[topic] !== before[topic] || now.process !== before.process) told.forEach((f) => f(topic));
}

export function startEvents(): void {
  const source = new EventSource('/api/v1/events');
  source.onopen = () => isConnected.set(true);
  source.onerror = () => isConnected.set(false);
  for (const name of ['state', 'changed', 'beat']) source.addEventListener(name, (e) => take((e as MessageEvent<string>).data));
}
