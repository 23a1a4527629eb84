// SPDX-License-Identifier: Apache-2.0
// What neither traffic nor the engine tells: how far clients and upstreams are, how long a new
// connection takes, how long the tokenizer takes, and whose time a request's stages are.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority, noOpenssl } from './lib/certs.mjs';
import { chatRequest, Gateway, newId, Sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { addKey } from './lib/keys.mjs';
import { tempDir } from './lib/process.mjs';
import { assertOutcome, stages, toNs } from './lib/records.mjs';
import { behindSlowLink, noSlowLink } from './lib/slow_link.mjs';
import { DONE, textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { waitFor } from './lib/wait.mjs';

const EVERY = { probe: { interval: '100ms' } };
const TOKENS = JSON.stringify({ count: 2, max_model_len: 8, tokens: [1, 2] });

/** Waits until a metric is as it should be. */
const until = (gateway, what, is, options) =>
  waitFor(what, async () => is(await gateway.metrics()), { timeoutMs: 15000, ...options });

const tokenized = (m) => m.value('llm_tokenize_seconds_count', { upstream: 'up' }) ?? 0;
const connected = (m, step = 'tcp') =>
  m.value('llm_probe_connect_seconds_count', { upstream: 'up', step }) ?? 0;
const failed = (m, reason) =>
  m.value('llm_probe_failures_total', { upstream: 'up', ...(reason && { reason }) });

/** An upstream whose /tokenize does what answer says; other requests get a short stream. */
const tokenizing = (t, answer) => startUpstream(t, async (x) => {
  await x.complete;
  if (x.target === '/tokenize') answer(x);
  else x.stream().chunk([...textEvents, DONE].join('')).endChunks();
});
const asked = (upstream) => upstream.exchanges.filter((x) => x.target === '/tokenize');

test('a slow tokenizer shows, and a probe is no traffic', async (t) => {
  const upstream = await Sim.start(t, '--engine', 'vllm-0.13', '--tokenize-ms', '60');
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  const m = await until(gateway, 'three probes', (m) => tokenized(m) >= 3 && m);
  const mean = m.value('llm_tokenize_seconds_sum', { upstream: 'up' }) / tokenized(m);
  assert.ok(mean >= 0.06, `${mean} s`);
  assert.ok(connected(m) >= 3);
  assert.equal(connected(m, 'tls'), 0);
  assert.equal(failed(m), 0);

  assert.equal(m.value('llm_requests_total') ?? 0, 0);
  assert.equal(m.value('llm_attempts_total') ?? 0, 0);
  assert.equal(m.value('inferometer_bytes_total', { side: 'upstream', direction: 'out' }), 0);
  assert.equal(m.value('inferometer_bytes_total', { side: 'upstream', direction: 'in' }), 0);
  assert.equal(m.value('inferometer_connections_open', { side: 'upstream' }), 0);
  assert.equal(m.value('inferometer_admission_inflight', { upstream: 'up' }), 0);
  assert.deepEqual(gateway.records(), []);

  // A busy host is slow at it, too: what the fault adds is there.
  const before = await gateway.metrics();
  await request(upstream.port, '/sim/faults', { json: { host_stall: 200 } });
  await until(gateway, 'the stall in the histogram', (now) => {
    const over = (x) => tokenized(x) - (x.value('llm_tokenize_seconds_bucket', { upstream: 'up', le: '0.2' }) ?? 0);
    return over(now) > over(before);
  });
});

test('an upstream without a tokenizer is asked once; idle, it is still connected to', async (t) => {
  const upstream = await tokenizing(t, (x) => x.reply(404, '{}'));
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  const m = await until(gateway, 'ten connections', (m) => connected(m) >= 10 && m);
  assert.equal(asked(upstream).length, 1);
  assert.equal(tokenized(m), 0);
  assert.equal(failed(m), 0);

  // A new configuration asks again.
  assert.equal(await gateway.reload({ ...EVERY, upstreams: [{ name: 'up', url: upstream.url, weight: 2 }] }), 'taken');
  await waitFor('another question', () => asked(upstream).length === 2);
});

test('a busy upstream gets no connection of a probe', async (t) => {
  let finish;
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    if (x.target === '/tokenize') x.reply(404, '{}');
    else finish = () => x.stream().chunk([...textEvents, DONE].join('')).endChunks();
  });
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  await until(gateway, 'a connection', (m) => connected(m) >= 1);
  const chat = gateway.chat({ stream: true });
  await waitFor('the request', () => finish);
  const before = connected(await gateway.metrics());
  const started = Date.now();
  await waitFor('eight intervals', () => Date.now() - started > 400);
  assert.ok(connected(await gateway.metrics()) <= before + 1); // one may have been under way
  finish();
  assert.equal((await chat).status, 200);
  const idle = connected(await gateway.metrics());
  await until(gateway, 'another connection', (m) => connected(m) > idle);
});

for (const [engine, answer, form] of [
  ['llama.cpp', (x) => x.reply(200, JSON.stringify({ tokens: x.json.content ? [1, 2] : [] })), 'content'],
  ['TGI', (x) => (x.json.inputs ? x.reply(200, '[{"id":1,"text":"a","start":0,"stop":1}]') : x.reply(422, '{}')), 'inputs'],
  ['an old vLLM', (x) => (x.json.model === 'served' ? x.reply(200, TOKENS) : x.reply(400, '{}')), 'prompt'],
])
  test(`${engine}: what it understands is found out once`, async (t) => {
    const upstream = await tokenizing(t, answer);
    const upstreams = [{ name: 'up', url: upstream.url, models: ['m=served'] }];
    const gateway = await Gateway.start(t, { upstream, config: { ...EVERY, upstreams } });
    const m = await until(gateway, 'five answers', (m) => tokenized(m) >= 5 && m);
    const members = asked(upstream).map((x) => Object.keys(x.json).at(-1));
    const at = engine === 'an old vLLM' ? 1 : members.indexOf(form);
    assert.ok(at >= 1 && at <= 3, members.join());
    assert.ok(members.slice(at).every((name) => name === form), members.join());
    assert.equal(failed(m), 0);
  });

test('a tokenizer that only fails is asked less and less often', async (t) => {
  const upstream = await tokenizing(t, (x) => x.reply(503, '{}'));
  const gateway = await Gateway.start(t, { upstream, config: { probe: { interval: '100ms' } } });
  const m = await until(gateway, 'forty turns', (m) => connected(m) >= 40 && m);
  assert.ok(failed(m, 'status') >= 2 && failed(m, 'status') <= 7, String(failed(m, 'status')));
});

test('a question that is not answered ends, and the next one comes', async (t) => {
  let n = 0;
  const upstream = await tokenizing(t, (x) => (n++ === 0 ? x.reset() : x.reply(200, TOKENS)));
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  const m = await until(gateway, 'an answer', (m) => tokenized(m) >= 1 && m);
  assert.equal(failed(m, 'other'), 1);
});

test('an upstream that is away is counted, and asked anew when it is back', async (t) => {
  const upstream = await Sim.start(t, '--engine', 'vllm-0.13');
  const flags = ['--engine', 'vllm-0.13', '--listen', `127.0.0.1:${upstream.port}`];
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  await until(gateway, 'a probe', (m) => tokenized(m) >= 1);
  await upstream.process.stop();
  await until(gateway, 'refused ones', (m) => failed(m, 'connect') >= 2);
  const before = tokenized(await gateway.metrics());
  await Sim.start(t, ...flags);
  await until(gateway, 'a probe of the next one', (m) => tokenized(m) > before);
});

test('no key of a client or of the gateway goes with a probe; the upstream\'s own does', async (t) => {
  const dir = tempDir(t);
  const { key } = await addKey(join(dir, 'keys.json'));
  writeFileSync(join(dir, 'up.key'), 'upstream-secret\n', { mode: 0o600 });
  const upstream = await tokenizing(t, (x) => x.reply(200, TOKENS));
  const gateway = await Gateway.start(t, { upstream, config: {
    ...EVERY,
    access: { keys: join(dir, 'keys.json') },
    upstreams: [{ name: 'up', url: upstream.url, key_file: join(dir, 'up.key') }],
  } });
  const answer = await gateway.chat({ stream: true }, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(answer.status, 200);
  await until(gateway, 'probes', (m) => tokenized(m) >= 3);
  for (const x of asked(upstream)) {
    assert.ok(!x.head.includes(key) && !x.body.includes(key));
    assert.equal(x.field('authorization'), 'Bearer upstream-secret');
    assert.equal(x.field('x-request-id'), undefined);
  }
  assert.ok(!gateway.process.stderr.includes('secret'));

  const open = await tokenizing(t, (x) => x.reply(200, TOKENS));
  const other = await Gateway.start(t, { upstream: open, config: EVERY });
  await other.chat({ stream: true }, { headers: { authorization: 'Bearer client-secret' } });
  await until(other, 'probes', (m) => tokenized(m) >= 2);
  assert.ok(asked(open).every((x) => x.field('authorization') === undefined));
});

test('TLS: not probed unless it is asked for; then the handshake is measured', async (t) => {
  const authority = new Authority(t);
  const { cert, key } = authority.issue('engine');
  const upstream = await Sim.start(t, '--engine', 'vllm-0.13', '--tls-cert', cert, '--tls-key', key);
  const plain = await Sim.start(t, '--engine', 'vllm-0.13');
  const config = (probe) => ({ ...EVERY, upstreams: [
    { name: 'up', url: upstream.url, tls: { ca: authority.ca }, models: ['m'], ...(probe && { probe }) },
    { name: 'plain', url: plain.url, models: ['n'] },
  ] });
  const gateway = await Gateway.start(t, { upstream, config: config() });
  const others = (m) => m.value('llm_tokenize_seconds_count', { upstream: 'plain' }) ?? 0;
  const m = await until(gateway, 'probes of the other one', (m) => others(m) >= 5 && m);
  assert.equal(connected(m), 0);
  assert.equal(failed(m), undefined);
  assert.equal(await gateway.reload(config('always')), 'taken');
  await until(gateway, 'handshakes', (m) => connected(m, 'tls') >= 2 && tokenized(m) >= 2);
  assert.equal(await gateway.reload({ ...config('always'), probe: { interval: '0s' } }), 'taken');
}, { skip: noOpenssl });

test('interval 0 and "never": nothing is asked', async (t) => {
  const upstream = await tokenizing(t, (x) => x.reply(200, TOKENS));
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  await until(gateway, 'a probe', (m) => tokenized(m) >= 1);
  for (const config of [{ probe: { interval: '0s' } },
    { ...EVERY, upstreams: [{ name: 'up', url: upstream.url, probe: 'never' }] }]) {
    assert.equal(await gateway.reload(config), 'taken');
    await waitFor('what was under way', async () => {
      const n = asked(upstream).length;
      await gateway.chat({ stream: true }); // takes a moment
      return asked(upstream).length === n;
    });
    const n = asked(upstream).length;
    const started = Date.now();
    await waitFor('six intervals', () => Date.now() - started > 300);
    assert.equal(asked(upstream).length, n);
  }
});

test('whose key it is has a stage of its own, refused or not', async (t) => {
  const dir = tempDir(t);
  const { key } = await addKey(join(dir, 'keys.json'));
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { access: { keys: join(dir, 'keys.json') } } });
  const ask = (bearer, id) => gateway.chat({ stream: true },
    { headers: { authorization: `Bearer ${bearer}`, 'x-request-id': id } });
  const [good, bad] = [newId(), newId()];
  await ask(key, good);
  await ask('sk-other', bad);
  const r = await gateway.recordNamed(good);
  assertOutcome(r, 'ok');
  assert.ok(r.stage_auth_ms > 0 && r.stage_auth_ms <= r.overhead_ms);
  assert.ok(stages(r).route > 0);
  // What the definitions say of sums, to the nanosecond.
  const sum = (...names) => names.reduce((n, name) => n + toNs(r[name] ?? 0), 0);
  assert.equal(sum('stage_auth_ms', 'stage_route_ms', 'stage_send_ms'), toNs(r.overhead_ms));
  assert.equal(sum('stage_wait_ms', 'stage_first_event_ms', 'stage_first_token_ms'), toNs(r.upstream_ttft_ms));
  assert.ok(toNs(r.total_ms) - sum('stage_receive_ms', 'stage_delivery_ms', 'stage_tail_ms') <= toNs(r.e2e_ms));
  const refused = await gateway.recordNamed(bad);
  assert.equal(refused.outcome, 'unauthorized');
  assert.ok(refused.stage_auth_ms > 0);
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_stage_seconds_count', { stage: 'auth' }), 2);
});

test('a client and an upstream nearby', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const r = await gateway.recordOf(await gateway.chat({ stream: true }));
  for (const peer of ['client', 'upstream']) {
    assert.ok(r[`${peer}_rtt_ms`] > 0 && r[`${peer}_rtt_ms`] < 1000);
    assert.ok(r[`${peer}_rtt_min_ms`] > 0 && r[`${peer}_rtt_min_ms`] <= r[`${peer}_rtt_ms`]);
    assert.equal(r[`${peer}_resent`], undefined);
  }
  const m = await gateway.metrics();
  for (const kind of ['smoothed', 'min']) {
    assert.equal(m.value('llm_upstream_rtt_seconds_count', { upstream: 'up', kind }), 1);
    assert.equal(m.value('inferometer_client_rtt_seconds_count', { kind }), 1);
  }
  assert.equal(m.value('llm_upstream_resent_total', { upstream: 'up' }), 0);
  assert.equal(m.value('inferometer_client_resent_total'), 0);
});

test('Unix sockets have no round trip', async (t) => {
  const upstream = await Sim.start(t, '--listen', `unix:${join(tempDir(t), 'sim.sock')}`);
  const gateway = await Gateway.start(t, { upstream, config: EVERY });
  const r = await gateway.recordOf(await gateway.chat({ stream: true }));
  assertOutcome(r, 'ok');
  assert.equal(r.upstream_rtt_ms, undefined);
  assert.ok(r.client_rtt_ms > 0);
  await until(gateway, 'a connection of a probe', (m) => connected(m) >= 1);
});

test('behind a slow link the round trip is that of the link, on that side', async (t) => {
  const delayMs = 20; // each way
  const told = await behindSlowLink(t, { delayMs, json: chatRequest({ stream: true }) });
  assert.equal(told.status, 200);
  const { record } = told;
  assert.equal(record.outcome, 'ok');
  assert.ok(record.upstream_rtt_min_ms >= 2 * delayMs, JSON.stringify(record));
  assert.ok(record.upstream_rtt_min_ms < 20 * delayMs);
  assert.ok(record.connect_tcp_ms >= 2 * delayMs);
  assert.ok(record.client_rtt_min_ms < 2 * delayMs);
  assert.ok(told.tcp_s >= 2 * delayMs / 1000, `${told.tcp_s}`);
}, { skip: noSlowLink });
