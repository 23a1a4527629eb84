// SPDX-License-Identifier: Apache-2.0
// inferometer promql test: scripts that pass, fail, are wrong or are not there.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';

const LOAD = 'load 1m\n  requests_total{model="a"} 0+60x10\n\n';
const PASSES = `${LOAD}eval instant at 10m rate(requests_total[5m])\n  {model="a"} 1\n`;
const FAILS = `${LOAD}eval instant at 10m sum(requests_total)\n  {} 601\n\n`
  + 'eval instant at 10m vector(1)\n  {} 1\n';

function script(dir, name, text) {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

test('the scripts of our own pass', async () => {
  const dir = new URL('../data/promql/', import.meta.url).pathname;
  const files = readdirSync(dir).filter((name) => name.endsWith('.test')).map((name) => join(dir, name));
  const { code, stdout, stderr } = await run(['promql', 'test', ...files]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^[1-9]\d\d+ passed, 0 failed\n$/);
});

test('a failure is named by its file and line, and the rest still runs', async (t) => {
  const dir = tempDir(t);
  const bad = script(dir, 'bad.test', FAILS);
  const { code, stdout, stderr } = await run(['promql', 'test', bad, script(dir, 'good.test', PASSES)]);
  assert.deepEqual([code, stderr], [1, '']);
  assert.equal(stdout, `${bad}:4: instant at 600000ms: sum(requests_total)\n`
    + '  wanted: {} 601\n  got:    {} 600\n2 passed, 1 failed\n');
});

test('a script that is wrong, and one that is not there', async (t) => {
  const dir = tempDir(t);
  const wrong = script(dir, 'wrong.test', `${PASSES}\nload soon\n`);
  const { code, stdout, stderr } = await run(['promql', 'test', wrong, join(dir, 'none.test')]);
  assert.equal(code, 1);
  assert.equal(stdout, '1 passed, 0 failed\n');
  assert.ok(stderr.includes(`${wrong}:7: load wants a duration, not "soon"\n`), stderr);
  assert.match(stderr, /could not read ".*none\.test": no such file/);
  assert.match(stderr, /2 of 2 files could not be run to their end/);
});
