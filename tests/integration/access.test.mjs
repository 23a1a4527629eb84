// SPDX-License-Identifier: Apache-2.0
// A gateway with keys: who gets in and what for, what clients' libraries make of a refusal, keys
// that change while it runs, and that no key is seen anywhere but in the client's own request.
// @tsan
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { chatRequest, Gateway, newId } from './lib/daemon.mjs';
import { getText, request } from './lib/http.mjs';
import { addKey, revokeKey } from './lib/keys.mjs';
import { anthropic, messagesRequest } from './lib/messages.mjs';
import { run, tempDir } from './lib/process.mjs';
import { sdk } from './lib/sdk.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { says, waitFor } from './lib/wait.mjs';

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** An upstream that answers everything, and a gateway whose keys are in file. */
async function setup(t, { flags = [], handler, config = {}, ...options } = {}) {
  const file = join(tempDir(t), 'keys.json');
  const first = await addKey(file, ...flags);
  const upstream = await startUpstream(t, handler ?? (async (x) => {
    await x.complete;
    x.reply(200, JSON.stringify({ id: 'x', object: 'chat.completion', type: 'message', role: 'assistant',
      model: 'm', choices: [], content: [] }), JSON_TYPE);
  }));
  const gateway = await Gateway.start(t,
    { upstream, config: { access: { keys: file }, ...config }, ...options });
  return { file, first, upstream, gateway };
}

const chat = (gateway, key, body = {}) => request(gateway.port, '/v1/chat/completions',
  { json: chatRequest(body), headers: key ? { authorization: `Bearer ${key}` } : {} });

const status = async (...args) => (await chat(...args)).status;

test('the OpenAI library: a key, none, a wrong one, a model it may not use', async (t) => {
  const { gateway, first } = await setup(t, { flags: ['--model', 'm'] });
  const ask = (apiKey, model) => sdk(gateway.port, { apiKey }).chat.completions.create(chatRequest({ model }));
  assert.equal((await ask(first.key, 'm')).model, 'm');
  for (const [key, message] of [
    ['sk-other', /no key of this gateway/],
    [`ifm-${first.id}-${'A'.repeat(43)}`, /unknown gateway key/],
  ]) {
    await assert.rejects(ask(key, 'm'), (e) => {
      assert.ok(e instanceof OpenAI.AuthenticationError, String(e));
      assert.equal(e.type, 'authentication_error');
      assert.match(e.message, message);
      assert.ok(!e.message.includes(key));
      return true;
    });
  }
  await assert.rejects(ask(first.key, 'gpt-9'), (e) => {
    assert.ok(e instanceof OpenAI.PermissionDeniedError, String(e));
    assert.match(e.message, /may not use the model "gpt-9"; it may use: m/);
    return true;
  });
  const bare = await chat(gateway);
  assert.equal(bare.status, 401);
  assert.equal(bare.headers['www-authenticate'], 'Bearer');
  assert.match(JSON.parse(bare.body).error.message, /Authorization: Bearer KEY/);
});

test('the Anthropic library: its header, and errors in its form', async (t) => {
  const { gateway, first } = await setup(t, { flags: ['--model', 'claude-*'] });
  const ask = (apiKey, model) => new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 })
    .messages.create(messagesRequest({ model }));
  assert.equal((await ask(first.key, 'claude-x')).type, 'message');
  assert.ok(anthropic(gateway.port));
  await assert.rejects(ask('wrong', 'claude-x'), (e) => {
    assert.ok(e instanceof Anthropic.AuthenticationError, String(e));
    assert.equal(e.error.error.type, 'authentication_error');
    return true;
  });
  await assert.rejects(ask(first.key, 'other'), (e) => {
    assert.ok(e instanceof Anthropic.PermissionDeniedError, String(e));
    assert.equal(e.error.error.type, 'permission_error');
    return true;
  });
});

test('Ollama and Gemini: their own ways to show a key, and to be refused', async (t) => {
  const { gateway, first, upstream } = await setup(t, { flags: ['--model', 'g'] });
  const ask = (path, json, headers) => request(gateway.port, path, { json, headers });
  const ok = await ask('/v1beta/models/g:generateContent?key=AIza-other', { contents: [] },
    { 'x-goog-api-key': first.key });
  assert.equal(ok.status, 200);
  assert.equal(upstream.exchanges[0].target, '/v1beta/models/g:generateContent');
  const gemini = await ask('/v1beta/models/h:generateContent', {}, { 'x-goog-api-key': first.key });
  assert.equal(gemini.status, 403);
  assert.equal(JSON.parse(gemini.body).error.status, 'PERMISSION_DENIED');
  const escaped = await ask('/v1beta/models/%67:generateContent', {}, { 'x-goog-api-key': first.key });
  assert.equal(escaped.status, 400);
  const ollama = await ask('/api/chat', { model: 'g', Model: 'h' }, { 'api-key': first.key });
  assert.equal(ollama.status, 400);
  assert.match(JSON.parse(ollama.body).error, /more than one way/);
  assert.equal(upstream.exchanges.length, 1);
});

test('an alias is a name of its own, and the list shows what a key may use', async (t) => {
  const { gateway, first, upstream } = await setup(t, {
    flags: ['--model', 'fast'], config: { aliases: ['fast=m', 'slow=n'] },
  });
  assert.equal(await status(gateway, first.key, { model: 'fast' }), 200);
  assert.equal(upstream.exchanges.at(-1).json.model, 'm');
  assert.equal(await status(gateway, first.key, { model: 'm' }), 403);
  assert.equal(await status(gateway, first.key, { model: 'slow' }), 403);
  const list = await request(gateway.port, '/v1/models', { headers: { 'x-api-key': first.key } });
  assert.deepEqual(JSON.parse(list.body).data.map((m) => m.id), ['fast']);
});

test('no credential of a client goes upstream, and the upstream\'s own does', async (t) => {
  const names = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];
  const { gateway, file, first, upstream } = await setup(t);
  for (const name of names) {
    const value = name === 'authorization' ? `Bearer ${first.key}` : first.key;
    const other = names.filter((n) => n !== name && n !== 'authorization');
    const answer = await request(gateway.port, '/v1/chat/completions', {
      json: chatRequest(),
      headers: { [name]: value, ...Object.fromEntries(other.map((n) => [n, 'of-the-client'])) },
    });
    assert.equal(answer.status, 200, name);
  }
  assert.equal(upstream.exchanges.length, 4);
  for (const x of upstream.exchanges) {
    for (const name of names) assert.equal(x.field(name), undefined, name);
    assert.ok(!x.head.includes(first.key) && !x.head.includes('of-the-client'));
  }
  const keyed = await Gateway.start(t, {
    upstream,
    config: {
      access: { keys: file },
      upstreams: [{ name: 'up', url: upstream.url, key_env: 'UP_KEY' }],
    },
    env: { UP_KEY: 'of-the-operator' },
  });
  assert.equal(await status(keyed, first.key), 200);
  assert.equal(upstream.exchanges[4].field('authorization'), 'Bearer of-the-operator');
  assert.ok(!upstream.exchanges[4].head.includes(first.key));
});

test('a key that is revoked, and one that is added, while it runs', async (t) => {
  const { gateway, file, first } = await setup(t);
  assert.equal(await status(gateway, first.key), 200);
  const second = await addKey(file, '--tenant', 'other');
  await waitFor('the new key', async () => (await status(gateway, second.key)) === 200, { timeoutMs: 8000 });
  assert.equal(await status(gateway, first.key), 200);
  await revokeKey(file, first.id);
  await waitFor('the end of the old key', async () => (await status(gateway, first.key)) === 401,
    { timeoutMs: 8000 });
  assert.equal(await status(gateway, second.key), 200);
  await says(gateway.process, /2 keys in force[^]*1 keys in force/);
});

test('an answer that was begun goes on when its key is revoked', async (t) => {
  let open;
  const opened = new Promise((done) => (open = done));
  const { gateway, file, first } = await setup(t, {
    handler: async (x) => {
      await x.complete;
      if (x.json.stream) open(x.stream());
      else x.reply(200, '{}', JSON_TYPE);
    },
  });
  const streaming = chat(gateway, first.key, { stream: true });
  const x = await opened;
  await revokeKey(file, first.id);
  await waitFor('the end of the key', async () => (await status(gateway, first.key)) === 401,
    { timeoutMs: 8000 });
  x.chunk('data: [DONE]\n\n').endChunks();
  const answer = await streaming;
  assert.equal(answer.status, 200);
  assert.ok(answer.isComplete);
});

test('a broken key file never opens the gateway: the keys read before stay', async (t) => {
  const { gateway, file, first } = await setup(t);
  const good = readFileSync(file);
  for (const [what, spoil] of [
    ['no JSON', () => writeFileSync(file, '{"version": 1, "keys": [')],
    ['mode 0644', () => { writeFileSync(file, good); chmodSync(file, 0o644); }],
    ['no such file', () => { chmodSync(file, 0o600); renameSync(file, `${file}.away`); }],
  ]) {
    const from = gateway.process.stderr.length;
    spoil();
    await waitFor(`the refusal: ${what}`, () =>
      /changed keys were refused, those read before stay/.test(gateway.process.stderr.slice(from)),
      { timeoutMs: 8000 });
    assert.equal(await status(gateway, first.key), 200, what);
    assert.equal(await status(gateway), 401, what);
  }
  assert.equal(await gateway.reload({ access: { keys: file } }), 'refused');
  assert.equal(await status(gateway), 401);
  renameSync(`${file}.away`, file);
  assert.equal(await gateway.reload({ access: { keys: file } }), 'taken');
  assert.equal(await status(gateway, first.key), 200);
});

test('reload: another key file, none, and back', async (t) => {
  const { gateway, file, first } = await setup(t);
  const other = join(tempDir(t), 'other.json');
  const { key } = await addKey(other);
  assert.equal(await gateway.reload({ access: { keys: other } }), 'taken');
  await waitFor('the other file', async () => (await status(gateway, key)) === 200);
  assert.equal(await status(gateway, first.key), 401);
  assert.equal(await gateway.reload({}), 'taken');
  await waitFor('an open gateway', async () => (await status(gateway)) === 200);
  assert.equal(await gateway.reload({ access: { keys: file } }), 'taken');
  await waitFor('a closed gateway', async () => (await status(gateway)) === 401);
  assert.equal(await status(gateway, first.key), 200);
});

test('start: what is refused', async (t) => {
  const dir = tempDir(t);
  const file = join(dir, 'keys.json');
  const serve = (...flags) => run(['serve', '--upstream', 'http://127.0.0.1:1', '--admin', '127.0.0.1:0',
    ...flags]);
  const exposed = await serve('--listen', '0.0.0.0:0');
  assert.equal(exposed.code, 1);
  assert.match(exposed.stderr, /no keys[^]*inferometer key add[^]*access\.keys[^]*access\.open/);
  const missing = await serve('--listen', '127.0.0.1:0', '--set', `access.keys=${file}`);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /keys\.json: no such file[^]*inferometer key add --file/);
  await addKey(file);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"tenant"', '"tenannt"'));
  const broken = await serve('--listen', '127.0.0.1:0', '--set', `access.keys=${file}`);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /keys\.json:2:\d+: a key has no "tenannt"[^]*did you mean "tenant"/);
});

test('start: on a public address with keys, and open by decision', async (t) => {
  const { gateway, first } = await setup(t, { flags: [], config: { listen: ['0.0.0.0:0'] } });
  assert.equal(await status(gateway, first.key), 200);
  assert.equal(await status(gateway), 401);
  assert.equal(await gateway.reload({ listen: ['0.0.0.0:0'] }), 'refused');
  assert.equal(await status(gateway), 401);
  assert.equal(await gateway.reload({ listen: ['0.0.0.0:0'], access: { open: true } }), 'taken');
  await waitFor('an open gateway', async () => (await status(gateway)) === 200);
});

test('limits: in flight and per minute, and when to try again', async (t) => {
  const waiting = [];
  const { gateway, file, first } = await setup(t, {
    flags: ['--max-inflight', '1'],
    handler: async (x) => {
      await x.complete;
      waiting.push(x);
    },
  });
  const slow = chat(gateway, first.key);
  await waitFor('the first request', () => waiting.length === 1);
  await assert.rejects(sdk(gateway.port, { apiKey: first.key }).chat.completions.create(chatRequest()), (e) => {
    assert.ok(e instanceof OpenAI.RateLimitError, String(e));
    assert.match(e.message, /1 requests in flight/);
    assert.equal(e.headers['retry-after'] ?? e.headers.get?.('retry-after'), '1');
    return true;
  });
  waiting[0].reply(200, '{}', JSON_TYPE);
  assert.equal((await slow).status, 200);
  const third = chat(gateway, first.key); // its place is free again
  await waitFor('the third request', () => waiting.length === 2);
  waiting[1].reply(200, '{}', JSON_TYPE);
  assert.equal((await third).status, 200);

  const paced = await addKey(file, '--max-per-minute', '2');
  const free = await addKey(file);
  const answerAll = setInterval(() => waiting.splice(2).forEach((x) => x.reply(200, '{}', JSON_TYPE)), 5);
  t.after(() => clearInterval(answerAll));
  await waitFor('the keys', async () => (await status(gateway, free.key)) === 200, { timeoutMs: 8000 });
  const got = [];
  for (let i = 0; i < 3; i++) got.push(await chat(gateway, paced.key));
  assert.deepEqual(got.map((a) => a.status), [200, 200, 429]);
  assert.ok(Number(got[2].headers['retry-after']) >= 25, got[2].headers['retry-after']);
  const record = await gateway.recordOf(got[2]);
  assert.deepEqual([record.outcome, record.key_id], ['rejected', paced.id]);
});

test('rows tell whose key it was, also of what was refused', async (t) => {
  const { gateway, first, file } = await setup(t, { flags: ['--model', 'm'] });
  const second = await addKey(file, '--tenant', 'gone', '--expires', '1s');
  const named = (id, key, body, path = '/v1/chat/completions') => request(gateway.port, path,
    { json: chatRequest(body), headers: { 'x-request-id': id, ...(key && { 'x-api-key': key }) } });
  const ids = ['ok', 'forbidden', 'unauthorized', 'bad'].map((n) => newId(n));
  await named(ids[0], first.key);
  await named(ids[1], first.key, { model: 'n' });
  await named(ids[2]);
  await named(ids[3], first.key, { models: ['n'] });
  const rows = await Promise.all(ids.map((id) => gateway.recordNamed(id)));
  assert.deepEqual(rows.map((r) => [r.outcome, r.status, r.key_id, r.tenant]), [
    ['ok', 200, first.id, 'acme'],
    ['forbidden', 403, first.id, 'acme'],
    ['unauthorized', 401, undefined, undefined],
    ['bad_request', 400, first.id, 'acme'],
  ]);
  await waitFor('the end of a key', async () =>
    /has expired/.test((await named(newId(), second.key)).body), { timeoutMs: 8000 });
  const over = newId('over');
  assert.equal((await named(over, second.key)).status, 401);
  const row = await gateway.recordNamed(over);
  assert.deepEqual([row.outcome, row.key_id, row.tenant], ['unauthorized', second.id, 'gone']);
  const m = await gateway.metrics();
  const refused = (outcome) => m.samples.filter((s) => s.name === 'llm_requests_total' &&
    s.labels.outcome === outcome).reduce((sum, s) => sum + s.value, 0);
  assert.ok(refused('unauthorized') >= 2 && refused('forbidden') === 1 && refused('bad_request') === 1);
});

test('canary: a key is in no log, row, metric, error or admin answer', async (t) => {
  const { gateway, first, upstream, file } = await setup(t, { flags: ['--model', 'm'], handler: async (x) => {
    await x.complete;
    x.reply(x.json.model === 'm' ? 200 : 500, '{}', JSON_TYPE);
  }, config: { log: { level: 'debug' } } });
  const wrong = `ifm-${first.id}-${'canary'.repeat(8).slice(0, 43)}`;
  const answers = [];
  for (const key of [first.key, wrong, `Bearer ${first.key}`, `${first.key}x`]) {
    for (const name of ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']) {
      for (const body of [{}, { model: 'other' }, { models: [] }]) {
        answers.push(await request(gateway.port, '/v1/chat/completions', {
          json: chatRequest(body), headers: { [name]: name === 'authorization' ? `Bearer ${key}` : key } }));
      }
    }
  }
  answers.push(await request(gateway.port, '/v1/nothing', { headers: { 'x-api-key': first.key } }));
  await gateway.recordsWhere(() => true, answers.length);
  const second = await addKey(file);
  await waitFor('the new key', async () => (await status(gateway, second.key)) === 200, { timeoutMs: 8000 });
  const texts = [
    gateway.process.stdout, gateway.process.stderr,
    ...readdirSync(gateway.dir).map((f) => readFileSync(join(gateway.dir, f), 'utf8')),
    ...readdirSync(join(file, '..')).map((f) => readFileSync(join(file, '..', f), 'utf8')),
    ...answers.map((a) => JSON.stringify(a.rawHeaders) + a.body),
    ...upstream.exchanges.map((x) => x.head + x.body),
    ...await Promise.all(['/', '/metrics', '/readyz', '/api/v1/inflight', '/api/v1/requests/recent?limit=1000']
      .map((path) => getText(gateway.adminPort, path))),
  ];
  for (const secret of [first.key.slice(13), wrong.slice(13), second.key.slice(13)]) {
    for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 2000));
  }
});
