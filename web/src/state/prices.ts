// SPDX-License-Identifier: Apache-2.0
/** Prices per million tokens, as the reader typed them; kept in this browser. */
import type { Prices } from '../data/tokens';
import { Store, useStore } from './store';

const KEY = 'inferometer.prices';

function stored(): Prices {
  try {
    const value = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const store = new Store<Prices>(stored());

export const usePrices = (): Prices => useStore(store);

export function setPrices(p: Prices): void {
  localStorage.setItem(KEY, JSON.stringify(p));
  store.set(p);
}
