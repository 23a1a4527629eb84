// SPDX-License-Identifier: Apache-2.0
// Label values and series have caps; what is over them is folded, counted, and still served.
import assert from 'node:assert/strict';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { request, sseChunks } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';

const FAST = { 'ttft-ms': 2, 'itl-ms': 0, tokens: 4 };
const N_MODELS = 24;

async function askForMany(gateway, port = gateway.port) {
  const names = Array.from({ length: N_MODELS }, (_, i) => `model-${i}`);
  return Promise.all(names.map(async (model) => ({
    model,
    answer: await request(port, '/v1/chat/completions', {
      json: { model, stream: true, messages: [{ role: 'user', content: 'x' }] },
      headers: sim(FAST),
    }),
  })));
}

const text = (answer) => sseChunks(answer.body).map((c) => c.choices[0]?.delta.content ?? '').join('');

test('more models than the cap, over two workers', async (t) => {
  const cap = 5;
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t,
    { upstream, config: { workers: 2, metrics: { max_label_values: cap } } });
  const answers = [...await askForMany(gateway), ...await askForMany(gateway)];
  const [direct] = await askForMany(gateway, upstream.port);

  for (const { model, answer } of answers) {
    assert.equal(answer.status, 200);
    assert.equal(text(answer), text(direct.answer));
    assert.ok(sseChunks(answer.body).every((c) => c.model === model));
    const r = await gateway.recordOf(answer);
    assertOutcome(r, 'ok');
    assert.equal(r.model, model); // the log has no cap
  }
  const m = await gateway.metrics();
  const requests = m.select('llm_requests_total', { outcome: 'ok' });
  const models = new Set(requests.map((s) => s.labels.model));
  assert.ok(models.has('other'));
  assert.equal([...models].filter((name) => name.startsWith('model-')).length, cap);
  assert.equal(models.size, cap + 1);
  assert.equal(m.value('llm_requests_total', { outcome: 'ok' }), 2 * N_MODELS);
  // Named ones were asked for twice; the first time only the answer made the name a label.
  assert.ok(m.value('llm_requests_total', { model: 'other' }) >= 2 * (N_MODELS - cap));
  assert.ok(m.value('inferometer_drops_total', { cause: 'label_cap' }) >= N_MODELS - cap);
  assert.equal(m.value('llm_ttft_seconds_count'), 2 * N_MODELS);
});

test('more series than the cap', async (t) => {
  const cap = 100;
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t,
    { upstream, config: { workers: 2, metrics: { max_series: cap } } });
  const answers = await askForMany(gateway);

  for (const { answer } of answers) {
    assert.equal(answer.status, 200);
    assert.equal(text(answer), text(answers[0].answer));
    assertOutcome(await gateway.recordOf(answer), 'ok');
  }
  const m = await gateway.metrics();
  assert.ok(m.value('inferometer_series') <= cap);
  assert.ok(m.value('inferometer_drops_total', { cause: 'series_cap' }) > 0);
  assert.equal(m.value('llm_requests_total', { outcome: 'ok' }), N_MODELS);
  assert.equal(m.value('llm_ttft_seconds_count'), N_MODELS);
});

test('names that need escapes stay one label value', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const model = 'a "quoted" \\ name\nof two lines 🌲';
  const answer = await gateway.chat({ model, stream: true }, { headers: sim(FAST) });
  const r = await gateway.recordOf(answer);
  assert.equal(r.model, model);
  assert.equal((await gateway.metrics()).value('llm_requests_total', { model }), 1);
});

test('the stream label says what was answered, and embeddings never stream', async (t) => {
  const answers = {
    '/v1/chat/completions': JSON.stringify({
      model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    }),
    '/v1/embeddings': JSON.stringify({
      model: 'm', data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 4, total_tokens: 4 },
    }),
  };
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    const type = x.target === '/v1/embeddings' ? 'text/event-stream' : 'application/json';
    x.reply(200, answers[x.target], { 'Content-Type': type });
  });
  const gateway = await Gateway.start(t, { upstream });
  for (const [path, body] of Object.entries(answers)) {
    const answer = await request(gateway.port, path, {
      json: { model: 'm', stream: true, input: 'x', messages: [{ role: 'user', content: 'x' }] },
    });
    assert.equal(answer.body.toString(), body);
    const r = await gateway.recordOf(answer);
    assertOutcome(r, 'ok');
    assert.equal(r.is_stream, false);
  }
  const m = await gateway.metrics();
  for (const endpoint of ['chat_completions', 'embeddings']) {
    for (const name of ['llm_requests_total', 'llm_e2e_seconds_count']) {
      assert.equal(m.value(name, { endpoint, stream: 'false' }), 1, `${name} of ${endpoint}`);
      assert.equal(m.value(name, { endpoint, stream: 'true' }) ?? 0, 0, `${name} of ${endpoint}`);
    }
  }
});
