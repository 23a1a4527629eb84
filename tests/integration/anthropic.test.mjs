// SPDX-License-Identifier: Apache-2.0
// The Anthropic client library through the gateway: what the client sees is what it sees without
// it, and what the record says of it.
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import { Gateway, newId } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import {
  anthropic, BEGIN, END, ending, ERROR, messagesRequest, PING, textBlock, thinkingBlock, toolBlock,
} from './lib/messages.mjs';
import { assertOutcome } from './lib/records.mjs';
import { pieces } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { closedByGateway, startUpstream } from './lib/upstream.mjs';
import { waitFor, within } from './lib/wait.mjs';

const PATH = '/v1/messages';

async function setup(t, handler, config) {
  const upstream = await startUpstream(t, handler);
  const gateway = await Gateway.start(t, { upstream, config });
  return { upstream, gateway, client: anthropic(gateway.port), direct: anthropic(upstream.port) };
}

/** Streams these events, one a chunk; step is awaited in front of each. */
const streamer = (events, step = turn) => async (x) => {
  await x.complete;
  x.stream();
  for (const [i, e] of events.entries()) {
    await step(i, x);
    x.chunk(e);
  }
  x.endChunks();
};

/** Everything a client makes of a stream, with its name in the record. */
async function collect(client, params = {}, options = {}) {
  const id = newId();
  const events = [];
  const stream = client.messages.stream(messagesRequest(params),
    { headers: { 'x-request-id': id }, ...options });
  stream.on('streamEvent', (e) => events.push(e));
  const message = await within('the message', stream.finalMessage());
  return { id, message, events };
}

/** The same request with and without the gateway, and its record. */
async function bothWays(t, events) {
  const all = await setup(t, streamer(events));
  const direct = await collect(all.direct);
  const { id, ...through } = await collect(all.client);
  assert.deepEqual(through, { message: direct.message, events: direct.events });
  assert.deepEqual(all.upstream.exchanges[1].body, all.upstream.exchanges[0].body);
  const record = await all.gateway.recordNamed(id);
  assertOutcome(record, 'ok');
  assert.equal(record.endpoint, 'messages');
  assert.equal(record.dialect, 'anthropic');
  assert.equal(record.is_stream, true);
  assert.equal(record.usage_source, 'engine');
  assert.equal(record.model_response, 'claude-x');
  return { ...all, message: through.message, record };
}

test('a stream of text: counts with what was cached, nothing injected', async (t) => {
  const { message, record: r, gateway } = await bothWays(t, [
    BEGIN, ...textBlock(0, 'Grüße', ' aus dem "Wald"\n', '🌲'), PING,
    ending('end_turn', { output_tokens: 9 }), END,
  ]);
  assert.equal(message.content[0].text, 'Grüße aus dem "Wald"\n🌲');
  assert.equal(r.prompt_tokens, 7 + 5 + 30);
  assert.equal(r.cached_tokens, 30);
  assert.equal(r.cache_write_tokens, 5);
  assert.equal(r.raw_prompt_tokens, 7);
  assert.equal(r.completion_tokens, 9);
  assert.equal(r.max_tokens, 1000);
  assert.equal(r.n_output_events, 3);
  assert.equal(r.tokens_per_event, 3);
  assert.equal(r.finish_reason, 'end_turn');
  assert.deepEqual(r.output_kinds, ['text']);
  assert.ok(!r.flags.includes('usage_injected'));
  const m = await gateway.metrics();
  assert.equal(m.value('llm_tokens_total', { type: 'prompt' }), 42);
  assert.equal(m.value('llm_tokens_total', { type: 'completion' }), 9);
  assert.equal(m.value('llm_ttft_seconds_count', { endpoint: 'messages' }), 1);
});

test('thinking, then text', async (t) => {
  const { message, record: r } = await bothWays(t, [
    BEGIN, PING, ...thinkingBlock(0, 'Let me', ' see'), ...textBlock(1, 'It is', ' 42'),
    ending('end_turn', { output_tokens: 40, output_tokens_details: { thinking_tokens: 33 } }), END,
  ]);
  assert.deepEqual(message.content.map((c) => c.type), ['thinking', 'text']);
  assert.equal(message.content[0].thinking, 'Let me see');
  assert.deepEqual(r.output_kinds.sort(), ['reasoning', 'reasoning_opaque', 'text']);
  assert.equal(r.completion_tokens, 40);
  assert.equal(r.reasoning_tokens, 33);
  assert.equal(r.n_output_events, 5);
  assert.ok(r.ttft_ms <= r.ttfa_ms);
});

test('tools with and without arguments', async (t) => {
  const { message, record: r } = await bothWays(t, [
    BEGIN, ...textBlock(0, 'I look.'), ...toolBlock(1, 'lookup', '{"city": "Be', 'rn"}'),
    ...toolBlock(2, 'now'), ending('tool_use', { output_tokens: 50 }), END,
  ]);
  assert.deepEqual(message.content.slice(1).map((c) => [c.name, c.input]),
    [['lookup', { city: 'Bern' }], ['now', {}]]);
  assert.deepEqual(r.output_kinds.sort(), ['text', 'tool_args', 'tool_name']);
  assert.equal(r.finish_reason, 'tool_use');
});

test('nothing but a tool without arguments has a first token', async (t) => {
  const { message, record: r } = await bothWays(t,
    [BEGIN, ...toolBlock(0, 'now'), ending('tool_use', { output_tokens: 12 }), END]);
  assert.equal(message.content[0].name, 'now');
  assert.deepEqual(r.output_kinds, ['tool_name']);
  assert.equal(r.n_output_events, 1);
  assert.equal(r.ttfa_ms, r.ttft_ms);
  assert.ok(r.ttft_ms > 0);
});

test('the first token is none of message_start, ping and an empty block', async (t) => {
  const seen = []; // by the client
  const events = [BEGIN, PING, ...textBlock(0, 'a'), ending('end_turn', { output_tokens: 1 }), END];
  // Nothing is sent before the client has what came earlier: every event is a read of its own.
  const { gateway, client } = await setup(t, streamer(events, (i) =>
    waitFor('the earlier events', () => seen.length >= i - (i > 1 ? 1 : 0)))); // but the ping
  const id = newId();
  const stream = await client.messages.create(messagesRequest({ stream: true }),
    { headers: { 'x-request-id': id } });
  let t_start, t_text;
  for await (const e of stream) {
    seen.push(e.type);
    if (e.type === 'message_start') t_start = performance.now();
    if (e.type === 'content_block_delta') t_text = performance.now();
  }
  assert.equal(seen.at(-1), 'message_stop');
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.ok(r.ttft_ms > r.ttfe_ms, `${r.ttft_ms} and ${r.ttfe_ms}`);
  assert.ok(r.ttft_ms - r.ttfe_ms <= t_text - t_start + 1000);
  assert.equal(r.stage_first_token_ms, Number((r.ttft_ms - r.ttfe_ms).toFixed(6)));
});

test('not a stream', async (t) => {
  const answer = {
    id: 'msg_fixed', type: 'message', role: 'assistant', model: 'claude-x',
    content: [{ type: 'text', text: 'hello' }], stop_reason: 'max_tokens', stop_sequence: null,
    usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 12 },
  };
  const { gateway, client, direct } = await setup(t, async (x) => {
    await x.complete;
    x.reply(200, JSON.stringify(answer), { 'Content-Type': 'application/json' });
  });
  const id = newId();
  const through = await client.messages.create(messagesRequest(), { headers: { 'x-request-id': id } });
  assert.deepEqual(through, await direct.messages.create(messagesRequest()));
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.is_stream, false);
  assert.equal(r.ttft_ms, null);
  assert.equal(r.prompt_tokens, 7);
  assert.equal(r.completion_tokens, 12);
  assert.equal(r.finish_reason, 'max_tokens');
});

test('counted tokens are no usage', async (t) => {
  const { gateway, client } = await setup(t, async (x) => {
    await x.complete;
    x.reply(200, '{"input_tokens":2095}', { 'Content-Type': 'application/json' });
  });
  const { model, messages } = messagesRequest();
  const counted = await client.messages.countTokens({ model, messages });
  assert.equal(counted.input_tokens, 2095);
  const r = await gateway.record();
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'count_tokens');
  assert.equal(r.model, 'claude-x');
  assert.equal(r.usage_source, 'none');
  const m = await gateway.metrics();
  assert.equal(m.value('llm_requests_total', { endpoint: 'count_tokens', outcome: 'ok' }), 1);
  assert.equal(m.value('llm_tokens_total') ?? 0, 0);
});

test('an abort before the first token', async (t) => {
  const { upstream, gateway, client } = await setup(t, async (x) => {
    await x.complete;
    x.stream().chunk(BEGIN).chunk(PING);
  });
  const id = newId();
  const stream = await client.messages.create(messagesRequest({ stream: true }),
    { headers: { 'x-request-id': id } });
  for await (const e of stream) if (e.type === 'message_start') break; // the library aborts

  await closedByGateway(upstream.exchanges[0]);
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_before_first');
  assert.equal(r.ttft_ms, null);
  assert.ok(r.ttfe_ms > 0);
  const m = await gateway.metrics();
  assert.equal(m.value('llm_no_first_token_total', { reason: 'canceled' }), 1);
});

test('an abort in mid-stream: what message_start counted is not taken for the output', async (t) => {
  const whole = [BEGIN, ...textBlock(0, 'a', 'b', 'c', 'd'), ending('end_turn', { output_tokens: 12 }), END];
  const { upstream, gateway, client } = await setup(t, async (x) => {
    if (upstream.exchanges.length === 1) return streamer(whole)(x);
    await x.complete;
    x.stream().chunk(whole.slice(0, 4).join('')); // two pieces of text
  });
  await gateway.recordNamed((await collect(client)).id); // 3 tokens an event
  const id = newId();
  const stream = await client.messages.create(messagesRequest({ stream: true }),
    { headers: { 'x-request-id': id } });
  let text = '';
  for await (const e of stream) if ((text += e.delta?.text ?? '') === 'ab') break;

  await closedByGateway(upstream.exchanges[1]);
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'client_gone_after_first');
  assert.equal(r.n_output_events, 2);
  assert.equal(r.usage_source, 'estimated');
  assert.equal(r.completion_tokens, 6);
  assert.equal(r.raw_completion_tokens, 2);
  assert.equal(r.prompt_tokens, 42);
  const m = await gateway.metrics();
  assert.equal(m.value('llm_tokens_total', { type: 'completion' }), 12);
  assert.equal(m.value('llm_estimated_tokens_total', { type: 'completion' }), 6);
  assert.equal(m.value('llm_tokens_total', { type: 'prompt' }), 84);
});

const failures = [
  { name: 'an error event in mid-stream', events: [BEGIN, ...textBlock(0, 'a').slice(0, 2), ERROR],
    outcome: 'stream_error', reason: 'overloaded_error', n: 1 },
  { name: 'an error event as the first thing', events: [ERROR], outcome: 'stream_error',
    reason: 'overloaded_error', n: 0 },
  { name: 'no message_stop', events: [BEGIN, ...textBlock(0, 'a'),
    ending('end_turn', { output_tokens: 1 })], outcome: 'truncated', n: 1, isSilent: true },
];

for (const { name, events, outcome, reason, n, isSilent } of failures)
  test(`${name}: ${outcome}, and the client is told what it would be told without us`, async (t) => {
    const { gateway, client, direct } = await setup(t, streamer(events));
    const id = newId();
    const tell = async (of) => {
      try {
        const stream = await of.messages.create(messagesRequest({ stream: true }),
          { headers: { 'x-request-id': id } });
        for await (const e of stream) assert.ok(e.type);
        return 'no error';
      } catch (error) {
        return { name: error.constructor.name, message: error.message, error: error.error };
      }
    };
    const through = await tell(client);
    assert.deepEqual(through, await tell(direct));
    assert.equal(through === 'no error', isSilent === true);
    const r = await gateway.recordNamed(id);
    assertOutcome(r, outcome, reason);
    assert.equal(r.n_output_events, n);
    assert.equal(r.ttft_ms !== null, n > 0);
  });

test('an HTTP error keeps its type', async (t) => {
  const body = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
  const { gateway, client } = await setup(t, async (x) => {
    await x.complete;
    x.reply(529, body, { 'Content-Type': 'application/json' });
  });
  const error = await client.messages.create(messagesRequest({ stream: true })).catch((e) => e);
  assert.ok(error instanceof Anthropic.APIError);
  assert.equal(error.status, 529);
  assert.deepEqual(error.error, JSON.parse(body));
  const r = await gateway.record();
  assertOutcome(r, 'http_error', 'overloaded_error');
});

test('what the gateway answers itself is an error of this API', async (t) => {
  const { upstream, gateway, client } = await setup(t, (x) => x.reset(),
    { limits: { request_window: '64KiB', max_body: '128KiB' } });
  const cut = await client.messages.create(messagesRequest()).catch((e) => e);
  assert.ok(cut instanceof Anthropic.InternalServerError);
  assert.equal(cut.status, 502);
  assert.equal(cut.error.type, 'error');
  assert.equal(cut.error.error.type, 'api_error');
  assert.equal(typeof cut.error.error.message, 'string');
  assertOutcome(await gateway.record(), 'upstream_cut');
  assert.ok(upstream.exchanges.length >= 1);

  const large = await client.messages.create(messagesRequest({ system: 'x'.repeat(200000) })).catch((e) => e);
  assert.equal(large.status, 413);
  assert.equal(large.error.error.type, 'request_too_large');
});

for (const n of [1 << 20, 7])
  test(`bytes in pieces of ${n}: request and answer pass unchanged`, async (t) => {
    const text = [BEGIN, PING, ...thinkingBlock(0, 'hm'), ...textBlock(1, 'Grüße', ' 🌲'),
      ...toolBlock(2, 'f', '{"a":', '1}'), ending('tool_use', { output_tokens: 20 }), END].join('');
    const { upstream, gateway } = await setup(t, async (x) => {
      await x.complete;
      x.stream();
      for (const part of pieces(text, n)) {
        x.chunk(part);
        await turn();
      }
      x.endChunks();
    });
    const body = '{ "stream":true, "max_tokens": 1e3,\n "messages":[{"role":"user","content":"\\u00fc"}],'
      + '"model":"claude-x","metadata":{"user_id":"u"} }';
    const answer = await request(gateway.port, PATH, { body, headers: { 'anthropic-version': '2023-06-01' } });
    assert.equal(answer.body.toString(), text);
    assert.equal(upstream.exchanges[0].body.toString(), body);
    assert.equal(upstream.exchanges[0].field('anthropic-version'), '2023-06-01');
    const r = await gateway.recordOf(answer);
    assertOutcome(r, 'ok');
    assert.equal(r.n_output_events, 7);
    assert.equal(r.completion_tokens, 20);
  });
