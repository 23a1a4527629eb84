// SPDX-License-Identifier: Apache-2.0
// Waiting with a bound. Nothing here sleeps for an amount of time that a test depends on.
import { setTimeout as delay } from 'node:timers/promises';

export const SANITIZED = process.env.SANITIZED === '1';

// Time bounds only: a sanitizer build computes the same, just later.
export const SLOW = SANITIZED ? 8 : 1;

const POLL_MS = 5;

/** Calls fn until it returns something truthy, and returns that. Errors of fn end the wait. */
export async function waitFor(what, fn, { timeoutMs = 5000 } = {}) {
  const end = Date.now() + timeoutMs * SLOW;
  for (;;) {
    const value = await fn();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs * SLOW} ms in vain for ${what}`);
    await delay(POLL_MS);
  }
}

/** The promise's value, or an error that says what did not happen in time. */
export async function within(what, promise, { timeoutMs = 5000 } = {}) {
  const aborter = new AbortController();
  const late = delay(timeoutMs * SLOW, undefined, { signal: aborter.signal }).then(() => {
    throw new Error(`waited ${timeoutMs * SLOW} ms in vain for ${what}`);
  });
  late.catch(() => {}); // cancelled when the promise was faster
  try {
    return await Promise.race([promise, late]);
  } finally {
    aborter.abort();
  }
}

/** Milliseconds that fn took, and its value. */
export async function timed(fn) {
  const start = process.hrtime.bigint();
  const value = await fn();
  return { value, ms: Number(process.hrtime.bigint() - start) / 1e6 };
}

/**
 * What a process wrote to its standard error, once that matches: a log line comes from a thread of
 * its own, a little behind what it tells of.
 */
export async function says(process, pattern, options) {
  try {
    return await waitFor(String(pattern), () => process.stderr.search(pattern) >= 0 && process.stderr, options);
  } catch (e) {
    throw new Error(`${e.message}, in:\n${process.stderr}`);
  }
}

/** How often it said so, at least once. */
export async function timesSaid(process, pattern) {
  return (await says(process, pattern)).match(new RegExp(pattern, 'g')).length;
}
