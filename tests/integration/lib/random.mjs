// SPDX-License-Identifier: Apache-2.0
// Choices that are the same each time.
import { rng } from './promql_queries.mjs';

export class Random {
  constructor(seed) {
    this.next = rng(seed);
  }

  /** 0 .. n - 1. */
  below(n) {
    return Math.floor(this.next() * n);
  }

  oneIn(n) {
    return this.below(n) === 0;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** What fn gives, called from .. to times. */
  some(from, to, fn) {
    return Array.from({ length: from + this.below(to - from + 1) }, (_, i) => fn(i));
  }
}
