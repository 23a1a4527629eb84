// SPDX-License-Identifier: Apache-2.0
// Upstreams with limits: who waits, in which order, for how long, and who is turned away.
// @tsan
// @alone
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { rawClient, request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { waitFor } from './lib/wait.mjs';

const OK = JSON.stringify({ choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1 } });

const configOf = (upstream, limits, more) =>
  ({ workers: 2, upstreams: [{ name: 'up', url: upstream.url, ...limits }], ...more });

/** An upstream that answers when it is told to; two requests at a time, three may wait. */
async function setup(t, limits = {}, more = {}) {
  const upstream = await startUpstream(t, () => {});
  const config = configOf(upstream, { max_inflight: 2, max_queue: 3, ...limits }, more);
  const gateway = await Gateway.start(t, { upstream, config });
  return { upstream, gateway };
}

const ids = (upstream) => upstream.exchanges.map((x) => x.field('x-request-id'));
const nOpen = async (gateway) => (await gateway.inflight()).length;

/** Sends a request and waits until the gateway has it; { id, answer }. */
async function ask(gateway, { path = '/v1/chat/completions', json = chatRequest() } = {}) {
  const id = newId();
  const n = await nOpen(gateway);
  const answer = request(gateway.port, path, { json, headers: { 'x-request-id': id } });
  answer.catch(() => {}); // told where it is awaited
  await waitFor('the request in the gateway', async () => (await nOpen(gateway)) === n + 1);
  return { id, answer };
}

async function askMany(gateway, n) {
  const asked = [];
  for (let i = 0; i < n; i++) asked.push(await ask(gateway));
  return asked;
}

/** Answers the upstream's n-th request, once it is there. */
async function answerNext(upstream, n) {
  const x = await waitFor(`request ${n} at the upstream`, () => upstream.exchanges[n]);
  await x.complete;
  x.reply(200, OK, { 'Content-Type': 'application/json' });
}

async function answerAll(upstream, asked) {
  for (let i = 0; i < asked.length; i++) await answerNext(upstream, i);
  for (const a of asked) assert.equal((await a.answer).status, 200);
}

const waiting = async (gateway, what = 'interactive') =>
  (await gateway.metrics()).value('inferometer_admission_waiting', { upstream: 'up', class: what });

test('over two workers: two at a time, three wait in their order, the sixth is told when to come back', async (t) => {
  const { upstream, gateway } = await setup(t);
  const started = process.hrtime.bigint();
  const asked = await askMany(gateway, 5);
  await waitFor('two at the upstream', () => upstream.exchanges.length === 2);
  const rejected = await gateway.chat({});
  assert.equal(rejected.status, 429);
  assert.match(rejected.headers['retry-after'], /^([1-9]|[1-5]\d|60)$/);
  const { error } = JSON.parse(rejected.body);
  assert.equal(error.type, 'rate_limit_error');
  assert.equal(error.code, 'queue_full');
  assert.match(error.message, /try again later/);
  await waitFor('the gauge', async () => (await waiting(gateway)) === 3);
  assert.equal(upstream.exchanges.length, 2);

  await delay(50); // what they wait at least
  for (let i = 0; i < 5; i++) {
    await answerNext(upstream, i);
    await waitFor('the next one', () => upstream.exchanges.length === Math.min(i + 3, 5));
  }
  const tookMs = Number(process.hrtime.bigint() - started) / 1e6;
  for (const a of asked) assert.equal((await a.answer).status, 200);
  const seen = ids(upstream);
  assert.deepEqual(seen.slice(0, 2).sort(), asked.slice(0, 2).map((a) => a.id).sort());
  assert.deepEqual(seen.slice(2), asked.slice(2).map((a) => a.id));

  const records = await Promise.all(asked.map((a) => gateway.recordNamed(a.id)));
  for (const [i, r] of records.entries()) {
    assertOutcome(r, 'ok');
    const queued = r.stage_queue_ms ?? 0;
    if (i < 2) assert.equal(queued, 0);
    else assert.ok(queued >= 50 && queued <= tookMs, JSON.stringify(r));
  }
  assertOutcome(await gateway.recordOf(rejected), 'rejected', 'queue_full');
  const m = await waitFor('the rejection', async () => {
    const now = await gateway.metrics();
    return now.value('inferometer_admission_rejected_total',
      { upstream: 'up', class: 'interactive', reason: 'queue_full' }) === 1 && now;
  });
  assert.equal(m.value('llm_queue_seconds_count'), 5);
  assert.equal(m.value('llm_requests_total', { outcome: 'rejected' }), 1);
});

test('who waits too long is refused, in the form of its own API', async (t) => {
  const { upstream, gateway } = await setup(t, { max_inflight: 1, queue_timeout: '50ms' });
  const first = await ask(gateway);
  const chat = await gateway.chat({ stream: true });
  assert.equal(chat.status, 429);
  assert.equal(JSON.parse(chat.body).error.code, 'queue_timeout');
  assert.ok(chat.headers['retry-after'] >= 1);
  assertOutcome(await gateway.recordOf(chat), 'rejected', 'queue_timeout');
  assert.ok((await gateway.recordOf(chat)).stage_queue_ms >= 50);
  const messages = await request(gateway.port, '/v1/messages',
    { json: chatRequest({ max_tokens: 10 }) });
  assert.equal(messages.status, 429);
  const body = JSON.parse(messages.body);
  assert.equal(body.type, 'error');
  assert.equal(body.error.type, 'rate_limit_error');
  assert.ok(messages.headers['retry-after'] >= 1);
  await answerNext(upstream, 0);
  assert.equal((await first.answer).status, 200);
  assert.equal(upstream.exchanges.length, 1);
  await waitFor('the rejections', async () => (await gateway.metrics()).value(
    'inferometer_admission_rejected_total', { class: 'interactive', reason: 'queue_timeout' }) === 2);
});

/* Many large requests that are whole at the same moment keep the worker busy for a while, and the
   clock of the last ones' wait begins only then. */
test('a wait is never shorter than it is to be, however much comes at once', async (t) => {
  const limits = { max_inflight: 1, max_queue: 100, queue_timeout: '50ms' };
  const { upstream, gateway } = await setup(t, limits, { workers: 1 });
  const first = await ask(gateway);
  const bodies = 40;
  const body = JSON.stringify(chatRequest({ padding: 'x"'.repeat(250_000) }));
  const clients = [];
  for (let i = 0; i < bodies; i++) {
    clients.push(await rawClient(t, gateway.port));
    clients[i].send(POST(body.slice(0, -1), body.length));
  }
  await waitFor('all but their last byte', async () => (await nOpen(gateway)) === bodies + 1 &&
    (await gateway.metrics()).value('inferometer_bytes_total',
      { side: 'client', direction: 'in' }) > bodies * (body.length - 1));
  for (const c of clients) c.send('}');
  const refused = await gateway.recordsWhere((r) => r.outcome === 'rejected', bodies);
  const waits = refused.map((r) => r.stage_queue_ms).sort((a, b) => a - b);
  assert.ok(waits[0] >= 50, `the shortest wait was ${waits[0]} ms`);
  await answerNext(upstream, 0);
  assert.equal((await first.answer).status, 200);
});

const POST = (body, length = body.length) =>
  'POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n' +
  `Content-Length: ${length}\r\n\r\n${body}`;

for (const how of ['reset', 'close'])
  test(`a client that leaves while it waits (${how}) frees its place, on either worker`, async (t) => {
    const { upstream, gateway } = await setup(t);
    const served = await askMany(gateway, 2);
    for (let round = 0; round < 6; round++) {
      const clients = [];
      for (let i = 0; i < 3; i++) {
        const client = await rawClient(t, gateway.port);
        client.send(POST(JSON.stringify(chatRequest({ n: i }))));
        clients.push(client);
        await waitFor('it to wait', async () => (await nOpen(gateway)) === 3 + i);
      }
      assert.equal((await gateway.chat({})).status, 429);
      clients[round % 3][how]();
      await waitFor('it to be gone', async () => (await nOpen(gateway)) === 4);
      const late = await ask(gateway); // has the place
      for (const [i, c] of clients.entries()) if (i !== round % 3) c[how]();
      await waitFor('them to be gone', async () => (await nOpen(gateway)) === 3);
      assert.equal(upstream.exchanges.length, round + 2);
      await answerNext(upstream, round);
      served.push(late);
      await waitFor('its turn', () => upstream.exchanges.length === round + 3);
    }
    await answerNext(upstream, 6);
    await answerNext(upstream, 7);
    for (const a of served) assert.equal((await a.answer).status, 200);
    const gone = await gateway.recordsWhere((r) => r.outcome === 'client_gone_before_first', 18);
    assert.equal(gone.length, 18);
    for (const r of gone) assertOutcome(r, 'client_gone_before_first');
  });

test('a body above the window is not read while its request waits', async (t) => {
  const size = 30 << 20;
  const { upstream, gateway } = await setup(t, { max_inflight: 1 },
    { limits: { request_window: '64KiB' } });
  const first = await ask(gateway);
  const client = await rawClient(t, gateway.port);
  const body = Buffer.alloc(size, 'x');
  client.send(POST('', size));
  client.socket.write(body);
  await waitFor('it to wait', async () => (await nOpen(gateway)) === 2);
  await delay(100);
  const read = (await gateway.metrics()).value('inferometer_bytes_total',
    { side: 'client', direction: 'in' });
  assert.ok(read < 1 << 20, `${read} bytes read`);
  await answerNext(upstream, 0);
  await answerNext(upstream, 1);
  await client.until(/HTTP\/1.1 200[^]*ok/);
  assert.equal(upstream.exchanges[1].body.length, size);
  assert.equal((await first.answer).status, 200);
});

test('a reload lets those in who wait, and drain waits for their turn', async (t) => {
  const { upstream, gateway } = await setup(t, { max_inflight: 1 });
  const asked = await askMany(gateway, 4);
  await waitFor('one at the upstream', () => upstream.exchanges.length === 1);
  assert.equal(await gateway.reload(configOf(upstream, { max_inflight: 3, max_queue: 3 })), 'taken');
  await waitFor('three at the upstream', () => upstream.exchanges.length === 3);
  gateway.process.signal('SIGTERM');
  await waitFor('the drain', async () => (await request(gateway.adminPort, '/readyz')).status === 503);
  await answerAll(upstream, asked);
  assert.deepEqual(await gateway.process.exited, { code: 0, signal: null });
});

test('many clients on two workers: never more than the limit, and all are served', async (t) => {
  let nNow = 0;
  let nMost = 0;
  const upstream = await startUpstream(t, async (x) => {
    nMost = Math.max(nMost, ++nNow);
    await x.complete;
    await delay(2);
    nNow--;
    x.reply(200, OK, { 'Content-Type': 'application/json' });
  });
  const gateway = await Gateway.start(t,
    { upstream, config: configOf(upstream, { max_inflight: 4 }) });
  const answers = await Promise.all(Array.from({ length: 200 }, () => gateway.chat({})));
  for (const a of answers) assert.equal(a.status, 200);
  assert.equal(nMost, 4);
  const records = await gateway.recordsWhere((r) => r.outcome === 'ok', 200);
  for (const r of records) assertOutcome(r, 'ok');
  assert.ok(records.some((r) => r.stage_queue_ms > 20));
  await waitFor('nothing to be left', async () => {
    const m = await gateway.metrics();
    return m.value('inferometer_admission_inflight') === 0 && m.value('inferometer_admission_tokens') === 0 &&
      m.value('inferometer_admission_waiting') === 0;
  });
});

test('an upstream without room is passed over, and its queue is the last resort', async (t) => {
  const [a, b] = [await startUpstream(t, () => {}), await startUpstream(t, () => {})];
  const limits = { max_inflight: 1, max_queue: 1 };
  const gateway = await Gateway.start(t, { upstream: a, config: { workers: 2, models_refresh: 0, upstreams: [
    { name: 'a', url: a.url, ...limits }, { name: 'b', url: b.url, priority: 1, ...limits }] } });
  const asked = await askMany(gateway, 4);
  await waitFor('one each', () => a.exchanges.length === 1 && b.exchanges.length === 1);
  assert.deepEqual([ids(a), ids(b)], [[asked[0].id], [asked[1].id]]);
  assert.equal((await gateway.chat({})).status, 429); // one waits at each
  await answerNext(b, 0);
  await waitFor('the next one at b', () => b.exchanges.length === 2);
  await answerNext(b, 1);
  await asked[3].answer;
  // a fails: its request moves on to b, and the one that waits has a for itself.
  a.exchanges[0].reply(503, 'no');
  await waitFor('both', () => a.exchanges.length === 2 && b.exchanges.length === 3);
  assert.deepEqual([ids(a)[1], ids(b)[2]], [asked[2].id, asked[0].id]);
  await answerNext(a, 1);
  await answerNext(b, 2);
  for (const x of asked) assert.equal((await x.answer).status, 200);
  const records = await Promise.all(asked.map((x) => gateway.recordNamed(x.id)));
  assert.deepEqual(records.map((r) => r.upstream), ['b', 'b', 'a', 'b']);
  for (const r of records) assertOutcome(r, 'ok');
  await waitFor('nothing to be left', async () =>
    (await gateway.metrics()).value('inferometer_admission_inflight') === 0);
});

test('tokens in flight are limited, too: a simulated engine sees one large request at a time', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t,
    { upstream, config: configOf(upstream, { max_tokens_inflight: 5000 }) });
  const large = { messages: [{ role: 'user', content: 'word '.repeat(3000) }], stream: true };
  const answers = await Promise.all(Array.from({ length: 4 }, () =>
    gateway.chat(large, { headers: sim({ 'ttft-ms': 40, 'itl-ms': 1, tokens: 10 }) })));
  for (const a of answers) assert.ok(a.isComplete && a.status === 200);
  const records = await gateway.recordsWhere((r) => r.outcome === 'ok', 4);
  const queued = records.map((r) => r.stage_queue_ms ?? 0).sort((a, b) => a - b);
  for (const [i, ms] of queued.entries()) assert.ok(ms >= 40 * i, `${queued}`);
  for (const r of records) {
    assertOutcome(r, 'ok');
    assert.ok(r.upstream_ttft_ms < r.ttft_ms + 1);
    assert.ok(r.ttft_ms >= (r.stage_queue_ms ?? 0) + 35, JSON.stringify(r)); // the client waited for both
  }
});
