// SPDX-License-Identifier: Apache-2.0
// Clients that are slow, many, rude or mad: others are served meanwhile, memory and descriptors stay
// bounded, and what is refused is counted by its cause.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './lib/cleanup.mjs';
import { chatRequest, Gateway, Sim, sim } from './lib/daemon.mjs';
import { cpuSeconds, descriptors, lowestFree, residentBytes } from './lib/descriptors.mjs';
import { RawClient, rawClient, request } from './lib/http.mjs';
import { BIN, run } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import { textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { SANITIZED, SLOW, timed, waitFor } from './lib/wait.mjs';

const KIB = 1024;
const POST = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n';
const BODY = JSON.stringify(chatRequest());
const CHAT = `${POST}X-Sim-Ttft-Ms: 0\r\nX-Sim-Tokens: 1\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const MODELS = 'GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n';

async function setup(t, config = {}, more = {}) {
  const upstream = await Sim.start(t);
  return { upstream, gateway: await Gateway.start(t, { upstream, config, ...more }) };
}

/** n connections, at most 200 of them being made at a time. */
async function connectMany(t, port, n) {
  const clients = [];
  cleanup(t, () => clients.forEach((c) => c.close()));
  while (clients.length < n)
    clients.push(...await Promise.all(Array.from({ length: Math.min(200, n - clients.length) },
      () => RawClient.connect(port))));
  return clients;
}

async function assertServes(gateway, withinMs = 1000) {
  const { value: answer, ms } = await timed(() =>
    gateway.chat({}, { headers: sim({ 'ttft-ms': 0, tokens: 1 }) }));
  assert.equal(answer.status, 200);
  assert.ok(ms < withinMs * SLOW, `another request took ${ms} ms`);
}

/** Nothing is open any more but idle connections to the engine. */
async function waitQuiet(gateway) {
  await waitFor('no client and no exchange', async () => {
    const m = await gateway.metrics();
    return m.value('inferometer_connections_open', { side: 'client' }) === 0
      && m.value('inferometer_exchanges_open') === 0;
  }, { timeoutMs: 10000 });
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_internal_errors_total'), 0);
  assert.deepEqual(await gateway.inflight(), []);
}

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

test('thousands of idle connections', async (t) => {
  const limit = Number(execFileSync('/bin/bash', ['-c', 'ulimit -n']).toString()) || 1e6;
  const n = Math.min(SANITIZED ? 2000 : 9500, Math.floor(limit / 2) - 500);
  if (n < 9500) t.diagnostic(`${n} connections only: ulimit -n is ${limit}${SANITIZED ? ', sanitized' : ''}`);
  const { gateway } = await setup(t);
  const { pid } = gateway.process;
  await assertServes(gateway);
  const before = residentBytes(pid);
  const clients = await connectMany(t, gateway.port, n);
  await waitFor('all of them', async () =>
    (await gateway.metrics()).value('inferometer_connections_open', { side: 'client' }) >= n);
  const eachKib = (residentBytes(pid) - before) / n / KIB;
  const cpuBefore = cpuSeconds(pid);
  const { ms } = await timed(async () => {
    for (let i = 0; i < 20; i++) await assertServes(gateway);
  });
  t.diagnostic(`${n} idle connections: ${eachKib.toFixed(2)} KiB each; 20 requests in ${ms.toFixed(0)} ms, `
    + `${(cpuSeconds(pid) - cpuBefore).toFixed(2)} s of CPU`);
  assert.ok(SANITIZED || eachKib < 3, `${eachKib} KiB per idle connection`);
  clients.forEach((c) => c.close());
  await waitQuiet(gateway);
}, { limitMs: 60000 });

test('a thousand streams at the same time', async (t) => {
  const n = SANITIZED ? 200 : 1000;
  const { gateway } = await setup(t, { workers: 2 });
  const { pid } = gateway.process;
  const before = residentBytes(pid);
  const load = run(['load', '--url', `${gateway.url}/v1/chat/completions`, '--json', '--concurrency', String(n),
    '--requests', String(n), '--header', 'X-Sim-Ttft-Ms: 2000', '--header', 'X-Sim-Itl-Ms: 200',
    '--header', 'X-Sim-Tokens: 5'], { timeoutMs: 30000 });
  await waitFor('all of them', async () => (await gateway.metrics()).value('llm_inflight_requests') === n);
  const eachKib = (residentBytes(pid) - before) / n / KIB;
  t.diagnostic(`${eachKib.toFixed(1)} KiB for each`);
  assert.ok(SANITIZED || eachKib < 24, `${eachKib} KiB per stream`);
  assert.equal((await load).code, 0);
  await waitQuiet(gateway);
}, { limitMs: 60000 });

const fields = (n) => Array.from({ length: n }, (_, i) => `A${i}: b\r\n`).join('');
const headOf = (bytes) => {
  const start = 'GET /v1/models HTTP/1.1\r\nHost: x\r\nA: ';
  return `${start}${'a'.repeat(bytes - start.length - 4)}\r\n\r\n`;
};

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

// --- descriptors ---

const noPrlimit = spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit is not installed';
const limitDescriptors = (pid, n) => execFileSync('prlimit', [`--nofile=${n}:`, '--pid', String(pid)]);
const softLimit = (pid) => /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))[1];

/** Connections whose fate is of no interest. */
function knock(t, port, n) {
  const sockets = Array.from({ length: n }, () => net.connect({ host: '127.0.0.1', port }));
  sockets.forEach((s) => s.on('error', () => {}).resume());
  cleanup(t, () => sockets.forEach((s) => s.destroy()));
  return sockets;
}

test('no free descriptor: streams go on, the operator is answered, and later all is well', async (t) => {
  const { gateway } = await setup(t);
  const { pid } = gateway.process;
  const before = softLimit(pid);
  const atStart = descriptors(pid).socket;
  const streams = await Promise.all(Array.from({ length: 5 }, async () => {
    const client = await rawClient(t, gateway.port);
    client.send(CHAT.replace('"model"', '"stream":true,"model"').replace('Ttft-Ms: 0', 'Itl-Ms: 20')
      .replace('Tokens: 1\r', 'Tokens: 200\r').replace(/Content-Length: \d+/, `Content-Length: ${BODY.length + 14}`));
    await client.until(/data: /);
    return client;
  }));
  const waiting = await rawClient(t, gateway.port); // let in before, asks later
  await waitFor('it to be let in', async () =>
    (await gateway.metrics()).value('inferometer_connections_open', { side: 'client' }) === 6);
  await waitFor('the end of the last scrape', () => descriptors(pid).socket === atStart + 5 + 5 + 1);
  limitDescriptors(pid, lowestFree(pid));
  for (let i = 0; i < 20; i++) { // there is none for its upstream connection
    waiting.received = Buffer.alloc(0);
    assert.match(await waiting.send(CHAT).until(/\}\s*$/), /^HTTP\/1\.1 502 .*too many open files/s);
  }
  const knocking = knock(t, gateway.port, 100);
  const cpuBefore = cpuSeconds(pid);
  await delay(1500); // what is measured is the CPU time in it
  const cpu = cpuSeconds(pid) - cpuBefore;
  const counts = streams.map((s) => s.received.length);
  t.diagnostic(`${cpu.toFixed(2)} s of CPU in 1.5 s without descriptors`);
  assert.ok(cpu < 0.5 * SLOW, `${cpu} s of CPU`);

  const m = await gateway.metrics(); // by the admin listener's last descriptor
  assert.ok(m.value('inferometer_connections_refused_total', { cause: 'descriptors' }) > 0);
  assert.ok(m.value('inferometer_accept_errors_total') > 0);
  assert.equal(m.value('inferometer_breaker_openings_total'), 0);
  await waitFor('more of the streams', () => streams.every((s, i) => s.received.length > counts[i]));

  limitDescriptors(pid, before);
  knocking.forEach((s) => s.destroy());
  await waitFor('a client to be served again', () =>
    gateway.chat({}, { headers: sim({ 'ttft-ms': 0, tokens: 1 }) }).then((a) => a.status === 200, () => false));
  for (const s of streams) assert.match(await s.until(/\r\n0\r\n\r\n$/, { timeoutMs: 10000 }), /\[DONE\]/);
  streams.forEach((s) => s.close());
  waiting.close();
  await waitQuiet(gateway);
}, { limitMs: 60000, skip: noPrlimit });

test('ulimit -n 64: it starts, serves one client and tells the others at once', async (t) => {
  const { gateway } = await setup(t, {},
    { command: '/bin/bash', prefix: ['-c', 'ulimit -n 64; exec "$0" "$@"', BIN] });
  const client = await rawClient(t, gateway.port);
  client.send(CHAT);
  await client.until(/\r\n\r\n\{.*\}\s*$/s);
  const others = await connectMany(t, gateway.port, 100);
  for (const c of others) await c.end();
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_connections_refused_total', { cause: 'limit' }), 100);
  client.received = Buffer.alloc(0);
  client.send(CHAT);
  await client.until(/\r\n\r\n\{.*\}\s*$/s);
  client.close();
  await waitQuiet(gateway);
  await assertServes(gateway);
});

// --- causes ---

test('every refusal is counted by its cause', async (t) => {
  const config = {
    limits: { max_connections: 20, max_body: '8KiB' },
    timeouts: { client_head: '300ms', client_body: '300ms' },
    upstreams: [],
  };
  const engine = await Sim.start(t);
  config.upstreams = [
    { name: 'up', url: engine.url, models: ['m'] },
    { name: 'narrow', url: engine.url, models: ['n'], max_inflight: 1, max_queue: 1 },
    { name: 'waits', url: engine.url, models: ['w'], max_inflight: 1, queue_timeout: '100ms' },
  ];
  const gateway = await Gateway.start(t, { upstream: engine, config });
  const refused = async (text, status) => {
    const client = await rawClient(t, gateway.port);
    assert.match(await client.send(text).until(/^HTTP\/1\.1 \d\d\d/), new RegExp(` ${status} `));
    client.close();
  };
  const busy = (model) => gateway.chat({ model }, { headers: sim({ 'ttft-ms': 1000, tokens: 1 }) });
  const requests = (outcome) => ['llm_requests_total', { outcome }];
  const causes = [
    ['inferometer_bad_requests_total', { cause: 'malformed' }, () => refused('no HTTP\r\n\r\n', 400)],
    ['inferometer_bad_requests_total', { cause: 'head_too_large' }, () => refused(headOf(70000), 431)],
    ['inferometer_bad_requests_total', { cause: 'too_slow' }, () => refused('GET /', 408)],
    ['inferometer_bad_requests_total', { cause: 'too_slow' },
      () => refused(`${POST}Content-Length: 9\r\n\r\n{`, 408)],
    [...requests('bad_request'), () => refused(`${POST}Content-Length: 9000\r\n\r\n{`, 413)],
    [...requests('bad_request'), async () =>
      assert.equal((await gateway.chat({ model: 'nobody-has-it' })).status, 404)],
    ['inferometer_admission_rejected_total', { upstream: 'narrow', reason: 'queue_full' }, async () => {
      const both = [busy('n'), busy('n')];
      await waitFor('one to wait', async () =>
        (await gateway.metrics()).value('inferometer_admission_waiting', { upstream: 'narrow' }) === 1);
      assert.equal((await gateway.chat({ model: 'n' })).status, 429);
      await Promise.all(both);
    }],
    ['inferometer_admission_rejected_total', { upstream: 'waits', reason: 'queue_timeout' }, async () => {
      const first = busy('w');
      await waitFor('it to be under way', async () => (await gateway.inflight()).length === 1);
      assert.equal((await gateway.chat({ model: 'w' })).status, 429);
      await first;
    }],
    ['inferometer_connections_refused_total', { cause: 'limit' }, async () => {
      const clients = await connectMany(t, gateway.port, 21);
      await waitFor('one of them to be closed', () => clients.some((c) => c.isEnded));
      clients.forEach((c) => c.close());
      await waitQuiet(gateway);
    }],
  ];
  for (const [name, labels, cause] of causes) {
    const before = (await gateway.metrics()).value(name, labels) ?? 0;
    await cause();
    await waitFor(`${name} ${JSON.stringify(labels)}`, async () =>
      (await gateway.metrics()).value(name, labels) === before + 1);
  }
}, { limitMs: 60000 });
