// SPDX-License-Identifier: Apache-2.0
// As many clients as there may be, and more: what each costs, what becomes of those for whom there is
// no room, and that every refusal is counted by its cause.
// @alone
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './lib/cleanup.mjs';
import { assertServes, BODY, CHAT, connectMany, headOf, KIB, POST, setup, waitQuiet } from './lib/crowd.mjs';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { cpuSeconds, descriptors, lowestFree, residentBytes } from './lib/descriptors.mjs';
import { rawClient } from './lib/http.mjs';
import { BIN, run } from './lib/process.mjs';
import test from './lib/test.mjs';
import { SANITIZED, SLOW, timed, waitFor } from './lib/wait.mjs';

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
