// SPDX-License-Identifier: Apache-2.0
// Bytes: what goes through the gateway is what would have come without it.
import assert from 'node:assert/strict';
import { createHash, randomFillSync } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { chatRequest, Gateway } from './lib/daemon.mjs';
import { rawClient, request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { DONE, oddEvents, pieces, textEvents, toolEvents, USAGE } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { head, startUpstream } from './lib/upstream.mjs';

const PATH = '/v1/chat/completions';
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Streams events in pieces of n bytes; usage only to those who ask for it. */
function streamer(events, n = 1 << 20, fields = {}, code = (bytes) => bytes) {
  return async (x) => {
    await x.complete;
    const isAsked = x.json.stream_options?.include_usage === true;
    const text = [...events, ...(isAsked ? [USAGE] : []), DONE].join('');
    x.stream(fields);
    for (const part of pieces(code(text), n)) {
      x.chunk(part);
      await turn();
    }
    x.endChunks();
  };
}

async function bothWays(t, handler, json, config) {
  const upstream = await startUpstream(t, handler);
  const gateway = await Gateway.start(t, { upstream, config });
  const direct = await request(upstream.port, PATH, { json });
  const through = await request(gateway.port, PATH, { json });
  assert.equal(through.status, direct.status);
  assert.ok(direct.isComplete && through.isComplete);
  return { upstream, gateway, direct, through, record: await gateway.recordOf(through) };
}

const plain = chatRequest({ stream: true });
const asking = chatRequest({ stream: true, stream_options: { include_usage: true } });

const streams = [
  { name: 'text', events: textEvents, n_output: 4 },
  { name: 'nothing but tool calls', events: toolEvents, n_output: 3 },
  { name: 'odd but legal framing', events: oddEvents, n_output: 3 },
];
const sizes = [
  { name: 'in one write', n: 1 << 20 },
  { name: 'in pieces of 7 bytes', n: 7 },
];

for (const { name, events, n_output } of streams)
  for (const size of sizes) {
    test(`${name} ${size.name}: our own usage event leaves no trace`, async (t) => {
      const { upstream, direct, through, record } =
        await bothWays(t, streamer(events, size.n), plain);
      assert.equal(upstream.exchanges[1].json.stream_options.include_usage, true);
      assert.equal(through.body.toString(), direct.body.toString());
      assert.equal(through.headers['x-accel-buffering'], 'no');
      assertOutcome(record, 'ok');
      assert.equal(record.completion_tokens, 4);
      assert.equal(record.n_output_events, n_output);
      assert.ok(record.flags.includes('usage_injected'));
    });

    test(`${name} ${size.name}: usage that the client asked for is passed on`, async (t) => {
      const { upstream, direct, through, record } =
        await bothWays(t, streamer(events, size.n), asking);
      assert.ok(direct.body.includes('"usage"'));
      assert.equal(through.body.toString(), direct.body.toString());
      assert.deepEqual(upstream.exchanges[1].body, upstream.exchanges[0].body);
      assertOutcome(record, 'ok');
      assert.equal(record.completion_tokens, 4);
    });
  }

test('injection switched off: the request too is what the client sent', async (t) => {
  const { upstream, direct, through, record } =
    await bothWays(t, streamer(textEvents), plain, { usage: { inject: false } });
  assert.deepEqual(upstream.exchanges[1].body, upstream.exchanges[0].body);
  assert.deepEqual(through.body, direct.body);
  assertOutcome(record, 'ok');
  assert.equal(record.usage_source, 'none');
});

test('injection keeps everything else in the request as it was written', async (t) => {
  const upstream = await startUpstream(t, streamer(textEvents));
  const gateway = await Gateway.start(t, { upstream });
  const body = '{ "messages":[{"role":"user","content":"\\u00fc 1.50"}], "temperature": 1.50,\n'
    + '  "stream":true, "stream_options" : {"continuous_usage_stats":true}, "model":"m", "seed":1e3 }';
  const answer = await request(gateway.port, PATH, { body });
  const got = upstream.exchanges[0].body.toString();

  assert.equal(answer.status, 200);
  assert.deepEqual(JSON.parse(got).stream_options,
    { continuous_usage_stats: true, include_usage: true });
  // Taking the addition out again gives the client's bytes.
  assert.equal(got.replace(/,?\s*"include_usage"\s*:\s*true\s*,?/, ''), body);
});

test('a stream that the upstream compressed all the same', async (t) => {
  const { direct, through, record } = await bothWays(t,
    streamer(textEvents, 50, { 'Content-Encoding': 'gzip' }, gzipSync), asking);
  assert.deepEqual(through.body, direct.body);
  assert.equal(through.headers['content-encoding'], 'gzip');
  assertOutcome(record, 'ok');
  assert.equal(record.unobserved, undefined);
  assert.ok(record.ttft_ms > 0);
});

test('a stream in a coding that nobody knows passes, and is not read', async (t) => {
  const { direct, through, record } = await bothWays(t,
    streamer(textEvents, 50, { 'Content-Encoding': 'rot13' }), asking);
  assert.deepEqual(through.body, direct.body);
  assertOutcome(record, 'ok');
  assert.equal(record.unobserved, 'content_coded');
  assert.equal(record.ttft_ms, null);
});

test('a gzip answer of an engine that was asked for none', async (t) => {
  const usage = { prompt_tokens: 7, completion_tokens: 9 };
  const zipped = gzipSync(JSON.stringify({ choices: [], usage }));
  const handler = async (x) => {
    await x.complete;
    x.reply(200, zipped, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
  };
  const upstream = await startUpstream(t, handler);
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({}, { headers: { 'accept-encoding': 'gzip, br' } });

  assert.equal(upstream.exchanges[0].field('accept-encoding'), 'identity');
  assert.deepEqual(answer.body, zipped);
  assert.equal(answer.headers['content-encoding'], 'gzip');
  assert.equal(answer.headers['content-length'], String(zipped.length));
  const record = await gateway.recordOf(answer);
  assert.equal(record.unobserved, undefined);
  assert.equal(record.completion_tokens, 9);
});

/** A chat request of about 28 MiB, like one with images. */
function largeBody() {
  const image = randomFillSync(Buffer.alloc(21 << 20)).toString('base64');
  return JSON.stringify(chatRequest({ stream: true, messages: [{ role: 'user', content: image }] }));
}

test('a request body of 28 MiB arrives whole, with a length and in chunks', async (t) => {
  const body = largeBody();
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.reply(200, JSON.stringify({ sha256: x.sha256 }), { 'Content-Type': 'application/json' });
  });
  const gateway = await Gateway.start(t, { upstream });
  assert.ok(body.length >= 28 << 20);

  const whole = await request(gateway.port, PATH, { body });
  assert.equal(JSON.parse(whole.body).sha256, sha256(body));
  const r = await gateway.recordOf(whole);
  assertOutcome(r, 'ok');
  assert.equal(r.model, 'm'); // it is in the part that was read
  assert.equal(r.request_bytes, body.length);
  assert.ok(r.flags.includes('window_exceeded'));

  const raw = await rawClient(t, gateway.port);
  raw.send(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`);
  for (const part of pieces(body, 1 << 18)) {
    raw.send(`${part.length.toString(16)};ext=1\r\n`).send(part).send('\r\n');
    await turn();
  }
  raw.send('0\r\nX-Trailer: 1\r\n\r\n');
  assert.ok((await raw.end()).includes(sha256(body)));
  assert.equal(upstream.exchanges[1].field('transfer-encoding'), 'chunked');
}, { limitMs: 30000 });

test('an answer of 16 MiB to a client that reads slowly', async (t) => {
  const bytes = randomFillSync(Buffer.alloc(16 << 20));
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.send(head(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes.length }));
    x.send(bytes);
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await request(gateway.port, '/v1/files/f/content', {
    onResponse: async (res) => {
      res.pause();
      await until(gateway, (m) => m.value('inferometer_reads_paused_total') > 0);
      res.resume();
    },
  });

  assert.equal(sha256(answer.body), sha256(bytes));
  const r = await gateway.recordOf(answer);
  assertOutcome(r, 'ok');
  assert.ok(r.client_blocked_ms > 0);
  assert.ok(r.flags.includes('client_limited'));
  assert.equal(r.response_bytes, bytes.length);
});

async function until(gateway, holds) {
  while (!holds(await gateway.metrics())) await turn();
}

test('header fields pass in order; those of one connection do not', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.send('HTTP/1.1 200 Fine\r\nSet-Cookie: a=1\r\nX-Mixed-Case: Yes\r\nset-cookie: b=2\r\n'
      + 'Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-Request-Id: engine-7\r\n'
      + 'Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nok');
  });
  const gateway = await Gateway.start(t, { upstream });
  const headers = {
    Authorization: 'Bearer k', 'X-Own': 'one, two', 'X-Request-Id': 'client-1', TE: 'trailers',
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  };
  const answer = await request(gateway.port, '/some/path?a=b%20c&d', { headers });
  const x = upstream.exchanges[0];

  assert.equal(x.target, '/some/path?a=b%20c&d');
  assert.equal(x.field('host'), `127.0.0.1:${upstream.port}`);
  assert.equal(x.field('authorization'), 'Bearer k');
  assert.equal(x.field('x-own'), 'one, two');
  assert.equal(x.field('x-request-id'), 'client-1');
  assert.equal(x.field('traceparent'), headers.traceparent);
  assert.equal(x.field('te'), undefined);

  const pairs = Array.from({ length: answer.rawHeaders.length / 2 },
    (_, i) => answer.rawHeaders.slice(2 * i, 2 * i + 2).join('='));
  const passed = pairs.filter((p) => /cookie|mixed|upstream-request|content-type/i.test(p));
  assert.deepEqual(passed, ['Set-Cookie=a=1', 'X-Mixed-Case=Yes', 'set-cookie=b=2',
    'X-Upstream-Request-Id=engine-7', 'Content-Type=text/plain']);
  assert.ok(!pairs.some((p) => /x-hop|timeout=5/i.test(p)));
  assert.match(answer.headers['x-request-id'], /^[0-9a-f]{32}$/);
  const r = await gateway.recordOf(answer);
  assert.equal(r.client_request_id, 'client-1');
  assert.equal(r.trace_id, '4bf92f3577b34da6a3ce929d0e0e4736');
  assert.equal(r.endpoint, 'other');
});

test('HEAD, 204 and an interim answer', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    if (x.method === 'HEAD') x.send(head(200, { 'Content-Length': 77 }));
    else x.send('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n').send(head(204, { 'X-Empty': '1' }));
  });
  const gateway = await Gateway.start(t, { upstream });

  const asked = await request(gateway.port, '/v1/models', { method: 'HEAD' });
  assert.equal(asked.headers['content-length'], '77');
  assert.equal(asked.body.length, 0);
  const removed = await request(gateway.port, '/v1/files/f', { method: 'DELETE' });
  assert.equal(removed.status, 204);
  assert.equal(removed.headers['x-empty'], '1');
  assertOutcome(await gateway.recordOf(removed), 'ok');
});

test('a stream that is cut inside an event: what came of the event reaches the client', async (t) => {
  const half = 'data: {"choices":[],"usa';
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream().chunk(textEvents.join('')).chunk(half).end();
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat({ stream: true });

  assert.equal(answer.isComplete, false);
  assert.equal(answer.body.toString(), textEvents.join('') + half);
});
