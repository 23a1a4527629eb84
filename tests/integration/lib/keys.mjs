// SPDX-License-Identifier: Apache-2.0
// Gateway keys, made as an operator makes them.
import assert from 'node:assert/strict';
import { run } from './process.mjs';

export const KEY_FORM = /^ifm-[a-z0-9]{8}-[A-Za-z0-9_-]{43}$/;

/** Adds a key to the file: { key, id, ... }. */
export async function addKey(file, ...flags) {
  const r = await run(['key', 'add', '--file', file, '--json', '--tenant', 'acme', ...flags]);
  assert.equal(r.code, 0, r.stderr);
  return JSON.parse(r.stdout);
}

export async function revokeKey(file, id) {
  const r = await run(['key', 'revoke', id, '--file', file]);
  assert.equal(r.code, 0, r.stderr);
  return r;
}
