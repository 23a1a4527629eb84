// SPDX-License-Identifier: Apache-2.0
// Google's generateContent through the gateway, asked with fetch: one JSON array, events, whole answers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Gateway, newId } from './lib/daemon.mjs';
import { DEAD, sseChunks } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { pieces } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { SLOW } from './lib/wait.mjs';

const MODEL = 'gemini-tiny';
const JSON_TYPE = 'application/json; charset=UTF-8';
const SSE_TYPE = 'text/event-stream';
const USAGE = {
  promptTokenCount: 9, candidatesTokenCount: 6, thoughtsTokenCount: 30, toolUsePromptTokenCount: 5,
  totalTokenCount: 50,
};

const answer = (parts, more = {}, candidate = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...candidate }], modelVersion: MODEL, ...more,
});
const CHUNKS = [
  answer([{ text: 'Hm, }], so', thought: true }]),
  answer([{ text: 'Grüße aus' }]),
  answer([{ text: ' dem Wald 🌲' }]),
  answer([{ functionCall: { name: 'lookup', args: {} }, thoughtSignature: 'c2ln' }],
    { usageMetadata: USAGE }, { finishReason: 'STOP' }),
];
const FAILURE = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };

/** The pieces of a body in either framing, as Google writes them. */
const asArray = (chunks) => [
  ...chunks.map((c, i) => `${i === 0 ? '[' : ',\r\n'}${JSON.stringify(c, null, 2)}\n`), ']'];
const asEvents = (chunks) => chunks.map((c) => `data: ${JSON.stringify(c)}\r\n\r\n`);
const framings = [
  { name: 'one JSON array', query: '', type: JSON_TYPE, write: asArray, read: (b) => JSON.parse(b) },
  { name: 'events', query: '?alt=sse', type: SSE_TYPE, write: asEvents, read: sseChunks },
];

async function setup(t, handler) {
  const upstream = await startUpstream(t, handler);
  return { upstream, gateway: await Gateway.start(t, { upstream }) };
}

/** Through the gateway with a name for the record, or directly: { status, type, body }. */
async function ask(url, method, query, id = newId()) {
  const response = await fetch(`${url}/v1beta/models/${MODEL}:${method}${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-goog-api-key': 'secret', 'x-request-id': id },
    body: JSON.stringify({
      contents: [{ parts: [{ text: 'say something' }] }], generationConfig: { maxOutputTokens: 64 },
    }),
  });
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), body };
}

for (const f of framings) {
  test(`${f.name}: the first token is known with the first part of it`, async (t) => {
    const writes = f.write(CHUNKS);
    const { upstream, gateway } = await setup(t, async (x) => {
      await x.complete;
      x.stream({ 'Content-Type': f.type });
      await delay(50);
      for (const w of writes) {
        x.chunk(w);
        await delay(40);
      }
      x.endChunks();
    });
    const id = newId();
    const through = await ask(gateway.url, 'streamGenerateContent', f.query, id);

    assert.deepEqual(through, await ask(upstream.url, 'streamGenerateContent', f.query));
    assert.deepEqual(f.read(through.body), CHUNKS);
    assert.equal(upstream.exchanges[0].target, `/v1beta/models/${MODEL}:streamGenerateContent${f.query}`);
    assert.equal(upstream.exchanges[0].body.toString(), upstream.exchanges[1].body.toString());

    const r = await gateway.recordNamed(id);
    assertOutcome(r, 'ok');
    assert.equal(r.endpoint, 'stream_generate_content');
    assert.equal(r.dialect, 'gemini');
    assert.equal(r.model, MODEL);
    assert.equal(r.model_response, MODEL);
    assert.equal(r.is_stream, true);
    assert.equal(r.finish_reason, 'STOP');
    assert.equal(r.max_tokens, 64);
    assert.equal(r.n_events, 4);
    assert.equal(r.n_output_events, 4);
    assert.ok(r.ttft_ms >= 49 && r.ttft_ms < 1000 * SLOW, `${r.ttft_ms} ms`);
    assert.ok(r.ttfa_ms >= r.ttft_ms + 20 && r.e2e_ms >= r.ttft_ms + 80, `${r.ttft_ms} ${r.ttfa_ms} ${r.e2e_ms}`);
    assert.deepEqual([r.prompt_tokens, r.raw_prompt_tokens], [14, 9]);
    assert.deepEqual([r.completion_tokens, r.raw_completion_tokens, r.reasoning_tokens], [36, 6, 30]);
    assert.ok(r.flags.includes('reasoning_hidden'));
    assert.equal(r.tpot_status, 'ok');
    const m = await gateway.metrics();
    assert.equal(m.value('llm_ttft_seconds_count', { model: MODEL, endpoint: 'stream_generate_content' }), 1);
    assert.equal(m.value('llm_tokens_total', { model: MODEL, type: 'completion' }), 36);
  });

  test(`${f.name}: bytes are unchanged, whatever cuts them`, async (t) => {
    const body = Buffer.from(f.write(CHUNKS).join(''));
    const { gateway } = await setup(t, async (x) => {
      await x.complete;
      x.stream({ 'Content-Type': f.type });
      for (const piece of pieces(body, 11)) x.chunk(piece);
      x.endChunks();
    });
    const id = newId();
    const through = await ask(gateway.url, 'streamGenerateContent', f.query, id);
    assert.ok(through.body.equals(body));
    const r = await gateway.recordNamed(id);
    assertOutcome(r, 'ok');
    assert.equal(r.n_events, 4);
    assert.equal(r.completion_tokens, 36);
  });

  test(`${f.name}: an error inside, and no end`, async (t) => {
    const bodies = [f.write([CHUNKS[1], FAILURE]), f.write([CHUNKS[1]])];
    const { gateway } = await setup(t, async (x, n) => {
      await x.complete;
      x.stream({ 'Content-Type': f.type }).chunk(bodies[n - 1].join('')).endChunks();
    });
    for (const [outcome, reason] of [['stream_error', 'UNAVAILABLE'], ['truncated']]) {
      const id = newId();
      await ask(gateway.url, 'streamGenerateContent', f.query, id);
      const r = await gateway.recordNamed(id);
      assertOutcome(r, outcome, reason);
      assert.ok(r.ttft_ms > 0);
    }
  });
}

test('an error body pasted behind the events', async (t) => {
  const body = `${asEvents(CHUNKS).join('')}${JSON.stringify(FAILURE, null, 2)}\n`;
  const { gateway } = await setup(t, async (x) => {
    await x.complete;
    x.stream({ 'Content-Type': SSE_TYPE });
    for (const piece of pieces(body, 13)) x.chunk(piece);
    x.endChunks();
  });
  const id = newId();
  assert.equal((await ask(gateway.url, 'streamGenerateContent', '?alt=sse', id)).body.toString(), body);
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'stream_error', 'UNAVAILABLE');
  assert.equal(r.n_events, 4);
});

test('a whole answer', async (t) => {
  const { upstream, gateway } = await setup(t, async (x) => {
    await x.complete;
    x.reply(200, JSON.stringify(answer([{ text: 'all of it' }], { usageMetadata: USAGE },
      { finishReason: 'MAX_TOKENS' }), null, 2), { 'Content-Type': JSON_TYPE });
  });
  const id = newId();
  const through = await ask(gateway.url, 'generateContent', '', id);
  assert.deepEqual(through, await ask(upstream.url, 'generateContent', ''));
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'generate_content');
  assert.equal(r.is_stream, false);
  assert.equal(r.ttft_ms, null);
  assert.equal(r.finish_reason, 'MAX_TOKENS');
  assert.equal(r.completion_tokens, 36);
});

test('an HTTP error, in an array as streams have it', async (t) => {
  const { gateway } = await setup(t, async (x) => {
    await x.complete;
    x.reply(503, JSON.stringify([FAILURE], null, 2), { 'Content-Type': JSON_TYPE });
  });
  const id = newId();
  assert.equal((await ask(gateway.url, 'streamGenerateContent', '', id)).status, 503);
  assertOutcome(await gateway.recordNamed(id), 'http_error', 'UNAVAILABLE');
});

test('what the gateway answers itself has Google\'s form; the key in the query is written nowhere', async (t) => {
  const gateway = await Gateway.start(t, { upstream: { url: `http://${DEAD}` } });
  const id = newId();
  const { status, body } = await ask(gateway.url, 'generateContent', '?key=AIza-canary', id);
  assert.equal(status, 502);
  const { error } = JSON.parse(body);
  assert.deepEqual([error.code, error.status], [502, 'UNAVAILABLE']);
  assert.match(error.message, /could not connect to upstream/);
  assertOutcome(await gateway.recordNamed(id), 'connect_failed', 'refused');
  assert.doesNotMatch(readFileSync(gateway.logFile, 'utf8'), /canary/);
  assert.doesNotMatch(gateway.process.stdout + gateway.process.stderr, /canary/);
});
