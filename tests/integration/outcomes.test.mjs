// SPDX-License-Identifier: Apache-2.0
// Every way in which an answer can end: what the client gets and what the record calls it.
import assert from 'node:assert/strict';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { rawClient } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { DONE, textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { closedByGateway, head, startUpstream } from './lib/upstream.mjs';
import { SLOW, timed, waitFor } from './lib/wait.mjs';

const FAST = { 'ttft-ms': 5, 'itl-ms': 1, tokens: 50 };

async function setup(t, config = {}) {
  const upstream = await Sim.start(t);
  return { upstream, gateway: await Gateway.start(t, { upstream, config }) };
}

/** Streams of the simulator that go wrong. client: whether its answer is complete. */
const streams = [
  { name: 'an error event inside 200', sim: { 'error-after': 3 }, outcome: 'stream_error',
    reason: 'server_error', isComplete: true, n: 3 },
  { name: 'an error event as the first thing', sim: { 'error-after': 0 }, outcome: 'stream_error',
    reason: 'server_error', isComplete: true, n: 0, noToken: 'error' },
  { name: 'a regular end without an end mark', sim: { 'cut-after': 3, cut: 'end' },
    outcome: 'truncated', isComplete: true, n: 3 },
  { name: 'FIN in mid-stream', sim: { 'cut-after': 3, cut: 'close' }, outcome: 'upstream_cut',
    isComplete: false, n: 3 },
  { name: 'FIN inside a chunk', sim: { 'cut-after': 3, cut: 'mid' }, outcome: 'upstream_cut',
    isComplete: false, n: 3 },
  { name: 'RST in mid-stream', sim: { 'cut-after': 3, cut: 'reset' }, outcome: 'upstream_cut',
    isComplete: false, n: 3 },
  { name: 'FIN before any output', sim: { 'cut-after': 0, cut: 'close' }, outcome: 'upstream_cut',
    isComplete: false, n: 0, noToken: 'error' },
  { name: 'no output at all, well ended', sim: { tokens: 0 }, outcome: 'ok', isComplete: true,
    n: 0, noToken: 'no_output' },
  { name: 'no [DONE], but a finish reason', sim: { done: 'off' }, outcome: 'ok', isComplete: true,
    n: 50 },
];

for (const c of streams)
  test(`stream: ${c.name}`, async (t) => {
    const { gateway } = await setup(t);
    const id = newId();
    const answer = await gateway.chat({ stream: true },
      { headers: { 'x-request-id': id, ...sim({ ...FAST, ...c.sim }) } });
    const r = await gateway.recordNamed(id);

    assert.equal(answer.status, 200);
    assert.equal(answer.isComplete, c.isComplete);
    assertOutcome(r, c.outcome, c.reason);
    assert.equal(r.n_output_events, c.n);
    assert.equal(r.ttft_ms !== null, c.n > 0);
    const m = await gateway.metrics();
    assert.equal(m.value('llm_requests_total', { outcome: c.outcome }), 1);
    for (const reason of ['canceled', 'timeout', 'error', 'no_output', 'unobserved'])
      assert.equal(m.value('llm_no_first_token_total', { reason }), reason === c.noToken ? 1 : 0);
  });

test('the engine falls silent in mid-stream: cut after the idle time', async (t) => {
  const { upstream, gateway } = await setup(t, { timeouts: { idle: '200ms' } });
  const id = newId();
  const { value: answer, ms } = await timed(() => gateway.chat({ stream: true },
    { headers: { 'x-request-id': id, ...sim({ ...FAST, 'hang-after': 3 }) } }));
  const r = await gateway.recordNamed(id);

  assert.equal(answer.status, 200);
  assert.equal(answer.isComplete, false);
  assertOutcome(r, 'timeout', 'idle');
  assert.equal(r.n_output_events, 3);
  assert.ok(ms >= 200 && ms < 2000 * SLOW, `${ms} ms`);
  assert.equal((await upstream.truth(id)).completion_tokens, 3);
});

test('the engine sends its head but no token: idle time, canceled nowhere', async (t) => {
  const { gateway } = await setup(t, { timeouts: { idle: '200ms' } });
  const id = newId();
  const answer = await gateway.chat({ stream: true },
    { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 60000 }) } });
  const r = await gateway.recordNamed(id);

  assert.equal(answer.isComplete, false);
  assertOutcome(r, 'timeout', 'idle');
  const m = await gateway.metrics();
  assert.equal(m.value('llm_no_first_token_total', { reason: 'timeout' }), 1);
});

test('a slow head is not cut as long as the first byte may take', async (t) => {
  const { gateway } = await setup(t, { timeouts: { first_byte: '10s', idle: '5s' } });
  const answer = await gateway.chat({ stream: true },
    { headers: sim({ ...FAST, 'slow-head-ms': 150 }) });
  const r = await gateway.recordOf(answer);

  assert.equal(answer.status, 200);
  assertOutcome(r, 'ok');
  assert.ok(r.stage_wait_ms >= 100, `wait ${r.stage_wait_ms}`);
});

test('a connection that stays open behind [DONE]: the measured request ends there', async (t) => {
  const { upstream, gateway } = await setup(t);
  const id = newId();
  const aborter = new AbortController();
  await gateway.chat({ stream: true }, {
    headers: { 'x-request-id': id, ...sim({ ...FAST, tokens: 10, end: 'hold' }) },
    signal: aborter.signal,
    onResponse: (res) => {
      let text = '';
      res.on('data', async (d) => {
        if (!(text += d).includes('[DONE]')) return;
        // A while longer than everything before, seen from outside.
        const before = process.hrtime.bigint();
        await waitFor('a pause', () => process.hrtime.bigint() - before > 300_000_000n);
        aborter.abort();
      });
    },
  }).catch((e) => assert.equal(e.name, 'AbortError'));
  const r = await gateway.recordNamed(id);
  const truth = await upstream.truth(id);
  const done = truth.events.find((e) => e.kind === 'done');

  assertOutcome(r, 'ok');
  assert.ok(Math.abs(r.e2e_ms - (done.t_ns - truth.t_request_ns) / 1e6) < 50 * SLOW,
    `e2e ${r.e2e_ms} ms`);
  assert.ok(r.total_ms >= r.e2e_ms + 250);
  assert.equal(r.completion_tokens, 10);
});

test('a client that closes its side only has left', async (t) => {
  const { upstream, gateway } = await setup(t);
  const id = newId();
  const raw = await rawClient(t, gateway.port);
  const body = '{"model":"m","stream":true,"messages":[]}';
  raw.send(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n`
    + `X-Sim-Ttft-Ms: 5\r\nX-Sim-Itl-Ms: 5\r\nX-Sim-Tokens: 100000\r\n`
    + `Content-Length: ${body.length}\r\n\r\n${body}`);
  await raw.until(/"content":"[^"]/);
  raw.socket.end();

  assertOutcome(await gateway.recordNamed(id), 'client_gone_after_first');
  assert.ok((await upstream.truth(id)).completion_tokens < 100000);
});

test('a client gone while it was not reading', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream();
    while (!x.conn.socket.destroyed) {
      if (!x.conn.socket.writableNeedDrain) x.chunk(textEvents[1].repeat(500));
      await new Promise(setImmediate);
    }
  });
  const gateway = await Gateway.start(t, { upstream });
  const raw = await rawClient(t, gateway.port);
  const body = '{"model":"m","stream":true,"messages":[]}';
  raw.socket.pause();
  raw.send(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\n`
    + `Content-Length: ${body.length}\r\n\r\n${body}`);
  await waitFor('backpressure', async () =>
    (await gateway.metrics()).value('inferometer_reads_paused_total') > 0);
  raw.reset();

  const r = await gateway.recordNamed('slow');
  assertOutcome(r, 'client_gone_after_first');
  assert.ok(r.flags.includes('client_limited'));
  await closedByGateway(upstream.exchanges[0]);
});

test('the close reaches the engine at once', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream().chunk(textEvents[0]);
  });
  const gateway = await Gateway.start(t, { upstream });
  const aborter = new AbortController();
  const call = gateway.chat({ stream: true }, { signal: aborter.signal }).catch((e) => e);
  await waitFor('the exchange', () => upstream.exchanges.length === 1);
  await upstream.exchanges[0].complete;
  const { ms } = await timed(async () => {
    aborter.abort();
    await closedByGateway(upstream.exchanges[0]);
  });

  assert.equal((await call).name, 'AbortError');
  assert.ok(ms < 200 * SLOW, `${ms} ms`);
  assertOutcome(await gateway.record(), 'client_gone_before_first');
});

test('non-streams: error status, broken body, client gone', async (t) => {
  const { upstream, gateway } = await setup(t);
  const ask = async (switches, options = {}) => {
    const id = newId();
    const answer = await gateway.chat({}, {
      headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 5, 'itl-ms': 0, tokens: 50, ...switches }) },
      ...options,
    }).catch((e) => e);
    return { answer, r: await gateway.recordNamed(id), id };
  };

  const busy = await ask({ status: 429, 'retry-after': 7 });
  assert.equal(busy.answer.status, 429);
  assert.equal(busy.answer.headers['retry-after'], '7');
  assertOutcome(busy.r, 'http_error', 'rate_limit_error');
  assert.equal(busy.r.upstream_status, 429);

  const broken = await ask({ 'cut-after': 0 });
  assert.equal(broken.answer.status, 200);
  assert.equal(broken.answer.isComplete, false);
  assertOutcome(broken.r, 'upstream_cut');

  const aborter = new AbortController();
  const before = await gateway.bytesUpstream();
  const gone = ask({ 'ttft-ms': 60000 }, { signal: aborter.signal });
  await waitFor('the request on its way', async () => (await gateway.bytesUpstream()) > before);
  aborter.abort();
  const left = await gone;
  assertOutcome(left.r, 'client_gone_before_first');
  assert.equal((await upstream.truth(left.id)).status, 0);
});

test('an answer until the end of the connection, over HTTP/1.0 and 1.1', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.send('HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n');
    x.send([...textEvents, DONE].join('')).end();
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true });
  assert.equal(answer.isComplete, true);
  assert.equal(answer.body.toString(), [...textEvents, DONE].join(''));
  assertOutcome(await gateway.recordOf(answer), 'ok');

  const raw = await rawClient(t, gateway.port);
  raw.send('POST /v1/chat/completions HTTP/1.0\r\nX-Request-Id: old\r\nContent-Length: 41\r\n\r\n'
    + '{"model":"m","stream":true,"messages":[]}');
  await raw.end();
  assert.ok(raw.received.toString().endsWith(`\r\n\r\n${[...textEvents, DONE].join('')}`), raw.text);
  const r = await gateway.recordNamed('old');
  assertOutcome(r, 'ok');
  assert.ok(r.flags.includes('http_1_0'));
});

test('a malformed answer after its head', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream().chunk(textEvents.slice(0, 3).join('')).send('zz\r\n');
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true }, { headers: { 'x-request-id': 'bad' } });
  assert.equal(answer.isComplete, false);
  assert.equal(answer.body.toString(), textEvents.slice(0, 3).join(''));
  assertOutcome(await gateway.recordNamed('bad'), 'bad_response');
});

test('events that cannot be read are passed on and counted', async (t) => {
  const text = 'data: {"choices":[{\n\ndata: not json\n\ndata: [DONE]\n\n';
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.send(head(200, { 'Content-Type': 'text/event-stream', 'Content-Length': text.length })).send(text);
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true });
  assert.equal(answer.body.toString(), text);
  const r = await gateway.recordOf(answer);
  assert.equal(r.ttft_ms, null);
  assertOutcome(r, 'ok');
  const m = await gateway.metrics();
  const reason = r.unobserved ? 'unobserved' : 'no_output';
  assert.equal(m.value('llm_no_first_token_total', { reason }), 1);
});
