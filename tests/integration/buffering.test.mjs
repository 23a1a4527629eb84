// SPDX-License-Identifier: Apache-2.0
// A proxy between engine and gateway that holds streams back is found, and named by its buffer.
import assert from 'node:assert/strict';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { noNginx, startNginx } from './lib/nginx.mjs';
import { assertOutcome } from './lib/records.mjs';
import { choice, chunk, DONE, event } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { head, replay, startUpstream } from './lib/upstream.mjs';

const KIB = 1024;
const MODEL = { model: 'm', upstream: 'up' };

const buffers = (size) => [`proxy_buffering on`, `proxy_buffer_size ${size}`,
  `proxy_buffers 8 ${size}`, `proxy_busy_buffers_size ${2 * size}`];
const chunked = ['proxy_http_version 1.1', 'proxy_set_header Connection ""'];

const hops = [
  { name: '4 KiB', directives: buffers(4 * KIB), bytes: 4 * KIB },
  { name: '8 KiB', directives: buffers(8 * KIB), bytes: 8 * KIB },
  { name: '16 KiB', directives: buffers(16 * KIB), bytes: 16 * KIB },
  // It passes on what completes a chunk, whatever the buffers.
  { name: '8 KiB, a chunked answer', directives: [...buffers(8 * KIB), ...chunked], bytes: 0 },
  { name: 'buffering off', directives: ['proxy_buffering off'], bytes: 0 },
  { name: 'buffering off, chunked', directives: ['proxy_buffering off', ...chunked], bytes: 0 },
];

for (const c of hops)
  test(`nginx: ${c.name}`, async (t) => {
    const engine = await Sim.start(t);
    const upstream = await startNginx(t, engine, c.directives);
    const gateway = await Gateway.start(t, { upstream, config: { models: ['m'] } });
    const tokens = c.bytes > 0 ? Math.ceil(6 * c.bytes / 150) : 200;
    const id = newId();
    await gateway.chat({ stream: true },
      { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 5, 'itl-ms': 2, tokens }) } });
    const r = await gateway.recordNamed(id);
    const m = await gateway.metrics();

    assertOutcome(r, 'ok');
    assert.equal(r.n_output_events, tokens);
    assert.equal(r.flags.includes('buffered_hop'), c.bytes > 0, JSON.stringify(r));
    assert.equal(r.buffer_bytes ?? 0, c.bytes);
    assert.equal(m.value('llm_buffered_streams_total', MODEL), c.bytes > 0 ? 1 : 0);
    const lines = gateway.process.stderr.match(/warn daemon: .*holds streams back.*/g) ?? [];
    assert.equal(lines.length, c.bytes > 0 ? 1 : 0);
    if (c.bytes > 0) {
      assert.match(lines[0], new RegExp(`upstream "up".* buffer of ${c.bytes} bytes`));
      assert.match(lines[0], /proxy_buffering off/);
    }
  }, { skip: noNginx });

/** An engine that writes event by event. */
const writing = (t, fields, n) => startUpstream(t, async (x) => {
  await x.complete;
  x.send(head(200, { 'Content-Type': 'text/event-stream', Connection: 'close', ...fields }));
  for (let i = 0; i < n; i++)
    await replay(event(chunk(choice({ content: `word ${i} ` }))), 2)(x);
  x.send(event(chunk(choice({}, 'stop')))).send(DONE).end();
});

test('one line for many streams; an engine that forbids buffering has none', async (t) => {
  const run = async (fields) => {
    const engine = await writing(t, fields, 150);
    const upstream = await startNginx(t, engine, buffers(4 * KIB));
    const gateway = await Gateway.start(t, { upstream, config: { models: ['m'] } });
    await Promise.all([1, 2, 3].map(() => gateway.chat({ stream: true })));
    const records = await gateway.recordsWhere(() => true, 3);
    const m = await gateway.metrics();
    return { n: m.value('llm_buffered_streams_total', MODEL), stderr: gateway.process.stderr,
      sizes: records.map((r) => r.buffer_bytes ?? 0) };
  };
  const held = await run({});
  assert.deepEqual(held.sizes, [4 * KIB, 4 * KIB, 4 * KIB]);
  assert.equal(held.n, 3);
  assert.equal(held.stderr.match(/holds streams back/g).length, 1);
  const passed = await run({ 'X-Accel-Buffering': 'no' });
  assert.deepEqual(passed.sizes, [0, 0, 0]);
  assert.equal(passed.n, 0);
}, { skip: noNginx });
