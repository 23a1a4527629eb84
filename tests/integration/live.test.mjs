// SPDX-License-Identifier: Apache-2.0
// What is known while a request still runs, and how soon it is known when it is over.
// @tsan
import assert from 'node:assert/strict';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { getJson, rawClient, request } from './lib/http.mjs';
import { assertOutcome, toNs } from './lib/records.mjs';
import test from './lib/test.mjs';
import { SLOW, timed, waitFor } from './lib/wait.mjs';

const MODEL = { model: 'm' };

/** A stream without an end, as far as a test is concerned. */
function openStream(t, gateway, id, switches) {
  const aborter = new AbortController();
  const over = gateway.chat({ stream: true }, {
    headers: { 'x-request-id': id, ...sim({ tokens: 1000000, ...switches }) },
    signal: aborter.signal,
    timeoutMs: 60000,
  }).catch((e) => e);
  const abort = () => (aborter.abort(), over);
  cleanup(t, abort);
  return { abort };
}

test('a running stream is in the TTFT and the gaps at once, and shown in flight', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { models: ['m'] } });
  const id = newId();
  const stream = openStream(t, gateway, id, { 'ttft-ms': 30, 'itl-ms': 5 });
  const m = await waitFor('ten gaps', async () => {
    const now = await gateway.metrics();
    return now.value('llm_icl_seconds_count', MODEL) >= 10 && now;
  });

  assert.equal(m.value('llm_ttft_seconds_count', MODEL), 1);
  assert.ok(m.value('llm_ttft_seconds_sum', MODEL) >= 0.030);
  const gap = m.value('llm_icl_seconds_sum', MODEL) / m.value('llm_icl_seconds_count', MODEL);
  assert.ok(gap > 0.003 && gap < 0.05 * SLOW, `mean gap ${gap}`);
  assert.equal(m.value('llm_inflight_requests', MODEL), 1);
  assert.equal(m.value('inferometer_exchanges_open'), 1);
  assert.equal(m.value('llm_requests_total', MODEL) ?? 0, 0);
  assert.equal(m.value('llm_e2e_seconds_count', MODEL) ?? 0, 0);

  const [shown] = await gateway.inflight();
  assert.equal(shown.model, 'm');
  assert.equal(shown.upstream, 'up');
  assert.equal(shown.endpoint, 'chat_completions');
  assert.equal(shown.is_stream, true);
  assert.ok(shown.since_first_token_ms > 0 && shown.since_first_token_ms < shown.age_ms);
  const more = await waitFor('progress of the request in flight', async () => {
    const [now] = await gateway.inflight();
    return now.n_output_events > shown.n_output_events && now;
  });
  assert.equal(more.request_id, shown.request_id);
  assert.equal(gateway.records().length, 0);

  await stream.abort();
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_after_first');
  assert.equal(r.request_id, shown.request_id);
  const after = await gateway.metrics();
  assert.equal(after.value('llm_ttft_seconds_count', MODEL), 1);
  assert.equal(Math.round(after.value('llm_ttft_seconds_sum', MODEL) * 1e9), toNs(r.ttft_ms));
  assert.equal(after.value('llm_inflight_requests', MODEL), 0);
});

test('a stream that has no first token yet is in flight, and not in the TTFT', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { models: ['m'] } });
  const stream = openStream(t, gateway, newId(), { 'ttft-ms': 60000, comments: 0 });
  const [shown] = await waitFor('the request in flight', async () => {
    const now = await gateway.inflight();
    return now.length === 1 && now;
  });
  const m = await gateway.metrics();

  assert.equal(shown.n_output_events, 0);
  assert.equal(m.value('llm_ttft_seconds_count', MODEL) ?? 0, 0);
  assert.equal(m.value('llm_inflight_requests', MODEL), 1);
  // The reasons are there at 0, so that rate() sees the first one.
  assert.equal(m.select('llm_no_first_token_total', MODEL).length, 5);
  assert.equal(m.value('llm_no_first_token_total', MODEL), 0);
  await stream.abort();
});

test('the end of a request is in log, metrics and recent requests within a second', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true },
    { headers: sim({ 'ttft-ms': 5, 'itl-ms': 1, tokens: 4 }) });
  const id = answer.headers['x-request-id'];
  const { ms } = await timed(async () => {
    await gateway.recordOf(answer);
    await waitFor('the request in the metrics', async () =>
      (await gateway.metrics()).value('llm_requests_total', { outcome: 'ok', model: 'm' }) === 1);
    await waitFor('the request among the recent ones', async () =>
      (await gateway.recent()).some((r) => r.request_id === id));
  });

  assert.ok(ms < 1000 * SLOW, `it took ${ms} ms`);
  assert.deepEqual((await gateway.recent())[0], await gateway.recordOf(answer));
});

test('recent requests: newest first, as many as asked for', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const answers = [];
  for (let i = 0; i < 3; i++)
    answers.push(await gateway.chat({}, { headers: sim({ 'ttft-ms': 0, tokens: 1 }) }));
  await gateway.recordsWhere(() => true, 3);
  const ids = answers.map((a) => a.headers['x-request-id']).reverse();
  const path = '/api/v1/requests/recent';

  assert.deepEqual((await gateway.recent()).map((r) => r.request_id), ids);
  const two = await getJson(gateway.adminPort, `${path}?limit=2`);
  assert.deepEqual(two.requests.map((r) => r.request_id), ids.slice(0, 2));
  assert.equal((await request(gateway.adminPort, `${path}?limit=0`)).status, 400);
});

test('admin pages: index, health, methods, unknown paths', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const get = (path, options) => request(gateway.adminPort, path, options);

  const index = (await get('/')).body.toString();
  for (const path of ['/metrics', '/healthz', '/readyz', '/api/v1/inflight', '/api/v1/requests/recent'])
    assert.ok(index.includes(path), path);
  assert.equal(JSON.parse((await get('/healthz')).body).status, 'ok');
  assert.equal((await get('/readyz')).status, 200);
  assert.equal((await get('/nothing')).status, 404);
  const posted = await get('/metrics', { method: 'POST', body: 'x' });
  assert.equal(posted.status, 405);
  assert.equal(posted.headers.allow, 'GET, HEAD');
  const asked = await get('/metrics', { method: 'HEAD' });
  assert.equal(asked.status, 200);
  assert.equal(asked.body.length, 0);
});

test('scrapes and looks are no clients', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  for (let i = 0; i < 3; i++) await gateway.inflight();
  const client = await rawClient(t, gateway.port);
  const m = await waitFor('the one client', async () => {
    const now = await gateway.metrics();
    return now.value('inferometer_connections_accepted_total') > 0 && now;
  });

  assert.equal(m.value('inferometer_connections_accepted_total'), 1);
  assert.equal(m.value('inferometer_connections_open', { side: 'client' }), 1);
  assert.equal(m.value('inferometer_bytes_total', { side: 'client' }), 0);
  assert.ok(m.value('inferometer_scrapes_total') < 100);
  client.close();
});
