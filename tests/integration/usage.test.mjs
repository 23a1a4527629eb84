// SPDX-License-Identifier: Apache-2.0
// Token usage: asked for on the client's behalf, never at the client's expense.
import assert from 'node:assert/strict';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { request, sseChunks } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { chunk, DONE, event, textEvents, USAGE } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { head, startUpstream } from './lib/upstream.mjs';

const FAST = { 'ttft-ms': 5, 'itl-ms': 1, tokens: 6 };

test('an engine that refuses stream_options is asked once more without, and remembered', async (t) => {
  const upstream = await Sim.start(t, '--refuse-stream-options');
  const gateway = await Gateway.start(t, { upstream });
  const answers = [];
  for (let i = 0; i < 3; i++)
    answers.push(await gateway.chat({ stream: true }, { headers: sim(FAST) }));

  for (const answer of answers) {
    assert.equal(answer.status, 200);
    assert.ok(!answer.body.includes('usage'));
  }
  const records = await Promise.all(answers.map((a) => gateway.recordOf(a)));
  for (const r of records) {
    assertOutcome(r, 'ok');
    assert.equal(r.usage_source, 'none');
    assert.ok(!r.flags.includes('usage_injected'));
    assert.ok(r.ttft_ms >= 5);
  }
  assert.deepEqual(records.map((r) => r.n_attempts), [2, 1, 1]);
  assert.ok(records[0].flags.includes('is_retry'));
  assert.ok(records[0].stage_retry_ms > 0);
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_usage_injections_refused_total'), 1);
  assert.equal(m.value('llm_attempts_total'), 4);
  assert.equal(m.value('llm_requests_total'), 3);
});

test('a 400 for another reason reaches the client, and is not held against the engine', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const bad = await gateway.chat({ stream: true, n: 9 }, { headers: sim(FAST) });
  const direct = await request(upstream.port, '/v1/chat/completions',
    { json: chatRequest({ stream: true, n: 9 }), headers: sim(FAST) });
  assert.equal(bad.status, 400);
  assert.deepEqual(bad.body, direct.body);
  assertOutcome(await gateway.recordOf(bad), 'http_error', 'invalid_request_error');

  const good = await gateway.chat({ stream: true }, { headers: sim(FAST) });
  const r = await gateway.recordOf(good);
  assert.equal(r.usage_source, 'engine');
  assert.equal(r.completion_tokens, 6);
});

test("the client's own stream_options are answered with the engine's own 400", async (t) => {
  const upstream = await Sim.start(t, '--refuse-stream-options');
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true, stream_options: { include_usage: true } });
  const r = await gateway.recordOf(answer);

  assert.equal(answer.status, 400);
  assert.match(answer.body.toString(), /stream_options/);
  assertOutcome(r, 'http_error', 'invalid_request_error');
  assert.equal(r.n_attempts, 1);
});

test('include_usage: false is the client\'s word', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true, stream_options: { include_usage: false } },
    { headers: sim(FAST) });
  const r = await gateway.recordOf(answer);

  assert.equal(answer.status, 200);
  assert.ok(sseChunks(answer.body).every((c) => !c.usage && c.choices.length > 0));
  assertOutcome(r, 'ok');
});

test('stream_options are never added to what is no stream', async (t) => {
  const upstream = await Sim.start(t, '--refuse-stream-options');
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: false }, { headers: sim(FAST) });
  const r = await gateway.recordOf(answer);

  assert.equal(answer.status, 200);
  assert.equal(r.n_attempts, 1);
  assert.equal(r.completion_tokens, 6);
});

test('usage in every chunk: the last one counts, they are not added up', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const headers = sim({ ...FAST, tokens: 12, 'tokens-per-event': 3, usage: 'every_chunk' });
  const answer = await gateway.chat({ stream: true }, { headers });
  const r = await gateway.recordOf(answer);

  assertOutcome(r, 'ok');
  assert.equal(r.completion_tokens, 12);
  assert.equal(r.n_output_events, 4);
  assert.equal(r.tokens_per_event, 3);
});

test('an engine that reports cached_tokens of -1', async (t) => {
  const strange = event(chunk([], {
    usage: {
      prompt_tokens: 9, completion_tokens: 4, total_tokens: 13,
      prompt_tokens_details: { cached_tokens: -1 },
    },
  }));
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream().chunk([...textEvents, strange, DONE].join('')).endChunks();
  });
  const gateway = await Gateway.start(t, { upstream });
  const r = await gateway.recordOf(await gateway.chat({ stream: true }));

  assertOutcome(r, 'ok');
  assert.ok(r.flags.includes('usage_anomaly'));
  assert.equal(r.completion_tokens, 4);
  assert.equal(r.raw_cached_tokens, -1);
  assert.ok(r.cached_tokens === undefined || r.cached_tokens >= 0);
  assert.equal((await gateway.metrics()).value('inferometer_usage_anomalies_total'), 1);
});

test('no usage from the engine: every time is measured all the same', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream();
    for (const e of [...textEvents, DONE]) {
      x.chunk(e);
      await new Promise((done) => setTimeout(done, 2));
    }
    x.endChunks();
  });
  const gateway = await Gateway.start(t, { upstream });
  const r = await gateway.recordOf(await gateway.chat({ stream: true }));

  assertOutcome(r, 'ok');
  assert.equal(r.usage_source, 'none');
  assert.equal(r.completion_tokens, null);
  assert.ok(r.ttft_ms > 0 && r.e2e_ms > r.ttft_ms);
  assert.equal(r.n_arrivals + r.n_coalesced, r.n_output_events);
  assert.notEqual(r.tpot_status, 'ok');
});

test('usage behind a connection that never ends, with the end mark before it is read', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream().chunk([...textEvents, USAGE].join(''));
    x.chunk(DONE); // and no last chunk
  });
  const gateway = await Gateway.start(t, { upstream });
  const id = newId();
  const aborter = new AbortController();
  let got = '';
  await gateway.chat({ stream: true }, {
    headers: { 'x-request-id': id },
    signal: aborter.signal,
    onResponse: (res) => res.on('data', (d) => (got += d).includes('[DONE]') && aborter.abort()),
  }).catch((e) => assert.equal(e.name, 'AbortError'));
  const r = await gateway.recordNamed(id);

  assertOutcome(r, 'ok');
  assert.equal(r.completion_tokens, 4);
  assert.ok(!got.includes('"usage"'));
});

for (const [name, status, type] of [['no type', 200], ['a plain text type', 200, 'text/plain'],
  ['status 201', 201, 'text/event-stream']])
  test(`the usage event we asked for is hidden from a stream with ${name}`, async (t) => {
    const upstream = await startUpstream(t, async (x) => {
      await x.complete;
      const fields = { 'Transfer-Encoding': 'chunked', ...(type && { 'Content-Type': type }) };
      x.send(head(status, fields)).chunk([...textEvents, USAGE, DONE].join('')).endChunks();
    });
    const gateway = await Gateway.start(t, { upstream });
    const answer = await gateway.chat({ stream: true });

    assert.equal(answer.body.toString(), [...textEvents, DONE].join(''));
  });

test('a model that refuses the option does not switch it off for the others', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    if (x.json.model === 'picky' && x.json.stream_options)
      return x.reply(400, '{"error":{"message":"stream_options","type":"invalid_request_error"}}');
    x.stream().chunk([...textEvents, ...(x.json.stream_options ? [USAGE] : []), DONE].join('')).endChunks();
  });
  const gateway = await Gateway.start(t, { upstream });
  const picky = await gateway.recordOf(await gateway.chat({ stream: true, model: 'picky' }));
  const good = await gateway.recordOf(await gateway.chat({ stream: true, model: 'good' }));
  const again = await gateway.recordOf(await gateway.chat({ stream: true, model: 'picky' }));

  assert.equal(picky.n_attempts, 2);
  assert.equal(good.usage_source, 'engine');
  assert.equal(again.n_attempts, 1); // remembered
  assert.equal(again.usage_source, 'none');
});
