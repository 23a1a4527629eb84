// SPDX-License-Identifier: Apache-2.0
// The stages of a request add up to its whole time, to the nanosecond, however it went.
// @alone
import assert from 'node:assert/strict';
import http from 'node:http';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { rawClient, request } from './lib/http.mjs';
import { assertOutcome, assertSound, stages, toNs } from './lib/records.mjs';
import { DONE, textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';

const FAST = { 'ttft-ms': 10, 'itl-ms': 2, tokens: 5 };

function rawChat(id, switches, json = { stream: true }) {
  const body = JSON.stringify(chatRequest(json));
  const fields = Object.entries({ 'x-request-id': id, ...sim(switches) })
    .map(([k, v]) => `${k}: ${v}\r\n`).join('');
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${fields}`
    + `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

test('three requests pipelined into one write', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const ids = [newId(), newId(), newId()];
  const raw = await rawClient(t, gateway.port);
  raw.send(ids.map((id) => rawChat(id, FAST)).join(''));
  await raw.until(/(\[DONE\][^]*){3}/);

  const records = await Promise.all(ids.map((id) => gateway.recordNamed(id)));
  for (const r of records) {
    assertOutcome(r, 'ok');
    assert.ok(r.ttft_ms >= 10);
  }
  assert.deepEqual(records.map((r) => r.flags.includes('pipelined')), [false, true, true]);
  // One after the other: none begins before the last byte of all of them was received.
  assert.ok(records[2].total_ms > records[0].total_ms);
});

test('a pipelined request is answered behind a slow one, in order', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const ids = [newId(), newId()];
  const raw = await rawClient(t, gateway.port);
  raw.send(rawChat(ids[0], { ...FAST, 'ttft-ms': 150 }, {}));
  await gateway.metrics(); // the second one comes in a read of its own
  raw.send(rawChat(ids[1], FAST, {}));
  await raw.until(/(HTTP\/1\.1 200[^]*){2}/);

  const [first, second] = await Promise.all(ids.map((id) => gateway.recordNamed(id)));
  assertOutcome(first, 'ok');
  assertOutcome(second, 'ok');
  assert.ok(second.flags.includes('pipelined'));
  const told = [...raw.text.matchAll(/x-request-id: (\w{32})/gi)].map((m) => m[1]);
  const ours = told.filter((id) => [first, second].some((r) => r.request_id === id));
  assert.deepEqual([...new Set(ours)], [first.request_id, second.request_id]);
});

test('an answer that begins before the request is complete', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const id = newId();
  const size = 3 << 20;
  const raw = await rawClient(t, gateway.port);
  raw.send(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n`
    + `X-Sim-Early: on\r\nX-Sim-Ttft-Ms: 10\r\nX-Sim-Tokens: 3\r\nContent-Length: ${size}\r\n\r\n`);
  raw.send(`{"model":"m","stream":true,"messages":[{"role":"user","content":"${'x'.repeat(2 << 20)}`);
  await raw.until(/\[DONE\]/);

  const r = await gateway.recordNamed(id);
  assertSound(r);
  assert.equal(r.outcome, 'ok');
  assert.ok(r.flags.includes('early_response'));
  assert.equal(r.upstream_ttft_ms, undefined);
  assert.equal(stages(r).wait, undefined);
  assert.ok(r.stage_send_ms >= 0);
});

/** Connections that are dropped with the second request on them, after it was read. */
function droppingUpstream(t, drop) {
  return startUpstream(t, async (x) => {
    const isStale = x.conn.n_requests > 1;
    await x.complete;
    if (isStale) drop(x);
    else x.stream().chunk([...textEvents, DONE].join('')).endChunks();
  });
}

for (const [how, drop] of [['FIN', (x) => x.end()], ['RST', (x) => x.reset()]])
  test(`a request into a connection that the engine closes (${how}) is sent again`, async (t) => {
    const upstream = await droppingUpstream(t, drop);
    const gateway = await Gateway.start(t, { upstream });
    const first = await gateway.recordOf(await gateway.chat({ stream: true }));
    const answer = await gateway.chat({ stream: true });
    const r = await gateway.recordOf(answer);

    assert.equal(answer.status, 200);
    assert.equal(first.n_attempts, 1);
    assert.ok(first.connect_tcp_ms >= 0);
    assertOutcome(r, 'ok');
    assert.equal(r.n_attempts, 2);
    assert.ok(r.flags.includes('is_retry'));
    assert.ok(r.stage_retry_ms > 0);
    assert.ok(r.upstream_ttft_ms < r.ttft_ms);
    assert.deepEqual(upstream.exchanges[2].body, upstream.exchanges[1].body);
    const m = await gateway.metrics();
    assert.equal(m.value('inferometer_stale_retries_total'), 1);
    assert.equal(m.value('llm_requests_total'), 2);
  });

test('a fresh connection that is dropped is no stale one: 502, not sent twice', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.end();
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true });

  assert.equal(answer.status, 502);
  assert.equal(upstream.exchanges.length, 1);
  assertOutcome(await gateway.recordOf(answer), 'upstream_cut');
});

test('stages of what streams reasoning first, of non-streams, and over a reused connection', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (json, switches) => gateway.recordOf(await request(gateway.port,
    '/v1/chat/completions', { json: chatRequest(json), headers: sim({ ...FAST, ...switches }), agent }));
  const thinking = await ask({ stream: true },
    { tokens: 20, reasoning: 15, 'itl-ms': 5, 'ttft-ms': 50, 'role-delay-ms': 40 });
  const whole = await ask({}, {});
  agent.destroy();

  assertOutcome(thinking, 'ok');
  const between = (from, to) => toNs(thinking[to]) - toNs(thinking[from]);
  assert.equal(toNs(thinking.stage_first_token_ms), between('ttfe_ms', 'ttft_ms'));
  assert.equal(toNs(thinking.stage_reasoning_ms), between('ttft_ms', 'ttfa_ms'));
  assert.ok(thinking.stage_first_token_ms > 0 && thinking.stage_reasoning_ms > 0);
  assert.ok(thinking.stage_connect_ms > 0);
  assertOutcome(whole, 'ok');
  assert.equal(whole.stage_connect_ms, undefined);
  assert.equal(whole.stage_first_token_ms, undefined);
  assert.ok(whole.stage_wait_ms >= 10);
});
