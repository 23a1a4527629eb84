// SPDX-License-Identifier: Apache-2.0
// `inferometer verify`: the chain as it should be, and with each of its links cut. Runs go on beside
// each other, some at a time, since most of a run is waiting. @alone
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { Sim } from './lib/daemon.mjs';
import { freePort } from './lib/http.mjs';
import { noNamespaces } from './lib/namespaces.mjs';
import { BIN, Process, ROOT, run, tempDir } from './lib/process.mjs';
import { missing } from './lib/prometheus_server.mjs';
import testWithLimit from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const N_AT_ONCE = 8;
const noPeers = missing('prometheus') || missing('prometheus-alertmanager');
const test = (name, fn, options) => testWithLimit(name, fn, { limitMs: 400000, ...options });

const p99 = (metric, window = '5s') => `histogram_quantile(0.99, sum by (le) (rate(${metric}_bucket[${window}])))`;
const rule = (expr, more = {}) => ({ alert: 'A', expr, for: '2s', ...more });
const file = (...rules) => ({ groups: [{ name: 'g', interval: '1s', rules }] });

/** Processes whose environment has this directory as TMPDIR, besides zombies. */
function children(dir) {
  return readdirSync('/proc').filter((pid) => {
    try {
      const state = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').pop()[0];
      return state !== 'Z' && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`TMPDIR=${dir}`);
    } catch {
      return false; // no process, not ours, or gone meanwhile
    }
  });
}

/** Runs verify with --json to its end: { code, result, stderr, ms }; nothing is left of it. */
async function verify(t, rules, ...flags) {
  const dir = tempDir(t);
  const home = tempDir(t);
  if (rules) writeFileSync(join(home, 'rules.yml'), JSON.stringify(rules));
  const args = ['verify', '--json', ...(rules ? ['--rules', join(home, 'rules.yml')] : []), ...flags];
  const begin = Date.now();
  const p = new Process(BIN, args, { env: { TMPDIR: dir } });
  await p.exited;
  const { code } = p.exit;
  assert.doesNotMatch(p.stderr, /Sanitizer|runtime error/);
  assert.deepEqual(readdirSync(dir), [], 'its directory is gone');
  assert.deepEqual(children(dir), [], 'so are its children');
  assert.ok(p.stdout, p.stderr);
  return { code, result: JSON.parse(p.stdout), stderr: p.stderr, ms: Date.now() - begin };
}

/** A test of one run; check gets what verify() returned. */
const scenarios = [];
function scenario(name, rules, flags, check, options) {
  scenarios.push({ name, rules, flags, check, options });
}

const found = (r, about, where) => r.result.verdicts.filter((v) => v.about === about && (!where || v.where === where));
function has(r, about, verdict, text, where) {
  const seen = found(r, about, where);
  assert.ok(seen.some((v) => v.verdict === verdict && text.test(v.text)),
    `no ${verdict} ${about} ${text} in ${JSON.stringify(r.result.verdicts, null, 1)}`);
}
function failed(r) {
  assert.equal(r.code, 1);
  assert.equal(r.result.passed, false);
}

// --- all is well ---

scenario('its own rule, with a real Prometheus and Alertmanager', null, [], (r) => {
  assert.equal(r.code, 0, JSON.stringify(r.result.verdicts, null, 1));
  assert.equal(r.result.passed, true);
  assert.deepEqual(r.result.verdicts.map((v) => v.verdict), ['OK', 'OK', 'OK', 'OK', 'OK']);
  has(r, 'client', 'OK', /passed the threshold of 2 s/);
  has(r, 'engine', 'OK', /vllm:time_to_first_token_seconds of vLLM/);
  has(r, 'alert', 'OK', /^inactive, pending .* firing 3\.\d s later \(for 3 s, every 1 s\), resolved/, 'gateway');
  has(r, 'alert', 'OK', /^inactive, pending .* firing .* resolved/, 'Prometheus');
  has(r, 'alertmanager', 'OK', /from gateway .*from Prometheus .*and its end/);
  const [rest, mild, hard] = r.result.phases;
  assert.ok(rest.client.ttft_p99_s < 0.5 && mild.client.ttft_p99_s >= 0.5 && hard.client.ttft_p99_s >= 3);
  for (const phase of [mild, hard]) {
    assert.ok(Math.abs(phase.engine.ttft_mean_s - phase.client.ttft_mean_s) < 0.3);
    assert.ok(Math.abs(phase.history.ttft_mean_s - phase.engine.ttft_mean_s) < 0.5);
    assert.ok(phase.engine.ttft_p99_from_s <= phase.client.ttft_p99_s);
  }
  for (const where of ['gateway', 'prometheus']) {
    const seen = r.result.alerts[0][where];
    const took = seen.firing_at - seen.active_at;
    assert.ok(took >= 2.9 && took <= 4.6, `${where}: ${took} s`);
    assert.ok(seen.pending_at >= hard.begin && seen.pending_at < seen.firing_at && seen.resolved_at > hard.end);
  }
}, { skip: noPeers });

scenario('without peers', file(rule(`${p99('llm_ttft_seconds')} > 2`)), ['--no-peers'], (r) => {
  assert.equal(r.code, 0, JSON.stringify(r.result.verdicts, null, 1));
  assert.deepEqual(r.result.verdicts.map((v) => v.about), ['client', 'engine', 'alert']);
});

const slow = {
  groups: [{
    name: 'recorded',
    interval: '1m',
    rules: [
      { record: 'limit', expr: '1.5', labels: { of: 'ttft' } },
      { record: 'ttft:p99', expr: p99('llm_ttft_seconds', '10m') },
      { alert: 'Engine', expr: `${p99('vllm:time_to_first_token_seconds', '5m')} > 1`, for: '5m' },
      { alert: 'Recorded', expr: 'max(ttft:p99) > on () max(limit{of="ttft"})', for: '5m', keep_firing_for: '3m' },
      { alert: 'Tpot', expr: `${p99('llm_tpot_seconds', '10m')} > 1`, for: '5m' },
      { alert: 'Baseline', expr: `${p99('llm_ttft_seconds', '10m')} > on () group_left () llm_baseline`, for: '5m' },
    ],
  }],
};

scenario('slow rules are scaled, and what latency does not drive is left out', slow, [], (r) => {
  assert.equal(r.code, 0, JSON.stringify(r.result.verdicts, null, 1));
  assert.ok(r.ms < 120000, `${r.ms} ms`);
  assert.ok(r.result.factor > 10);
  assert.match(r.stderr, new RegExp(`rules.yml: ${r.result.factor} times as fast`));
  assert.match(r.stderr, /for: 5m -> \d+s/);
  assert.match(r.stderr, /interval: 1m -> \ds/);
  has(r, 'alert', 'SKIP', /does not move what it reads: llm_tpot_seconds_bucket/);
  has(r, 'alert', 'SKIP', /no series llm_baseline/);
  const alerts = Object.fromEntries(r.result.alerts.map((a) => [a.name, a]));
  assert.equal(alerts.Recorded.limit, 1.5);
  assert.ok(Math.abs(alerts.Recorded.for_s - 300 / r.result.factor) < 0.01);
  assert.match(alerts.Engine.expr, /\[\d+s(\d+ms)?\]/);
  assert.equal(found(r, 'alert').filter((v) => v.alert === 'Recorded' && v.verdict === 'OK').length, noPeers ? 1 : 2);
  assert.equal(found(r, 'alert').filter((v) => v.alert === 'Engine' && v.verdict === 'OK').length, noPeers ? 1 : 2);
});

scenario('the rules that come with the program: all that latency drives', null,
  ['--no-peers', '--rules', join(ROOT, 'deploy/rules/latency.yml'), '--latency', '0.5s,12s'], (r) => {
    assert.equal(r.code, 0, JSON.stringify(r.result.verdicts, null, 1));
    assert.ok(r.ms < 120000, `${r.ms} ms`);
    assert.equal(found(r, 'alert').filter((v) => v.verdict === 'OK').length, 2);
  }, { skip: process.env.LONG ? false : 'takes 90 s; LONG=1 runs it' });

// --- each link cut ---

scenario('a metric of another name', file(rule(`${p99('llm_ttft_secs')} > 2`)), ['--no-peers'], (r) => {
  failed(r);
  has(r, 'alert', 'FAIL', /"llm_ttft_secs_bucket", which nobody has; did you mean "llm_ttft_seconds_bucket"/);
  has(r, 'client', 'OK', /./);
  has(r, 'engine', 'OK', /./);
});

scenario('a label that no series has', file(rule(`${p99('llm_ttft_seconds').replace('_bucket', '_bucket{model="nobody"}')} > 2`)), ['--no-peers'], (r) => {
  failed(r);
  has(r, 'alert', 'FAIL', /stayed inactive with 3 s: what it measures has no value/);
});

scenario('a threshold that is too high', file(rule(`${p99('llm_ttft_seconds')} > 10`)), [], (r) => {
  failed(r);
  has(r, 'client', 'FAIL', /did not pass the threshold of 10 s of A/);
  has(r, 'engine', 'OK', /./);
  has(r, 'alert', 'FAIL', /stayed inactive with 3 s: it measures [34][.\d]*, its limit is 10/, 'gateway');
  if (!noPeers) has(r, 'alert', 'FAIL', /stayed inactive with 3 s/, 'Prometheus');
  assert.match(found(r, 'alert')[0].hint, /--latency 0.5s,11s/);
});

scenario('a threshold that is too low', file(rule(`${p99('llm_ttft_seconds')} > 0.001`)), [], (r) => {
  failed(r);
  has(r, 'client', 'FAIL', /above the threshold of 0.001 s of A at rest/);
  has(r, 'engine', 'OK', /./);
  has(r, 'alert', 'FAIL', /is (firing|pending) at rest, before any latency/, 'gateway');
});

scenario('a comparison turned round', file(rule(`${p99('llm_ttft_seconds')} < 2`)), ['--no-peers'], (r) => {
  failed(r);
  has(r, 'alert', 'FAIL', /is (firing|pending) at rest/);
});

scenario('`for` longer than the overload lasts is waited for, not given up', file(rule(`${p99('llm_ttft_seconds')} > 2`, { for: '12s' })), ['--no-peers'], (r) => {
  assert.equal(r.code, 0, JSON.stringify(r.result.verdicts, null, 1));
  has(r, 'alert', 'OK', /firing 12\.\d s later/);
});

scenario('the target is down', file(rule(`${p99('llm_ttft_seconds')} > 2`)), async () => ['--no-peers', '--engine-url', `http://127.0.0.1:${await freePort()}`], (r) => {
  failed(r);
  has(r, 'client', 'FAIL', /no request of \d+ got a token \(http_502\), the target http:\/\/127\.0\.0\.1:\d+ is down/);
  has(r, 'engine', 'FAIL', /not scraped: .*connect/i);
  has(r, 'alert', 'FAIL', /no latency was injected/);
});

scenario("the engine's metrics are not scraped", file(rule(`${p99('vllm:time_to_first_token_seconds')} > 2`)), ['--metrics-url', 'none'], (r) => {
  failed(r);
  has(r, 'client', 'OK', /./);
  has(r, 'engine', 'FAIL', /the engine's histogram is not scraped/);
  has(r, 'alert', 'FAIL', /no series vllm:time_to_first_token_seconds_bucket: the engine's metrics cannot be read/, 'gateway');
});

scenario("the engine's metrics are elsewhere", file(rule(`${p99('llm_ttft_seconds')} > 2`)), async () => ['--no-peers', '--metrics-url', `http://127.0.0.1:${await freePort()}/metrics`], (r) => {
  failed(r);
  has(r, 'engine', 'FAIL', /the engine's histogram is not scraped: .*connect/i);
  has(r, 'alert', 'OK', /^inactive, pending/);
});

scenario('an engine that takes no faults', file(rule(`${p99('llm_ttft_seconds')} > 2`)), async (t) => {
  const sim = await Sim.start(t, '--ttft-ms', '20');
  return ['--no-peers', '--engine-url', sim.url];
}, (r) => {
  failed(r);
  has(r, 'client', 'FAIL', /latency could not be injected: .*answered 404/);
});

scenario('a simulator that runs elsewhere is left as it was', file(rule(`${p99('llm_ttft_seconds')} > 2`)), async (t) => {
  const sim = await Sim.start(t, '--engine', 'sglang-0.5.7');
  return ['--no-peers', '--engine-url', `${sim.url}/`, sim];
}, async (r, sim) => {
  assert.equal(r.code, 0, JSON.stringify(r.result.verdicts, null, 1));
  has(r, 'engine', 'OK', /of SGLang/);
  assert.deepEqual(await (await fetch(`${sim.url}/sim/faults`)).json().then((j) => j.active), {});
});

scenario('a Prometheus that does not start', file(rule(`${p99('llm_ttft_seconds')} > 2`)), ['--no-peers', '--prometheus', '/bin/false'], (r) => {
  failed(r);
  has(r, 'prometheus', 'FAIL', /prometheus ended with status 1/);
  has(r, 'alert', 'OK', /^inactive, pending/, 'gateway');
});

/** Tests that wait for most of their time: they go on beside each other, the last at the end of this file. */
const long = scenarios.map((s) => ({
  name: s.name, options: { skip: s.options?.skip },
  async fn(t) {
    const flags = typeof s.flags === 'function' ? await s.flags(t) : s.flags;
    const isSim = (f) => f instanceof Sim;
    await s.check(await verify(t, s.rules, ...flags.filter((f) => !isSim(f))), flags.find(isSim));
  },
}));
const longTest = (name, fn, options) => long.push({ name, fn, options });

// --- the end before the end ---

test('peers that are not installed are told of', async (t) => {
  const p = new Process(BIN, ['verify'], { env: { TMPDIR: tempDir(t), PATH: '/nowhere' } });
  await p.printed(/prometheus is not installed: it is left out\nalertmanager is not installed: it is left out\n[^]*at rest/, { timeoutMs: 30000 });
  await p.stop();
});

for (const [signal, code] of [['SIGINT', 1], ['SIGTERM', 1], ['SIGKILL', null]]) {
  test(`${signal}: no child outlives it`, async (t) => {
    const dir = tempDir(t);
    const p = new Process(BIN, ['verify'], { env: { TMPDIR: dir } });
    await p.printed(/at rest/, { timeoutMs: 30000 });
    const names = readdirSync(dir);
    assert.equal(names.length, 1);
    await waitFor('the load', () => readdirSync(join(dir, names[0])).includes('load-0.log'));
    assert.ok(children(dir).length >= 4);
    p.signal(signal);
    await p.exited;
    assert.equal(p.exit.code, code);
    await waitFor('the children to be gone', () => children(dir).length === 0);
    if (signal === 'SIGKILL') return; // nobody was there to remove it
    assert.match(p.stderr, /stopped, nothing is left behind/);
    assert.deepEqual(readdirSync(dir), []);
  });
}

/** verify against a simulator of somebody else's that is slow already; act once that line came. */
async function besideSim(t, line, act) {
  const sim = new Process(BIN, ['sim', '--engine', 'vllm-0.13', '--listen', '127.0.0.1:0']);
  cleanup(t, () => sim.exit || sim.kill());
  const [, address] = await sim.printed(/listening on (\S+)\n/);
  const faults = `http://${address}/sim/faults`;
  await fetch(faults, { method: 'POST', body: '{"added_latency": 0.125}' });
  const p = new Process(BIN, ['verify', '--no-peers', '--engine-url', `http://${address}`], { env: { TMPDIR: tempDir(t) } });
  await p.printed(line, { timeoutMs: 60000 });
  const active = async () => (await (await fetch(faults)).json()).active;
  await act({ p, sim, active });
  await p.exited;
  assert.doesNotMatch(p.stderr, /Sanitizer|runtime error/);
  return { p, active };
}

for (const signal of ['SIGINT', 'SIGHUP'])
  longTest(`${signal}: somebody else's engine is as it was`, async (t) => {
    const { p, active } = await besideSim(t, /^3 s of latency/m, async ({ p, active }) => {
      await waitFor('the latency', async () => (await active()).added_latency === 3.125);
      p.signal(signal);
    });
    assert.equal(p.exit.code, 1);
    assert.match(p.stderr, /stopped, nothing is left behind/);
    assert.deepEqual(await active(), { added_latency: 0.125 });
  });

longTest('an engine that goes away with the latency in it is told of', async (t) => {
  const { p } = await besideSim(t, /^3 s of latency/m, async ({ sim, active }) => {
    await waitFor('the latency', async () => (await active()).added_latency === 3.125);
    await sim.kill();
  });
  assert.equal(p.exit.code, 1);
  assert.match(p.stdout, /FAIL {2}engine: http:\S+ still has the latency that was injected: .*connect/i);
  assert.match(p.stdout, /FAIL {2}engine: the engine's histogram is not scraped/);
});

longTest('a program that takes connections and answers nothing is waited for 20 s, and ended with all that it started', async (t) => {
  const dir = tempDir(t);
  const path = join(tempDir(t), 'prometheus');
  writeFileSync(path, `#!/bin/sh
for a in "$@"; do case $a in --web.listen-address=*) at=\${a#*=};; esac; done
${process.execPath} -e 'require("net").createServer(() => {}).listen('"\${at##*:}"', "127.0.0.1")' &
wait
`, { mode: 0o755 });
  const begin = Date.now();
  const p = new Process(BIN, ['verify', '--no-peers', '--prometheus', path], { env: { TMPDIR: dir } });
  await p.printed(/^at rest/m, { timeoutMs: 60000 });
  assert.ok(Date.now() - begin < 40000, `${Date.now() - begin} ms`);
  await waitFor('both to be gone', () => !children(dir).some((pid) => /web.listen-address|createServer/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))));
  p.signal('SIGTERM');
  await p.exited;
  assert.deepEqual(children(dir), []);
});

/** verify in a shell of a world of its own, where `script` came first. */
async function inNamespace(t, flags, script, ...args) {
  const dir = tempDir(t);
  const p = new Process('unshare', [flags, 'sh', '-c', `${script} && exec "$0" "$@"`, BIN, 'verify', ...args], { env: { TMPDIR: dir } });
  await p.exited;
  assert.equal(p.exit.code, 1);
  assert.deepEqual(children(dir), [], 'nothing is left');
  return p;
}

longTest('a full disk is named', async (t) => {
  const p = await inNamespace(t, '-rm', 'mount -t tmpfs -o size=100k none "$TMPDIR"', '--no-peers');
  assert.match(p.stderr, /no space is left for ".*inferometer-verify-\w+", see TMPDIR \(.+\)/);
}, { skip: noNamespaces });

test('no port to be had: in the words of the program that wanted one', async (t) => {
  const p = await inNamespace(t, '-rn', 'ip link set lo up && echo 1024 1024 > /proc/sys/net/ipv4/ip_local_port_range', '--no-peers');
  assert.match(p.stderr, /(sim|serve) ended: .*(could not listen|address already in use)/);
}, { skip: noNamespaces });

test('a directory of too long a name', async (t) => {
  const dir = tempDir(t);
  const deep = join(dir, ...Array(3).fill('d'.repeat(200)));
  mkdirSync(deep, { recursive: true });
  const { code, stderr } = await run(['verify', '--no-peers'], { env: { TMPDIR: deep } });
  assert.equal(code, 1);
  assert.match(stderr, /no directory could be made .*name too long/);
  assert.deepEqual(readdirSync(deep), []);
});

// --- how it is called ---

const wrong = [
  [['--nonsense'], /unknown flag --nonsense/],
  [['--rule', 'x'], /did you mean --rules\?/],
  [['--rules', '/does/not/exist.yml'], /could not be read/],
  [['--latency', '3s'], /takes two durations/],
  [['--latency', '3s,1s'], /takes two durations/],
  [['--rate', '0'], /--rate/],
  [['--prometheus', '/does/not/exist'], /cannot be run/],
  [['--engine-url', '127.0.0.1:1'], /takes http:\/\/HOST:PORT/],
  [['--engine-url', 'none'], /takes http:\/\/HOST:PORT/],
  [['--metrics-url', 'http://u:canary@127.0.0.1:1/metrics'], /without credentials\n$/],
];
for (const [args, text] of wrong)
  test(`wrong usage: ${args.join(' ')}`, async () => {
    const { code, stderr } = await run(['verify', ...args]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, text);
    assert.doesNotMatch(stderr, /canary/);
  });

test('a mistake in the rules has its place', async (t) => {
  const path = join(tempDir(t), 'r.yml');
  writeFileSync(path, 'groups:\n- name: g\n  rules:\n  - alert: A\n    expr: rate(x\n');
  const { code, stderr } = await run(['verify', '--rules', path]);
  assert.equal(code, 2);
  assert.match(stderr, /r\.yml:5:\d+: expr: /);
});

test('rules without an alert prove nothing', async (t) => {
  const path = join(tempDir(t), 'r.yml');
  writeFileSync(path, 'groups: []\n');
  const { code, stderr } = await run(['verify', '--rules', path]);
  assert.equal(code, 1);
  assert.match(stderr, /there is no alert in these rules/);
});

test('runs beside each other', async (t) => {
  await Promise.all(long.map(({ name, fn, options }) => t.test(name, options, fn)));
}, { concurrency: N_AT_ONCE });
