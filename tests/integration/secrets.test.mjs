// SPDX-License-Identifier: Apache-2.0
// Credentials of clients, keys of upstreams and of proxies, prompts and answers are nowhere but on
// their way: not in a log, a metric, an error, a page or a command line, whatever goes wrong.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway } from './lib/daemon.mjs';
import { DEAD, getText, rawClient, request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import { DONE, textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { waitFor } from './lib/wait.mjs';

const CANARY = 'canary-7f3a';
const JSON_TYPE = { 'Content-Type': 'application/json' };

function assertNowhere(texts) {
  assert.ok(Object.keys(texts).length > 0);
  for (const [where, text] of Object.entries(texts)) {
    const at = String(text).indexOf(CANARY);
    assert.equal(at, -1, `in ${where}: ${String(text).slice(Math.max(0, at - 200), at + 100)}`);
  }
}

/** Everything that a running gateway says somewhere. */
async function everything(gateway) {
  const { pid } = gateway.process;
  const pages = ['/', '/status', '/metrics', '/healthz', '/readyz', '/api/v1/status', '/api/v1/inflight',
    '/api/v1/requests/recent?limit=1000'];
  const texts = {
    'the command line': readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    'the request log': readFileSync(gateway.logFile, 'utf8'),
    'standard error': gateway.process.stderr,
    'standard output': gateway.process.stdout,
  };
  for (const page of pages)
    texts[page] = (await request(gateway.adminPort, page)).body.toString();
  texts['/metrics as OpenMetrics'] = await getText(gateway.adminPort, '/metrics',
    { accept: 'application/openmetrics-text; version=1.0.0' });
  return texts;
}

/** Every way in which clients show who they are. */
const credentials = [
  { authorization: `Bearer ${CANARY}` }, { authorization: `Basic ${CANARY}` }, { 'x-api-key': CANARY },
  { 'api-key': CANARY }, { 'x-goog-api-key': CANARY }, { cookie: `session=${CANARY}` },
  { 'proxy-authorization': `Basic ${CANARY}` }, { 'x-request-id': `${CANARY} with spaces` },
];
const paths = [
  ['/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: CANARY }], user: CANARY }],
  [`/v1/chat/completions?api_key=${CANARY}`, { model: 'm', messages: [] }],
  ['/v1/messages', { model: 'm', max_tokens: 5, system: CANARY, messages: [{ role: 'user', content: CANARY }] }],
  ['/v1/responses', { model: 'm', input: CANARY, instructions: CANARY }],
  [`/v1beta/models/m:generateContent?key=${CANARY}`, { contents: [{ parts: [{ text: CANARY }] }] }],
  ['/api/chat', { model: 'm', messages: [{ role: 'user', content: CANARY }] }],
  [`/unknown/${CANARY}`, { any: CANARY }],
];

/** What the engine does, in turn: answers, streams, and errors that quote what was sent. */
const engineDoes = [
  (x) => x.reply(200, JSON.stringify({ object: 'chat.completion', model: 'm', choices: [
    { index: 0, finish_reason: 'stop', message: { content: CANARY } }] }), JSON_TYPE),
  (x) => x.stream().chunk(textEvents.join('').replace('Wald', CANARY)).chunk(DONE).endChunks(),
  (x) => x.reply(401, JSON.stringify({ error: { message: `Incorrect API key provided: ${CANARY}.`,
    type: 'invalid_request_error', code: 'invalid_api_key' } }), JSON_TYPE),
  (x) => x.reply(500, `<html>${CANARY}</html>`, { 'Content-Type': `text/html; x=${CANARY}`, 'X-Debug': CANARY }),
  (x) => x.stream().chunk(`data: {"error":{"message":"${CANARY}"}}\n\n`).endChunks(),
  (x) => x.send(`HTTP/1.1 200 OK\r\nContent-Length: x${CANARY}\r\n\r\n`),
  (x) => x.send(`${CANARY}\r\n\r\n`),
  (x) => x.stream().chunk(`data: {"broken ${CANARY}`).reset(),
];

test('credentials of clients, keys of upstreams, prompts and answers', async (t) => {
  const dir = tempDir(t);
  const keyFile = join(dir, 'key');
  writeFileSync(keyFile, `${CANARY}-file\n`);
  const seen = [];
  const engine = await startUpstream(t, async (x) => {
    await x.complete;
    seen.push(x);
    engineDoes[seen.length % engineDoes.length](x);
  });
  const dead = `http://${DEAD}`;
  const config = {
    upstreams: [
      { name: 'file', url: engine.url, key_file: keyFile, models: ['m', '*'] },
      { name: 'env', url: engine.url, key_env: 'ENGINE_KEY', key_header: 'x-secret', models: ['e'] },
      { name: 'proxy', url: 'http://engine.invalid:80', models: ['p'],
        proxy: `http://user:${CANARY}@127.0.0.1:${engine.port}` },
      { name: 'dead-proxy', url: 'https://engine.invalid:443', models: ['d'],
        proxy: `${dead.replace('//', `//user:${CANARY}@`)}` },
      { name: 'refused', url: 'https://engine.invalid:443', models: ['r'],
        proxy: `http://user:${CANARY}@127.0.0.1:${engine.port}` },
    ],
    log: { level: 'debug' },
    timeouts: { first_byte: '1s', idle: '1s' },
    timeline: { every: 1 },
  };
  const gateway = await Gateway.start(t, { upstream: engine, config, env: { ENGINE_KEY: `${CANARY}-env` } });
  const own = {};
  let n = 0;
  for (const headers of credentials)
    for (const [path, json] of paths)
      for (const stream of [false, true]) {
        n++;
        await request(gateway.port, path, { headers, json: { ...json, stream } }).catch(() => {});
      }
  for (const model of ['e', 'p', 'd', 'r'])
    for (let i = 0; i < engineDoes.length; i++) {
      n++;
      const answer = await gateway.chat({ model, messages: [{ role: 'user', content: CANARY }] }).catch(() => {});
      if (answer?.status >= 502) // the engine has other statuses
        own[`the gateway's answer ${n}`] = answer.body;
    }
  assert.ok(seen.some((x) => x.field('authorization') === `Bearer ${CANARY}-file`));
  assert.ok(seen.some((x) => x.field('x-secret') === `${CANARY}-env`));
  assert.ok(seen.some((x) => x.field('proxy-authorization')?.startsWith('Basic ')));
  assert.ok(Object.keys(own).length > 0);
  await gateway.recordsWhere(() => true, n);
  assertNowhere(own);
  const texts = await everything(gateway);
  assert.ok(texts['the request log'].length > 10000);
  assertNowhere(texts);
  assert.doesNotMatch(Object.values(texts).join(), new RegExp(Buffer.from(`user:${CANARY}`).toString('base64')));
}, { limitMs: 60000 });

test('a request under way', async (t) => {
  let exchange;
  const engine = await startUpstream(t, async (x) => {
    await x.complete;
    exchange = x.stream().chunk(textEvents[0]).chunk(textEvents[1].replace('Grüße', CANARY));
  });
  const gateway = await Gateway.start(t, { upstream: engine, config: { log: { level: 'debug' } } });
  const answer = request(gateway.port, `/v1/chat/completions?key=${CANARY}`, {
    headers: { authorization: `Bearer ${CANARY}` },
    json: { model: 'm', stream: true, messages: [{ role: 'user', content: CANARY }] } });
  await waitFor('it in flight', async () => exchange && (await gateway.inflight()).length === 1);
  assertNowhere(await everything(gateway));
  exchange.chunk(DONE).endChunks();
  await answer;
});

test('requests that are refused', async (t) => {
  const engine = await startUpstream(t, async (x) => {
    await x.complete;
    x.reply(400, '{}', JSON_TYPE);
  });
  const gateway = await Gateway.start(t, { upstream: engine, config: {
    upstreams: [{ name: 'up', url: engine.url, models: ['m'] }],
    limits: { max_body: '1KiB' }, timeouts: { client_head: '200ms', client_body: '200ms' }, log: { level: 'debug' } } });
  const own = {};
  for (const text of [
    `GET /${CANARY} HTTP/9\r\n\r\n`, `${CANARY} / HTTP/1.1\r\n\r\n`, `GET / HTTP/1.1\r\n${CANARY} : x\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: ${CANARY}/\r\n\r\n`, `GET / HTTP/1.1\r\nHost: x\r\nExpect: ${CANARY}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${CANARY}\r\n Bearer\r\n\r\n`, `Authorization: ${CANARY}`,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n${CANARY}`,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${CANARY}`,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: ${CANARY}\r\nContent-Length: 2000\r\n\r\n`,
    `CONNECT ${CANARY}:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]) {
    const client = await rawClient(t, gateway.port);
    await client.send(text).until(/^HTTP.*\}\s*$/s);
    own[text] = client.text;
  }
  for (const body of [`{"model":"m","messages":${CANARY}`, `${CANARY}`, `{"model":{"a":"${CANARY}"}}`])
    own[body] = (await request(gateway.port, '/v1/chat/completions', {
      body, method: 'POST', headers: { authorization: `Bearer ${CANARY}`, ...JSON_TYPE } }).catch((e) => e)).body ?? '';
  assertNowhere(own);
  assertNowhere(await everything(gateway));
});

// --- mistakes in the configuration ---

const upstream = (more) => ({ upstreams: [{ url: 'http://127.0.0.1:9', ...more }] });
const mistakes = [
  ['a key where a variable belongs', upstream({ key_env: `sk-${CANARY}` })],
  ['a key under a name that there is not', upstream({ key: CANARY })],
  ['a key of two lines', (dir) => upstream({ key_file: fileOf(dir, `${CANARY}\n${CANARY}\n`) })],
  ['a key with a control character', (dir) => upstream({ key_file: fileOf(dir, `${CANARY}\x01${CANARY}`) })],
  ['a variable of two lines', upstream({ key_env: 'ENGINE_KEY' })],
  ['a user in the URL', upstream({ url: `http://user:${CANARY}@127.0.0.1:9` })],
  ['a query in the URL', upstream({ url: `http://127.0.0.1:9/v1?key=${CANARY}` })],
  ['a proxy of another scheme', upstream({ proxy: `socks5://user:${CANARY}@127.0.0.1:1` })],
  ['a proxy with a bad port', upstream({ proxy: `http://user:${CANARY}@127.0.0.1:99999` })],
  ['a proxy without a host', upstream({ proxy: `http://user:${CANARY}@` })],
  ['a proxy with a path', upstream({ proxy: `http://user:${CANARY}@127.0.0.1:1/a` })],
];

function fileOf(dir, text) {
  const file = join(dir, 'secret');
  writeFileSync(file, text);
  return file;
}

for (const [name, given] of mistakes)
  test(`a configuration with ${name}`, async (t) => {
    const dir = tempDir(t);
    const config = typeof given === 'function' ? given(dir) : given;
    const file = join(dir, 'inferometer.yaml');
    writeFileSync(file, JSON.stringify({ ...config, listen: ['127.0.0.1:0'], admin: { listen: '127.0.0.1:0' } }));
    const env = { ENGINE_KEY: `${CANARY}\n${CANARY}` };
    const check = await run(['config', 'check', file], { env });
    const serve = await run(['serve', '-c', file], { env });
    assert.ok(serve.code > 0 && serve.stderr.length > 0, 'it does not start, and says why');
    const said = ({ stdout, stderr }) => stdout + stderr;
    assertNowhere({ 'config check': said(check), serve: said(serve) });
  });

test('`config show` hides the password of a proxy', async (t) => {
  const file = join(tempDir(t), 'inferometer.yaml');
  writeFileSync(file, JSON.stringify(upstream({ proxy: `http://user:${CANARY}@127.0.0.1:1` })));
  const { stdout } = await run(['config', 'show', file]);
  assert.match(stdout, /proxy: "http:\/\/\*\*\*@127/);
  assertNowhere({ 'config show': stdout });
});
