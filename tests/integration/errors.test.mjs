// SPDX-License-Identifier: Apache-2.0
// What the gateway answers itself: in the form clients understand, at once, and to one client only.
// @tsan
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { fullPort } from './lib/faults.mjs';
import { DEAD, rawClient } from './lib/http.mjs';
import { BIN } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import { sdk } from './lib/sdk.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { SLOW, says, timed, waitFor } from './lib/wait.mjs';

/** An error as OpenAI's API tells it. */
function assertErrorBody(body, message) {
  const { error } = JSON.parse(body);
  assert.equal(typeof error.type, 'string');
  assert.match(error.message, message);
  assert.ok('param' in error && 'code' in error, body);
}

/** The gateway serves others, now. */
async function assertServes(gateway) {
  const { value: answer, ms } = await timed(() =>
    gateway.chat({}, { headers: sim({ 'ttft-ms': 0, tokens: 1 }) }));
  assert.equal(answer.status, 200);
  assert.ok(ms < 1000 * SLOW, `another request took ${ms} ms`);
}

test('nobody listens upstream: 502 that the client library understands', async (t) => {
  const gateway = await Gateway.start(t, { upstream: { url: `http://${DEAD}` } });
  for (const stream of [true, false]) {
    const id = newId();
    await assert.rejects(
      sdk(gateway.port).chat.completions.create(chatRequest({ stream }), { headers: { 'x-request-id': id } }),
      (e) => {
        assert.ok(e instanceof OpenAI.APIError, e);
        assert.equal(e.status, 502);
        assert.match(e.message, /could not connect to upstream "up"/);
        assert.equal(typeof e.error.type, 'string');
        return true;
      });
    const r = await gateway.recordNamed(id);
    assertOutcome(r, 'connect_failed', 'refused');
    assert.equal(r.status, 502);
    assert.equal(r.upstream_status, undefined);
  }
  await says(gateway.process, /could not connect to upstream/);
});

test('an upstream whose name does not exist', async (t) => {
  const gateway = await Gateway.start(t, { upstream: { url: 'http://no-such-host.invalid:8000' } });
  const answer = await gateway.chat();
  assert.equal(answer.status, 502);
  assertErrorBody(answer.body, /resolve the name/);
  assertOutcome(await gateway.recordOf(answer), 'connect_failed', 'dns');
});

test('a connection that is not accepted: 504 after the connect time', async (t) => {
  const port = await fullPort(t);
  const gateway = await Gateway.start(t,
    { upstream: { url: `http://127.0.0.1:${port}` }, config: { timeouts: { connect: '200ms' } } });
  const { value: answer, ms } = await timed(() => gateway.chat({ stream: true }));
  assert.equal(answer.status, 504);
  assertErrorBody(answer.body, /time|long/);
  assert.ok(ms >= 200 && ms < 2000 * SLOW, `${ms} ms`);
  const r = await gateway.recordOf(answer);
  assertOutcome(r, 'timeout', 'connect');
  assert.equal((await gateway.metrics()).value('llm_no_first_token_total', { reason: 'timeout' }), 1);
});

test('no head in time: 504, the engine is let go, others are served meanwhile', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { first_byte: '500ms' } } });
  const id = newId();
  const slow = gateway.chat({ stream: true },
    { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 60000, head: 'first' }) } });
  await waitFor('the request in flight', async () => (await gateway.inflight()).length === 1);
  await assertServes(gateway);
  const answer = await slow;

  assert.equal(answer.status, 504);
  assertErrorBody(answer.body, /did not answer in time/);
  assertOutcome(await gateway.recordNamed(id), 'timeout', 'first_byte');
  assert.equal((await upstream.truth(id)).status, 0); // its connection was closed
});

test('the total time bounds a stream that goes on well', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { total: '300ms' } } });
  const id = newId();
  const answer = await gateway.chat({ stream: true },
    { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 5, 'itl-ms': 5, tokens: 100000 }) } });
  const r = await gateway.recordNamed(id);

  assert.equal(answer.isComplete, false);
  assertOutcome(r, 'timeout', 'total');
  assert.ok(r.total_ms >= 299 && r.total_ms < 2000 * SLOW, `${r.total_ms} ms`);
});

test('an answer that is no HTTP: 502', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.send('220 mail.example ESMTP\r\n\r\n');
  });
  const gateway = await Gateway.start(t, { upstream });
  const answer = await gateway.chat();
  assert.equal(answer.status, 502);
  assertErrorBody(answer.body, /not valid HTTP/);
  assertOutcome(await gateway.recordOf(answer), 'bad_response');
});

test('a body over the limit: 413, announced or not', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { limits: { max_body: '64KiB' } } });
  const announced = await rawClient(t, gateway.port);
  announced.send('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: long\r\n'
    + 'Content-Length: 65537\r\nExpect: 100-continue\r\n\r\n');
  assert.match(await announced.until(/\}\s*$/), /^HTTP\/1\.1 413 /);
  assertErrorBody(announced.text.split('\r\n\r\n')[1], /over the limit/);
  assertOutcome(await gateway.recordNamed('long'), 'bad_request', 'body_too_large');

  const chunked = await rawClient(t, gateway.port);
  chunked.send('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: chunks\r\n'
    + 'Transfer-Encoding: chunked\r\n\r\n');
  for (let i = 0; i < 5; i++) chunked.send(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
  assert.match(await chunked.until(/\}\s*$/), /^HTTP\/1\.1 413 /);
  assertOutcome(await gateway.recordNamed('chunks'), 'bad_request', 'body_too_large');
  await assertServes(gateway);
});

const POST = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n';
const notHttp = [
  { name: 'no HTTP at all', bytes: '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n', status: 400 },
  { name: 'no version', bytes: 'GET /\r\n\r\n', status: 400 },
  { name: 'HTTP/2 preface', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400 },
  { name: 'two lengths', bytes: `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, status: 400 },
  { name: 'length and chunks', status: 400,
    bytes: `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n` },
  { name: 'negative length', bytes: `${POST}Content-Length: -2\r\n\r\n{}`, status: 400 },
  { name: 'unknown coding', status: 400,
    bytes: `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n` },
  { name: 'space before the colon', bytes: 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', status: 400 },
  { name: 'folded field', bytes: 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', status: 400 },
  { name: 'bare CR in a value', bytes: 'GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n', status: 400 },
  { name: 'NUL in a value', bytes: 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n', status: 400 },
  { name: 'no Host', bytes: 'GET / HTTP/1.1\r\n\r\n', status: 400 },
  { name: 'two Hosts', bytes: 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', status: 400 },
  { name: 'CONNECT', bytes: 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', status: 400 },
  { name: 'a target without a slash', bytes: 'GET v1/models HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'a target of a query alone', bytes: 'GET ?q HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'authority form', bytes: 'GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'another scheme', bytes: 'GET ftp://x/v1 HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'a URL without a path', bytes: 'GET http://x?q=/v1 HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'a control byte in the target', bytes: 'GET /v1\x01 HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'a byte over 127 in the target', bytes: 'GET /v1\xe4 HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
  { name: 'another expectation', bytes: `${POST}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`, status: 400 },
  { name: 'a bad chunk', bytes: `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, status: 400 },
  { name: 'a head over 64 KiB', status: 431,
    bytes: `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(70000)}\r\n\r\n` },
  { name: 'more fields than allowed', status: 431,
    bytes: `GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(500)}\r\n` },
];

test('requests that are no valid HTTP/1.1 are refused and go nowhere', async (t) => {
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.reply(200, '{}');
  });
  const gateway = await Gateway.start(t, { upstream });
  for (const { name, bytes, status } of notHttp) {
    const raw = await rawClient(t, gateway.port);
    raw.send(Buffer.from(bytes, 'latin1'));
    const text = await raw.end().catch((e) => assert.fail(`${name}: ${e.message}`));
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), name);
    assert.match(text, /\r\nConnection: close\r\n/i, name);
    assertErrorBody(text.split('\r\n\r\n')[1], /./);
  }
  assert.equal(upstream.exchanges.length, 0);
  await assertServes(gateway);
}, { limitMs: 60000 });

test('a client that is slow with its head or its body: 408, nobody waits for it', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t,
    { upstream, config: { timeouts: { client_head: '300ms', client_body: '300ms' } } });
  const slowHead = await rawClient(t, gateway.port);
  const slowBody = await rawClient(t, gateway.port);
  slowHead.send('POST /v1/chat');
  slowBody.send(`${POST}X-Request-Id: slow\r\nContent-Length: 100\r\n\r\n{"model":`);
  await assertServes(gateway);

  assert.match(await slowHead.end(), /^HTTP\/1\.1 408 /);
  assert.match(await slowBody.end(), /^HTTP\/1\.1 408 /);
  assertErrorBody(slowBody.text.split('\r\n\r\n')[1], /slowly/);
  assertOutcome(await gateway.recordNamed('slow'), 'timeout', 'request');
});

test('idle connections are closed, busy ones are not', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { client_idle: '200ms' } } });
  const busy = gateway.chat({}, { headers: sim({ 'ttft-ms': 600, tokens: 1 }) });
  const idle = await rawClient(t, gateway.port);
  const { ms } = await timed(() => idle.end());

  assert.equal(idle.text, '');
  assert.ok(ms < 3000 * SLOW);
  assert.equal((await busy).status, 200);
});

test('Expect: 100-continue is answered before the body is sent', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const body = JSON.stringify(chatRequest());
  const raw = await rawClient(t, gateway.port);
  raw.send(`${POST}Expect: 100-continue\r\nX-Sim-Ttft-Ms: 0\r\nX-Sim-Tokens: 1\r\n`
    + `Content-Length: ${body.length}\r\n\r\n`);
  await raw.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
  raw.send(body);
  assert.match(await raw.until(/\}$/), /HTTP\/1\.1 200 /);
});

test('more connections than allowed are turned away, the others stay', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { limits: { max_connections: 2 } } });
  const first = await rawClient(t, gateway.port);
  const second = await rawClient(t, gateway.port);
  const third = await rawClient(t, gateway.port);
  await third.end();

  assert.equal(third.text, '');
  assert.ok(!first.isEnded && !second.isEnded);
  assert.equal((await gateway.metrics()).value('inferometer_connections_refused_total'), 1);
  first.close();
  await waitFor('a free connection', async () =>
    (await gateway.metrics()).value('inferometer_connections_open', { side: 'client' }) === 1);
  await assertServes(gateway);
});

test('no more connections than there are descriptors for two each', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, {
    upstream, command: '/bin/bash', prefix: ['-c', 'ulimit -n 84; exec "$0" "$@"', BIN],
  });
  const atMost = (84 - 64) / 2;
  await gateway.process.printed(new RegExp(`at most ${atMost} client connections`), { from: 'stderr' });
  const clients = [];
  for (let i = 0; i < atMost + 3; i++) clients.push(await rawClient(t, gateway.port));
  for (const c of clients.slice(atMost)) await c.end();
  assert.ok(clients.slice(0, atMost).every((c) => !c.isEnded));
  assert.equal((await gateway.metrics()).value('inferometer_connections_refused_total'), 3);

  // All that were let in are served, at the same time.
  const body = JSON.stringify(chatRequest());
  for (const c of clients.slice(0, atMost))
    c.send(`${POST}X-Sim-Ttft-Ms: 100\r\nX-Sim-Tokens: 1\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  for (const c of clients.slice(0, atMost))
    assert.match(await c.until(/\r\n\r\n\{.*\}\s*$/s), /^HTTP\/1\.1 200 /);
});

test('models that the engine refuses do not become labels', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  for (let i = 0; i < 5; i++) {
    const answer = await gateway.chat({ model: `invented-${i}` }, { headers: sim({ status: 404 }) });
    assert.equal(answer.status, 404);
    assert.equal((await gateway.recordOf(answer)).model, `invented-${i}`);
  }
  const m = await gateway.metrics();
  assert.equal(m.value('llm_requests_total', { model: 'other', outcome: 'http_error' }), 5);
  assert.ok(!m.samples.some((s) => s.labels.model?.startsWith('invented')));
});

test('a request on another connection is never held up by one that fails', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const bad = [{ status: 500 }, { 'cut-after': 0, cut: 'reset' }, { 'hang-after': 1 }, { 'error-after': 1 }];
  const aborter = new AbortController();
  const failing = bad.map((s) => gateway.chat({ stream: true },
    { headers: sim({ 'ttft-ms': 1, ...s }), signal: aborter.signal }).catch((e) => e));
  for (let i = 0; i < 10; i++) await assertServes(gateway);
  aborter.abort();
  assert.equal((await Promise.all(failing)).length, bad.length);
});
