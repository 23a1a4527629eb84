// SPDX-License-Identifier: Apache-2.0
// One base URL for several engines: which of them answers, under what name, with whose key, and
// what happens when it does not.
// @tsan
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { tempDir } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import { DONE, textEvents } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { says, timesSaid, waitFor } from './lib/wait.mjs';

const OK = JSON.stringify({ object: 'chat.completion', model: 'x', choices: [{ index: 0,
  finish_reason: 'stop', message: { role: 'assistant', content: 'yes' } }],
usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** An upstream that writes down what it was asked, and answers as told. */
async function scripted(t, answer = (x) => x.reply(200, OK, JSON_TYPE), models = []) {
  const asked = [];
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    if (x.target === '/v1/models' && x.field('user-agent') === undefined && models) // by the gateway itself
      return x.reply(200, JSON.stringify({ object: 'list', data: models.map((id) => ({ id })) }), JSON_TYPE);
    asked.push(x);
    await answer(x, asked.length);
  });
  return Object.assign(upstream, { asked });
}

const gatewayTo = (t, upstreams, config = {}, more = {}) =>
  Gateway.start(t, { upstream: upstreams[0], config: { upstreams, ...config }, ...more });

test('a model goes to the upstream that has it, by name, beginning and alias', async (t) => {
  const a = await scripted(t);
  const b = await scripted(t);
  const rest = await scripted(t);
  const gateway = await gatewayTo(t, [
    { name: 'a', url: a.url, models: ['llama-8b', 'big=meta/Llama-70B'] },
    { name: 'b', url: b.url, models: ['llama*'] },
    { name: 'rest', url: rest.url, models: ['*'] },
  ], { aliases: ['gpt-4o=big'] });
  const expected = [
    ['llama-8b', 'a', 'llama-8b'], ['llama-13b', 'b', 'llama-13b'], ['big', 'a', 'meta/Llama-70B'],
    ['gpt-4o', 'a', 'meta/Llama-70B'], ['other', 'rest', 'other'],
  ];
  for (const [model, upstream, served] of expected) {
    const answer = await gateway.chat({ model });
    assert.equal(answer.status, 200);
    const r = await gateway.recordOf(answer);
    assert.equal(r.upstream, upstream, model);
    assert.equal(r.model_upstream, served);
    const { asked } = { a, b, rest }[upstream];
    assert.equal(asked.at(-1).json.model, served);
    assert.deepEqual(asked.at(-1).json.messages, [{ role: 'user', content: 'say something' }]);
    assert.equal(r.model, model);
  }
  const m = await gateway.metrics(); // an alias and its model are one series
  assert.equal(m.value('llm_requests_total', { model: 'big' }), 2);
  assert.equal(m.value('llm_requests_total', { model: 'gpt-4o' }), undefined);
});

test('a stream under another name: the name is replaced, usage asked for, both nowhere else', async (t) => {
  const a = await scripted(t, (x) => x.stream().chunk(textEvents.join('') + DONE).endChunks());
  const gateway = await gatewayTo(t, [{ name: 'a', url: a.url, models: ['m="quoted" model'] }]);
  const body = '{"stream":true,  "model" : "m", "messages":[{"role":"user","content":"model m"}]}';
  const answer = await request(gateway.port, '/v1/chat/completions',
    { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  assert.equal(answer.status, 200);
  assert.equal(a.asked[0].body.toString(),
    '{"stream_options":{"include_usage":true},"stream":true,  "model" : "\\"quoted\\" model", '
    + '"messages":[{"role":"user","content":"model m"}]}');
});

test('a name in the path of Google\'s API is replaced there', async (t) => {
  const a = await scripted(t, (x) => x.reply(200, '{}', JSON_TYPE));
  const gateway = await gatewayTo(t, [{ name: 'a', url: a.url, models: ['flash=gemini 2'] }]);
  await request(gateway.port, '/v1beta/models/flash:generateContent?alt=json', { json: { contents: [] } });
  assert.equal(a.asked[0].target, '/v1beta/models/gemini%202:generateContent?alt=json');
});

test('a model that nobody serves is a 404 in the form of the API', async (t) => {
  const a = await scripted(t);
  const gateway = await gatewayTo(t, [{ name: 'a', url: a.url, models: ['llama'] }]);
  const answer = await gateway.chat({ model: 'gpt-9' });
  assert.equal(answer.status, 404);
  assert.match(JSON.parse(answer.body).error.message, /no upstream serves the model "gpt-9"/);
  assertOutcome(await gateway.recordOf(answer), 'bad_request', 'no_route');
  assert.equal(a.asked.length, 0);
});

test('base URLs with /v1, without, doubled, and with another version', async (t) => {
  const a = await scripted(t);
  const b = await scripted(t);
  const gateway = await gatewayTo(t, [
    { name: 'a', url: `${a.url}/base/v1`, models: ['a'] },
    { name: 'b', url: `${b.url}/api/paas/v4/`, models: ['b'] }]);
  for (const path of ['/v1/chat/completions', '/chat/completions', '/v1/v1/chat/completions']) {
    for (const model of ['a', 'b'])
      assert.equal((await request(gateway.port, path, { json: { model, messages: [] } })).status, 200);
  }
  assert.deepEqual(a.asked.map((x) => x.target), Array(3).fill('/base/v1/chat/completions'));
  assert.deepEqual(b.asked.map((x) => x.target), Array(3).fill('/api/paas/v4/chat/completions'));
  assert.equal((await gateway.metrics()).value('inferometer_paths_repaired_total'), 4);
  assert.equal(await timesSaid(gateway.process, /requests for \/v1\/v1/), 1); // said once
});

test('each upstream gets its own key in its own form, and never the client\'s or another\'s', async (t) => {
  const dir = tempDir(t);
  const keyFile = join(dir, 'a.key');
  writeFileSync(keyFile, 'sk-for-a\n', { mode: 0o600 });
  const a = await scripted(t);
  const b = await scripted(t);
  const plain = await scripted(t);
  const gateway = await gatewayTo(t, [
    { name: 'a', url: a.url, models: ['a'], key_file: keyFile },
    { name: 'b', url: b.url, models: ['b'], key_env: 'KEY_FOR_B', key_header: 'api-key' },
    { name: 'plain', url: plain.url, models: ['plain'] },
  ], {}, { env: { KEY_FOR_B: 'sk-for-b' } });
  const headers = { authorization: 'Bearer sk-client', 'x-api-key': 'sk-client' };
  for (const model of ['a', 'b', 'plain']) await gateway.chat({ model }, { headers });
  await request(gateway.port, '/v1/messages', { json: { model: 'a', max_tokens: 1, messages: [] }, headers });
  await request(gateway.port, '/v1beta/models/a:generateContent?key=sk-client&alt=json', { json: {}, headers });

  const [chat, messages, google] = a.asked;
  assert.equal(chat.field('authorization'), 'Bearer sk-for-a');
  assert.equal(messages.field('x-api-key'), 'sk-for-a');
  assert.equal(google.field('x-goog-api-key'), 'sk-for-a');
  assert.equal(google.target, '/v1beta/models/a:generateContent?alt=json');
  assert.equal(b.asked[0].field('api-key'), 'sk-for-b');
  for (const x of [...a.asked, ...b.asked]) assert.ok(!x.head.includes('sk-client'), x.head);
  assert.ok(!b.asked[0].head.includes('sk-for-a'));
  assert.equal(plain.asked[0].field('authorization'), 'Bearer sk-client'); // passed on as it is
  assert.ok(!plain.asked[0].head.includes('sk-for'));
  const shown = gateway.process.stderr + JSON.stringify(gateway.records());
  assert.ok(!shown.includes('sk-'), shown);
});

test('an upstream key that cannot be read: told by name and place, never by value', async (t) => {
  const a = await scripted(t);
  await assert.rejects(gatewayTo(t, [{ name: 'a', url: a.url, key_file: '/nowhere/key' }], {}, { exitCode: 1 }),
    /upstream "a": could not read its key file "\/nowhere\/key": .*\n.*key_file/);
  await assert.rejects(gatewayTo(t, [{ name: 'a', url: a.url, key_env: 'NOT_SET_ANYWHERE' }], {}, { exitCode: 1 }),
    /there is no environment variable NOT_SET_ANYWHERE/);
  const keyFile = join(tempDir(t), 'key');
  writeFileSync(keyFile, 'sk-two words\n', { mode: 0o600 });
  await assert.rejects(gatewayTo(t, [{ name: 'a', url: a.url, key_file: keyFile }], {}, { exitCode: 1 }),
    (e) => /is no API key/.test(e.message) && !e.message.includes('sk-two'));
});

test('weights share the requests; a reload changes them', async (t) => {
  const a = await scripted(t);
  const b = await scripted(t);
  const upstreams = (weight) => [{ name: 'a', url: a.url, weight }, { name: 'b', url: b.url }];
  const gateway = await gatewayTo(t, upstreams(9));
  for (let i = 0; i < 100; i++) await gateway.chat();
  assert.ok(a.asked.length >= 75 && b.asked.length >= 1, `${a.asked.length} and ${b.asked.length}`);
  assert.equal(await gateway.reload({ upstreams: [{ name: 'a', url: a.url, models: ['x'] },
    { name: 'b', url: b.url, models: ['m'] }] }), 'taken');
  const before = b.asked.length;
  for (let i = 0; i < 10; i++) await gateway.chat();
  assert.equal(b.asked.length, before + 10);
  assert.equal(await gateway.reload({ upstreams: [{ name: 'a', url: b.url }, { name: 'b', url: b.url }] }),
    'refused');
});

/** What the first upstream does, and what becomes of it: [name, answer, status of the client]. */
const FAILURES = [
  ['503', (x) => x.reply(503, '{"error":{"message":"loading"}}', JSON_TYPE), true],
  ['502', (x) => x.reply(502, 'bad', { 'Content-Type': 'text/plain' }), true],
  ['429', (x) => x.reply(429, '{"error":{"message":"slow down"}}', { 'Retry-After': '60' }), true],
  ['reset before the head', (x) => x.reset(), true],
  ['an empty answer', (x) => x.end(), true],
  ['no HTTP', (x) => x.send('garbage\r\n\r\n'), true],
  ['500', (x) => x.reply(500, '{"error":{"message":"bug"}}', JSON_TYPE), false],
  ['400', (x) => x.reply(400, '{"error":{"message":"no"}}', JSON_TYPE), false],
];

for (const [name, answer, isRetried] of FAILURES) {
  test(`${name} at the first choice ${isRetried ? 'goes to the second' : 'is the answer'}`, async (t) => {
    const first = await scripted(t, answer);
    const second = await scripted(t);
    const gateway = await gatewayTo(t,
      [{ name: 'first', url: first.url }, { name: 'second', url: second.url, priority: 1 }]);
    const got = await gateway.chat();
    const r = await gateway.recordOf(got);
    assert.equal(first.asked.length, 1);
    if (!isRetried) {
      assert.equal(got.status, Number(name));
      assert.equal(second.asked.length, 0);
      assert.equal(r.upstream, 'first');
      return;
    }
    assert.equal(got.status, 200);
    assert.equal(second.asked.length, 1);
    assert.deepEqual(second.asked[0].json, first.asked[0].json);
    assertOutcome(r, 'ok');
    assert.equal(r.upstream, 'second');
    assert.equal(r.n_attempts, 2);
    assert.ok(r.flags.includes('is_retry'));
    assert.ok(r.stage_retry_ms > 0);
    const m = await gateway.metrics();
    assert.equal(m.value('llm_attempts_total', { upstream: 'first' }), 1);
    assert.equal(m.value('llm_attempts_total', { upstream: 'second' }), 1);
    assert.equal(m.value('llm_requests_total'), 1);
    assert.equal(m.value('inferometer_retries_total'), 1);
    assert.equal(m.value('llm_inflight_requests', { upstream: 'first' }), 0);
    assert.equal(m.value('llm_inflight_requests', { upstream: 'second' }), 0);
  });
}

test('nobody there at the first choice: the second answers; nobody anywhere: 502', async (t) => {
  const second = await scripted(t);
  const gateway = await gatewayTo(t,
    [{ name: 'first', url: 'http://127.0.0.1:1', models: ['m', 'dead'] },
      { name: 'second', url: second.url, priority: 1, models: ['m'] }]);
  assert.equal((await gateway.chat()).status, 200);
  const none = await gateway.chat({ model: 'dead' });
  assert.equal(none.status, 502);
  assertOutcome(await gateway.recordOf(none), 'connect_failed', 'refused');
});

test('a stream that has begun is never tried again', async (t) => {
  const first = await scripted(t, (x) => {
    x.stream().chunk(textEvents[0]).chunk(textEvents[1]);
    setTimeout(() => x.reset(), 50);
  });
  const second = await scripted(t);
  const gateway = await gatewayTo(t,
    [{ name: 'first', url: first.url }, { name: 'second', url: second.url, priority: 1 }]);
  const got = await gateway.chat({ stream: true });
  assert.equal(got.isComplete, false);
  assert.equal(second.asked.length, 0);
});

test('what may do harm twice is sent once', async (t) => {
  const first = await scripted(t, (x) => x.reset());
  const second = await scripted(t);
  const gateway = await gatewayTo(t,
    [{ name: 'first', url: first.url }, { name: 'second', url: second.url, priority: 1 }]);
  const got = await request(gateway.port, '/v1/batches', { json: { input_file_id: 'f' } });
  assert.equal(got.status, 502);
  assert.equal(second.asked.length, 0);
});

test('the last answer is the client\'s, and attempts are limited', async (t) => {
  const busy = (n) => scripted(t, (x) => x.reply(503, `{"error":{"message":"busy ${n}"}}`, JSON_TYPE));
  const all = [await busy(0), await busy(1), await busy(2), await busy(3)];
  const upstreams = all.map((u, i) => ({ name: `u${i}`, url: u.url, priority: i }));
  const gateway = await gatewayTo(t, upstreams);
  const got = await gateway.chat();
  assert.equal(got.status, 503);
  assert.equal(JSON.parse(got.body).error.message, 'busy 2');
  assert.deepEqual(all.map((u) => u.asked.length), [1, 1, 1, 0]);
  assertOutcome(await gateway.recordOf(got), 'http_error', 'error');
});

test('an outage is not answered with more load than the budget allows', async (t) => {
  const busy = () => scripted(t, (x) => x.reply(429, '{}', JSON_TYPE)); // busy is no failure
  const [first, second] = [await busy(), await busy()];
  const gateway = await gatewayTo(t,
    [{ name: 'first', url: first.url }, { name: 'second', url: second.url, priority: 1 }]);
  for (let i = 0; i < 100; i++) await gateway.chat();
  const asked = first.asked.length + second.asked.length;
  assert.ok(asked >= 120 && asked <= 131, `${asked}`); // 20 % and the first ten
  assert.ok((await gateway.metrics()).value('inferometer_retries_over_budget_total') >= 60);
});

test('the same upstream is asked again when told so, not before its Retry-After', async (t) => {
  const times = [];
  const only = await scripted(t, (x, n) => {
    times.push(performance.now());
    return n === 1 ? x.reply(503, '{}', { 'Retry-After': '1' }) : x.reply(200, OK, JSON_TYPE);
  });
  const gateway = await gatewayTo(t, [{ name: 'only', url: only.url }], { retry: { same_upstream: true } });
  const got = await gateway.chat();
  assert.equal(got.status, 200);
  assert.ok(times[1] - times[0] >= 1000, `${times[1] - times[0]} ms`);
  const r = await gateway.recordOf(got);
  assert.equal(r.n_attempts, 2);
  assert.ok(r.stage_retry_ms >= 1000);
});

test('a Retry-After that is too long is the client\'s to wait', async (t) => {
  const only = await scripted(t, (x) => x.reply(429, '{}', { 'Retry-After': '30' }));
  const gateway = await gatewayTo(t, [{ name: 'only', url: only.url }], { retry: { same_upstream: true } });
  const got = await gateway.chat();
  assert.equal(got.status, 429);
  assert.equal(got.headers['retry-after'], '30');
  assert.equal(only.asked.length, 1);
});

test('a large body with a model in its first window: routed, renamed, sent once', async (t) => {
  const first = await scripted(t, (x) => x.reply(503, '{}', JSON_TYPE));
  const second = await scripted(t);
  const gateway = await gatewayTo(t,
    [{ name: 'first', url: first.url, models: ['m=served-as'] },
      { name: 'second', url: second.url, models: ['m'], priority: 1 }],
    { limits: { request_window: '4KiB' } });
  const json = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(300000) }] };
  const got = await request(gateway.port, '/v1/chat/completions', { json });
  assert.equal(got.status, 503);
  assert.deepEqual(first.asked[0].json, { ...json, model: 'served-as' });
  assert.equal(second.asked.length, 0);
});

test('real engines behind one address: streams from both, told apart in the metrics', async (t) => {
  const [a, b] = [await Sim.start(t), await Sim.start(t)];
  const gateway = await gatewayTo(t,
    [{ name: 'a', url: a.url, models: ['a'] }, { name: 'b', url: b.url, models: ['b'] }]);
  const fast = sim({ 'ttft-ms': 5, 'itl-ms': 1, tokens: 6 });
  for (const model of ['a', 'b', 'b']) await gateway.chat({ model, stream: true }, { headers: fast });
  await gateway.recordsWhere((r) => r.outcome === 'ok', 3);
  const m = await gateway.metrics();
  assert.equal(m.value('llm_ttft_seconds_count', { upstream: 'a', model: 'a' }), 1);
  assert.equal(m.value('llm_ttft_seconds_count', { upstream: 'b', model: 'b' }), 2);
});

test('the models of all upstreams in one list; a single plain upstream answers for itself', async (t) => {
  const a = await scripted(t, (x) => x.reply(200, '{"object":"list","data":["its own"]}', JSON_TYPE), null);
  const many = await gatewayTo(t, [{ name: 'a', url: a.url, models: ['m1', 'm2=x', 'p*'] },
    { name: 'b', url: a.url, models: ['m1', 'm3'] }], { aliases: ['nick=m1'] });
  const list = await request(many.port, '/v1/models');
  assert.equal(list.status, 200);
  assert.deepEqual(JSON.parse(list.body).data.map((m) => m.id), ['m1', 'm2', 'm3', 'nick']);
  const r = await many.recordOf(list);
  assertOutcome(r, 'ok');
  assert.equal(r.endpoint, 'models');
  assert.equal(r.n_attempts, 0);
  assert.equal((await request(many.port, '/models/')).status, 200); // a base URL without /v1
  assert.equal(JSON.parse((await request(many.port, '/v1/models/nick')).body).id, 'nick');
  const none = await request(many.port, '/v1/models/m9');
  assert.equal(none.status, 404);
  assert.match(JSON.parse(none.body).error.message, /no model "m9"/);
  assert.equal((await request(many.port, '/v1/models', { method: 'HEAD' })).body.length, 0);
  assert.equal(a.asked.length, 0);

  const one = await gatewayTo(t, [{ name: 'a', url: a.url }]);
  assert.equal((await request(one.port, '/v1/models')).body.toString(), '{"object":"list","data":["its own"]}');
});

test('an upstream that fails again and again is asked last, probed, and comes back', async (t) => {
  let isBroken = true;
  const first = await scripted(t, (x) =>
    isBroken ? x.reply(500, '{"error":{"message":"dead"}}', JSON_TYPE) : x.reply(200, OK, JSON_TYPE));
  const second = await scripted(t);
  const gateway = await gatewayTo(t,
    [{ name: 'first', url: first.url }, { name: 'second', url: second.url, priority: 1 }], { workers: 2 });
  const open = async () => (await gateway.metrics()).value('inferometer_breaker_open', { upstream: 'first' });
  for (let i = 0; i < 20; i++) await gateway.chat();
  assert.equal(first.asked.length, 5); // in a row, then the breaker opened
  assert.equal(second.asked.length, 15);
  await waitFor('the breaker in the metrics', async () => (await open()) === 1);
  await says(gateway.process, /upstream "first" fails/);

  isBroken = false;
  await waitFor('a probe that closes it', async () => {
    await gateway.chat();
    return first.asked.length > 6;
  }, { timeoutMs: 15000 });
  await waitFor('the breaker closed', async () => (await open()) === 0);
  await says(gateway.process, /upstream "first" answers again/);
});

test('where every upstream fails one is asked all the same', async (t) => {
  const only = await scripted(t, (x) => x.reply(500, '{"error":{"message":"dead"}}', JSON_TYPE));
  const gateway = await gatewayTo(t, [{ name: 'only', url: only.url }]);
  for (let i = 0; i < 30; i++) assert.equal((await gateway.chat()).status, 500);
  assert.equal(only.asked.length, 30);
});

for (const wait of ['60', '9223372036', '18446744073709551616', 'Wed, 21 Oct 2099 07:28:00 GMT']) {
  test(`an upstream that asks to be left alone is, while there is another: Retry-After: ${wait}`, async (t) => {
    const first = await scripted(t, (x) => x.reply(429, '{}', { 'Retry-After': wait }));
    const second = await scripted(t);
    const gateway = await gatewayTo(t,
      [{ name: 'first', url: first.url }, { name: 'second', url: second.url, priority: 1 }]);
    for (let i = 0; i < 10; i++) assert.equal((await gateway.chat()).status, 200);
    assert.equal(first.asked.length, 1);
  });
}

test('two addresses are enough: models are listed by the upstreams, again and again', async (t) => {
  const listed = [['m1', 'both'], ['m2', 'both', { id: 'odd' }]];
  const upstreams = await Promise.all(listed.map((models) => scripted(t, undefined, models)));
  const gateway = await gatewayTo(t,
    upstreams.map((u, i) => ({ name: `u${i}`, url: u.url })), { models_refresh: '200ms' });
  const names = async () =>
    JSON.parse((await request(gateway.port, '/v1/models')).body).data.map((m) => m.id);
  await waitFor('both lists', async () => (await names()).length === 3);
  assert.deepEqual(await names(), ['both', 'm1', 'm2']);
  for (let i = 0; i < 5; i++) {
    for (const model of ['m1', 'm2']) {
      const r = await gateway.recordOf(await gateway.chat({ model }));
      assert.equal(r.upstream, model === 'm1' ? 'u0' : 'u1');
    }
  }
  listed[0].push('new');
  await waitFor('a new model', async () => (await names()).includes('new'));
  assert.equal(await gateway.reload({ models_refresh: '200ms', aliases: ['nick=m2'],
    upstreams: upstreams.map((u, i) => ({ name: `u${i}`, url: u.url })) }), 'taken');
  assert.deepEqual(await names(), ['both', 'm1', 'm2', 'new', 'nick']); // a reload forgets no list
});

test('an upstream that lists nothing is said to once, and takes what nobody else has', async (t) => {
  const silent = await scripted(t, (x) => x.reply(404, '{}', JSON_TYPE), null);
  const other = await scripted(t, undefined, ['m1']);
  const gateway = await gatewayTo(t, [{ name: 'silent', url: silent.url }, { name: 'other', url: other.url }],
    { models_refresh: '100ms' });
  await waitFor('some rounds', () => silent.asked.length > 4);
  assert.equal(await timesSaid(gateway.process, /upstream "silent" does not list its models/), 1);
  await says(gateway.process, /answers with status 404/);
  const r = await gateway.recordOf(await gateway.chat({ model: 'm1' }));
  assert.equal(r.upstream, 'other');
});
