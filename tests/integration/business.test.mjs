// SPDX-License-Identifier: Apache-2.0
// Business labels and the model's version: who asked, in metrics and in the request log, and nothing
// of a request that the operator did not name.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { getText, request } from './lib/http.mjs';
import { addKey } from './lib/keys.mjs';
import { run, tempDir } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import { collect, sdk } from './lib/sdk.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const FAST = { 'ttft-ms': 2, 'itl-ms': 1, tokens: 4 };
const LABELS = [
  { name: 'tenant', from: ['key', 'header:X-Tenant'] },
  { name: 'user_tier', from: ['metadata:user_tier', 'metadata:user_id'] },
];

async function setup(t, config = {}) {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { models: ['m'], labels: LABELS, ...config } });
  return { upstream, gateway };
}

/** Everything that the gateway has told anybody. */
async function everythingTold(gateway) {
  const pages = ['/metrics', '/api/v1/requests/recent?limit=1000', '/api/v1/inflight'];
  const texts = await Promise.all(pages.map((path) => getText(gateway.adminPort, path)));
  return [...texts, readFileSync(gateway.logFile, 'utf8'), gateway.process.stderr].join('\n');
}

test('the openai library: header and metadata become labels, what is not named is never told', async (t) => {
  const { gateway } = await setup(t);
  const canary = 'c4n4ry';
  const client = sdk(gateway.port, {
    apiKey: `${canary}-key`, defaultHeaders: { 'X-Tenant': 'acme', 'X-Other': `${canary}-header` },
  });
  const id = newId();
  const stream = await client.chat.completions.create({
    model: 'm', stream: true, user: `${canary}-user`,
    messages: [{ role: 'user', content: `${canary}-prompt` }],
    metadata: { user_tier: 'gold "plus"', other: `${canary}-metadata`, [`${canary}-name`]: 'x' },
  }, { headers: { 'x-request-id': id, ...sim(FAST) } });
  await collect(stream);

  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.deepEqual(r.labels, { tenant: 'acme', user_tier: 'gold "plus"' });
  const m = await gateway.metrics();
  const labels = { model: 'm', tenant: 'acme', user_tier: 'gold "plus"' };
  for (const name of ['llm_requests_total', 'llm_ttft_seconds_count', 'llm_itl_seconds_count',
    'llm_e2e_seconds_count', 'llm_tokens_total', 'llm_queue_seconds_count', 'llm_inflight_requests'])
    assert.ok(m.select(name, labels).length > 0, name);
  for (const s of m.select('llm_icl_seconds_count'))
    assert.deepEqual(Object.keys(s.labels).sort(), ['model', 'upstream']);
  assert.ok(!(await everythingTold(gateway)).includes(canary));
});

test('a request without values has no such labels', async (t) => {
  const { gateway } = await setup(t);
  const answer = await gateway.chat({ metadata: { user_tier: ['gold'] } }, { headers: sim(FAST) });
  assert.equal(answer.status, 200);
  const r = await gateway.recordOf(answer);
  assert.equal(r.labels, undefined);
  assert.equal(r.model_version, undefined);
  for (const s of (await gateway.metrics()).select('llm_requests_total'))
    assert.deepEqual(Object.keys(s.labels).sort(), ['endpoint', 'model', 'outcome', 'stream', 'upstream']);
});

test("Anthropic's metadata, and a body that is larger than the window", async (t) => {
  const { gateway } = await setup(t, { limits: { request_window: '4KiB' } });
  const body = (metadata, n = 1) => ({
    model: 'm', max_tokens: 10, metadata, messages: [{ role: 'user', content: 'x'.repeat(n) }],
  });
  const ask = (json) => request(gateway.port, '/v1/messages', { json, headers: sim(FAST) });
  const first = await gateway.recordOf(await ask(body({ user_id: 17 })));
  assert.deepEqual(first.labels, { user_tier: '17' });
  const inside = await gateway.recordOf(await ask(body({ user_id: 'early' }, 400000)));
  assert.ok(inside.flags.includes('window_exceeded'));
  assert.deepEqual(inside.labels, { user_tier: 'early' });
  const { metadata, ...rest } = body({ user_id: 'late' }, 400000);
  const outside = await gateway.recordOf(await ask({ ...rest, metadata }));
  assert.equal(outside.labels, undefined);
});

test('the gateway key is trusted first; a batch key stays one', async (t) => {
  const keys = join(tempDir(t), 'keys.json');
  const batch = await addKey(keys, '--class', 'batch', '--label', 'user_tier=iron');
  const plain = await addKey(keys, '--tenant', 'globex');
  const upstream = await Sim.start(t);
  const config = {
    labels: [LABELS[0], { name: 'user_tier' }],
    access: { keys },
    upstreams: [{ name: 'up', url: upstream.url, max_inflight: 1 }],
  };
  const gateway = await Gateway.start(t, { upstream, config });
  const ask = (key, headers = {}, switches = FAST) => gateway.chat({ stream: true },
    { headers: { authorization: `Bearer ${key}`, 'x-tenant': 'spoofed', ...headers, ...sim(switches) } });
  const waiting = (name) => waitFor(`one waits as ${name}`, async () =>
    (await gateway.metrics()).value('inferometer_admission_waiting', { class: name }) === 1,
  { timeoutMs: 10000 });

  const long = ask(plain.key, {}, { ...FAST, 'ttft-ms': 4000 });
  await waitFor('it is under way', async () => (await gateway.inflight()).length === 1);
  const raised = ask(batch.key, { 'x-inferometer-class': 'interactive' });
  await waiting('batch');
  await Promise.all([long, raised]);
  const second = ask(plain.key, {}, { ...FAST, 'ttft-ms': 4000 });
  await waitFor('the next is under way', async () => (await gateway.inflight()).length === 1);
  const lowered = ask(plain.key, { 'x-inferometer-class': 'batch' });
  await waiting('batch');
  await second;

  assert.deepEqual((await gateway.recordOf(await raised)).labels, { tenant: 'acme', user_tier: 'iron' });
  assert.deepEqual((await gateway.recordOf(await lowered)).labels, { tenant: 'globex' });
  const told = await everythingTold(gateway);
  for (const secret of ['spoofed', batch.key, plain.key])
    assert.ok(!told.includes(secret));
});

test('more tenants than the cap, over two workers', async (t) => {
  const cap = 5;
  const n = 24;
  const { gateway } = await setup(t, { workers: 2, labels: [{ ...LABELS[0], max: cap }] });
  for (let round = 0; round < 2; round++) {
    await Promise.all(Array.from({ length: n }, async (_, i) => {
      const answer = await gateway.chat({ stream: true }, { headers: { 'x-tenant': `t${i}`, ...sim(FAST) } });
      assert.equal(answer.status, 200);
      assert.deepEqual((await gateway.recordOf(answer)).labels, { tenant: `t${i}` }); // the log has no cap
    }));
  }
  const m = await gateway.metrics();
  const tenants = new Set(m.select('llm_requests_total').map((s) => s.labels.tenant));
  assert.equal(tenants.size, cap + 1);
  assert.ok(tenants.has('other'));
  assert.equal(m.value('llm_requests_total', { outcome: 'ok' }), 2 * n);
  assert.ok(m.value('llm_requests_total', { tenant: 'other' }) >= 2 * (n - cap));
  assert.ok(m.value('inferometer_drops_total', { cause: 'label_cap' }) >= 2 * (n - cap));
});

test('the version of an upstream: a reload that changes it starts new series', async (t) => {
  const upstream = await Sim.start(t);
  const config = (version) => ({ upstreams: [{ name: 'up', url: upstream.url, version }] });
  const gateway = await Gateway.start(t, { upstream, config: config('v1') });
  const ask = async () => gateway.recordOf(await gateway.chat({ stream: true }, { headers: sim(FAST) }));
  assert.equal((await ask()).model_version, 'v1');
  assert.equal((await ask()).model_version, 'v1');
  assert.equal(await gateway.reload(config('v2')), 'taken');
  assert.equal((await ask()).model_version, 'v2');
  const m = await gateway.metrics();
  for (const name of ['llm_requests_total', 'llm_ttft_seconds_count', 'llm_attempts_total']) {
    assert.equal(m.value(name, { version: 'v1' }), 2, name);
    assert.equal(m.value(name, { version: 'v2' }), 1, name);
  }
  assert.ok(m.value('llm_icl_seconds_count', { version: 'v2' }) > 0);
  assert.ok(m.select('llm_upstream_silent_seconds').every((s) => !('version' in s.labels)));
});

test('a reload changes where values come from, and not which labels there are', async (t) => {
  const { gateway } = await setup(t);
  const ask = async () => gateway.recordOf(
    await gateway.chat({}, { headers: { 'x-tenant': 'a', 'x-org': 'b', ...sim(FAST) } }));
  assert.deepEqual((await ask()).labels, { tenant: 'a' });
  const changed = [{ ...LABELS[0], from: 'header:X-Org' }, LABELS[1]];
  assert.equal(await gateway.reload({ labels: changed }), 'taken');
  assert.deepEqual((await ask()).labels, { tenant: 'b' });
  assert.equal(await gateway.reload({ labels: [{ name: 'org', from: 'header:X-Org' }, LABELS[1]] }), 'refused');
  assert.deepEqual((await ask()).labels, { tenant: 'b' });
});

test('odd values leave the exposition whole', async (t) => {
  const { gateway } = await setup(t);
  const values = ['a"b\\c', 'line\nend\u0000', '模型 🦙', '\ud800', '{}', ' ', 'x'.repeat(500), 'other', 'none'];
  for (const user_tier of values) {
    const answer = await gateway.chat(chatRequest({ metadata: { user_tier } }), { headers: sim(FAST) });
    assert.equal(answer.status, 200);
  }
  await gateway.recordsWhere(() => true, values.length);
  const of = (format) => getText(gateway.adminPort, '/metrics', { accept: format });
  const found = new Set((await gateway.metrics()).select('llm_requests_total').map((s) => s.labels.user_tier));
  assert.deepEqual(found, new Set(['a"b\\c', 'line?end?', '模型 🦙', '\ufffd', '{}', undefined,
    'x'.repeat(127), 'other', 'none']));
  assert.match(await of('application/openmetrics-text'), /user_tier="a\\"b\\\\c"[^]*# EOF\n$/);
  const protobuf = await of('application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited');
  assert.ok(['user_tier', 'a"b\\c', '模型 🦙'].every((text) => protobuf.includes(text)));
  if (spawnSync('promtool', ['--version']).status !== 0) return;
  const { code, stderr, stdout } = await run(['check', 'metrics'],
    { command: 'promtool', input: await getText(gateway.adminPort, '/metrics') });
  assert.ok(code === 0 || code === 3, `promtool: ${code}\n${stdout}${stderr}`); // 3: lint only
  assert.doesNotMatch(stderr + stdout, /error while linting|text format parsing error/i);
});

test('the time in a queue in front of the gateway, and the fingerprint of the engine', async (t) => {
  const { gateway } = await setup(t);
  const ask = async (enqueued) => gateway.recordOf(await gateway.chat({ stream: true },
    { headers: { ...(enqueued && { 'x-enqueue-time': enqueued }), ...sim(FAST) } }));
  const before = Date.now();
  const [ms, rfc] = [await ask(String(before - 2500)), await ask(new Date(before - 7000).toISOString())];
  const took = Date.now() - before;
  assert.ok(ms.backlog_ms >= 2499 && ms.backlog_ms <= 2501 + took, String(ms.backlog_ms));
  assert.ok(rfc.backlog_ms >= 6999 && rfc.backlog_ms <= 7001 + took, String(rfc.backlog_ms));
  assert.equal(ms.engine_fingerprint, 'fp_simulated0');
  assert.equal((await ask(String(Date.now() + 3600e3))).backlog_ms, undefined);
  assert.equal((await ask()).backlog_ms, undefined);
  assert.equal((await ask(String(Math.floor(before / 1000)))).backlog_ms, undefined); // Unix seconds
  const m = await gateway.metrics();
  assert.equal(m.value('llm_backlog_seconds_count', { model: 'm' }), 2);
  assert.equal(m.value('inferometer_backlog_negative_total'), 1);
  assert.equal(m.value('inferometer_backlog_unreadable_total'), 1);
  assert.ok(m.samples.every((s) => !Object.values(s.labels).includes('fp_simulated0')));
});
