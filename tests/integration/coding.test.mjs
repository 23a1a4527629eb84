// SPDX-License-Identifier: Apache-2.0
// Answers in a content coding, although none was asked for: the client gets their bytes, and they
// are measured as they would be without it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import zlib from 'node:zlib';
import { chatRequest, Gateway } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { DONE, textEvents, USAGE } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { waitFor } from './lib/wait.mjs';

const PATH = '/v1/chat/completions';
const asking = chatRequest({ stream: true, stream_options: { include_usage: true } });
const constants = zlib.constants;

/** A coder out of a stream of zlib: bytes in, what was flushed of them out. */
function streaming(create, flush) {
  return () => {
    const coder = create();
    const read = () => coder.read() ?? Buffer.alloc(0);
    return {
      async write(text) {
        coder.write(text);
        await new Promise((done) => coder.flush(flush, done));
        return read();
      },
      async end() {
        const ended = once(coder, 'end');
        const parts = [];
        coder.on('data', (part) => parts.push(part));
        coder.end();
        await ended;
        return Buffer.concat(parts);
      },
    };
  };
}

/** The zstd program knows no flush: a frame for each write. */
const frames = () => ({
  async write(text) {
    return execFileSync('zstd', ['-q', '-c'], { input: text });
  },
  async end() {
    return Buffer.alloc(0);
  },
});
const hasZstd = spawnSync('zstd', ['--version']).status === 0;

const codings = [
  { name: 'gzip', field: 'gzip', coder: streaming(zlib.createGzip, constants.Z_SYNC_FLUSH) },
  { name: 'deflate', field: 'deflate', coder: streaming(zlib.createDeflate, constants.Z_SYNC_FLUSH) },
  { name: 'bare deflate', field: 'deflate', coder: streaming(zlib.createDeflateRaw, constants.Z_SYNC_FLUSH) },
  { name: 'br', field: 'br', coder: streaming(zlib.createBrotliCompress, constants.BROTLI_OPERATION_FLUSH) },
  { name: 'zstd', field: 'zstd', coder: frames, skip: !hasZstd && 'there is no zstd program' },
];

/** The gateway's view of the one exchange that runs. */
async function seen(gateway, what, holds) {
  return waitFor(what, async () => {
    const [row] = await gateway.inflight();
    return row && holds(row) && row;
  });
}

for (const { name, field, coder, skip } of codings) {
  test(`a stream in ${name} is measured as it comes`, async (t) => {
    const sent = [];
    const at = {};
    let gateway;
    const upstream = await startUpstream(t, async (x) => {
      await x.complete;
      const coded = coder();
      const send = (bytes) => {
        sent.push(bytes);
        if (bytes.length > 0) x.chunk(bytes);
      };
      at.request = performance.now();
      x.stream({ 'Content-Encoding': field, 'X-Accel-Buffering': 'no' });
      send(await coded.write(textEvents[0])); // the role, which is no token
      at.first = performance.now();
      // Each token is seen while the next one does not exist yet.
      for (const [i, event] of textEvents.slice(1, 5).entries()) {
        send(await coded.write(event));
        await seen(gateway, `token ${i + 1}`, (row) => row.n_output_events === i + 1);
        at.firstSeen ??= performance.now();
      }
      at.last = performance.now();
      send(await coded.write(textEvents[5] + USAGE));
      send(await coded.write(DONE));
      send(await coded.end());
      x.endChunks();
    });
    gateway = await Gateway.start(t, { upstream, config: { timeline: { every: 1 } } });
    const answer = await request(gateway.port, PATH, { json: asking });
    const r = await gateway.recordOf(answer);

    assert.deepEqual(answer.body, Buffer.concat(sent));
    assert.equal(answer.headers['content-encoding'], field);
    assert.equal(answer.headers['x-accel-buffering'], 'no');
    assertOutcome(r, 'ok');
    assert.equal(r.unobserved, undefined);
    assert.equal(r.completion_tokens, 4);
    assert.equal(r.prompt_tokens, 9);
    assert.equal(r.n_output_events, 4);
    assert.equal(r.n_arrivals, 4);
    assert.equal(r.tpot_status, 'ok');
    assert.equal(r.finish_reason, 'stop');
    // The gateway knew the request to be complete before the upstream did.
    assert.ok(r.ttft_ms >= at.first - at.request, `${r.ttft_ms} ms: before it was sent`);
    assert.ok(r.e2e_ms - r.ttft_ms >= at.last - at.firstSeen, 'the first token came at the end');
    assert.equal(r.timeline.length, 4);
    assert.deepEqual(r.timeline.map(([, events]) => events), [1, 1, 1, 1]);
    assert.ok(Math.abs(r.timeline[0][0] - r.ttft_ms) <= 0.001);
  }, { skip });
}

const usage = { prompt_tokens: 7, completion_tokens: 9 };
const whole = JSON.stringify({ model: 'm', choices: [{ finish_reason: 'stop' }], usage });

for (const { name, field, coder, skip } of codings) {
  test(`a whole answer in ${name} is read`, async (t) => {
    const coded = coder();
    const body = Buffer.concat([await coded.write(whole), await coded.end()]);
    const upstream = await startUpstream(t, async (x) => {
      await x.complete;
      x.reply(200, body, { 'Content-Type': 'application/json', 'Content-Encoding': field });
    });
    const gateway = await Gateway.start(t, { upstream });
    const answer = await gateway.chat({});
    assert.deepEqual(answer.body, body);
    assert.equal(answer.headers['content-length'], String(body.length));
    const r = await gateway.recordOf(answer);
    assertOutcome(r, 'ok');
    assert.equal(r.unobserved, undefined);
    assert.equal(r.completion_tokens, 9);
  }, { skip });
}

test('a bomb passes, and is not read', async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(64 << 20, '\n'));
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream({ 'Content-Encoding': 'gzip' });
    x.chunk(bomb);
    x.endChunks();
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat(asking);
  assert.deepEqual(answer.body, bomb);
  const r = await gateway.recordOf(answer);
  assertOutcome(r, 'ok');
  assert.equal(r.unobserved, 'too_large');
  assert.equal(r.response_bytes, bomb.length);
  assert.ok(r.ttfb_ms > 0);
});

test('what is not what it says passes, and is not read', async (t) => {
  const text = textEvents.join('') + DONE;
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream({ 'Content-Encoding': 'gzip' });
    x.chunk(text);
    x.endChunks();
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await request(gateway.port, PATH, { json: asking });
  assert.equal(answer.body.toString(), text);
  const r = await gateway.recordOf(answer);
  assertOutcome(r, 'ok');
  assert.equal(r.unobserved, 'content_coded');
});
