// SPDX-License-Identifier: Apache-2.0
// What holds for every record, whatever happened to its request.
import assert from 'node:assert/strict';

/** Milliseconds of a record as whole nanoseconds: the log writes them with six decimals. */
export const toNs = (ms) => Math.round(ms * 1e6);

export function stages(record) {
  return Object.fromEntries(Object.entries(record)
    .filter(([name]) => /^stage_\w+_ms$/.test(name))
    .map(([name, ms]) => [name.slice('stage_'.length, -'_ms'.length), ms]));
}

/** The stages add up to the whole, exactly; no duration is negative. */
export function assertSound(record) {
  const sum = Object.values(stages(record)).reduce((ns, ms) => ns + toNs(ms), 0);
  assert.equal(sum, toNs(record.total_ms), `stages of ${JSON.stringify(record)}`);
  for (const [name, value] of Object.entries(record))
    if (name.endsWith('_ms') && value !== null)
      assert.ok(value >= 0, `${name} of ${JSON.stringify(record)}`);
}

export function assertOutcome(record, outcome, reason) {
  const told = [record.outcome, record.outcome_reason ?? ''];
  assert.deepEqual(told, [outcome, reason ?? ''], JSON.stringify(record));
  assertSound(record);
}
