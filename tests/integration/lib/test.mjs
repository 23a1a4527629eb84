// SPDX-License-Identifier: Apache-2.0
// node:test with a time limit on every test: test(name, fn, { limitMs, skip }).
import nodeTest from 'node:test';
import { SLOW } from './wait.mjs';

const LIMIT_MS = 20000;

export default function test(name, fn, { limitMs = LIMIT_MS, ...options } = {}) {
  if (typeof fn !== 'function') throw new TypeError(`"${name}": the test comes before its options`);
  return nodeTest(name, { timeout: limitMs * Math.min(SLOW, 5), ...options }, fn);
}
