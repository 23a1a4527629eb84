// SPDX-License-Identifier: Apache-2.0
// The APIs besides chat completions, from the simulated engine through the gateway: what comes is
// what the engine sent.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { request, sseData } from './lib/http.mjs';
import { tempDir } from './lib/process.mjs';
import { assertOutcome, assertSound } from './lib/records.mjs';
import test from './lib/test.mjs';

const FAST = { 'ttft-ms': 5, 'itl-ms': 1, tokens: 8 };
const MODEL = '/v1beta/models/gem-1';
const messages = [{ role: 'user', content: 'say something' }];
const contents = [{ role: 'user', parts: [{ text: 'say something' }] }];

const sse = (body) => sseData(body).filter((d) => d !== '[DONE]').map((d) => JSON.parse(d));
const lines = (body) => body.toString().trimEnd().split('\n').map((l) => JSON.parse(l));
const array = (body) => JSON.parse(body);

/** events: how a stream is read. text: of one of its events. */
const streams = [
  {
    name: 'chat completions', path: '/v1/chat/completions',
    json: { model: 'm', stream: true, messages, stream_options: { include_usage: true } },
    events: sse, text: (e) => e.choices[0]?.delta.content,
  },
  {
    name: 'completions', path: '/v1/completions',
    json: { model: 'm', stream: true, prompt: 'x', stream_options: { include_usage: true } },
    events: sse, text: (e) => e.choices[0]?.text,
  },
  {
    name: 'responses', path: '/v1/responses', json: { model: 'm', stream: true, input: 'x' },
    events: sse, text: (e) => e.type === 'response.output_text.delta' && e.delta,
  },
  {
    name: 'messages', path: '/v1/messages',
    json: { model: 'm', stream: true, max_tokens: 50, messages },
    events: sse, text: (e) => e.type === 'content_block_delta' && e.delta.text,
  },
  {
    name: 'ollama chat', path: '/api/chat', json: { model: 'm', messages },
    events: lines, text: (e) => e.message.content,
  },
  {
    name: 'ollama generate', path: '/api/generate', json: { model: 'm', prompt: 'x' },
    events: lines, text: (e) => e.response,
  },
  {
    name: 'gemini events', path: `${MODEL}:streamGenerateContent?alt=sse`, json: { contents },
    events: sse, text: (e) => e.candidates[0].content.parts[0].text,
  },
  {
    name: 'gemini array', path: `${MODEL}:streamGenerateContent`, json: { contents },
    events: array, text: (e) => e.candidates[0].content.parts[0].text,
  },
];

const wholes = [
  { name: 'responses', path: '/v1/responses', json: { model: 'm', input: 'x' } },
  { name: 'messages', path: '/v1/messages', json: { model: 'm', max_tokens: 50, messages } },
  { name: 'count_tokens', path: '/v1/messages/count_tokens', json: { model: 'm', messages } },
  { name: 'ollama chat', path: '/api/chat', json: { model: 'm', stream: false, messages } },
  { name: 'ollama embed', path: '/api/embed', json: { model: 'm', input: ['x', 'y'] } },
  { name: 'gemini', path: `${MODEL}:generateContent`, json: { contents } },
  { name: 'embeddings', path: '/v1/embeddings', json: { model: 'm', input: ['x', 'y'] } },
];

/** What differs from answer to answer: ids, times. */
const settled = (body) => body.toString()
  .replace(/[0-9a-f]{24}/g, 'ID')
  .replace(/("created(?:_at)?":)(\d+|"[^"]*")/g, '$1T')
  .replace(/("\w+_duration":)\d+/g, '$1D');

/** One engine and one gateway for all of them. */
async function pair(t, ...flags) {
  const engine = await Sim.start(t, ...flags);
  return { engine, gateway: await Gateway.start(t, { upstream: engine }) };
}

async function bothWays({ engine, gateway }, path, json, headers = {}) {
  const id = newId('d');
  const direct = await request(engine.port, path, { json, headers });
  const through = await request(gateway.port, path,
    { json, headers: { 'x-request-id': id, ...headers } });
  assert.equal(through.status, direct.status);
  assert.equal(through.headers['content-type'], direct.headers['content-type']);
  assert.ok(direct.isComplete && through.isComplete);
  return { direct, through, record: await gateway.recordNamed(id) };
}

test('streams of every dialect pass as they are', async (t) => {
  const both = await pair(t);
  for (const { name, path, json, events, text } of streams) {
    await t.test(name, async () => {
      const { direct, through, record } = await bothWays(both, path, json, sim(FAST));
      assert.equal(through.status, 200);
      assert.equal(settled(through.body), settled(direct.body));
      assert.equal(events(through.body).map(text).filter(Boolean).length, FAST.tokens);
      assertOutcome(record, 'ok');
    });
  }
});

test('reasoning and tool calls in the streams of every dialect', async (t) => {
  const both = await pair(t);
  for (const { name, path, json, events } of streams) {
    await t.test(name, async () => {
      const { direct, through, record } = await bothWays(both, path, json,
        sim({ ...FAST, reasoning: 3, 'tool-calls': 'on', usage: 'every_chunk' }));
      assert.equal(settled(through.body), settled(direct.body));
      assert.ok(events(through.body).length > 2);
      assertOutcome(record, 'ok');
    });
  }
});

test('whole answers of every dialect', async (t) => {
  const both = await pair(t);
  for (const { name, path, json } of wholes) {
    await t.test(name, async () => {
      const { direct, through, record } = await bothWays(both, path, json, sim(FAST));
      assert.equal(through.status, 200);
      JSON.parse(through.body);
      assert.equal(settled(through.body), settled(direct.body));
      assertOutcome(record, 'ok');
    });
  }
});

test('errors of every dialect', async (t) => {
  const both = await pair(t);
  for (const { name, path, json } of [...streams, ...wholes]) {
    await t.test(name, async () => {
      const { direct, through, record } = await bothWays(both, path, json, sim({ status: 429 }));
      assert.equal(through.status, 429);
      assert.deepEqual(through.body, direct.body);
      assert.equal(through.headers['retry-after'], '1');
      assert.equal(record.outcome, 'http_error');
      assertSound(record);
    });
  }
});

test('recorded bodies are played byte by byte', async (t) => {
  const dir = tempDir(t);
  const files = [
    {
      name: 'a.sse', path: '/v1/chat/completions', json: streams[0].json,
      text: ': hi\n\ndata: {"choices":[{"index":0,"delta":{"content":"Grüße"}}]}\n\n'
        + 'data: [DONE]\n\n',
    },
    {
      name: 'b.ndjson', path: '/api/chat', json: { model: 'm', messages },
      text: '{"message":{"content":"a"},"done":false}\n{"message":{"content":""},"done":true}\n',
    },
    {
      name: 'c.json', path: `${MODEL}:streamGenerateContent`, json: { contents },
      text: '[{"candidates":[]}\n,\r\n{"candidates":[{"finishReason":"STOP"}]}\n]\n',
    },
  ];
  for (const { name, text } of files) writeFileSync(join(dir, name), text);
  writeFileSync(join(dir, 'a.sse.reads'), '3\n40\n40\n');
  const { engine, gateway } = await pair(t, '--play-dir', dir, '--play', join(dir, 'b.ndjson'));

  for (const { name, path, json, text } of files) {
    const id = newId('play');
    const headers = { 'x-request-id': id, 'x-sim-play': name, 'x-sim-play-gap-ms': '3' };
    const answer = await request(gateway.port, path, { json, headers });
    assert.equal(answer.status, 200);
    assert.equal(answer.body.toString(), text);
    assertOutcome(await gateway.recordNamed(id), 'ok');
  }
  const answer = await request(gateway.port, '/api/generate', { json: { prompt: 'x' } });
  assert.equal(answer.body.toString(), files[1].text);
  const { events } = (await engine.lastTruths(4))[0];
  assert.deepEqual(events.map((e) => e.kind), ['read', 'read', 'read']);
});
