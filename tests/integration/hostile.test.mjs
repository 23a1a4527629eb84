// SPDX-License-Identifier: Apache-2.0
// Clients that are slow, rude or mad: others are served meanwhile, memory stays bounded, and nothing
// is left behind.
// @alone
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import { Authority, noOpenssl } from './lib/certs.mjs';
import { cleanup } from './lib/cleanup.mjs';
import { assertServes, BODY, CHAT, connectMany, headOf, KIB, MODELS, POST, setup, waitQuiet } from './lib/crowd.mjs';
import { Gateway } from './lib/daemon.mjs';
import { descriptors, residentBytes } from './lib/descriptors.mjs';
import { RawClient, rawClient, request } from './lib/http.mjs';
import { assertOutcome } from './lib/records.mjs';
import { textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { SANITIZED, SLOW, timed, waitFor } from './lib/wait.mjs';

test('heads that come byte by byte on many connections', async (t) => {
  const n = 300;
  const { gateway } = await setup(t, { timeouts: { client_head: '1s' } });
  const clients = await connectMany(t, gateway.port, n);
  const drip = setInterval(() => clients.forEach((c) => !c.isEnded && c.send('x')), 20);
  cleanup(t, () => clearInterval(drip));
  for (let i = 0; i < 10; i++) await assertServes(gateway);
  await Promise.all(clients.map(async (c) => assert.match(await c.end({ timeoutMs: 10000 }), /^HTTP\/1\.1 408 /)));
  clearInterval(drip);
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_bad_requests_total', { cause: 'too_slow' }), n);
  await waitQuiet(gateway);
});

test('bodies that come byte by byte end with the total time', async (t) => {
  const n = 50;
  const { gateway } = await setup(t, { timeouts: { total: '800ms', client_body: '500ms' } });
  const clients = await connectMany(t, gateway.port, n);
  clients.forEach((c) => c.send(`${POST}Content-Length: 100000\r\n\r\n{`));
  const drip = setInterval(() => clients.forEach((c) => !c.isEnded && c.send('x')), 20);
  cleanup(t, () => clearInterval(drip));
  await assertServes(gateway);
  for (const c of clients) await c.end({ timeoutMs: 10000 });
  clearInterval(drip);
  const records = await gateway.recordsWhere((r) => r.outcome !== 'ok', n);
  for (const r of records) assertOutcome(r, 'timeout', 'total');
  await waitQuiet(gateway);
});

const fields = (n) => Array.from({ length: n }, (_, i) => `A${i}: b\r\n`).join('');
const heads = [
  { name: '64 KiB', text: headOf(64 * KIB), status: 200 },
  { name: '64 KiB and a byte', text: headOf(64 * KIB + 1), status: 431 },
  { name: '128 fields', text: `GET /v1/models HTTP/1.1\r\nHost: x\r\n${fields(127)}\r\n`, status: 200 },
  { name: '129 fields', text: `GET /v1/models HTTP/1.1\r\nHost: x\r\n${fields(128)}\r\n`, status: 431 },
];

test('heads at their limits, at once and in pieces', async (t) => {
  const upstream = await startUpstream(t, async (x) => { // the simulated engine has the same limits
    await x.complete;
    x.reply(200, '{}');
  });
  const gateway = await Gateway.start(t, { upstream });
  for (const { name, text, status } of heads)
    for (const piece of [text.length, 1000]) {
      const client = await rawClient(t, gateway.port);
      for (let at = 0; at < text.length; at += piece) {
        client.send(text.slice(at, at + piece));
        if (piece < text.length) await delay(1);
      }
      await client.until(/^HTTP\/1\.1 \d\d\d/);
      assert.match(client.text, new RegExp(`^HTTP/1\\.1 ${status} `), `${name} in pieces of ${piece}`);
      client.close();
    }
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_bad_requests_total', { cause: 'head_too_large' }), 4);
  await waitQuiet(gateway);
});

/** Answers so far, without keeping them. */
function countAnswers(client) {
  const counter = { n: 0 };
  let tail = '';
  client.socket.removeAllListeners('data');
  client.socket.on('data', (part) => {
    const text = tail + part.toString('latin1');
    counter.n += text.match(/HTTP\/1\.1 \d\d\d/g)?.length ?? 0;
    tail = text.slice(-11).replace(/HTTP\/1\.1 \d\d\d/, '');
  });
  return counter;
}

for (const { name, text, reads } of [
  { name: 'answered by the gateway', text: MODELS, reads: true },
  { name: 'answered by the gateway, not read', text: MODELS, reads: false },
  { name: 'answered by the engine', text: CHAT, reads: true },
])
  test(`10,000 requests in one write, ${name}: all are answered, others meanwhile`, async (t) => {
    const n = SANITIZED ? 1000 : 10000;
    const { gateway } = await setup(t);
    await assertServes(gateway);
    const client = await rawClient(t, gateway.port);
    const counter = countAnswers(client);
    if (!reads) client.socket.pause();
    client.send(text.repeat(n));
    const waits = [];
    do {
      waits.push((await timed(() => request(gateway.port, '/v1/models'))).ms);
      if (waits.length === 50) client.socket.resume();
    } while (waits.length < 50 || (counter.n < n && !client.isEnded));
    assert.equal(counter.n, n);
    waits.sort((a, b) => a - b);
    const median = waits[waits.length >> 1];
    t.diagnostic(`another client waited ${median.toFixed(1)} ms in the median, ${waits.at(-1).toFixed(1)} at most`);
    assert.ok(median < 10 * SLOW, `${median} ms`);
    client.close();
    await waitQuiet(gateway);
  }, { limitMs: 60000 });

test('2,000 clients that send and reset', async (t) => {
  const n = SANITIZED ? 500 : 2000;
  const { gateway } = await setup(t, { timeouts: { upstream_idle: '100ms' } });
  const before = descriptors(gateway.process.pid);
  const slow = CHAT.replace('Ttft-Ms: 0', 'Ttft-Ms: 5000');
  let i = 0;
  await Promise.all(Array.from({ length: 20 }, async () => {
    while (i++ < n) {
      const client = await RawClient.connect(gateway.port);
      client.send(i % 3 === 0 ? slow.slice(0, 100) : slow);
      if (i % 2 === 0) await delay(2);
      client.reset();
    }
  }));
  await assertServes(gateway);
  await waitQuiet(gateway);
  for (const r of gateway.records())
    assert.ok(['client_gone_before_first', 'ok'].includes(r.outcome), JSON.stringify(r));
  await waitFor('the descriptors of the start', () =>
    JSON.stringify(descriptors(gateway.process.pid)) === JSON.stringify(before));
}, { limitMs: 60000 });

test('a connection for each of 3,000 requests', async (t) => {
  const n = SANITIZED ? 300 : 3000;
  const { gateway } = await setup(t);
  const once = CHAT.replace('Host: x\r\n', 'Host: x\r\nConnection: close\r\n');
  let i = 0;
  const { ms } = await timed(() => Promise.all(Array.from({ length: 20 }, async () => {
    while (i++ < n) {
      const client = await RawClient.connect(gateway.port);
      assert.match(await client.send(once).end(), /^HTTP\/1\.1 200 /);
    }
  })));
  t.diagnostic(`${Math.round(n / ms * 1000)} requests a second`);
  const records = await gateway.recordsWhere((r) => r.outcome === 'ok', n);
  assert.equal(records.length, n);
  await waitQuiet(gateway);
}, { limitMs: 60000 });

test('clients that do not read hold little, and are let go', async (t) => {
  const n = 50;
  const block = textEvents[1].repeat(400);
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream();
    while (!x.conn.socket.destroyed) {
      if (!x.conn.socket.writableNeedDrain) x.chunk(block);
      await delay(1);
    }
  });
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { client_write: '1500ms' } } });
  const before = residentBytes(gateway.process.pid);
  const clients = await connectMany(t, gateway.port, n);
  clients.forEach((c) => {
    c.socket.pause();
    c.send(CHAT.replace('"model"', '"stream":true,"model"').replace(/Content-Length: \d+/, `Content-Length: ${
      BODY.length + 14}`));
  });
  await waitFor('all engines held back', async () =>
    (await gateway.metrics()).value('inferometer_reads_paused_total') >= n, { timeoutMs: 15000 });
  const eachKib = (residentBytes(gateway.process.pid) - before) / n / KIB;
  t.diagnostic(`${eachKib.toFixed(0)} KiB for each`);
  assert.ok(SANITIZED || eachKib < 500, `${eachKib} KiB`);
  const records = await gateway.recordsWhere(() => true, n, { timeoutMs: 15000 });
  for (const r of records) assertOutcome(r, 'client_gone_after_first');
  await waitQuiet(gateway);
}, { limitMs: 60000 });

test('a body of tiny chunks: others are served, and it is refused once only', async (t) => {
  const upstream = await startUpstream(t, (x) => { // takes all, answers nothing
    x.conn.socket.removeAllListeners('data');
    x.conn.socket.on('data', () => {});
  });
  const upstreams = ['a', 'b'].map((name) => ({ name, url: upstream.url, models: [name] }));
  const gateway = await Gateway.start(t, { upstream, config: {
    upstreams, limits: { request_window: '4KiB', max_body: '16MiB' } } });
  const client = await rawClient(t, gateway.port);
  client.send(`${POST}Transfer-Encoding: chunked\r\n\r\n2000\r\n${'{"model":"a","x":"'.padEnd(8192, 'y')}\r\n`);
  const block = '1\r\ny\r\n'.repeat(20000);
  const waits = [];
  for (let i = 0; i < 50; i++) {
    if (client.socket.writableLength < 4 * block.length) client.send(block);
    waits.push((await timed(() => request(gateway.port, '/v1/models'))).ms);
  }
  waits.sort((x, y) => x - y);
  t.diagnostic(`another client waited ${waits[25].toFixed(1)} ms in the median, ${waits.at(-1).toFixed(1)} at most`);
  assert.ok(waits[25] < 25 * SLOW, `${waits[25]} ms`);
  client.reset();

  const small = await Gateway.start(t, { upstream, config: { limits: { max_body: '1KiB' } } });
  const refused = await rawClient(t, small.port);
  refused.send(`${POST}Transfer-Encoding: chunked\r\n\r\n${'1\r\ny\r\n'.repeat(2000)}nonsense\r\n`);
  await refused.end();
  assert.deepEqual(refused.text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 413']);
  await waitQuiet(gateway);
  await waitQuiet(small);
});

const MIB = 1024 * 1024;
const nested = [
  ['arrays', '['.repeat(MIB)],
  ['arrays, closed', '['.repeat(MIB / 2) + ']'.repeat(MIB / 2)],
  ['objects', '{"a":'.repeat(MIB / 5)],
  ['arrays in messages', `{"model":"m","stream":true,"messages":${'['.repeat(MIB / 2)}${']'.repeat(MIB / 2)}}`],
];

test('a megabyte of nesting in a request and in answers', async (t) => {
  let payload;
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    if (x.field('x-streams')) {
      x.stream().chunk(`data: ${payload}\n\n`).chunk('data: [DONE]\n\n').endChunks();
    } else {
      x.reply(200, payload, { 'Content-Type': 'application/json' });
    }
  });
  const gateway = await Gateway.start(t, { upstream, config: { limits: { request_window: '4MiB' } } });
  for (const [name, text] of nested) {
    payload = text;
    for (const streams of ['', '1']) {
      const headers = { 'content-type': 'application/json', ...(streams && { 'x-streams': streams }) };
      const { value: asked, ms } = await timed(() => request(gateway.port, '/v1/chat/completions',
        { method: 'POST', body: text, headers }));
      assert.ok([200, 400].includes(asked.status), `${name}: ${asked.status}`);
      const answered = await gateway.chat({ stream: streams === '1' }, { headers });
      assert.equal(answered.status, 200, name);
      assert.ok(answered.body.includes(text), name);
      assert.ok(ms < 2000 * SLOW, `${name}: ${ms} ms`);
    }
  }
  await waitQuiet(gateway);
}, { limitMs: 60000 });

/** What they do instead of a handshake. */
const rude = {
  'speak HTTP': (socket) => socket.write(MODELS),
  'send garbage': (socket) => socket.write(Buffer.alloc(5000, 0x16)),
  'announce a record and stop': (socket) => socket.write(Buffer.from([0x16, 3, 1, 0x40, 0])),
  'say nothing': () => {},
  leave: (socket) => socket.end(),
  reset: (socket) => socket.resetAndDestroy(),
};

test('clients of a TLS listener that do no handshake are let go and counted', async (t) => {
  const { cert, key } = new Authority(t).issue('gateway');
  const { gateway } = await setup(t, { listen_tls: { cert, key }, timeouts: { client_head: '1s' } });
  const before = descriptors(gateway.process.pid);
  const clients = [];
  for (const act of Object.values(rude))
    for (let i = 0; i < 20; i++) {
      const client = await rawClient(t, gateway.port);
      act(client.socket);
      clients.push(client);
    }
  const { value: socket, ms } = await timed(() => new Promise((done, fail) => {
    const s = tls.connect({ host: '127.0.0.1', port: gateway.port, rejectUnauthorized: false });
    s.on('error', fail).once('data', () => done(s)).write(MODELS);
  }));
  assert.ok(ms < 1000 * SLOW, `a client that does its handshake waited ${ms} ms`);
  socket.destroy();
  await waitFor('all of them counted', async () =>
    (await gateway.metrics()).value('inferometer_tls_handshake_failures_total') === clients.length);
  clients.forEach((c) => c.close());
  await waitQuiet(gateway);
  await waitFor('the descriptors of the start, but for one to the engine', () => {
    const now = descriptors(gateway.process.pid);
    return now.socket <= before.socket + 1;
  });
}, { skip: noOpenssl });
