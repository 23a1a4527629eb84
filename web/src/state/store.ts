// SPDX-License-Identifier: Apache-2.0
/** A value that components follow. */
import { useEffect, useState } from 'preact/hooks';

export class Store<T> {
  #value: T;
  #followers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const told of [...this.#followers]) told();
  }

  /** Until what is returned is called. */
  follow(told: () => void): () => void {
    this.#followers.add(told);
    return () => void this.#followers.delete(told);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, again] = useState(0);
  useEffect(() => store.follow(() => again((n) => n + 1)), [store]);
  return store.get();
}
