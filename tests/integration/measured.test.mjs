// SPDX-License-Identifier: Apache-2.0
// The APIs besides chat completions, measured: first token, tokens, outcome and the engine's own times
// of what the simulated engine sent, whatever API it was sent through.
// @alone
import assert from 'node:assert/strict';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { SANITIZED } from './lib/wait.mjs';

const PROMPT = 40;
const CACHED = 24;
const TOKENS = 12;
const BASE = {
  'ttft-ms': 40, 'itl-ms': 4, tokens: TOKENS, 'prompt-tokens': PROMPT, 'cached-tokens': CACHED,
};
/** What other programs on the machine may cost; a prelude taken for a token is off by 25 ms. */
const LATE_MS = SANITIZED ? 20 : 8;

const messages = [{ role: 'user', content: 'say something' }];
const contents = [{ role: 'user', parts: [{ text: 'say something' }] }];
const MODEL = '/v1beta/models/m';

/** hides: what the API does not tell in its usage. */
const apis = [
  { dialect: 'openai-chat', path: '/v1/chat/completions', json: { model: 'm', stream: true, messages } },
  {
    dialect: 'openai-completions', path: '/v1/completions', json: { model: 'm', stream: true, prompt: 'x' },
    hasTools: false,
  },
  { dialect: 'openai-responses', path: '/v1/responses', json: { model: 'm', stream: true, input: 'x' } },
  {
    dialect: 'anthropic', path: '/v1/messages', json: { model: 'm', stream: true, max_tokens: 50, messages },
    hides: ['reasoning_tokens'],
  },
  {
    dialect: 'ollama', path: '/api/chat', json: { model: 'm', messages },
    hides: ['cached_tokens', 'reasoning_tokens'], times: true,
  },
  {
    dialect: 'ollama', path: '/api/generate', json: { model: 'm', prompt: 'x' },
    hides: ['cached_tokens', 'reasoning_tokens'], times: true, hasTools: false,
  },
  { dialect: 'gemini', path: `${MODEL}:streamGenerateContent?alt=sse`, json: { contents } },
  { dialect: 'gemini', path: `${MODEL}:streamGenerateContent`, json: { contents } },
];

async function pair(t, ...flags) {
  const engine = await Sim.start(t, ...flags);
  return { engine, gateway: await Gateway.start(t, { upstream: engine, config: { timeline: { every: 1 } } }) };
}

/** One stream, its row and the truth about it. */
async function measured({ engine, gateway }, api, switches) {
  const id = newId('m');
  const answer = await request(gateway.port, api.path,
    { json: api.json, headers: { 'x-request-id': id, ...sim({ ...BASE, ...switches }) } });
  const r = await gateway.recordNamed(id);
  assert.equal(r.dialect, api.dialect);
  assert.equal(r.is_stream, true);
  return { answer, r, truth: await engine.truth(id) };
}

const tokensOf = (truth) => truth.events.filter((e) => e.kind === 'token');

function assertFirstToken(r, truth) {
  const ms = (tokensOf(truth)[0].t_ns - truth.t_request_ns) / 1e6;
  const error = r.upstream_ttft_ms - ms;
  assert.ok(error > -0.5 && error < LATE_MS, `${r.dialect}: first token off by ${error} ms (of ${ms})`);
  assert.ok(r.ttft_ms >= r.upstream_ttft_ms);
}

function assertTokens(r, api, reasoning = 0) {
  const want = { prompt_tokens: PROMPT, completion_tokens: TOKENS, cached_tokens: CACHED };
  if (reasoning) want.reasoning_tokens = reasoning;
  for (const [field, n] of Object.entries(want)) {
    if (!api.hides?.includes(field)) assert.equal(r[field], n, `${api.path}: ${field}`);
  }
  assert.equal(r.usage_source, 'engine');
  assert.ok(!r.flags.includes('usage_anomaly'));
}

for (const api of apis) {
  const name = `${api.dialect}, ${api.path}`;
  test(`${name}: first token behind a late prelude, tokens, gaps`, async (t) => {
    const both = await pair(t);
    const { r, truth } = await measured(both, api, { 'role-delay-ms': 25 });
    assertOutcome(r, 'ok');
    assertFirstToken(r, truth);
    assertTokens(r, api);
    assert.equal(r.unobserved, undefined);
    assert.equal(r.n_output_events, TOKENS);
    assert.deepEqual(r.output_kinds, ['text']);
    assert.equal(r.tpot_status, 'ok');
    assert.equal(r.timeline.reduce((n, [, events]) => n + events, 0), TOKENS);
    const spread = (tokensOf(truth).at(-1).t_ns - tokensOf(truth)[0].t_ns) / 1e6;
    const tpot = spread / (TOKENS - 1);
    assert.ok(Math.abs(r.tpot_ms - tpot) < LATE_MS / 4, `TPOT ${r.tpot_ms}, truly ${tpot}`);
    if (api.times) {
      for (const stage of ['prefill', 'decode', 'total']) assert.ok(r[`engine_${stage}_ms`] > 0, stage);
    }
  });

  test(`${name}: reasoning in front, usage in every event`, async (t) => {
    const both = await pair(t);
    const { r, truth } = await measured(both, api, { reasoning: 5, usage: 'every_chunk' });
    assertOutcome(r, 'ok');
    assertFirstToken(r, truth);
    if (api.dialect === 'openai-completions') return; // has no place for reasoning
    assertTokens(r, api, 5);
    assert.ok(r.output_kinds.some((k) => k.startsWith('reasoning')), String(r.output_kinds));
    assert.ok(r.ttfa_ms > r.ttft_ms);
  });

  if (api.hasTools !== false) {
    test(`${name}: nothing but a tool call`, async (t) => {
      const both = await pair(t);
      const { r, truth } = await measured(both, api, { 'tool-calls': 'on' });
      assertOutcome(r, 'ok');
      assertFirstToken(r, truth);
      assert.ok(r.output_kinds.includes('tool_args'), String(r.output_kinds));
    });
  }

  test(`${name}: an error, a missing end, a cut`, async (t) => {
    const both = await pair(t);
    const failed = await measured(both, api, { 'error-after': 3 });
    assert.equal(failed.r.outcome, 'stream_error');
    assert.equal(failed.r.n_output_events, 3);
    assert.ok(failed.r.timeline.length > 0);
    const ended = await measured(both, api, { 'cut-after': 3, cut: 'end' });
    assertOutcome(ended.r, 'truncated');
    const cut = await measured(both, api, { 'cut-after': 3, cut: 'close' });
    assertOutcome(cut.r, 'upstream_cut');
    assert.equal(cut.r.n_output_events, 3);
    const m = await both.gateway.metrics();
    assert.equal(m.value('llm_requests_total', { outcome: 'truncated' }), 1);
  });
}

const wholes = [
  { dialect: 'openai-responses', path: '/v1/responses', json: { model: 'm', input: 'x' } },
  { dialect: 'anthropic', path: '/v1/messages', json: { model: 'm', max_tokens: 50, messages } },
  {
    dialect: 'ollama', path: '/api/chat', json: { model: 'm', stream: false, messages }, hides: ['cached_tokens'],
  },
  { dialect: 'gemini', path: `${MODEL}:generateContent`, json: { contents } },
];

test('whole answers: tokens, and no TTFT', async (t) => {
  const { gateway } = await pair(t);
  for (const api of wholes) {
    const id = newId('w');
    await request(gateway.port, api.path,
      { json: api.json, headers: { 'x-request-id': id, ...sim(BASE) } });
    const r = await gateway.recordNamed(id);
    assert.equal(r.dialect, api.dialect);
    assertOutcome(r, 'ok');
    assert.equal(r.is_stream, false);
    assert.equal(r.ttft_ms, null);
    assertTokens(r, api);
  }
});

test('count_tokens counts nothing', async (t) => {
  const { gateway } = await pair(t);
  const id = newId('c');
  await request(gateway.port, '/v1/messages/count_tokens',
    { json: { model: 'm', messages }, headers: { 'x-request-id': id } });
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'count_tokens');
  assert.equal(r.usage_source, 'none');
  const m = await gateway.metrics();
  assert.ok(!m.samples.some((s) => s.name === 'llm_tokens_total' && s.value > 0));
});

test("vLLM's and llama.cpp's own times, and what nobody counts", async (t) => {
  const both = await pair(t);
  const vllm = await measured(both, apis[0], { 'engine-times': 'vllm' });
  for (const stage of ['queue', 'prefill', 'decode', 'unattributed']) {
    assert.ok(vllm.r[`engine_${stage}_ms`] >= 0, `${stage}: ${vllm.r[`engine_${stage}_ms`]}`);
  }
  const sum = vllm.r.engine_queue_ms + vllm.r.engine_prefill_ms + vllm.r.engine_unattributed_ms;
  assert.ok(Math.abs(sum - vllm.r.upstream_ttft_ms) < 1e-5, `${sum} is not ${vllm.r.upstream_ttft_ms}`);
  const llama = await measured(both, apis[0], { 'engine-times': 'llamacpp' });
  assert.ok(llama.r.engine_prefill_ms > 0 && llama.r.engine_decode_ms > 0);
  assert.equal(llama.r.engine_unattributed_ms, undefined); // no queue is told
  const m = await both.gateway.metrics();
  assert.equal(m.value('llm_engine_stage_seconds_count', { stage: 'prefill' }), 2);
  assert.equal(m.value('llm_engine_stage_seconds_count', { stage: 'unattributed' }), 1);
});
