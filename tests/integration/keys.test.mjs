// SPDX-License-Identifier: Apache-2.0
// Gateway keys from outside: the command that makes them, and the files it leaves.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addKey, KEY_FORM, revokeKey } from './lib/keys.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';

test('key add prints the key once, alone; list and the files never', async (t) => {
  const dir = tempDir(t);
  const file = join(dir, 'keys.json');
  const added = await run(['key', 'add', '--tenant', 'search team', '--model', 'llama-*', '--model', 'x',
    '--label', 'team=search', '--class', 'batch', '--max-inflight', '4', '--max-per-minute', '60',
    '--expires', '90d', '--note', 'for "tests"'], { cwd: dir });
  assert.equal(added.code, 0, added.stderr);
  const key = added.stdout.trimEnd();
  assert.match(key, KEY_FORM);
  assert.match(added.stderr, /cannot be shown again/);
  assert.ok(!added.stderr.includes(key));
  const second = await addKey(file);
  assert.match(second.key, KEY_FORM);
  assert.deepEqual(second.models, []);

  const listed = await run(['key', 'list', '--file', file]);
  assert.match(listed.stdout, new RegExp(`${key.slice(4, 12)} +search team +batch .*llama-\\*,x`));
  const json = JSON.parse((await run(['key', 'list', '--json'], { cwd: dir })).stdout);
  const row = json.find((k) => k.id === key.slice(4, 12));
  assert.deepEqual([row.tenant, row.models, row.labels, row.class, row.max_inflight,
    row.max_requests_per_minute, row.note], ['search team', ['llama-*', 'x'], { team: 'search' },
    'batch', 4, 60, 'for "tests"']);
  const days = (Date.parse(row.expires) - Date.parse(row.created)) / 86400e3;
  assert.ok(Math.abs(days - 90) < 0.01, String(days));
  for (const name of readdirSync(dir)) {
    assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name);
    assert.ok(!readFileSync(join(dir, name), 'utf8').includes(key.slice(13)), name);
  }
  for (const text of [listed.stdout, JSON.stringify(json)]) {
    assert.ok(!text.includes(key.slice(13)) && !text.includes(second.key.slice(13)));
  }
});

test('key revoke: what it did, and the id that was meant', async (t) => {
  const file = join(tempDir(t), 'keys.json');
  const { id } = await addKey(file);
  const typo = `${id.slice(0, 7)}0`; // no id has a 0
  const wrong = await run(['key', 'revoke', typo, '--file', file]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, new RegExp(`no key with the id "${typo}"[^]*did you mean "${id}"`));
  assert.match((await revokeKey(file, id)).stdout, new RegExp(`revoked key ${id} of "acme"`));
  assert.deepEqual(JSON.parse((await run(['key', 'list', '--json', '--file', file])).stdout), []);
});

test('key add by twenty at once: none is lost', async (t) => {
  const file = join(tempDir(t), 'keys.json');
  const added = await Promise.all(Array.from({ length: 20 }, () => addKey(file)));
  const listed = JSON.parse((await run(['key', 'list', '--json', '--file', file])).stdout);
  assert.deepEqual(listed.map((k) => k.id).sort(), added.map((k) => k.id).sort());
});

test('key: files that others may read, and broken ones, are refused and left alone', async (t) => {
  const file = join(tempDir(t), 'keys.json');
  await addKey(file);
  chmodSync(file, 0o640);
  const refused = await run(['key', 'list', '--file', file]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /mode 0640[^]*chmod 600/);
  writeFileSync(file, '{"version": 1, "keys": [\n{"id": "x"}]}');
  chmodSync(file, 0o600);
  const broken = await run(['key', 'add', '--tenant', 'x', '--file', file]);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /keys\.json:2:1: the key has no "hash"/);
  assert.equal(broken.stdout, '');
  assert.match(readFileSync(file, 'utf8'), /"x"/);
});

test('key -c: the file that a configuration names', async (t) => {
  const dir = tempDir(t);
  const config = join(dir, 'inferometer.yaml');
  writeFileSync(config, `access:\n  keys: ${join(dir, 'k.json')}\n`);
  const added = await run(['key', 'add', '-c', config, '--tenant', 'x']);
  assert.equal(added.code, 0, added.stderr);
  const listed = await run(['key', 'list', '--config', config, '--json']);
  assert.equal(JSON.parse(listed.stdout)[0].id, added.stdout.slice(4, 12));
  writeFileSync(config, 'workers: 1\n');
  const none = await run(['key', 'list', '-c', config]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /"access\.keys" is not set there/);
});
