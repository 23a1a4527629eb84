// SPDX-License-Identifier: Apache-2.0
// TLS on both sides: to engines behind a real nginx and to the simulator, from real clients.
// @tsan
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import tls from 'node:tls';
import OpenAI from 'openai';
import { Authority, noOpenssl } from './lib/certs.mjs';
import { chatRequest, Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { DEAD, sseChunks } from './lib/http.mjs';
import { noNginx, startNginx } from './lib/nginx.mjs';
import { run, tempDir } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { says } from './lib/wait.mjs';

const skip = noOpenssl || noNginx;
const UNBUFFERED = ['proxy_buffering off', 'proxy_http_version 1.1', 'proxy_set_header Connection ""'];

const upstreamsOf = (upstream, keys) => [{ name: 'up', url: upstream.url, ...keys }];

test('an engine behind TLS: streams are measured as ever', async (t) => {
  const ca = new Authority(t);
  const engine = await Sim.start(t);
  const upstream = await startNginx(t, engine, UNBUFFERED, ca.issue('engine'));
  const gateway = await Gateway.start(t,
    { upstream, config: { upstreams: upstreamsOf(upstream, { tls: { ca: ca.ca } }) } });
  const ask = () => gateway.chat({ stream: true },
    { headers: sim({ 'ttft-ms': 30, 'itl-ms': 5, tokens: 40 }) });
  const [a, b] = [await ask(), await ask()];
  const [first, second] = [await gateway.recordOf(a), await gateway.recordOf(b)];

  for (const r of [first, second]) {
    assertOutcome(r, 'ok');
    assert.equal(r.n_output_events, 40);
    assert.ok(r.ttft_ms >= 30);
    assert.match(r.stamp_source, /kernel|mixed/);
  }
  assert.ok(sseChunks(a.body).some((c) => c.choices[0]?.finish_reason));
  assert.ok(first.connect_tls_ms > 0 && first.connect_tcp_ms >= 0);
  assert.ok(first.stage_connect_ms >= first.connect_tls_ms);
  assert.equal(second.connect_tls_ms, undefined); // the connection was there
}, { skip });

test('reconnecting resumes the session', async (t) => {
  const ca = new Authority(t);
  const engine = await Sim.start(t);
  const upstream = await startNginx(t, engine, ['add_header X-Resumed $ssl_session_reused'],
    { ...ca.issue('engine'), directives: ['keepalive_timeout 0'] });
  const gateway = await Gateway.start(t,
    { upstream, config: { upstreams: upstreamsOf(upstream, { tls: { ca: ca.ca } }) } });
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await gateway.chat({ max_tokens: 3 }));
  assert.deepEqual(answers.map((a) => a.headers['x-resumed']), ['.', 'r', 'r']);
}, { skip });

const refused = [
  { name: 'an unknown issuer', keys: () => ({}), why: /the issuer of its certificate is/ },
  { name: 'another name', keys: (ca) => ({ ca: ca.ca, server_name: 'other.example' }),
    why: /its certificate is for another name/ },
];
for (const c of refused)
  test(`an engine's certificate is refused: ${c.name}`, async (t) => {
    const ca = new Authority(t);
    const engine = await Sim.start(t);
    const upstream = await startNginx(t, engine, UNBUFFERED, ca.issue('engine'));
    const gateway = await Gateway.start(t,
      { upstream, config: { upstreams: upstreamsOf(upstream, { tls: c.keys(ca) }) } });
    const answer = await gateway.chat({ max_tokens: 3 });
    assert.equal(answer.status, 502);
    assert.match(answer.body.toString(), c.why);
    assertOutcome(await gateway.recordOf(answer), 'connect_failed', 'tls');
    await says(gateway.process, c.why);
  }, { skip });

test('a server without TLS, and one that is not there', async (t) => {
  const engine = await Sim.start(t);
  for (const [at, reason] of [[`127.0.0.1:${engine.port}`, 'tls'], [DEAD, 'refused']]) {
    const upstream = { url: `https://${at}` };
    const gateway = await Gateway.start(t, { upstream });
    const answer = await gateway.chat({ max_tokens: 3 });
    assert.equal(answer.status, 502);
    assertOutcome(await gateway.recordOf(answer), 'connect_failed', reason);
  }
});

test('a client certificate; verify: false is warned of', async (t) => {
  const ca = new Authority(t);
  const engine = await Sim.start(t);
  const own = ca.issue('gateway', 'DNS:gateway');
  const upstream = await startNginx(t, engine, UNBUFFERED, { ...ca.issue('engine'),
    directives: ['ssl_verify_client on', `ssl_client_certificate ${ca.ca}`] });
  const without = await Gateway.start(t,
    { upstream, config: { upstreams: upstreamsOf(upstream, { tls: { ca: ca.ca } }) } });
  assert.equal((await without.chat({ max_tokens: 3 })).status, 400);
  const withOne = await Gateway.start(t,
    { upstream, config: { upstreams: upstreamsOf(upstream, { tls: { verify: false, ...own } }) } });
  assert.equal((await withOne.chat({ max_tokens: 3 })).status, 200);
  await says(withOne.process, /certificates of servers are not checked/);
}, { skip });

test('a reload takes new issuers', async (t) => {
  const [ca, other] = [new Authority(t), new Authority(t, 'other')];
  const engine = await Sim.start(t, '--tls-cert', ca.issue('e').cert, '--tls-key', ca.issue('e').key);
  const config = (file) => ({ upstreams: upstreamsOf(engine, { tls: { ca: file } }) });
  const gateway = await Gateway.start(t, { upstream: engine, config: config(other.ca) });
  assert.equal((await gateway.chat({ max_tokens: 3 })).status, 502);
  assert.equal(await gateway.reload(config(ca.ca)), 'taken');
  assert.equal((await gateway.chat({ max_tokens: 3 })).status, 200);
  assert.equal(await gateway.reload(config('/nowhere/ca.pem')), 'refused');
  assert.equal((await gateway.chat({ max_tokens: 3 })).status, 200);
}, { skip: noOpenssl });

test('an answer whose TLS ends without a goodbye is cut', async (t) => {
  const ca = new Authority(t);
  const own = ca.issue('engine');
  const options = { cert: readFileSync(own.cert), key: readFileSync(own.key) };
  for (const isCut of [true, false]) {
    const server = tls.createServer(options, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"choices":[');
        if (!isCut) socket.end(']}');
        else setImmediate(() => socket._parent?.end() ?? socket.destroy());
      });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => server.close());
    const upstream = { url: `https://127.0.0.1:${server.address().port}` };
    const gateway = await Gateway.start(t,
      { upstream, config: { upstreams: upstreamsOf(upstream, { tls: { ca: ca.ca } }) } });
    const answer = await gateway.chat({ max_tokens: 3 });
    assert.equal(answer.isComplete, !isCut);
    assert.equal((await gateway.recordOf(answer)).outcome, isCut ? 'upstream_cut' : 'ok');
  }
}, { skip: noOpenssl });

/** A gateway whose clients speak TLS. */
async function secureGateway(t, ca, more = {}) {
  const own = ca.issue('gateway');
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { listen_tls: own, ...more } });
  gateway.own = own;
  return gateway;
}

test('clients: openai, curl', async (t) => {
  const ca = new Authority(t);
  const gateway = await secureGateway(t, ca);
  const client = new OpenAI({ apiKey: 'k', baseURL: `https://127.0.0.1:${gateway.port}/v1`,
    httpAgent: new https.Agent({ ca: ca.text }), maxRetries: 0 });
  const stream = await client.chat.completions.create({ ...chatRequest(), stream: true });
  let n = 0;
  for await (const part of stream) n += part.choices[0]?.delta?.content ? 1 : 0;
  assert.ok(n > 0);
  const r = await gateway.record();
  assertOutcome(r, 'ok');
  assert.match(r.stamp_source, /kernel|mixed/);

  const curl = await run(['-sS', '--cacert', ca.ca, '-H', 'Content-Type: application/json',
    '-d', JSON.stringify(chatRequest()), `https://127.0.0.1:${gateway.port}/v1/chat/completions`,
    '-w', '\n%{http_version} %{response_code}'], { command: 'curl' });
  assert.match(curl.stdout, /\n1\.1 200$/);
}, { skip: noOpenssl });

test('who does not speak it is turned away and counted', async (t) => {
  const ca = new Authority(t);
  const gateway = await secureGateway(t, ca);
  const plain = await run(['-sS', `http://127.0.0.1:${gateway.port}/`], { command: 'curl' });
  assert.notEqual(plain.code, 0);
  const distrust = await run(['-sS', `https://127.0.0.1:${gateway.port}/`], { command: 'curl' });
  assert.notEqual(distrust.code, 0);
  const m = await gateway.metrics();
  assert.ok(m.value('inferometer_tls_handshake_failures_total') >= 2);
}, { skip: noOpenssl });

test('a new certificate is taken on reload', async (t) => {
  const ca = new Authority(t);
  const gateway = await secureGateway(t, ca);
  const serial = () => new Promise((done, fail) => {
    const socket = tls.connect({ host: '127.0.0.1', port: gateway.port, ca: ca.text }, () => {
      done(socket.getPeerCertificate().serialNumber);
      socket.end();
    });
    socket.on('error', fail);
  });
  const before = await serial();
  const next = ca.issue('gateway', 'IP:127.0.0.1', 'next');
  copyFileSync(next.cert, gateway.own.cert);
  copyFileSync(next.key, gateway.own.key);
  assert.equal(await gateway.reload({ listen_tls: gateway.own }), 'taken');
  assert.notEqual(await serial(), before);
  copyFileSync(ca.ca, gateway.own.cert); // whose key it is not
  assert.equal(await gateway.reload({ listen_tls: gateway.own }), 'refused');
  await serial();
}, { skip: noOpenssl });

test('a large upload and a large answer', async (t) => {
  const ca = new Authority(t);
  const own = ca.issue('both');
  const engine = await startUpstream(t, async (x) => {
    await x.complete;
    const body = Buffer.alloc(5 << 20, 'y');
    x.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`).send(body);
  });
  const upstream = await startNginx(t, engine, ['client_max_body_size 64m'],
    { ...own, directives: ['client_max_body_size 64m'] });
  const gateway = await Gateway.start(t, { upstream,
    config: { listen_tls: own, upstreams: upstreamsOf(upstream, { tls: { ca: ca.ca } }) } });
  const payload = Buffer.alloc(8 << 20, 'x');
  const answer = await new Promise((done, fail) => {
    const req = https.request({ host: '127.0.0.1', port: gateway.port, path: '/v1/x', ca: ca.text,
      method: 'POST', headers: { 'content-length': payload.length }, agent: false }, (res) => {
      const parts = [];
      res.on('data', (p) => parts.push(p)).on('end', () => done(Buffer.concat(parts)));
    });
    req.on('error', fail);
    req.end(payload);
  });
  assert.equal(answer.length, 5 << 20);
  assert.ok(answer.every((c) => c === 'y'.charCodeAt(0)));
  assert.equal(engine.exchanges[0].body.length, payload.length);
}, { skip });

test('load over TLS', async (t) => {
  const ca = new Authority(t);
  const own = ca.issue('engine');
  const engine = await Sim.start(t, '--tls-cert', own.cert, '--tls-key', own.key);
  const flags = ['load', '--url', `${engine.url}/v1/chat/completions`, '--concurrency', '4',
    '--requests', '20', '--max-tokens', '3', '--json'];
  const trusted = await run([...flags, '--ca', ca.ca]);
  assert.equal(trusted.code, 0, trusted.stderr);
  assert.equal(JSON.parse(trusted.stdout).ok, 20);
  assert.equal((await run([...flags, '--insecure'])).code, 0);
  assert.equal((await run(flags)).code, 1);
  const wrong = await run(['sim', '--tls-cert', join(tempDir(t), 'none.pem')]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /could not read certificate file .*none\.pem/);
}, { skip: noOpenssl });

test('over TLS the stamps are as true as without', async (t) => {
  const ca = new Authority(t);
  const own = ca.issue('engine');
  const engine = await Sim.start(t, '--tls-cert', own.cert, '--tls-key', own.key);
  const gateway = await Gateway.start(t,
    { upstream: engine, config: { upstreams: upstreamsOf(engine, { tls: { ca: ca.ca } }) } });
  const id = newId();
  await gateway.chat({ stream: true }, { headers: { 'x-request-id': id,
    ...sim({ 'ttft-ms': 100, 'itl-ms': 10, tokens: 50 }) } });
  const r = await gateway.recordNamed(id);
  assertOutcome(r, 'ok');
  assert.ok(r.ttft_ms >= 100 && r.ttft_ms < 130, JSON.stringify(r));
  assert.match(r.stamp_source, /kernel|mixed/);
}, { skip: noOpenssl });
