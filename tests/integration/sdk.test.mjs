// SPDX-License-Identifier: Apache-2.0
// The openai client library through the gateway: what the client sees and what the record says.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { assertOutcome } from './lib/records.mjs';
import { collect, sdk } from './lib/sdk.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const FAST = { 'ttft-ms': 10, 'itl-ms': 2 };

async function setup(t, config) {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config });
  return { upstream, gateway, client: sdk(gateway.port), direct: sdk(upstream.port) };
}

/** A chat request with its name in the record. */
function chat(client, params, switches, options = {}) {
  const id = newId();
  const headers = { 'x-request-id': id, ...sim(switches) };
  return { id, call: client.chat.completions.create(chatRequest(params), { headers, ...options }) };
}

test('a stream: same text as from the engine itself, counted without the client asking', async (t) => {
  const { gateway, client, direct } = await setup(t);
  const switches = { ...FAST, tokens: 25, 'cached-tokens': 4 };
  const { id, call } = chat(client, { stream: true, model: 'a-model' }, switches);
  const through = await collect(await call);
  const expected = await collect(await chat(direct, { stream: true }, switches).call);

  assert.deepEqual(through, expected);
  assert.equal(through.usage.length, 0);
  assert.equal(through.finish[0], 'stop');

  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.model, 'a-model');
  assert.equal(r.is_stream, true);
  assert.equal(r.status, 200);
  assert.equal(r.finish_reason, 'stop');
  assert.equal(r.usage_source, 'engine');
  assert.equal(r.completion_tokens, 25);
  assert.equal(r.cached_tokens, 4);
  assert.ok(r.prompt_tokens > 4);
  assert.equal(r.n_output_events, 25);
  assert.equal(r.tokens_per_event, 1);
  assert.ok(r.flags.includes('usage_injected'));
  assert.ok(r.ttft_ms >= 10 && r.ttft_ms <= r.e2e_ms);
  assert.ok(r.upstream_ttft_ms <= r.ttft_ms);
  assert.equal(r.tpot_status, 'ok');
});

test('a stream with usage asked for: the client gets it, once, and nothing is injected', async (t) => {
  const { gateway, client } = await setup(t);
  const { id, call } = chat(client,
    { stream: true, stream_options: { include_usage: true } }, { ...FAST, tokens: 7 });
  const told = await collect(await call);
  const r = await gateway.recordNamed(id);

  assert.equal(told.usage.length, 1);
  assert.equal(told.usage[0].completion_tokens, 7);
  assertOutcome(r, 'ok');
  assert.equal(r.completion_tokens, 7);
  assert.equal(r.prompt_tokens, told.usage[0].prompt_tokens);
  assert.ok(!r.flags.includes('usage_injected'));
});

test('not a stream: usage, and no time to first token', async (t) => {
  const { gateway, client, direct } = await setup(t);
  const switches = { ...FAST, tokens: 12, reasoning: 5 };
  const { id, call } = chat(client, { max_tokens: 50 }, switches);
  const answer = await call;
  const expected = await chat(direct, { max_tokens: 50 }, switches).call;
  const r = await gateway.recordNamed(id);

  assert.deepEqual(answer.choices, expected.choices);
  assertOutcome(r, 'ok');
  assert.equal(r.is_stream, false);
  assert.equal(r.ttft_ms, null);
  assert.equal(r.tpot_ms, undefined);
  assert.ok(r.e2e_ms >= 10 + 11 * 2);
  assert.equal(r.completion_tokens, answer.usage.completion_tokens);
  assert.equal(r.prompt_tokens, answer.usage.prompt_tokens);
  assert.equal(r.reasoning_tokens, 5);
  assert.equal(r.max_tokens, 50);

  const m = await gateway.metrics();
  assert.equal(m.value('llm_ttft_seconds_count', { model: 'm' }) ?? 0, 0);
  assert.equal(m.value('llm_e2e_seconds_count', { model: 'm', outcome: 'ok', stream: 'false' }), 1);
});

const tools = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }];

test('a stream of nothing but a tool call has a first token', async (t) => {
  const { gateway, client } = await setup(t);
  const { id, call } = chat(client, { stream: true, tools },
    { ...FAST, tokens: 6, 'tool-calls': 'on' });
  const told = await collect(await call);
  const r = await gateway.recordNamed(id);

  assert.equal(told.text.length, 0);
  assert.equal(told.finish[0], 'tool_calls');
  assert.equal(told.tools[0].name, 'lookup');
  assert.equal(typeof JSON.parse(told.tools[0].arguments).query, 'string');
  assertOutcome(r, 'ok');
  assert.ok(r.ttft_ms >= 10);
  assert.equal(r.ttfa_ms, r.ttft_ms);
  assert.deepEqual(r.output_kinds.sort(), ['tool_args', 'tool_name']);
  assert.equal(r.finish_reason, 'tool_calls');
});

test('a tool call in one piece', async (t) => {
  const { gateway, client } = await setup(t);
  const { id, call } = chat(client, { tools }, { ...FAST, tokens: 6, 'tool-calls': 'on' });
  const answer = await call;

  assert.equal(answer.choices[0].message.tool_calls[0].function.name, 'lookup');
  assertOutcome(await gateway.recordNamed(id), 'ok');
});

test('n = 2: both choices arrive, no gap between choices is taken for a latency', async (t) => {
  const { gateway, client } = await setup(t);
  const { id, call } = chat(client, { stream: true, n: 2 }, { ...FAST, tokens: 8 });
  const told = await collect(await call);
  const r = await gateway.recordNamed(id);
  const m = await gateway.metrics();

  assert.equal(told.text.length, 2);
  assert.deepEqual(told.finish, ['stop', 'stop']);
  assertOutcome(r, 'ok');
  assert.ok(r.flags.includes('multi_choice'));
  assert.equal(r.completion_tokens, 16);
  assert.ok(r.ttft_ms >= 10);
  assert.equal(r.tpot_status, 'multi_choice');
  assert.equal(m.value('llm_ttft_seconds_count', { model: 'm' }), 1);
  for (const family of ['llm_icl_seconds', 'llm_itl_seconds', 'llm_tpot_seconds', 'llm_jitter_seconds'])
    assert.equal(m.value(`${family}_count`, { model: 'm' }) ?? 0, 0, family);
});

test('an abort before the first token: the engine is told at once', async (t) => {
  const { upstream, gateway, client } = await setup(t);
  const aborter = new AbortController();
  const { id, call } = chat(client, { stream: true }, { 'ttft-ms': 60000 },
    { signal: aborter.signal });
  const reading = collect(await call); // the head is here
  await waitFor('the request in flight', async () => (await gateway.inflight()).length === 1);
  aborter.abort();

  await reading; // the library ends an aborted stream without an error
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_before_first');
  assert.equal(r.ttft_ms, null);
  assert.deepEqual((await upstream.truth(id)).events, []); // the simulator lost its connection
  const m = await gateway.metrics();
  assert.equal(m.value('llm_no_first_token_total', { reason: 'canceled' }), 1);
});

test('an abort before even the head', async (t) => {
  const { upstream, gateway, client } = await setup(t);
  const aborter = new AbortController();
  const { id, call } = chat(client, { stream: true }, { 'ttft-ms': 60000, head: 'first' },
    { signal: aborter.signal });
  const refused = assert.rejects(call, OpenAI.APIUserAbortError);
  await waitFor('the request on its way', async () => (await gateway.bytesUpstream()) > 0);
  aborter.abort();

  await refused;
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_before_first');
  assert.equal(r.status, null);
  assert.equal((await upstream.truth(id)).status, 0);
});

test('an abort in mid-stream: what was generated is estimated, and marked as that', async (t) => {
  const { upstream, gateway, client } = await setup(t);
  const first = chat(client, { stream: true }, { ...FAST, tokens: 40, 'tokens-per-event': 2 });
  await collect(await first.call); // the model's tokens per event
  await gateway.recordNamed(first.id); // counted, too
  const before = await gateway.metrics();
  const { id, call } = chat(client, { stream: true },
    { ...FAST, tokens: 100000, 'tokens-per-event': 2 });
  let n = 0;
  for await (const chunk of await call)
    if (chunk.choices[0].delta.content && ++n === 5) break; // the library aborts

  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_after_first');
  assert.ok(r.n_output_events >= 5 && r.n_output_events < 5000);
  assert.equal(r.usage_source, 'estimated');
  assert.ok(r.flags.includes('estimated'));
  assert.equal(r.completion_tokens, 2 * r.n_output_events);
  assert.ok((await upstream.truth(id)).completion_tokens < 100000);

  const after = await gateway.metrics();
  assert.equal(after.value('llm_tokens_total', { type: 'completion' }),
    before.value('llm_tokens_total', { type: 'completion' }));
  assert.equal(after.value('llm_estimated_tokens_total', { type: 'completion' }), r.completion_tokens);
});

test('twenty at once over two workers: every one has its own numbers', async (t) => {
  const { gateway, client } = await setup(t, { workers: 2 });
  const sent = Array.from({ length: 20 }, (_, i) => ({
    n: 5 + i,
    isStream: i % 4 !== 3,
    ...chat(client, { stream: i % 4 !== 3, model: `m${i % 3}` }, { ...FAST, tokens: 5 + i }),
  }));
  await Promise.all(sent.map(async (s) => {
    const answer = await s.call;
    s.text = s.isStream ? (await collect(answer)).text[0] : answer.choices[0].message.content;
  }));

  for (const s of sent) {
    const r = await gateway.recordNamed(s.id);
    assertOutcome(r, 'ok');
    assert.equal(s.text.trim().split(/\s+/).length, s.n);
    assert.equal(r.completion_tokens, s.n);
    assert.equal(r.is_stream, s.isStream);
    assert.equal(r.ttft_ms !== null, s.isStream);
  }
  assert.equal(gateway.records().length, 20);
  const m = await gateway.metrics();
  assert.equal(m.value('llm_requests_total', { outcome: 'ok' }), 20);
  assert.equal(m.value('llm_tokens_total', { type: 'completion' }),
    sent.reduce((sum, s) => sum + s.n, 0));
  assert.equal(m.value('llm_inflight_requests'), 0);
});

test('models and legacy completions', async (t) => {
  const { gateway, client } = await setup(t);
  const models = await client.models.list();
  assert.equal(models.data[0].id, 'simulated');

  const id = newId();
  let text = '';
  const stream = await client.completions.create({ model: 'm', prompt: 'once', stream: true },
    { headers: { 'x-request-id': id, ...sim({ ...FAST, tokens: 9 }) } });
  for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
  assert.equal(text.trim().split(/\s+/).length, 9);
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'completions');
  assert.equal(r.completion_tokens, 9);
  assert.ok(r.ttft_ms >= 10);
  assertOutcome(await gateway.record((x) => x.endpoint === 'models'), 'ok');
});
