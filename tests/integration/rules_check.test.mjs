// SPDX-License-Identifier: Apache-2.0
// inferometer rules check, rules test: what they say and how they end; and the same verdicts as promtool's on
// tables of files (lib/rule_files.mjs, lib/rule_tests.mjs), where differences say why.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, tempDir } from './lib/process.mjs';
import { ruleFiles } from './lib/rule_files.mjs';
import { RULES, ruleTests } from './lib/rule_tests.mjs';
import test from './lib/test.mjs';

const version = spawnSync('promtool', ['--version'], { encoding: 'utf8' }).stdout ?? '';
const skip = /version 2\.42\./.test(version) ? false : 'no promtool 2.42';

const promtool = (...args) => spawnSync('promtool', args, { encoding: 'utf8' });

function file(dir, name, text) {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

test('a file that is fine, and one with mistakes', async (t) => {
  const dir = tempDir(t);
  const good = file(dir, 'good.yml', RULES);
  const bad = file(dir, 'bad.yml', 'groups:\n- name: a\n  rules:\n  - alert: A\n    expr: sum(up))\n    fro: 5m\n');
  const { code, stdout, stderr } = await run(['rules', 'check', good, bad]);
  assert.equal(code, 1);
  assert.equal(stdout, `Checking ${good}\n  SUCCESS: 8 rules found (4 remarks, shown by --lint)\n\nChecking ${bad}\n\n`);
  assert.equal(stderr, `  FAILED:\n${bad}:5:18: expr: unexpected right parenthesis ')'\n`
    + `${bad}:6:5: a rule has no key "fro"\n  hint: did you mean "for"?\n`
    + 'inferometer rules: 1 of 2 files have mistakes\n');
});

test('standard input, a file that is not there, a directory', async (t) => {
  const dir = tempDir(t);
  const input = await run(['rules', 'check', '-'], { input: 'groups: [{name: a, rules: [{record: a, expr: up}]}]\n' });
  assert.deepEqual([input.code, input.stdout, input.stderr],
    [0, 'Checking <stdin>\n  SUCCESS: 1 rule found\n\n', '']);
  for (const [path, why] of [[join(dir, 'none.yml'), 'no such file'], [dir, 'is a directory']]) {
    for (const command of ['check', 'test']) {
      const { code, stderr } = await run(['rules', command, path]);
      assert.equal(code, 1);
      assert.ok(stderr.startsWith(`  FAILED:\n${path}: could not be read: ${why}`), stderr);
    }
  }
});

test('remarks', async (t) => {
  const path = file(tempDir(t), 'a.yml', 'groups:\n- name: a\n  rules:\n  - {alert: A, expr: up == 0}\n');
  const { code, stdout, stderr } = await run(['rules', 'check', path, '--lint']);
  assert.deepEqual([code, stdout], [1, `Checking ${path}\n\n`]);
  assert.match(stderr, /a\.yml:4:5: alert "A" has no `for`\n {2}hint: .*"for: 0s" says that it is meant\n/);
  writeFileSync(path, 'groups:\n- name: a\n  rules:\n  - {alert: A, expr: up == 0, for: 0s}\n');
  assert.equal((await run(['rules', 'check', '--lint', path])).code, 0);
});

test('unit tests that pass, and a difference as promtool tells it', async (t) => {
  const dir = tempDir(t);
  file(dir, 'rules.yml', RULES);
  const [good, bad] = ['firing', 'a value that differs'].map((name) => file(dir, `${name}.yml`, ruleTests.find((row) => row[0] === name)[2]));
  const { code, stdout, stderr } = await run(['rules', 'test', good, bad]);
  assert.equal(code, 1);
  assert.equal(stdout, `Unit Testing:  ${good}\n  SUCCESS: 1 test, 1 expectation of 8 rules\n\nUnit Testing:  ${bad}\n\n`);
  assert.equal(stderr, `  FAILED:\n${bad}:7:5: expr "sum(up)" at 1m\n    exp: {} 2\n    got: {} 1\n`
    + 'inferometer rules: 1 of 2 files failed\n');
});

test('usage', async () => {
  for (const args of [[], ['chek'], ['check'], ['test'], ['check', '--lnit', 'a'], ['test', '--lint', 'a']]) {
    const { code, stdout, stderr } = await run(['rules', ...args]);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^inferometer rules: .*\nusage: inferometer rules check/);
  }
  const { code, stdout, stderr } = await run(['rules', '--help']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /examples:\n/);
});

test('rule files: the verdicts of promtool', async (t) => {
  const dir = tempDir(t);
  const surprises = [];
  for (const [name, text, difference] of ruleFiles) {
    const path = file(dir, `${name}.yml`, text);
    const theirs = promtool('check', 'rules', '--lint=none', path);
    const ours = await run(['rules', 'check', path]);
    const isAsTold = (theirs.status !== ours.code) === (difference !== undefined)
      && [0, 1].includes(theirs.status) && [0, 1].includes(ours.code)
      && (ours.code === 0 || /^ {2}FAILED:\n.*\.yml(:\d+:\d+)?: \S/.test(ours.stderr));
    if (!isAsTold) surprises.push(`${name}: promtool ${theirs.status}, ours ${ours.code}\n${theirs.stderr}${ours.stderr}`);
  }
  assert.equal(surprises.join('\n'), '');
}, { skip, limitMs: 60000 });

test('unit tests: the verdicts of promtool', async (t) => {
  const dir = tempDir(t);
  file(dir, 'rules.yml', RULES);
  file(dir, 'bad.yml', 'groups: [{name: a, rules: [{alert: A}]}]\n');
  mkdirSync(join(dir, 'tests'));
  const surprises = [];
  for (const [name, passes, text, difference] of ruleTests) {
    const path = file(dir, `tests/${name}.yml`, text.replace(/rule_files: \["?/, '$&../'));
    const theirs = promtool('test', 'rules', path);
    const ours = await run(['rules', 'test', path]);
    const isAsTold = (theirs.status === 0) === passes
      && (theirs.status !== ours.code) === (difference !== undefined)
      && (ours.code === 0 || /\.yml:\d+:\d+: \S/.test(ours.stderr));
    if (!isAsTold) surprises.push(`${name}: promtool ${theirs.status}, ours ${ours.code}\n${theirs.stderr}${ours.stderr}`);
  }
  assert.equal(surprises.join('\n'), '');
}, { skip, limitMs: 60000 });
