// SPDX-License-Identifier: Apache-2.0
// The rule files that are shipped, and their unit tests, in Prometheus' own tool and in ours; that every
// alert has what people need at night, and a test that shows it firing, not firing, and ending.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './lib/process.mjs';
import test from './lib/test.mjs';

const RULES = join(ROOT, 'deploy/rules');
const named = (dir) => readdirSync(dir).filter((name) => name.endsWith('.yml')).map((name) => join(dir, name));
const files = named(RULES);
const tests = named(join(RULES, 'tests'));
const promtool = (...args) => spawnSync('promtool', args, { encoding: 'utf8' });
const skip = promtool('--version').status === 0 ? false : 'promtool is not installed';

/** The rules of a file as it is laid out here: { kind, name, text }. */
function rulesOf(path) {
  const parts = readFileSync(path, 'utf8').split(/^ {6}- (?=(?:alert|record): )/m).slice(1);
  return parts.map((text) => ({ kind: text.split(':')[0], name: text.match(/^\w+: ([\w:]+)/)[1], text }));
}
const alertsOf = (path) => rulesOf(path).filter((rule) => rule.kind === 'alert');

/** For each check of an alert in a test file, in order: whether it has to fire. */
function checksOf(path, alert) {
  const parts = readFileSync(path, 'utf8').split(/^ {6}- eval_time: /m).slice(1);
  return parts.filter((text) => text.match(/^ +alertname: (\w+)$/m)?.[1] === alert)
    .map((text) => !/^ +exp_alerts: \[\]$/m.test(text));
}

test('promtool accepts all rule files', () => {
  const { status, stdout, stderr } = promtool('check', 'rules', ...files);
  assert.deepEqual([status, stderr], [0, ''], stdout);
  assert.equal(stdout.match(/SUCCESS/g).length, files.length);
}, { skip });

test('their unit tests pass in promtool', () => {
  const { status, stdout, stderr } = promtool('test', 'rules', ...tests);
  assert.equal(status, 0, stdout + stderr);
  assert.equal(stdout.match(/SUCCESS/g).length, tests.length);
}, { skip });

test('they are without mistakes and remarks, and their unit tests pass, in ours', async () => {
  const checked = await run(['rules', 'check', '--lint', ...files]);
  assert.deepEqual([checked.code, checked.stderr], [0, '']);
  const tested = await run(['rules', 'test', ...tests]);
  assert.equal(tested.code, 0, tested.stdout + tested.stderr);
  assert.equal(tested.stdout.match(/SUCCESS/g).length, tests.length);
});

test('every file has unit tests, and every alert one that fires, one that does not, and an end', () => {
  for (const path of files) {
    const tested = join(RULES, 'tests', path.slice(RULES.length + 1));
    assert.ok(existsSync(tested), tested);
    for (const { name } of alertsOf(path)) {
      const fired = checksOf(tested, name);
      assert.ok(fired.indexOf(true) > 0 && !fired.at(-1), `${name}: ${fired}`);
    }
  }
});

/** Down is down: these have no number worth reading. */
const WITHOUT_NUMBER = ['LLMUpstreamFailing', 'LLMTargetDown', 'LLMReplicaDown', 'LLMOutOfMemory', 'LLMGPULost',
  'LLMKafkaUnread', 'InferometerRulesStopped'];

test('every alert has a tier, a duration, texts and a runbook, and a name of its own', () => {
  const seen = new Set();
  for (const path of files) {
    for (const { name, text } of alertsOf(path)) {
      assert.match(text, /^ {8}labels: \{tier: P[012]\}$/m, name);
      assert.match(text, /^ {8}for: \d+[smh]$/m, name);
      for (const key of ['summary', 'description', 'runbook_url']) {
        assert.match(text, new RegExp(`^ {10}${key}: \\S`, 'm'), name);
      }
      // Who is woken reads the summary first, perhaps nothing else.
      const hasNumber = /^ {10}summary: .*\$value/m.test(text);
      assert.ok(hasNumber || /tier: P2/.test(text) || WITHOUT_NUMBER.includes(name), `${name}: no number`);
      assert.ok(!seen.has(name), `${name} is there twice`);
      seen.add(name);
    }
  }
  assert.ok(seen.size >= 30);
});

test('every threshold stands in one place, is explained there, and is used', () => {
  const seen = new Set();
  for (const path of files) {
    const alerts = alertsOf(path).map(({ text }) => text).join('');
    const used = new Set([...alerts.matchAll(/llm_alert_threshold\{of=["'](\w+)/g)].map(([, of]) => of));
    const thresholds = rulesOf(path).filter(({ name }) => name === 'llm_alert_threshold');
    for (const { text } of thresholds) {
      const [, of] = text.match(/^record: llm_alert_threshold # .+\n {8}labels: \{of: (\w+)\}\n {8}expr: [\d.]+\n/);
      assert.ok(!seen.has(of), `${of} is there twice`);
      seen.add(of);
      assert.ok(used.delete(of), `${of} is not used in ${path}`);
    }
    assert.deepEqual([...used], [], `not told in ${path}`);
  }
});
