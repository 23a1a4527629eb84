// SPDX-License-Identifier: Apache-2.0
// Streams that fall silent, and engines that do: seen while it lasts, reported, cut when asked for.
// @tsan
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { choice, chunk, DONE, event, textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { closedByGateway, startUpstream } from './lib/upstream.mjs';
import { SLOW, timed, timesSaid, waitFor } from './lib/wait.mjs';

const FAST = { 'ttft-ms': 5, 'itl-ms': 5, tokens: 1000 };
const LONG = { timeoutMs: 15000 };

/** A stream that the client may give up. */
function openStream(t, gateway, id, switches = {}) {
  const aborter = new AbortController();
  const over = gateway.chat({ stream: true }, {
    headers: { 'x-request-id': id, ...sim(switches) }, signal: aborter.signal, timeoutMs: 120000,
  }).catch((e) => e);
  const abort = () => (aborter.abort(), over);
  cleanup(t, abort);
  return { abort, over };
}

const value = async (gateway, name, labels) => (await gateway.metrics()).value(name, labels);
const stalled = (gateway) => value(gateway, 'inferometer_streams_stalled');
const silent = (gateway) => value(gateway, 'llm_upstream_silent_seconds', { upstream: 'up' });
const text = (content) => event(chunk(choice({ content })));

test('a stalled stream is in gauge and flight, goes on, and is gone from them', async (t) => {
  let goOn;
  const told = new Promise((done) => (goOn = done));
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream();
    for (let i = 0; i < 5; i++) {
      x.chunk(text('a'));
      await delay(20); // arrivals of their own: a stream's only gap is its median, and no stall
    }
    await told;
    x.chunk(text('b')).chunk(DONE).endChunks();
  });
  const gateway = await Gateway.start(t, { upstream });
  assert.equal(await stalled(gateway), 0);
  const id = newId();
  const stream = openStream(t, gateway, id);
  await waitFor('a first token in flight', async () =>
    (await gateway.inflight())[0]?.n_output_events > 0);
  assert.equal((await gateway.inflight())[0].stalled_ms, null);

  await waitFor('the stall', async () => (await stalled(gateway)) === 1, LONG);
  const [shown] = await gateway.inflight();
  assert.ok(shown.stalled_ms > 1000, JSON.stringify(shown));
  assert.ok(shown.stalled_ms <= shown.age_ms);
  assert.equal(gateway.records().length, 0);

  goOn();
  const answer = await stream.over;
  assert.equal(answer.isComplete, true);
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.n_stalls, 1);
  assert.ok(r.flags.includes('stalled'));
  await waitFor('the end of the stall', async () => (await stalled(gateway)) === 0);
  assert.deepEqual(await gateway.inflight(), []);
});

test('nothing is cut by default; a client that leaves a stalled stream says so', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const id = newId();
  const stream = openStream(t, gateway, id, { ...FAST, 'hang-after': 3 });
  await waitFor('a long stall', async () => (await gateway.inflight())[0]?.stalled_ms > 3500, LONG);
  assert.equal(await stalled(gateway), 1);
  assert.ok((await silent(gateway)) >= 2);
  assert.doesNotMatch(gateway.process.stderr, /warn/);

  await stream.abort();
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_after_first');
  assert.ok(r.flags.includes('stalled'));
  assert.equal(r.n_stalls, 0);
  await waitFor('the end of the stall', async () => (await stalled(gateway)) === 0);
  await waitFor('nothing to wait for', async () => (await silent(gateway)) === 0, LONG);
});

test('cut_after cuts a stalled stream and frees both connections', async (t) => {
  const upstream = await startUpstream(t, async (x, n) => {
    await x.complete;
    x.stream();
    if (n > 1) for (const e of textEvents) x.chunk(e);
    if (n > 1) x.chunk(DONE).endChunks();
    else for (let i = 0; i < 5; i++) x.chunk(text('a'));
  });
  const gateway = await Gateway.start(t, { upstream, config: { watchdog: { cut_after: '1500ms' } } });
  const id = newId();
  const { value: answer, ms } = await timed(() =>
    gateway.chat({ stream: true }, { headers: { 'x-request-id': id }, ...LONG }));
  const r = await gateway.recordNamed(id);

  assert.equal(answer.status, 200);
  assert.equal(answer.isComplete, false);
  assertOutcome(r, 'stalled');
  assert.equal(r.n_output_events, 5);
  assert.ok(r.flags.includes('stalled'));
  assert.ok(ms >= 1500 && ms < 4000 * SLOW, `${ms} ms`);
  await closedByGateway(upstream.exchanges[0]);
  const m = await waitFor('the end of both connections', async () => {
    const now = await gateway.metrics();
    return now.value('inferometer_connections_open') === 0 && now;
  });
  assert.equal(m.value('llm_requests_total', { outcome: 'stalled' }), 1);
  assert.equal(m.value('inferometer_streams_stalled'), 0);
  assertOutcome(await gateway.recordOf(await gateway.chat({ stream: true })), 'ok');
});

test('a reload brings cut_after to streams that are open', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const id = newId();
  const stream = openStream(t, gateway, id, { ...FAST, 'hang-after': 3 });
  await waitFor('the stall', async () => (await stalled(gateway)) === 1, LONG);
  assert.equal(await gateway.reload({ watchdog: { cut_after: '1s' } }), 'taken');
  assert.equal((await stream.over).isComplete, false);
  assertOutcome(await gateway.recordNamed(id), 'stalled');
});

test('neither slow streams nor slow clients are cut', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream();
    // A first gap of its own kind, so that a second and ten gaps of 300 ms are still to be waited.
    const slow = x.field('x-request-id') === 'slow';
    for (let i = 0; i < 5; i++) {
      x.chunk(text('a'));
      if (slow) await new Promise((done) => setTimeout(done, 300));
    }
    if (slow) await new Promise((done) => setTimeout(done, 2000));
    else while (x.conn.socket.writableLength < 32 << 20) x.chunk(text('b').repeat(500));
    x.chunk(DONE).endChunks();
  });
  const gateway = await Gateway.start(t, { upstream, config: { watchdog: { cut_after: '1s' } } });
  const named = (id, more) => gateway.chat({ stream: true },
    { headers: { 'x-request-id': id }, timeoutMs: 20000, ...more });
  const slow = named('slow');
  const paused = named('paused', {
    onResponse: (res) => {
      res.pause();
      // As long as it takes to look more than once: by the other stream, which is silent for 2 s.
      slow.then(() => res.resume());
    },
  });
  await waitFor('backpressure', async () =>
    (await value(gateway, 'inferometer_reads_paused_total')) > 0);

  assert.equal((await slow).isComplete, true);
  assertOutcome(await gateway.recordNamed('slow'), 'ok');
  assert.equal(await stalled(gateway), 0);
  assert.equal((await paused).isComplete, true);
  const r = await gateway.recordNamed('paused');
  assertOutcome(r, 'ok');
  assert.ok(r.flags.includes('client_limited'));
}, { limitMs: 40000 });

/** An engine that hangs behind its server until it is told to go on. */
async function silentEngine(t) {
  let answer;
  const told = new Promise((done) => (answer = done));
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    if (x.method === 'GET') return x.reply(200, '{"data":[]}');
    if (!x.json.stream) {
      await told;
      return x.reply(200, '{"choices":[]}', { 'Content-Type': 'application/json' });
    }
    x.stream().chunk(': ping\n\n').chunk(textEvents[0]); // the head, and the role
    await told;
    for (const e of textEvents.slice(1)) x.chunk(e);
    return x.chunk(DONE).endChunks();
  });
  return { upstream, answer };
}

test('a hung engine is reported over all workers, and when it answers again', async (t) => {
  const { upstream, answer } = await silentEngine(t);
  const gateway = await Gateway.start(t,
    { upstream, config: { workers: 2, watchdog: { hung_after: '2s' } } });
  assert.equal(await silent(gateway), 0);
  const ids = Array.from({ length: 6 }, () => newId());
  const streams = ids.map((id) => openStream(t, gateway, id));
  const whole = gateway.chat({}, { headers: { 'x-request-id': 'whole' }, timeoutMs: 60000 });

  // What its server answers by itself does not hide that the engine hangs.
  const polling = setInterval(() =>
    request(gateway.port, '/v1/models').catch(() => {}), 200);
  cleanup(t, () => clearInterval(polling));
  const line = /warn daemon: upstream "up" is silent: 7 requests wait \(streams: 6\) since (\d+) s, and nothing ever came/;
  const [, seconds] = await gateway.process.printed(line, { from: 'stderr', timeoutMs: 15000 });
  assert.ok(Number(seconds) >= 2 && Number(seconds) < 4 * SLOW, seconds);
  assert.ok((await silent(gateway)) >= 2);
  assert.equal(await stalled(gateway), 0); // they have no first token
  clearInterval(polling);

  answer();
  await gateway.process.printed(/info daemon: upstream "up" answers again after \d+ s of silence/,
    { from: 'stderr', timeoutMs: 15000 });
  assert.equal(await silent(gateway), 0);
  for (const s of streams) assert.equal((await s.over).isComplete, true);
  assert.equal((await whole).status, 200);
  assert.equal(await timesSaid(gateway.process, /is silent/), 1);
});

test('a hung engine that everybody leaves; reload switches the report off', async (t) => {
  const { upstream } = await silentEngine(t);
  const config = { workers: 2, watchdog: { hung_after: '1s' } };
  const gateway = await Gateway.start(t, { upstream, config });
  const first = openStream(t, gateway, newId());
  await gateway.process.printed(/upstream "up" is silent: 1 request waits/,
    { from: 'stderr', timeoutMs: 15000 });
  await first.abort();
  await gateway.process.printed(/upstream "up" was silent for \d+ s and has not answered/,
    { from: 'stderr', timeoutMs: 15000 });

  assert.equal(await gateway.reload({ ...config, watchdog: { hung_after: '0' } }), 'taken');
  openStream(t, gateway, newId());
  await waitFor('silence', async () => (await silent(gateway)) >= 3, LONG);
  assert.equal(await timesSaid(gateway.process, /is silent/), 1);
});

test('a stream that runs away is flagged and counted at once, and cut only when asked', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { runaway: { max_tokens: 50 } } });
  const endless = { 'ttft-ms': 5, 'itl-ms': 10, tokens: 100000 };
  const id = newId();
  const stream = openStream(t, gateway, id, endless);
  const runaways = () => value(gateway, 'llm_runaway_streams_total');
  await waitFor('the count', async () => (await runaways()) === 1);
  assert.equal(gateway.records().length, 0); // it goes on
  assert.equal(await gateway.reload({ runaway: { max_tokens: 50, cut: true } }), 'taken');
  assert.equal((await stream.over).isComplete, false);
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'cut_by_gateway', 'runaway');
  assert.ok(r.flags.includes('runaway'));
  assert.equal(await runaways(), 1);
  const short = await gateway.chat({ stream: true }, { headers: sim({ ...FAST, tokens: 40 }) });
  assert.equal(short.isComplete, true);
  assert.ok(!(await gateway.recordOf(short)).flags.includes('runaway'));
});
