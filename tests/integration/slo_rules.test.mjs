// SPDX-License-Identifier: Apache-2.0
// The generated rules in Prometheus' own hands and in ours: what is said of them, when they fire in
// an outage and stop after it, and that the simulation of "inferometer slo" fires exactly when they do.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, run, tempDir } from './lib/process.mjs';
import { missing } from './lib/prometheus_server.mjs';
import test from './lib/test.mjs';

const LABELS = 'model="m",upstream="u"';
const NO_PROMTOOL = { skip: missing('promtool'), limitMs: 120000 };

/** What the presets promise: the page's factors, cap and minima are those of docs/OPERATIONS.md. */
const PRESETS = {
  chat: { ttft: 0.99, tpot: 0.99, queue: 0.95, errors: 0.995 },
  completion: { ttft: 0.99, tpot: 0.99, queue: 0.95, errors: 0.999 },
  batch: { ttft: 0.99, tpot: 0.99, queue: 0.95, errors: 0.98 },
};
const reachS = (target) => Math.min(14.4 * (1 - target), 0.5) * 3600;

/** The rule file of a configuration, or of the presets, in a directory with promtool's tests. */
async function rules(t, slos) {
  const dir = tempDir(t);
  const config = join(dir, 'c.yaml');
  const file = join(dir, 'rules.yml');
  if (slos) writeFileSync(config, JSON.stringify({ slos }));
  const made = await run(['slo', 'rules', '--out', file, ...(slos ? ['-c', config] : [])]);
  assert.equal(made.code, 0, made.stderr);
  return { dir, file };
}

const SLOW_MS = 110000;
const promtool = (...args) => run(args, { command: 'promtool', timeoutMs: SLOW_MS });

/** In promtool and in ours; isOnEdges: samples are at the very beginning of windows, which ours leaves out. */
async function testRules({ dir, file }, name, tests, { interval = '30s', isOnEdges = false } = {}) {
  const path = join(dir, `${name}.test.yml`);
  writeFileSync(path, JSON.stringify({ rule_files: [file], evaluation_interval: interval, tests }));
  const tools = [['promtool', 'test', 'rules'], ...(isOnEdges ? [] : [[BIN, 'rules', 'test']])];
  for (const [command, ...args] of tools) {
    const { code, stdout, stderr } = await run([...args, path], { command, timeoutMs: SLOW_MS });
    assert.equal(code, 0, stdout + stderr);
  }
}

/** total and good of one objective, as input series. */
const series = (slo, objective, total, good) => [
  { series: `llm_slo_total{slo="${slo}",objective="${objective}",${LABELS}}`, values: total },
  { series: `llm_slo_good_total{slo="${slo}",objective="${objective}",${LABELS}}`, values: good },
];

const time = (s) => `${Math.round(s)}s`;

/** All annotations and labels of an alert as the rule file has them, but for what {{ }} makes. */
async function alertText(file, alert, slo, objective) {
  const { stdout } = await run([file], { command: 'cat' });
  const blocks = stdout.split(/\n {6}- /).filter((b) => b.startsWith(`alert: ${alert}\n`)
    && b.includes(`slo: "${slo}"`) && (!objective || b.includes(`objective: "${objective}"\n`)));
  assert.equal(blocks.length, 1, `${blocks.length} of ${alert} ${slo} ${objective}`);
  const annotation = (name) =>
    new RegExp(`${name}: '?(.*?)'?$`, 'm').exec(blocks[0])[1];
  return {
    exp_labels: { slo, ...(objective && { objective }), tier: /tier: (P\d)/.exec(blocks[0])[1] },
    exp_annotations: Object.fromEntries(['runbook_url', 'summary', 'description']
      .map((n) => [n, annotation(n)])),
  };
}

function expanded(alert, value) {
  const texts = Object.entries(alert.exp_annotations)
    .map(([name, text]) => [name, text.replace(/\{\{.*?\}\}/, value)
      .replaceAll('{{ $labels.instance }}', alert.exp_labels.instance ?? '')]);
  return { ...alert, exp_annotations: Object.fromEntries(texts) };
}

test('promtool has nothing to say about the files', async (t) => {
  for (const slos of [undefined, [], [{ name: 'a-b.c_1', objectives: { goodput: '84%' }, window: '90d' },
    { name: 'full', preset: 'chat', match: { model: 'q*', tenant: ['a', 'b'] },
      objectives: { e2e: { threshold: '1500us', target: '99.9999%' }, goodput: '90%' } }]]) {
    const { file } = await rules(t, slos);
    const { code, stdout, stderr } = await promtool('check', 'rules', '--lint-fatal', file);
    assert.equal(code, 0, stdout + stderr);
    assert.doesNotMatch(stdout + stderr, /FAILED|duplicate/);
    const ours = await run(['rules', 'check', '--lint', file]);
    assert.deepEqual([ours.code, ours.stderr], [0, '']);
  }
}, NO_PROMTOOL);

test('a total outage of 40 minutes: who is told when, and that it ends', async (t) => {
  const made = await rules(t);
  const stepS = 60, begin = 7 * 3600, end = begin + 40 * 60, perStep = 20;
  const n = begin / stepS, nBad = (end - begin) / stepS;
  const total = `0+${perStep}x600`;
  const good = `0+${perStep}x${n} ${perStep * n}+0x${nBad - 1} ${perStep * (n + 1)}+${perStep}x200`;
  const inputs = [];
  const checks = [];
  const told = [];
  for (const [slo, objectives] of Object.entries(PRESETS))
    for (const [objective, target] of Object.entries(objectives)) {
      inputs.push(...series(slo, objective, total, good));
      told.push({ s: reachS(target), slo, objective,
        alert: expanded(await alertText(made.file, 'SLOBurnPage', slo, objective), '100%') });
    }
  assert.equal(told.length, 12);
  /** Just the alerts that this long an outage has reached. */
  const at = (s) => checks.push({ eval_time: time(s), alertname: 'SLOBurnPage',
    exp_alerts: told.filter((one) => begin + one.s < s && s <= end + 60).map((one) => one.alert) });
  at(begin);
  // The value is 100 % once the short window has nothing else, so that the sooner ones wait for it.
  for (const target of [0.99, 0.98, 0.95]) {
    at(begin + Math.floor((reachS(target) - stepS / 2) / stepS) * stepS);
    at(begin + Math.ceil((reachS(target) + stepS / 2) / stepS) * stepS);
  }
  // Over 30 minutes the slower page holds, too; it ends when its short window is clean.
  checks.push({ eval_time: time(end + 31 * 60), alertname: 'SLOBurnPage', exp_alerts: [] });
  await testRules(made, 'outage', [{ interval: time(stepS), input_series: inputs, alert_rule_test: checks }],
    { interval: time(stepS) });
}, NO_PROMTOOL);

test('a short outage ends with its short window', async (t) => {
  const made = await rules(t, ['chat']);
  const begin = 7 * 3600, end = begin + 12 * 60;
  const n = begin / 30, nBad = (end - begin) / 30;
  const alert = expanded(await alertText(made.file, 'SLOBurnPage', 'chat', 'ttft'), '100%');
  await testRules(made, 'short', [{
    interval: '30s',
    input_series: series('chat', 'ttft', '0+10x1100',
      `0+10x${n} ${10 * n}+0x${nBad - 1} ${10 * (n + 1)}+10x200`),
    alert_rule_test: [
      { eval_time: time(end), alertname: 'SLOBurnPage', exp_alerts: [alert] },
      { eval_time: time(end + 6 * 60), alertname: 'SLOBurnPage', exp_alerts: [] },
    ],
    promql_expr_test: [{
      expr: 'slo:target:ratio{slo="chat",objective="ttft"}', eval_time: '1h',
      exp_samples: [{ labels: 'slo:target:ratio{slo="chat",objective="ttft"}', value: 0.99 }],
    }],
  }]);
}, NO_PROMTOOL);

test('few bad requests page nobody, however large a part they are', async (t) => {
  const made = await rules(t, ['completion']);
  // One request every 12 minutes and all of the last five bad: under min_bad.
  const total = Array.from({ length: 800 }, (_, i) => Math.floor(i / 24)).join(' ');
  const good = Array.from({ length: 800 }, (_, i) => Math.min(Math.floor(i / 24), 25)).join(' ');
  await testRules(made, 'few', [{
    interval: '30s', input_series: series('completion', 'errors', total, good),
    alert_rule_test: [620, 660, 700, 720].map((i) =>
      ({ eval_time: time(i * 30), alertname: 'SLOBurnPage', exp_alerts: [] })),
  }]);
}, NO_PROMTOOL);

test('nothing counted gives no sample, and no alert but the one that says so', async (t) => {
  const made = await rules(t);
  const objectives = [...Object.keys(PRESETS.chat), 'goodput'];
  const noData = await Promise.all(['completion', 'batch'].map((slo) =>
    alertText(made.file, 'SLONoData', slo)));
  const alerts = ['SLOBurnPage', 'SLOBurnTicket', 'SLOBudgetSpent', 'SLOLowTraffic', 'SLONeverPopulated'];
  await testRules(made, 'nothing', [{
    interval: '30s', input_series: objectives.flatMap((o) => series('chat', o, '0+0x400', '0+0x400')),
    alert_rule_test: [
      ...alerts.map((alertname) => ({ eval_time: '3h', alertname, exp_alerts: [] })),
      { eval_time: '9m', alertname: 'SLONoData', exp_alerts: [] },
      { eval_time: '11m', alertname: 'SLONoData', exp_alerts: noData },
    ],
    promql_expr_test: ['slo:total:increase5m', 'slo:bad:increase6h', 'slo:total:increase_window',
      'slo:budget_remaining:ratio'].map((expr) => ({ expr, eval_time: '3h', exp_samples: [] })),
  }]);
}, NO_PROMTOOL);

test('requests flow and none has a first token: told as never populated', async (t) => {
  const made = await rules(t, ['chat']);
  const flows = ['errors', 'goodput'].flatMap((o) => series('chat', o, '0+10x600', '0+10x600'));
  const never = ['ttft', 'tpot', 'queue'].flatMap((o) => series('chat', o, '0+0x600', '0+0x600'));
  const told = async (objectives) => Promise.all(objectives.map(async (o) =>
    expanded(await alertText(made.file, 'SLONeverPopulated', 'chat', o), '2.4k')));
  const engine = { series: 'vllm:request_queue_time_seconds_count{model_name="m"}', values: '0+2x600' };
  const bucket = (le, values) =>
    ({ series: `vllm:request_queue_time_seconds_bucket{model_name="m",le="${le}"}`, values });
  const at = '7350s'; // between two steps of 5 minutes
  /** A histogram of an engine: requests per 30 s at most as slow as each bound. */
  const histogram = (name, labels, perBound, n) => [
    ...[...Object.entries(perBound), ['+Inf', n]].map(([le, k]) => ({ series: `${name}_bucket{${labels},le="${le}"}`, values: `0+${k}x600` })),
    { series: `${name}_count{${labels}}`, values: `0+${n}x600` }];
  const vllm = 'vllm:request_queue_time_seconds', own = 'engine_queue_seconds';
  const engines = [
    ...histogram(own, 'job="upstreams",instance="slow:1",model="m"', { '1.0': 1.5, '5.0': 1.5, '10.0': 3 }, 3),
    ...histogram(vllm, 'job="upstreams",instance="slow:1",model_name="m"', { '1.0': 9, '5.0': 9, '10.0': 9 }, 9),
    ...histogram(vllm, 'job="vllm",instance="slow:2",model_name="m"', { '1.0': 1.5, '5.0': 1.5, '10.0': 3 }, 3),
    ...histogram(own, 'job="upstreams",instance="quick:1"', { '0.01': 90, '0.9': 90, '60.0': 90 }, 90),
    ...histogram(own, 'job="upstreams",instance="rare:1"', { '1.0': 0.5, '10.0': 1 }, 1),
    ...histogram(vllm, 'job="upstreams",instance="rare:1"', { '1.0': 0.5, '10.0': 1 }, 1), // once, not twice 60
  ];
  const slow = async (labels) => {
    const alert = await alertText(made.file, 'SLOEngineQueueSlow', 'chat', 'queue');
    return expanded({ ...alert, exp_labels: { ...alert.exp_labels, ...labels } }, '9.5s');
  };
  await testRules(made, 'never', [
    { interval: '30s', input_series: [...flows, ...never], alert_rule_test: [
      { eval_time: at, alertname: 'SLONeverPopulated', exp_alerts: await told(['ttft', 'tpot', 'queue']) },
      { eval_time: '600s', alertname: 'SLONeverPopulated', exp_alerts: [] },
    ] },
    // Engines tell of all their requests together, and half of them wait for 10 s.
    { interval: '30s', input_series: [...flows, ...never, { ...engine, values: '0+3x600' },
      bucket('1.0', '0+1.5x600'), bucket('5.0', '0+1.5x600'), bucket('10.0', '0+3x600'), bucket('+Inf', '0+3x600')],
    alert_rule_test: [
      { eval_time: at, alertname: 'SLONeverPopulated', exp_alerts: await told(['ttft', 'tpot']) },
      { eval_time: at, alertname: 'SLOEngineQueueSlow',
        exp_alerts: [expanded(await alertText(made.file, 'SLOEngineQueueSlow', 'chat', 'queue'), '9.5s')] },
    ] },
    // The gateway's own names go before vLLM's of the same engine; engines with other bounds count for themselves.
    { interval: '30s', input_series: [...flows, ...never, ...engines], alert_rule_test: [
      { eval_time: at, alertname: 'SLONeverPopulated', exp_alerts: await told(['ttft', 'tpot']) },
      { eval_time: at, alertname: 'SLOEngineQueueSlow', exp_alerts: [
        await slow({ job: 'upstreams', instance: 'slow:1' }), await slow({ job: 'vllm', instance: 'slow:2' })] },
    ] },
    // As slow, and with 60 requests in 30 minutes not six would be too slow for certain.
    { interval: '30s', input_series: [...flows, ...never, { ...engine, values: '0+1x600' },
      bucket('1.0', '0+0.5x600'), bucket('10.0', '0+1x600'), bucket('+Inf', '0+1x600')],
    alert_rule_test: [{ eval_time: at, alertname: 'SLOEngineQueueSlow', exp_alerts: [] }] },
    // All of it is there.
    { interval: '30s', input_series: [...flows, engine, bucket('1.0', '0+1x600'), bucket('+Inf', '0+2x600'),
      ...['ttft', 'tpot', 'queue'].flatMap((o) => series('chat', o, '0+10x600', '0+10x600'))],
    alert_rule_test: ['SLONeverPopulated', 'SLOEngineQueueSlow'].map((alertname) =>
      ({ eval_time: at, alertname, exp_alerts: [] })) },
  ]);
}, NO_PROMTOOL);

test('a slow burn is a ticket, then a spent budget; few requests are told', async (t) => {
  const made = await rules(t, ['chat']);
  const day = 86400, at = `${day + 2 * 3600 + 150}s`;
  const slow = series('chat', 'ttft', '0+10x3200', '0+9.6x3200'); // 4 % bad
  const flows = series('chat', 'goodput', '0+0.005x3200', '0+0.005x3200'); // 14.4 a day
  const of = async (name, objective, value) =>
    [expanded(await alertText(made.file, name, 'chat', objective), value)];
  const spent = await of('SLOBudgetSpent', 'ttft', '-300%');
  spent[0].exp_labels.window = '30d';
  await testRules(made, 'slow', [{ interval: '30s', input_series: [...slow, ...flows], alert_rule_test: [
    { eval_time: at, alertname: 'SLOBurnPage', exp_alerts: [] },
    { eval_time: at, alertname: 'SLOBurnTicket', exp_alerts: await of('SLOBurnTicket', 'ttft', '4%') },
    { eval_time: at, alertname: 'SLOBudgetSpent', exp_alerts: spent },
    { eval_time: '20h', alertname: 'SLOLowTraffic', exp_alerts: [] }, // not before it is a day
    { eval_time: at, alertname: 'SLOLowTraffic', exp_alerts: await of('SLOLowTraffic', undefined, '14.4') },
  ] }], '150s');
}, NO_PROMTOOL);

/** A day of the simulation, and the same day in promtool at every step around a change and others. */
async function compare(t, { target, rate, bad, minBad, seed }) {
  const days = 1;
  const made = await rules(t, [{ name: 's', min_bad: minBad, objectives: { errors: `${target}%` } }]);
  const { stdout } = await run(['slo', 'simulate', '--trace', '--target', `${target}`, '--rate', `${rate}`,
    '--bad', `${bad}`, '--min-bad', `${minBad}`, '--days', `${days}`, '--seed', `${seed}`]);
  const steps = stdout.trim().split('\n').map((line) => line.split(' ').map(Number));
  assert.equal(steps.length, days * 2880);
  let total = 0, good = 0;
  const totals = [0], goods = [0];
  for (const [n, nBad] of steps) {
    totals.push(total += n);
    goods.push(good += n - nBad);
  }
  const isFiring = [0, ...steps.map((s) => s[2])];
  const wanted = new Set();
  for (let i = 1; i < isFiring.length; i++) {
    if (isFiring[i] !== isFiring[i - 1]) wanted.add(i - 1).add(i);
    if (i % 37 === 0) wanted.add(i);
  }
  // The page alone, and without texts: what is compared is when.
  const { stdout: text } = await run([made.file], { command: 'cat' });
  const quick = text.slice(0, text.indexOf('  - name: s-budget') >= 0
    ? text.indexOf('  - name: s-budget') : text.indexOf('  - name: slo-s-budget'));
  writeFileSync(made.file, quick.replace(/ {8}annotations:\n( {10}.*\n)+/g, ''));
  const alert = { exp_labels: { slo: 's', objective: 'errors', tier: 'P0' } };
  await testRules(made, 'trace', [{
    interval: '30s',
    input_series: series('s', 'errors', totals.join(' '), goods.join(' ')),
    alert_rule_test: [...wanted].sort((a, b) => a - b).map((i) =>
      ({ eval_time: time(i * 30), alertname: 'SLOBurnPage', exp_alerts: isFiring[i] ? [alert] : [] })),
  }], { isOnEdges: true });
  return isFiring.filter((f, i) => f && !isFiring[i - 1]).length;
}

/** A target that nothing can page for gets no number of pages; what is capped or rare says so. */
test('the simulation says what can never page, and what would', async () => {
  const simulate = (...args) => run(['slo', 'simulate', '--days', '1', ...args]);
  const never = await simulate('--target', '80');
  assert.deepEqual([never.code, never.stdout], [2, '']);
  assert.match(never.stderr, /target of 80 % can never page[^]*use 83\.34% or more/);
  const capped = await simulate('--target', '90');
  assert.match(capped.stdout, /^\d+ pages in 1 days/);
  assert.match(capped.stderr, /over 1h is capped at 5: [^]*target of 93\.06 % and more, and in time with 96\.53 %/);
  assert.match(capped.stderr, /over 6h is capped at 5: [^]*target of 91\.67 % and more/);
  assert.match((await simulate('--rate', '1.4')).stderr, /fewer than 1\.5 requests an hour/);
  const plain = await simulate('--trace');
  assert.deepEqual([plain.code, plain.stderr], [0, '']);
});

test('rules that cannot be written are a failure', async () => {
  const full = await run(['-c', `"${BIN}" slo rules >/dev/full`], { command: 'sh' });
  assert.equal(full.code, 1);
  assert.match(full.stderr, /could not write: .*[Ss]pace/);
  const long = await run(['slo', 'rules', '--out', '/tmp/'.padEnd(5000, 'x')]);
  assert.equal(long.code, 1);
  assert.match(long.stderr, /too long/);
});

/* A day takes promtool five seconds: two of them, or all with COMPARE=5. */
test('the simulation fires exactly when PromQL does', async (t) => {
  const days = [
    { target: 99, rate: 60, bad: 8, minBad: 2, seed: 1 },
    { target: 99.9, rate: 500, bad: 0.8, minBad: 6, seed: 2 },
    { target: 95, rate: 120, bad: 30, minBad: 3, seed: 3 },
    { target: 90, rate: 30, bad: 45, minBad: 1, seed: 4 },
    { target: 99.5, rate: 20, bad: 0.5, minBad: 6, seed: 5 },
  ];
  const pages = [];
  for (const day of days.slice(0, Number(process.env.COMPARE ?? 2))) pages.push(await compare(t, day));
  assert.ok(pages.slice(0, 4).every((n) => n > 0), `${pages}: a day without pages compares nothing`);
}, NO_PROMTOOL);
