// SPDX-License-Identifier: Apache-2.0
// The openai client library's Responses API through the gateway, against a scripted engine.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { Gateway, newId } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { sdk } from './lib/sdk.mjs';
import test from './lib/test.mjs';
import { closedByGateway, startUpstream } from './lib/upstream.mjs';

const PATH = '/v1/responses';
const TTFT_MS = 30;
const USAGE = {
  input_tokens: 40, input_tokens_details: { cached_tokens: 32 },
  output_tokens: 25, output_tokens_details: { reasoning_tokens: 16 }, total_tokens: 65,
};

const response = (more = {}) => ({
  id: 'resp_fixed', object: 'response', created_at: 1700000000, status: 'in_progress', error: null,
  incomplete_details: null, instructions: null, metadata: {}, model: 'm-2025', output: [],
  parallel_tool_calls: true, temperature: 1, tool_choice: 'auto', tools: [], top_p: 1, usage: null, ...more,
});

/** Numbered events, named as OpenAI names them. type stands first or last, as engines do. */
function script(events, { isTypeLast = false } = {}) {
  return events.map(([type, more], sequence_number) => {
    const data = isTypeLast ? { ...more, sequence_number, type } : { type, sequence_number, ...more };
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  });
}

const begun = [
  ['response.created', { response: response() }],
  ['response.in_progress', { response: response() }],
];
const ended = (more) => ['response.completed', { response: response({ status: 'completed', usage: USAGE, ...more }) }];
const at = (output_index, id) => ({ item_id: id, output_index });
const deltas = (type, place, parts) =>
  parts.map((delta) => [type, { ...place, delta, obfuscation: 'x'.repeat(8) }]);

const message = (text) => ({
  id: 'msg_1', type: 'message', role: 'assistant', status: 'completed',
  content: [{ type: 'output_text', annotations: [], text }],
});
const TEXT = ['Grüße', ' aus', ' dem', ' Wald 🌲'];
const textEvents = [
  ...begun,
  ['response.output_item.added', { output_index: 0, item: { ...message(''), status: 'in_progress', content: [] } }],
  ['response.content_part.added',
    { ...at(0, 'msg_1'), content_index: 0, part: { type: 'output_text', annotations: [], text: '' } }],
  ...deltas('response.output_text.delta', { ...at(0, 'msg_1'), content_index: 0 }, TEXT),
  ['response.output_text.done', { ...at(0, 'msg_1'), content_index: 0, text: TEXT.join('') }],
  ['response.content_part.done', { ...at(0, 'msg_1'), content_index: 0, part: message(TEXT.join('')).content[0] }],
  ['response.output_item.done', { output_index: 0, item: message(TEXT.join('')) }],
  ended({ output: [message(TEXT.join(''))] }),
];

const call = (args, status) =>
  ({ id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'lookup', arguments: args, status });
const ARGS = ['{"city":', '"Bern"}'];
const reasoning = (text) => ({
  id: 'rs_1', type: 'reasoning', encrypted_content: 'gAAAAAB', summary: text ? [{ type: 'summary_text', text }] : [],
});
const toolEvents = [
  ...begun,
  ['response.output_item.added', { output_index: 0, item: reasoning('') }],
  ['response.reasoning_summary_part.added',
    { ...at(0, 'rs_1'), summary_index: 0, part: { type: 'summary_text', text: '' } }],
  ...deltas('response.reasoning_summary_text.delta', { ...at(0, 'rs_1'), summary_index: 0 }, ['Let', ' me see']),
  ['response.output_item.done', { output_index: 0, item: reasoning('Let me see') }],
  ['response.output_item.added', { output_index: 1, item: call('', 'in_progress') }],
  ...deltas('response.function_call_arguments.delta', at(1, 'fc_1'), ARGS),
  ['response.function_call_arguments.done', { ...at(1, 'fc_1'), arguments: ARGS.join('') }],
  ['response.output_item.done', { output_index: 1, item: call(ARGS.join(''), 'completed') }],
  ended({ output: [reasoning('Let me see'), call(ARGS.join(''), 'completed')] }),
];

const failure = { code: 'server_error', message: 'no more' };
const failedEvents = [
  ...textEvents.slice(0, 6),
  ['response.failed', { response: response({ status: 'failed', error: failure }) }],
];

/** Streams the beginning at once and the rest a time to first token later. */
const streamer = (events, options) => async (x) => {
  await x.complete;
  const parts = script(events, options);
  x.stream();
  x.chunk(parts.slice(0, begun.length).join(''));
  await delay(TTFT_MS);
  for (const part of parts.slice(begun.length)) x.chunk(part);
  if (options?.isDoneSent) x.chunk('data: [DONE]\n\n');
  x.endChunks();
};

async function setup(t, handler) {
  const upstream = await startUpstream(t, handler);
  const gateway = await Gateway.start(t, { upstream });
  return { upstream, gateway, client: sdk(gateway.port), direct: sdk(upstream.port) };
}

const ask = (more = {}) => ({ model: 'm', input: 'say something', instructions: 'be brief', ...more });

/** A named request; everything that its stream tells. */
async function told(client, params = {}) {
  const id = newId();
  const events = [];
  const stream = await client.responses.create(ask({ stream: true, ...params }),
    { headers: { 'x-request-id': id } });
  for await (const event of stream) events.push(event);
  return { id, events };
}

const shapes = [
  { name: 'text', events: textEvents, n_output: 4, kinds: ['text'] },
  { name: 'text, types last, [DONE] behind', events: textEvents, n_output: 4, kinds: ['text'],
    options: { isTypeLast: true, isDoneSent: true } },
  { name: 'reasoning and a tool call', events: toolEvents, n_output: 6,
    kinds: ['reasoning', 'reasoning_opaque', 'reasoning_summary', 'tool_args', 'tool_name'] },
];

for (const c of shapes)
  test(`a stream: ${c.name}`, async (t) => {
    const { gateway, client, direct } = await setup(t, streamer(c.events, c.options));
    const through = await told(client);
    const expected = await told(direct);
    assert.deepEqual(through.events, expected.events);
    assert.equal(through.events.at(-1).response.usage.output_tokens, 25);

    const r = await gateway.recordNamed(through.id);
    assertOutcome(r, 'ok');
    assert.equal(r.endpoint, 'responses');
    assert.equal(r.dialect, 'openai-responses');
    assert.equal(r.model, 'm');
    assert.equal(r.is_stream, true);
    assert.equal(r.finish_reason, 'completed');
    assert.equal(r.usage_source, 'engine');
    assert.equal(r.prompt_tokens, 40);
    assert.equal(r.cached_tokens, 32);
    assert.equal(r.completion_tokens, 25);
    assert.equal(r.reasoning_tokens, 16);
    assert.equal(r.n_output_events, c.n_output);
    assert.deepEqual(r.output_kinds.sort(), c.kinds);
    assert.ok(r.flags.includes('reasoning_hidden')); // its 16 tokens are in no stream
    assert.ok(r.ttfe_ms <= r.ttft_ms && r.ttft_ms >= TTFT_MS - 1, `ttft ${r.ttft_ms}, not that of response.created`);
    assert.ok(r.ttft_ms <= r.ttfa_ms && r.ttfa_ms <= r.e2e_ms);

    const m = await gateway.metrics();
    assert.equal(m.value('llm_ttft_seconds_count', { endpoint: 'responses' }), 1);
    assert.equal(m.value('llm_tokens_total', { type: 'completion' }), 25);
  });

test('bytes are not changed, on the way there and back', async (t) => {
  const { upstream, gateway } = await setup(t, streamer(toolEvents, { isTypeLast: true }));
  const json = ask({ stream: true, tools: [{ type: 'function', name: 'lookup', parameters: {} }] });
  const direct = await request(upstream.port, PATH, { json });
  const through = await request(gateway.port, PATH, { json });
  assert.equal(through.body.toString(), direct.body.toString());
  assert.deepEqual(upstream.exchanges[1].body, upstream.exchanges[0].body);
  const r = await gateway.recordOf(through);
  assertOutcome(r, 'ok');
  assert.ok(!r.flags.includes('usage_injected'));
});

test("the library's own accumulation of a stream", async (t) => {
  const { gateway, client, direct } = await setup(t, streamer(textEvents));
  const through = await client.responses.stream(ask()).finalResponse();
  const expected = await direct.responses.stream(ask()).finalResponse();
  assert.deepEqual(through, expected);
  assert.equal(through.output[0].content[0].text, TEXT.join(''));
  assertOutcome(await gateway.record(), 'ok');
});

test('not a stream: usage, and no time to first token', async (t) => {
  const body = response({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage: USAGE,
    output: [message('Grüße')] });
  const { gateway, client, direct } = await setup(t, async (x) => {
    await x.complete;
    x.reply(200, JSON.stringify(body), { 'Content-Type': 'application/json' });
  });
  const through = await client.responses.create(ask({ max_output_tokens: 50 }));
  const expected = await direct.responses.create(ask({ max_output_tokens: 50 }));
  assert.deepEqual(through, expected);
  assert.equal(through.output_text, 'Grüße');

  const r = await gateway.record();
  assertOutcome(r, 'ok');
  assert.equal(r.is_stream, false);
  assert.equal(r.ttft_ms, null);
  assert.equal(r.finish_reason, 'incomplete:max_output_tokens');
  assert.equal(r.completion_tokens, 25);
  assert.equal(r.max_tokens, 50);
});

test('response.failed inside 200 is no success', async (t) => {
  const { gateway, client, direct } = await setup(t, streamer(failedEvents));
  const through = await told(client);
  const expected = await told(direct);
  assert.deepEqual(through.events, expected.events);
  const r = await gateway.recordNamed(through.id);
  assertOutcome(r, 'stream_error', 'server_error');
  assert.equal(r.status, 200);
  assert.equal(r.finish_reason, 'failed');
  assert.equal(r.n_output_events, 2);
});

test('an error event is thrown by the library and counted here', async (t) => {
  const { gateway, client } = await setup(t, streamer([...begun, ['error', failure]]));
  await assert.rejects(told(client), OpenAI.APIError);
  const r = await gateway.record();
  assertOutcome(r, 'stream_error', 'server_error');
  assert.equal(r.ttft_ms, null);
  const m = await gateway.metrics();
  assert.equal(m.value('llm_no_first_token_total', { reason: 'error' }), 1);
});

test('an end without a terminal event is truncated', async (t) => {
  const { gateway, client } = await setup(t, streamer(textEvents.slice(0, 7)));
  const { id } = await told(client);
  assertOutcome(await gateway.recordNamed(id), 'truncated');
});

test('an HTTP error keeps its type', async (t) => {
  const error = { message: 'no', type: 'invalid_request_error', param: null, code: null };
  const { gateway, client } = await setup(t, async (x) => {
    await x.complete;
    x.reply(400, JSON.stringify({ error }), { 'Content-Type': 'application/json' });
  });
  await assert.rejects(client.responses.create(ask({ stream: true })), OpenAI.BadRequestError);
  assertOutcome(await gateway.record(), 'http_error', 'invalid_request_error');
});

/** A stream that begins and goes no further. */
const hanging = (n) => async (x) => {
  await x.complete;
  x.stream().chunk(script(textEvents.slice(0, n)).join(''));
};

for (const { n, outcome } of [
  { n: 3, outcome: 'client_gone_before_first' },
  { n: 6, outcome: 'client_gone_after_first' },
])
  test(`an abort: ${outcome}`, async (t) => {
    const { upstream, gateway, client } = await setup(t, hanging(n));
    const aborter = new AbortController();
    const stream = await client.responses.create(ask({ stream: true }), { signal: aborter.signal });
    let n_seen = 0;
    for await (const event of stream)
      if (event.type && ++n_seen === n) aborter.abort();
    assert.equal(n_seen, n);
    await closedByGateway(upstream.exchanges[0]);
    const r = await gateway.record();
    assertOutcome(r, outcome);
    assert.equal(r.ttft_ms !== null, outcome === 'client_gone_after_first');
  });

test('a client that hangs up on response.completed has got its answer', async (t) => {
  const { gateway, client } = await setup(t, hanging(textEvents.length));
  const stream = await client.responses.create(ask({ stream: true }));
  for await (const event of stream) if (event.type === 'response.completed') break;
  const r = await gateway.record();
  assertOutcome(r, 'ok');
  assert.equal(r.completion_tokens, 25);
});

test('what the gateway refuses itself, it refuses as OpenAI does', async (t) => {
  const gateway = await Gateway.start(t, { upstream: { url: 'http://127.0.0.1:1' } });
  await assert.rejects(sdk(gateway.port).responses.create(ask()), (e) => {
    assert.equal(e.status, 502);
    assert.equal(e.code, 'connect_failed');
    return e instanceof OpenAI.APIError;
  });
});
