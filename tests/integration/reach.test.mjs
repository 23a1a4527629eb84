// SPDX-License-Identifier: Apache-2.0
// Ways to the engine and to the gateway other than one IPv4 address: Unix sockets, IPv6, several
// listeners, forward proxies.
// @tsan
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { Authority, noOpenssl } from './lib/certs.mjs';
import { chatRequest, Gateway, Sim } from './lib/daemon.mjs';
import { startForwardProxy } from './lib/forward_proxy.mjs';
import { request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';

/** A chat over a Unix socket, or to another host. */
function chat(where) {
  const body = JSON.stringify(chatRequest({ max_tokens: 3 }));
  return new Promise((done, fail) => {
    const req = http.request({ ...where, path: '/v1/chat/completions', method: 'POST', agent: false,
      headers: { 'content-type': 'application/json', 'content-length': body.length } }, (res) => {
      res.resume().on('end', () => done(res));
    });
    req.on('error', fail);
    req.end(body);
  });
}

test('Unix sockets on both sides, beside an address', async (t) => {
  const dir = tempDir(t);
  const engine = await Sim.start(t, '--listen', `unix:${join(dir, 'engine.sock')}`);
  assert.equal(engine.url, `unix:${join(dir, 'engine.sock')}`);
  const socketPath = join(dir, 'gateway.sock');
  const gateway = await Gateway.start(t, { upstream: engine,
    config: { listen: ['127.0.0.1:0', `unix:${socketPath}`], upstreams: [engine.url] } });
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
  assert.equal((await chat({ socketPath })).statusCode, 200);
  assert.equal((await gateway.chat({ max_tokens: 3 })).status, 200);
  const records = await gateway.recordsWhere(() => true, 2);
  for (const r of records) {
    assertOutcome(r, 'ok');
    assert.equal(r.upstream, 'engine.sock');
  }
  // The address stays unwatched no more than the socket: both in turn, several times.
  for (let i = 0; i < 5; i++) {
    assert.equal((await chat({ socketPath })).statusCode, 200);
    assert.equal((await gateway.chat({ max_tokens: 3 })).status, 200);
  }
  const load = await run(['load', '--url', `${engine.url}:/v1/chat/completions`, '--concurrency',
    '4', '--requests', '20', '--max-tokens', '3', '--json']);
  assert.equal(load.code, 0, load.stderr);
  await gateway.process.stop();
  assert.ok(!existsSync(socketPath));
});

test('a socket in use is left alone', async (t) => {
  const dir = tempDir(t);
  const path = join(dir, 'engine.sock');
  await Sim.start(t, '--listen', `unix:${path}`);
  const second = await run(['sim', '--listen', `unix:${path}`]);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /could not listen on unix:.*address already in use/);
  assert.ok(existsSync(path));
});

test('IPv6 on both sides', async (t) => {
  const engine = await Sim.start(t, '--listen', '[::1]:0');
  const gateway = await Gateway.start(t, { upstream: engine, config: { listen: ['[::1]:0'] } });
  const answer = await chat({ host: '::1', port: gateway.port });
  assert.equal(answer.statusCode, 200);
  assertOutcome(await gateway.record(), 'ok');
});

const SECRET = 'p@ss word';

test('https through a tunnel that the environment names', async (t) => {
  const ca = new Authority(t);
  const own = ca.issue('engine', 'DNS:engine.test');
  const engine = await Sim.start(t, '--tls-cert', own.cert, '--tls-key', own.key);
  const proxy = await startForwardProxy(t, { to: engine.port, credentials: `user:${SECRET}` });
  const upstream = { url: 'https://engine.test' };
  const config = { upstreams: [{ name: 'up', url: upstream.url, tls: { ca: ca.ca } }] };
  const env = (password) => ({ HTTPS_PROXY:
    `http://user:${encodeURIComponent(password)}@127.0.0.1:${proxy.port}` });
  const gateway = await Gateway.start(t, { upstream, config, env: env(SECRET) });
  const answer = await gateway.chat({ stream: true });
  assert.equal(answer.status, 200);
  assert.deepEqual(proxy.asked, ['CONNECT engine.test:443']);
  const r = await gateway.recordOf(answer);
  assertOutcome(r, 'ok');
  assert.ok(r.connect_tcp_ms > 0 && r.connect_tls_ms > 0);

  const wrong = await Gateway.start(t, { upstream, config, env: env('not it') });
  const refusal = await wrong.chat({});
  assert.equal(refusal.status, 502);
  assert.match(refusal.body.toString(), /proxy.*407/);
  assertOutcome(await wrong.recordOf(refusal), 'connect_failed', 'proxy');
  for (const g of [gateway, wrong])
    for (const text of [g.process.stderr, JSON.stringify(g.records()), refusal.body.toString()])
      assert.ok(!/p@ss|p%40ss|not it|not%20it|dXNlcj/.test(text), text);

  const excepted = await Gateway.start(t,
    { upstream, config, env: { ...env(SECRET), NO_PROXY: '.test' } });
  const direct = await excepted.chat({}, { timeoutMs: 30000 });
  assert.equal(direct.status, 502); // there is no such host
  assertOutcome(await excepted.recordOf(direct), 'connect_failed', 'dns');
}, { skip: noOpenssl });

test('http through a proxy by key', async (t) => {
  const engine = await Sim.start(t);
  const proxy = await startForwardProxy(t, { to: engine.port, credentials: 'user:secret' });
  const gateway = await Gateway.start(t, { upstream: engine, config: { upstreams: [
    { name: 'up', url: 'http://engine.test:81', proxy: `http://user:secret@127.0.0.1:${proxy.port}` }] } });
  const answer = await request(gateway.port, '/v1/chat/completions', { json: chatRequest(),
    headers: { 'proxy-authorization': 'Basic b3duCg==' } });
  assert.deepEqual(proxy.asked, ['POST http://engine.test:81/v1/chat/completions']);
  assert.equal(proxy.fields[0].host, 'engine.test:81');
  assert.equal(proxy.fields[0]['proxy-authorization'], 'Basic dXNlcjpzZWNyZXQ=');
  assert.equal(answer.status, 200);
  assertOutcome(await gateway.recordOf(answer), 'ok');
});

test('an environment that cannot be used is named at start', async () => {
  const r = await run(['serve', '--upstream', 'https://engine.test', '--listen', '127.0.0.1:0',
    '--admin', '127.0.0.1:0'], { env: { HTTPS_PROXY: 'socks5://user:secret@127.0.0.1:1' } });
  assert.notEqual(r.code, 0);
  assert.match(r.stderr, /HTTPS_PROXY/);
  assert.doesNotMatch(r.stderr, /secret/);
});
