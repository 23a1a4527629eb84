// SPDX-License-Identifier: Apache-2.0
/** /api/v1/events: what changed. The browser connects again by itself; where there are no events pages ask by time. */
import { Store, useStore } from '../state/store';

const NAMES = ['requests', 'alerts', 'incidents', 'targets'];

const isConnected = new Store(false);
const told = new Set<(name: string) => void>();

export const useIsConnected = (): boolean => useStore(isConnected);
export const onEvent = (f: (name: string) => void): void => void told.add(f);

export function startEvents(): void {
  const source = new EventSource('/api/v1/events');
  source.onopen = () => isConnected.set(true);
  source.onerror = () => isConnected.set(false);
  for (const name of NAMES) source.addEventListener(name, () => told.forEach((f) => f(name)));
}
