// SPDX-License-Identifier: Apache-2.0
// The ollama client library through the gateway, in front of an upstream that speaks Ollama's own API.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Ollama } from 'ollama';
import { Gateway, newId } from './lib/daemon.mjs';
import { DEAD, request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { pieces } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { closedByGateway, startUpstream } from './lib/upstream.mjs';
import { SLOW, waitFor } from './lib/wait.mjs';

const MODEL = 'tiny:1b';
const AT = '2026-01-02T03:04:05.678901234Z';
const MS = 1e6;

const line = (o) => `${JSON.stringify(o)}\n`;
const chat = (message, more = {}) => line({
  model: MODEL, created_at: AT, message: { role: 'assistant', content: '', ...message }, done: false, ...more,
});
const generate = (response, more = {}) =>
  line({ model: MODEL, created_at: AT, response, done: false, ...more });
const END = {
  done: true, done_reason: 'stop', total_duration: 90 * MS, load_duration: 10 * MS,
  prompt_eval_count: 12, prompt_eval_duration: 30 * MS, eval_count: 4, eval_duration: 50 * MS,
};
const TEXT = ['Grüße', ' aus', ' dem', ' Wald 🌲'].map((content) => chat({ content }));
const STREAM = { 'Content-Type': 'application/x-ndjson' };

/** Answers every request with these lines, each in a write of its own; numbers are milliseconds. */
async function stream(x, ...writes) {
  await x.complete;
  x.stream(STREAM);
  for (const w of writes) {
    if (typeof w === 'number') await delay(w);
    else x.chunk(w);
  }
  x.endChunks();
}

async function setup(t, handler, config) {
  const upstream = await startUpstream(t, handler);
  return { upstream, gateway: await Gateway.start(t, { upstream, config }) };
}

/** The library on the way through the gateway, with a name for the record, and directly. */
function clients({ upstream, gateway }) {
  const id = newId();
  return {
    id,
    through: new Ollama({ host: gateway.url, headers: { 'x-request-id': id } }),
    direct: new Ollama({ host: upstream.url }),
  };
}

async function collect(parts) {
  const all = [];
  for await (const part of parts) all.push(part);
  return all;
}

const MESSAGES = [{ role: 'user', content: 'say something' }];

test('a chat that streams: the same parts as from the engine itself, and its own times', async (t) => {
  const s = await setup(t, (x) => stream(x, chat({}), 50, ...TEXT.slice(0, 2), 20, ...TEXT.slice(2), 5,
    chat({}, END)));
  const { id, through, direct } = clients(s);
  const ask = { model: MODEL, messages: MESSAGES, stream: true, options: { num_predict: 64 } };
  const parts = await collect(await through.chat({ ...ask }));

  assert.deepEqual(parts, await collect(await direct.chat({ ...ask })));
  assert.equal(parts.map((p) => p.message.content).join(''), 'Grüße aus dem Wald 🌲');
  assert.equal(s.upstream.exchanges[0].body.toString(), s.upstream.exchanges[1].body.toString());

  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'ollama_chat');
  assert.equal(r.dialect, 'ollama');
  assert.equal(r.model, MODEL);
  assert.equal(r.model_response, MODEL);
  assert.equal(r.is_stream, true);
  assert.equal(r.finish_reason, 'stop');
  assert.equal(r.usage_source, 'engine');
  assert.equal(r.prompt_tokens, 12);
  assert.equal(r.completion_tokens, 4);
  assert.equal(r.n_events, 6);
  assert.equal(r.n_output_events, 4);
  assert.equal(r.max_tokens, 64);
  assert.ok(r.ttft_ms >= 49 && r.ttft_ms < 1000 * SLOW, `${r.ttft_ms} ms`);
  assert.ok(r.ttfe_ms < r.ttft_ms);
  assert.equal(r.tpot_status, 'ok');
  assert.deepEqual([r.engine_load_ms, r.engine_prefill_ms, r.engine_decode_ms, r.engine_total_ms],
    [10, 30, 50, 90]);
  const m = await s.gateway.metrics();
  assert.equal(m.value('llm_ttft_seconds_count', { model: MODEL, endpoint: 'ollama_chat' }), 1);
  assert.equal(m.value('llm_tokens_total', { model: MODEL, type: 'completion' }), 4);
});

test('a whole chat', async (t) => {
  const whole = chat({ content: 'Grüße aus dem Wald 🌲' }, END);
  const s = await setup(t, async (x) => {
    await x.complete;
    x.reply(200, whole, { 'Content-Type': 'application/json; charset=utf-8' });
  });
  const { id, through, direct } = clients(s);
  const answer = await through.chat({ model: MODEL, messages: MESSAGES });

  assert.deepEqual(answer, await direct.chat({ model: MODEL, messages: MESSAGES }));
  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.is_stream, false);
  assert.equal(r.ttft_ms, null);
  assert.equal(r.completion_tokens, 4);
  assert.equal(r.engine_total_ms, 90);
});

test('thinking, then a tool call', async (t) => {
  const call = { function: { name: 'lookup', arguments: { city: 'Bern' } } };
  const s = await setup(t, (x) => stream(x, chat({ thinking: 'Hm' }), 30, chat({ thinking: ', so' }), 30,
    chat({ tool_calls: [call] }), chat({}, END)));
  const { id, through, direct } = clients(s);
  const ask = {
    model: MODEL, messages: MESSAGES, stream: true, think: true,
    tools: [{ type: 'function', function: { name: 'lookup', description: 'x', parameters: { type: 'object' } } }],
  };
  const parts = await collect(await through.chat({ ...ask }));

  assert.deepEqual(parts, await collect(await direct.chat({ ...ask })));
  assert.deepEqual(parts[2].message.tool_calls, [call]);
  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.deepEqual([...r.output_kinds].sort(), ['reasoning', 'tool_args', 'tool_name']);
  assert.ok(r.ttfa_ms >= r.ttft_ms + 55, `${r.ttft_ms}, ${r.ttfa_ms}`);
  assert.ok(!r.flags.includes('reasoning_hidden'));
});

test('generate, with text in the last line', async (t) => {
  const s = await setup(t, (x) => stream(x, generate('Once'), 10, generate(' upon'),
    generate(' a time', { ...END, context: [1, 2, 3] })));
  const { id, through, direct } = clients(s);
  const ask = { model: MODEL, prompt: 'tell', system: 'be brief', stream: true };
  const parts = await collect(await through.generate({ ...ask }));

  assert.deepEqual(parts, await collect(await direct.generate({ ...ask })));
  assert.equal(parts.map((p) => p.response).join(''), 'Once upon a time');
  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'ollama_generate');
  assert.equal(r.n_output_events, 3);
  assert.equal(r.completion_tokens, 4);
});

test('embed: prompt tokens, and no stream', async (t) => {
  const s = await setup(t, async (x) => {
    await x.complete;
    x.reply(200, JSON.stringify({
      model: MODEL, embeddings: [[0.25, -0.5]], total_duration: 5 * MS, load_duration: MS, prompt_eval_count: 8,
    }), { 'Content-Type': 'application/json' });
  });
  const { id, through, direct } = clients(s);
  const ask = { model: MODEL, input: ['why'] };

  assert.deepEqual(await through.embed({ ...ask }), await direct.embed({ ...ask }));
  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'ollama_embed');
  assert.equal(r.is_stream, false);
  assert.equal(r.prompt_tokens, 8);
  assert.equal(r.engine_total_ms, 5);
});

test('an abort in mid-stream: the engine is told, what came is counted', async (t) => {
  let upstreamExchange;
  const s = await setup(t, async (x) => {
    upstreamExchange = x;
    await x.complete;
    x.stream(STREAM).chunk(TEXT[0]).chunk(TEXT[1]);
  });
  const { id, through } = clients(s);
  const parts = await through.chat({ model: MODEL, messages: MESSAGES, stream: true });
  let n = 0;
  await assert.rejects(async () => {
    for await (const part of parts) {
      assert.equal(part.done, false);
      if (++n === 2) parts.abort();
    }
  }, { name: 'AbortError' });

  await closedByGateway(upstreamExchange);
  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_after_first');
  assert.equal(r.n_output_events, 2);
  assert.ok(r.ttft_ms > 0);
});

test('an abort before the first token', async (t) => {
  const s = await setup(t, async (x) => {
    await x.complete;
    x.stream(STREAM).chunk(chat({}));
  });
  const { id, through } = clients(s);
  const parts = await through.chat({ model: MODEL, messages: MESSAGES, stream: true });
  await waitFor('the request in flight', async () => (await s.gateway.inflight()).length === 1);
  const reading = assert.rejects(collect(parts), { name: 'AbortError' });
  through.abort();
  await reading;
  assertOutcome(await s.gateway.recordNamed(id), 'client_gone_before_first');
});

test('an error in mid-stream', async (t) => {
  const message = 'an error was encountered while running the model';
  const s = await setup(t, (x) => stream(x, TEXT[0], line({ error: message })));
  const { id, through, direct } = clients(s);
  for (const client of [through, direct])
    await assert.rejects(
      collect(await client.chat({ model: MODEL, messages: MESSAGES, stream: true })), { message });

  const r = await s.gateway.recordNamed(id);
  assertOutcome(r, 'stream_error', 'error');
  assert.equal(r.n_output_events, 1);
});

test('a stream that ends without its end', async (t) => {
  const s = await setup(t, (x) => stream(x, ...TEXT));
  const { id, through } = clients(s);
  await assert.rejects(
    collect(await through.chat({ model: MODEL, messages: MESSAGES, stream: true })), /Did not receive done/);
  assertOutcome(await s.gateway.recordNamed(id), 'truncated');
});

test('a model that is not there', async (t) => {
  const s = await setup(t, async (x) => {
    await x.complete;
    x.reply(404, JSON.stringify({ error: 'model "x" not found' }), { 'Content-Type': 'application/json' });
  });
  const { id, through, direct } = clients(s);
  for (const client of [through, direct])
    await assert.rejects(client.chat({ model: 'x', messages: MESSAGES, stream: true }),
      { name: 'ResponseError', status_code: 404, message: 'model "x" not found' });
  assertOutcome(await s.gateway.recordNamed(id), 'http_error', 'error');
});

test('what the gateway answers itself has Ollama\'s form', async (t) => {
  const gateway = await Gateway.start(t, { upstream: { url: `http://${DEAD}` } });
  const client = new Ollama({ host: gateway.url });
  await assert.rejects(client.chat({ model: MODEL, messages: MESSAGES }),
    { name: 'ResponseError', status_code: 502, message: /could not connect to upstream/ });
});

test('bytes are unchanged, whatever cuts them; a stream is what comes unasked', async (t) => {
  const body = [...TEXT, '\r\n', `  ${chat({}, END).trimEnd()}\r\n`].join('');
  const s = await setup(t, async (x) => {
    await x.complete;
    x.stream(STREAM);
    for (const piece of pieces(body, 7)) x.chunk(piece);
    x.endChunks();
  });
  const ask = { json: { model: MODEL, messages: MESSAGES } };
  const through = await request(s.gateway.port, '/api/chat', ask);
  const direct = await request(s.upstream.port, '/api/chat', ask);

  assert.ok(through.body.equals(Buffer.from(body)));
  assert.ok(through.body.equals(direct.body));
  assert.equal(through.headers['content-type'], 'application/x-ndjson');
  const r = await s.gateway.recordOf(through);
  assertOutcome(r, 'ok');
  assert.equal(r.is_stream, true);
  assert.ok(r.ttft_ms > 0);
  assert.equal(r.n_events, 5);
  assert.equal(r.completion_tokens, 4);
});
