// SPDX-License-Identifier: Apache-2.0
// SIGTERM: what is open completes, what is new goes elsewhere.
// @tsan
import assert from 'node:assert/strict';
import http from 'node:http';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { RawClient, rawClient, request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { SLOW, timed, waitFor } from './lib/wait.mjs';

async function setup(t, config = {}) {
  const upstream = await Sim.start(t);
  return { upstream, gateway: await Gateway.start(t, { upstream, config }) };
}

/** A stream that is under way. */
async function openStream(gateway, switches) {
  const id = newId();
  const over = gateway.chat({ stream: true }, { headers: { 'x-request-id': id, ...sim(switches) } });
  over.catch(() => {}); // told where it is awaited
  await waitFor('the stream', async () => (await gateway.inflight()).some((r) => r.n_output_events > 0));
  return { id, over };
}

const readyStatus = async (gateway) => (await request(gateway.adminPort, '/readyz')).status;

for (const workers of [1, 2])
  test(`drain with ${workers} worker(s): the open stream completes, then the program leaves with 0`, async (t) => {
    const { gateway } = await setup(t, { workers });
    assert.equal(await readyStatus(gateway), 200);
    const idle = await rawClient(t, gateway.port);
    const { id, over } = await openStream(gateway, { 'ttft-ms': 5, 'itl-ms': 20, tokens: 60 });
    gateway.process.signal('SIGTERM');
    await waitFor('readyz to say no', async () => (await readyStatus(gateway)) === 503);

    assert.equal((await request(gateway.adminPort, '/healthz')).status, 200);
    assert.equal((await gateway.metrics()).value('inferometer_exchanges_open'), 1);
    await idle.end(); // between requests: closed
    await waitFor('connections to be refused', () =>
      RawClient.connect(gateway.port).then((c) => (c.close(), false), (e) => e.code === 'ECONNREFUSED'));
    assert.equal(gateway.process.exit, null); // refused by the program, not for want of one

    const answer = await over;
    assert.ok(answer.isComplete);
    assert.ok(answer.body.includes('[DONE]'));
    const exit = await gateway.process.exited;
    assert.deepEqual(exit, { code: 0, signal: null });
    const r = await gateway.recordNamed(id);
    assertOutcome(r, 'ok');
    assert.equal(r.n_output_events, 60);
  });

test('drain without anything open is over at once', async (t) => {
  const { gateway } = await setup(t);
  const { ms } = await timed(() => gateway.process.stop('SIGINT'));
  assert.deepEqual(gateway.process.exit, { code: 0, signal: null });
  assert.ok(ms < 1000 * SLOW, `${ms} ms`);
});

test('a connection that is kept alive is closed behind its last answer', async (t) => {
  const { gateway } = await setup(t);
  const agent = new http.Agent({ keepAlive: true });
  const answer = request(gateway.port, '/v1/chat/completions', {
    json: { model: 'm', messages: [] }, agent, headers: sim({ 'ttft-ms': 300, tokens: 1, head: 'first' }),
  });
  await waitFor('the request in flight', async () => (await gateway.inflight()).length === 1);
  gateway.process.signal('SIGTERM');
  assert.equal((await answer).status, 200);
  assert.equal((await answer).headers.connection, 'close');
  assert.equal((await gateway.process.exited).code, 0);
  agent.destroy();
});

test('a second SIGTERM cuts what is open', async (t) => {
  const { upstream, gateway } = await setup(t);
  const { id, over } = await openStream(gateway, { 'ttft-ms': 5, 'itl-ms': 5, tokens: 1000000 });
  gateway.process.signal('SIGTERM');
  await waitFor('the drain', async () => (await readyStatus(gateway)) === 503);
  const { ms } = await timed(() => gateway.process.stop('SIGTERM'));

  assert.equal((await over).isComplete, false);
  assert.deepEqual(gateway.process.exit, { code: 0, signal: null });
  assert.ok(ms < 2000 * SLOW, `${ms} ms`);
  assertOutcome(await gateway.recordNamed(id), 'cut_by_gateway', 'drain');
  assert.ok((await upstream.truth(id)).completion_tokens < 1000000);
});

test('the drain time bounds the wait', async (t) => {
  const { gateway } = await setup(t, { drain_timeout: '300ms' });
  const { id, over } = await openStream(gateway, { 'ttft-ms': 5, 'itl-ms': 5, tokens: 1000000 });
  gateway.process.signal('SIGTERM');
  const { ms } = await timed(() => gateway.process.exited);

  assert.ok(ms >= 250 && ms < 3000 * SLOW, `${ms} ms`);
  assert.equal((await over).isComplete, false);
  assertOutcome(await gateway.recordNamed(id), 'cut_by_gateway', 'drain');
});

test('drain_delay: not ready at once, but new connections are served until it is over', async (t) => {
  const { gateway } = await setup(t, { drain_delay: '1s' });
  const { id, over } = await openStream(gateway, { 'ttft-ms': 5, 'itl-ms': 20, tokens: 40 });
  gateway.process.signal('SIGTERM');
  await waitFor('readyz to say no', async () => (await readyStatus(gateway)) === 503);
  const late = await gateway.chat({}, { headers: sim({ 'ttft-ms': 5, 'itl-ms': 1, tokens: 2 }) });
  assert.equal(late.status, 200);
  assert.ok(late.isComplete);
  assert.ok((await over).isComplete);
  assertOutcome(await gateway.recordNamed(id), 'ok');
  await waitFor('connections to be refused', () =>
    RawClient.connect(gateway.port).then((c) => (c.close(), false), (e) => e.code === 'ECONNREFUSED'));
  assert.deepEqual(await gateway.process.exited, { code: 0, signal: null });
});

test('a second signal ends the delay, too', async (t) => {
  const { gateway } = await setup(t, { drain_delay: '1h' });
  const { over } = await openStream(gateway, { 'ttft-ms': 5, 'itl-ms': 5, tokens: 1000000 });
  gateway.process.signal('SIGTERM');
  await waitFor('readyz to say no', async () => (await readyStatus(gateway)) === 503);
  const { ms } = await timed(() => gateway.process.stop('SIGINT'));
  assert.deepEqual(gateway.process.exit, { code: 0, signal: null });
  assert.equal((await over).isComplete, false);
  assert.ok(ms < 2000 * SLOW, `${ms} ms`);
});

test('what asks for a reload during the drain is refused', async (t) => {
  const { gateway } = await setup(t, { drain_delay: '1h' });
  gateway.process.signal('SIGTERM');
  await waitFor('readyz to say no', async () => (await readyStatus(gateway)) === 503);
  assert.equal((await request(gateway.adminPort, '/-/reload', { method: 'POST' })).status, 503);
});
