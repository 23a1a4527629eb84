// SPDX-License-Identifier: Apache-2.0
// Objectives in a running gateway: exact counts of a known mix of good and bad, from 0 on, through
// reloads and restarts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { getJson } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const FAST = { 'ttft-ms': 2, 'itl-ms': 1, tokens: 10 };
const TTFT_MS = 1500;
const LONG = { timeoutMs: 20000 };

/** Asks for an answer of one kind, as many times; all at once. */
const ask = (gateway, n, switches, json = { stream: true }) => Promise.all(
  Array.from({ length: n }, () => gateway.chat(json, { headers: sim({ ...FAST, ...switches }) })));

/** A stream without a first token whose client leaves when it has been open for that long. */
async function leave(gateway, afterMs) {
  const id = newId();
  const aborter = new AbortController();
  const call = gateway.chat({ stream: true }, { signal: aborter.signal,
    headers: { 'x-request-id': id, ...sim({ ...FAST, 'ttft-ms': 60000 }) } }).catch((e) => e);
  await waitFor('the stream to be open long enough', async () =>
    (await gateway.inflight()).some((r) => r.age_ms >= afterMs), LONG);
  aborter.abort();
  await call;
  return gateway.recordNamed(id);
}

const SLOS = [
  { name: 'chat', match: { stream: true, model: 'm' }, window: '7d', min_bad: 9,
    objectives: { ttft: { threshold: `${TTFT_MS}ms`, target: '99%' },
      tpot: { threshold: '40ms', target: '99%' }, queue: { threshold: '1s', target: '95%' },
      errors: '99.5%' } },
  { name: 'all', objectives: { errors: '99%', goodput: '95%',
    e2e: { threshold: '20s', target: '99%' } } },
];

/** { objective: [total, good] } of an SLO. */
async function counts(gateway, slo, labels = {}) {
  const m = await gateway.metrics();
  const of = {};
  for (const s of m.select('llm_slo_total', { slo, ...labels }))
    of[s.labels.objective] = [(of[s.labels.objective]?.[0] ?? 0) + s.value,
      m.value('llm_slo_good_total', { slo, objective: s.labels.objective, ...labels })];
  return of;
}

test('a known mix of good and bad is counted exactly', async (t) => {
  const upstream = await Sim.start(t);
  const config = { slos: SLOS, watchdog: { cut_after: '1s' }, models: ['m'],
    upstreams: [{ name: 'up', url: upstream.url, max_inflight: 100, max_queue: 1 }] };
  const gateway = await Gateway.start(t, { upstream, config });

  // What the match names is there at 0.
  const zero = { ttft: [0, 0], tpot: [0, 0], queue: [0, 0], errors: [0, 0], goodput: [0, 0] };
  assert.deepEqual(await counts(gateway, 'chat', { model: 'm', upstream: 'up' }), zero);
  assert.deepEqual(await counts(gateway, 'all'), { e2e: [0, 0], errors: [0, 0], goodput: [0, 0] });

  await ask(gateway, 5, {});
  await ask(gateway, 4, { 'engine-times': 'vllm' }); // these tell how long they were queued
  await ask(gateway, 3, { 'ttft-ms': TTFT_MS + 300 });
  await ask(gateway, 2, { 'itl-ms': 60 });
  await ask(gateway, 2, { usage: 'never', tokens: 1 }); // no TPOT
  await ask(gateway, 2, { status: 503 });
  await ask(gateway, 2, { status: 429 });
  await ask(gateway, 6, { status: 400 }); // the clients' own
  await ask(gateway, 1, { 'error-after': 3 });
  await ask(gateway, 1, { 'cut-after': 3, cut: 'reset' });
  await ask(gateway, 1, { 'hang-after': 3 }); // cut as stalled
  await ask(gateway, 3, {}, { stream: false });
  assert.equal((await leave(gateway, 1)).outcome, 'client_gone_before_first');
  assert.equal((await leave(gateway, TTFT_MS + 200)).outcome, 'client_gone_before_first');
  const records = await gateway.recordsWhere(() => true, 33);
  const outcomes = {};
  for (const r of records) outcomes[r.outcome] = (outcomes[r.outcome] ?? 0) + 1;
  assert.deepEqual(outcomes, { ok: 19, http_error: 10, stream_error: 1, upstream_cut: 1, stalled: 1,
    client_gone_before_first: 2 });

  const withTpot = records.filter((r) => r.is_stream && r.tpot_ms != null
    && !r.outcome.startsWith('client_gone'));
  const chat = await counts(gateway, 'chat');
  // Streams with a first token: 5 + 4 + 3 + 2 + 2 + 3 that broke later; and one that waited too long.
  assert.deepEqual(chat.ttft, [20, 16]);
  assert.deepEqual(chat.queue, [4, 4]);
  assert.deepEqual(chat.tpot, [withTpot.length, withTpot.filter((r) => r.tpot_ms <= 40).length]);
  assert.deepEqual([chat.tpot[0] - chat.tpot[1], chat.tpot[0] > 10], [2, true]);
  // 16 ok streams, 4 answers of 503 and 429, 3 that broke.
  assert.deepEqual(chat.errors, [23, 16]);
  // Not good: 3 late, 2 slow, 4 errors, 3 that broke, 1 that left late.
  assert.deepEqual(chat.goodput, [24, 11]);
  const all = await counts(gateway, 'all');
  assert.deepEqual(all, { e2e: [3, 3], errors: [26, 19], goodput: [26, 19] });

  const m = await gateway.metrics();
  for (const s of m.select('llm_slo_total'))
    assert.deepEqual(Object.keys(s.labels).sort(), ['model', 'objective', 'slo', 'upstream']);
  // Thresholds are bounds.
  assert.ok(m.bounds('llm_ttft_seconds').includes(TTFT_MS / 1000));
  assert.ok(m.bounds('llm_tpot_seconds').includes(0.04));
}, { limitMs: 60000 });

test('refused for want of room is an error, and late where it waited too long', async (t) => {
  const upstream = await Sim.start(t);
  const objectives = { ttft: { threshold: '300ms', target: '99%' }, errors: '99%' };
  const gateway = await Gateway.start(t, { upstream, config: {
    slos: [{ name: 'a', objectives }],
    upstreams: [{ name: 'up', url: upstream.url, max_inflight: 1, max_queue: 1, queue_timeout: '600ms' }],
  } });
  const slow = gateway.chat({ stream: true },
    { headers: sim({ ...FAST, tokens: 40, 'itl-ms': 100 }) });
  await waitFor('the slow one to be open', async () => (await gateway.inflight()).length === 1);
  const waits = gateway.chat({ stream: true }, { headers: sim(FAST) });
  await waitFor('the next to wait', async () => (await gateway.inflight()).length === 2);
  assert.equal((await gateway.chat({ stream: true }, { headers: sim(FAST) })).status, 429); // full
  assert.equal((await waits).status, 429); // too late
  await slow;
  await gateway.recordsWhere((r) => r.outcome === 'rejected', 2);
  await gateway.recordsWhere((r) => r.outcome === 'ok', 1);
  assert.deepEqual(await counts(gateway, 'a'), { ttft: [2, 1], errors: [3, 1], goodput: [3, 1] });
});

test('a reload brings SLOs; what they change is all that changes', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  await ask(gateway, 2, {});
  await gateway.recordsWhere(() => true, 2);
  assert.equal((await gateway.metrics()).value('llm_slo_total'), undefined);

  assert.equal(await gateway.reload({ slos: ['chat'] }), 'taken'); // its thresholds are bounds anyway
  assert.equal((await counts(gateway, 'chat')).errors[0], 0);
  assert.equal((await gateway.metrics()).value('llm_ttft_seconds_count'), 2);
  await ask(gateway, 3, {});
  await waitFor('three', async () => (await counts(gateway, 'chat')).errors[0] === 3);

  const slos = ['chat', { name: 'two', objectives: { ttft: { threshold: '1234ms', target: '99%' } } }];
  assert.equal(await gateway.reload({ slos }), 'taken');
  await ask(gateway, 1, {});
  await waitFor('one', async () => (await counts(gateway, 'two')).ttft[0] === 1);
  const m = await gateway.metrics();
  assert.equal((await counts(gateway, 'chat')).errors[0], 4);
  assert.ok(m.bounds('llm_ttft_seconds').includes(1.234));
  assert.equal(m.value('llm_ttft_seconds_count'), 1); // a family whose bounds change starts anew

  assert.equal(await gateway.reload({ slos: [{ name: 'two', preset: 'chats' }] }), 'refused');
  assert.equal(await gateway.reload({}), 'taken');
  await ask(gateway, 1, {});
  await gateway.recordsWhere(() => true, 7);
  assert.equal((await counts(gateway, 'chat')).errors[0], 4); // nobody counts any more
});

test('what was burnt before a restart is still burnt', async (t) => {
  const upstream = await Sim.start(t);
  const config = { data_dir: tempDir(t), history: { interval: '1s' }, slos: ['chat'], models: ['m'] };
  const query = async (gateway, q) => {
    const { data } = await getJson(gateway.adminPort, `/api/v1/query?query=${encodeURIComponent(q)}`);
    return Number(data.result[0]?.value[1] ?? NaN);
  };
  const bad = 'sum(increase(llm_slo_total{slo="chat",objective="errors"}[1h]))'
    + ' - sum(increase(llm_slo_good_total{slo="chat",objective="errors"}[1h]))';
  const serve = async (gateway) => {
    // Two samples before, so that what comes is an increase.
    await waitFor('a sample at 0', async () => await query(gateway,
      'min(count_over_time(llm_slo_total{slo="chat",objective="errors",model="other"}[1m]))') >= 1, LONG);
    await ask(gateway, 1, {});
    await waitFor('a sample of the series', async () => await query(gateway,
      'sum(llm_slo_total{slo="chat",objective="errors",model="m"})') >= 1, LONG);
    await ask(gateway, 6, { status: 500 });
    await waitFor('samples of all', async () => await query(gateway,
      'sum(llm_slo_total{slo="chat",objective="errors",model="m"})') === 7, LONG);
  };
  const first = await Gateway.start(t, { upstream, config });
  await serve(first);
  assert.ok(await query(first, bad) >= 6);
  await first.process.stop();
  const second = await Gateway.start(t, { upstream, config });
  await waitFor('what was before', async () => await query(second, bad) >= 6, LONG);
  await serve(second);
  const both = await query(second, bad);
  assert.ok(both >= 12 && both < 16, `${both}`);
}, { limitMs: 60000 });

test('the command: rules of a configuration, and its mistakes', async (t) => {
  const dir = tempDir(t);
  const file = join(dir, 'c.yaml');
  writeFileSync(file, JSON.stringify({ slos: SLOS }));
  const rules = await run(['slo', 'rules', '-c', file]);
  assert.equal(rules.code, 0, rules.stderr);
  assert.match(rules.stdout, /name: slo-chat\n/);
  assert.match(rules.stdout, /increase_window\n {8}expr: sum_over_time\(slo:total:increase5m\{slo="chat"\}\[7d:5m\]\)/);
  assert.match(rules.stdout, /objective="ttft"\} >= 9\n/);
  const out = join(dir, 'rules.yml');
  const written = await run(['slo', 'rules', '--config', file, '--out', out]);
  assert.deepEqual([written.code, written.stdout], [0, '']);
  assert.equal((await run(['slo', 'rules', '-c', file, '--out', join(dir, 'no', 'x')])).code, 1);

  const table = await run(['slo', 'table', '-c', file, '--months', '1']);
  assert.match(table.stdout, /ttft <= 1500ms +99%  14\.4, 6 +8m38s/);
  const simulated = await run(['slo', 'simulate', '--bad', '100', '--days', '1']);
  assert.match(simulated.stdout, /^1 pages in 1 days/);

  writeFileSync(file, 'slos:\n  - name: a\n    objectives: {errors: 80%}\n');
  const wrong = await run(['slo', 'rules', '-c', file]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /c\.yaml:3:18: a target of 80 % can never page.*\n +hint: use 83\.34% or more/);
  assert.equal((await run(['slo'])).code, 2);
  assert.equal((await run(['slo', 'rules', '--months'])).code, 2);
});
