// SPDX-License-Identifier: Apache-2.0
// SIGHUP and POST /-/reload: a changed configuration and a renamed log, under load.
// @tsan
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { run } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { says, waitFor } from './lib/wait.mjs';

const FAST = { 'ttft-ms': 10, 'itl-ms': 2, tokens: 10 };

/** Clients that ask again and again until they are stopped; all answers they got. */
function load(gateway, n = 6) {
  let isOver = false;
  const answers = [];
  const client = async (i) => {
    while (!isOver)
      answers.push(await gateway.chat({ stream: i % 2 === 0 }, { headers: sim(FAST) }));
  };
  const clients = Array.from({ length: n }, (_, i) => client(i));
  return {
    answers,
    more: (k) => {
      const wanted = answers.length + k;
      return waitFor(`${k} more answers`, () => answers.length >= wanted);
    },
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      return answers;
    },
  };
}

function assertNoneFailed(answers) {
  for (const a of answers) {
    assert.equal(a.status, 200);
    assert.equal(a.isComplete, true);
  }
}

const bounds = (...values) => ({ metrics: { bounds: { llm_ttft_seconds: values } } });

test('changed bounds under load: the family starts anew, no request fails', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t,
    { upstream, config: { workers: 2, ...bounds('5ms', '50ms', '1s') } });
  const running = load(gateway);
  await running.more(20);
  const before = await gateway.metrics();
  assert.deepEqual(before.bounds('llm_ttft_seconds'), [0.005, 0.05, 1, Infinity]);

  assert.equal(await gateway.reload({ workers: 2, ...bounds('7ms', '70ms') }), 'taken');
  const after = await waitFor('the new bounds', async () => {
    const m = await gateway.metrics();
    return m.bounds('llm_ttft_seconds').includes(0.07) && m;
  });
  assert.deepEqual(after.bounds('llm_ttft_seconds'), [0.007, 0.07, Infinity]);
  assert.ok(after.value('llm_ttft_seconds_count') < before.value('llm_ttft_seconds_count'));
  // The other families go on.
  assert.ok(after.value('llm_e2e_seconds_count') >= before.value('llm_e2e_seconds_count'));
  await running.more(20);
  const answers = await running.stop();

  assertNoneFailed(answers);
  await gateway.recordsWhere((r) => r.outcome === 'ok', answers.length);
  const end = await gateway.metrics();
  assert.equal(end.value('llm_requests_total', { outcome: 'ok' }), answers.length);
  assert.equal(end.value('llm_ttft_seconds_bucket', { le: '+Inf' }), end.value('llm_ttft_seconds_count'));
  assert.ok(end.value('llm_ttft_seconds_count') < answers.length);
});

test('what needs a restart is refused by name, and nothing of that reload is taken', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { idle: '5s' } } });
  const running = load(gateway, 2);
  await running.more(4);
  const old = (await gateway.metrics()).bounds('llm_ttft_seconds');
  assert.ok(old.length > 3);
  const wanted = {
    ...bounds('9ms'), timeouts: { idle: '50ms', client_idle: '9s' }, limits: { max_connections: 7 },
  };
  assert.equal(await gateway.reload(wanted), 'refused');
  await running.more(4);

  await gateway.process.printed(/reload refused.*limits\.max_connections, timeouts\.client_idle/,
    { from: 'stderr' });
  assert.deepEqual((await gateway.metrics()).bounds('llm_ttft_seconds'), old);
  assertNoneFailed(await running.stop());
  // The idle time is the old one.
  const answer = await gateway.chat({ stream: true }, { headers: sim({ ...FAST, 'ttft-ms': 200 }) });
  assertOutcome(await gateway.recordOf(answer), 'ok');
});

test('a file with mistakes is refused with all of them, the program goes on', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  assert.equal(await gateway.reload({ timeouts: { idle: 'soon' }, wurkers: 3 }), 'refused');
  await gateway.process.printed(/the running configuration stays/, { from: 'stderr' });
  await says(gateway.process, /inferometer\.yaml:\d+:\d+: .*soon/);
  await says(gateway.process, /wurkers[^]*did you mean "workers"/);
  assert.equal((await gateway.chat({}, { headers: sim(FAST) })).status, 200);
});

test('reloaded times hold for new requests, running ones keep theirs', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { idle: '10s' } } });
  const running = gateway.chat({ stream: true }, { headers: sim({ ...FAST, 'ttft-ms': 700 }) });
  await waitFor('the request in flight', async () => (await gateway.inflight()).length === 1);
  assert.equal(await gateway.reload({ timeouts: { idle: '150ms' } }), 'taken');
  const cut = await gateway.chat({ stream: true },
    { headers: { 'x-request-id': 'cut', ...sim({ ...FAST, 'ttft-ms': 60000 }) } });

  assert.equal(cut.isComplete, false);
  assertOutcome(await gateway.recordNamed('cut'), 'timeout', 'idle');
  assertOutcome(await gateway.recordOf(await running), 'ok');
});

test('models named in the configuration are labels from the reload on', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const ask = async (model) =>
    gateway.recordOf(await gateway.chat({ model, stream: true }, { headers: sim({ status: 500 }) }));
  await ask('later');
  assert.equal((await gateway.metrics()).value('llm_requests_total', { model: 'other' }), 1);
  assert.equal(await gateway.reload({ models: ['later'] }), 'taken');
  await ask('later');
  assert.equal((await gateway.metrics()).value('llm_requests_total', { model: 'later' }), 1);
});

test('a renamed log is opened anew, no record is lost', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const running = load(gateway);
  const old = `${gateway.logFile}.1`;
  await running.more(10);
  renameSync(gateway.logFile, old);
  gateway.process.signal('SIGHUP');
  await waitFor('the new file', () => gateway.records().length > 0);
  await running.more(10);
  const answers = await running.stop();
  assertNoneFailed(answers);

  const ids = new Set(answers.map((a) => a.headers['x-request-id']));
  const logged = await waitFor('all records', () => {
    const all = [...gateway.records(old), ...gateway.records()].map((r) => r.request_id);
    return all.length >= ids.size && all;
  });
  assert.equal(logged.length, ids.size);
  assert.deepEqual(new Set(logged), ids);
  assert.equal((await gateway.metrics()).value('inferometer_log_reopens_total'), 1);
});

test('SIGHUP many times in a row', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { workers: 2 } });
  const running = load(gateway, 4);
  for (let i = 0; i < 20; i++) {
    gateway.process.signal('SIGHUP');
    await running.more(1);
  }
  assertNoneFailed(await running.stop());
  const m = await gateway.metrics();
  assert.ok(m.value('inferometer_config_reloads_total') >= 1);
  assert.equal(m.value('inferometer_config_reload_failures_total'), 0);
});

/** Writes the configuration and asks over the admin listener: { code, ...the answer's members }. */
async function post(gateway, config, headers = {}) {
  gateway.writeConfig(config);
  const answer = await request(gateway.adminPort, '/-/reload', { method: 'POST', headers });
  return { code: answer.status, ...JSON.parse(answer.body) };
}

test('POST /-/reload takes what may change, and says what did', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { idle: '5s' } } });
  const answer = await post(gateway, { timeouts: { idle: '150ms', total: '1m' } });
  assert.equal(answer.code, 200);
  assert.deepEqual(answer.changed, ['timeouts.idle', 'timeouts.total']);
  assert.equal(answer.file, gateway.configFile);
  await gateway.chat({ stream: true },
    { headers: { 'x-request-id': 'cut', ...sim({ ...FAST, 'ttft-ms': 60000 }) } });
  assertOutcome(await gateway.recordNamed('cut'), 'timeout', 'idle');
  assert.deepEqual((await post(gateway, { timeouts: { idle: '150ms', total: '1m' } })).changed, []);
  assert.equal((await gateway.metrics()).value('inferometer_config_reloads_total'), 2);
});

test('POST /-/reload tells everything that is in the way, and nothing changes', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { timeouts: { idle: '5s' } } });
  const mistakes = await post(gateway, { timeouts: { idle: 'soon' }, wurkers: 3 });
  assert.equal(mistakes.code, 400);
  assert.match(mistakes.error, /mistakes/);
  assert.equal(mistakes.mistakes.length, 2);
  for (const m of mistakes.mistakes) {
    assert.equal(m.where, gateway.configFile);
    assert.ok(m.line > 0 && m.column > 0 && m.message.length > 0);
  }
  assert.match(mistakes.mistakes.find((m) => /wurkers/.test(m.message)).hint, /workers/);
  await gateway.process.printed(/inferometer\.yaml:\d+:\d+: .*soon/, { from: 'stderr' });

  const restart = await post(gateway,
    { timeouts: { idle: '50ms', client_idle: '9s' }, limits: { max_connections: 7 } });
  assert.equal(restart.code, 400);
  assert.deepEqual(restart.needs_restart, ['limits.max_connections', 'timeouts.client_idle']);
  assert.deepEqual(restart.mistakes, []);
  const answer = await gateway.chat({ stream: true }, { headers: sim({ ...FAST, 'ttft-ms': 200 }) });
  assertOutcome(await gateway.recordOf(answer), 'ok');
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_config_reload_failures_total'), 2);
  assert.equal(m.value('inferometer_config_reloads_total'), 0);
});

test('many reloads at once, under load: each is answered, none with an older file', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { workers: 2 } });
  const running = load(gateway, 4);
  await running.more(4);
  let last;
  for (let round = 0; round < 5; round++) {
    const total = `${round + 1}m`;
    const answers = await Promise.all(Array.from({ length: 8 }, () =>
      post(gateway, { workers: 2, timeouts: { total } })));
    for (const a of answers) assert.equal(a.code, 200);
    assert.ok(answers.some((a) => a.changed.includes('timeouts.total')));
    last = await post(gateway, { workers: 2, timeouts: { total } });
    assert.deepEqual(last.changed, []);
  }
  assertNoneFailed(await running.stop());
});

test('pages of other sites cannot reload', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const origin = `http://127.0.0.1:${gateway.adminPort}`;
  assert.equal((await post(gateway, {}, { origin: 'http://evil.test' })).code, 403);
  assert.equal((await post(gateway, {}, { host: 'evil.test' })).code, 403);
  assert.equal((await post(gateway, {}, { origin })).code, 200);
  const get = await request(gateway.adminPort, '/-/reload');
  assert.equal(get.status, 405);
  assert.equal(get.headers.allow, 'POST');
});

test('inferometer reload: prints what changed, or what is in the way', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const cli = () => run(['reload', '--admin', `127.0.0.1:${gateway.adminPort}`]);
  gateway.writeConfig({ timeouts: { idle: '9s' } });
  const taken = await cli();
  assert.equal(taken.code, 0, taken.stderr);
  assert.match(taken.stdout, /reloaded; changed: timeouts\.idle/);
  gateway.writeConfig({ wurkers: 1 });
  const refused = await cli();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /inferometer\.yaml:\d+:\d+: .*wurkers[^]*hint: [^]*refused/);
  const nobody = await run(['reload', '--admin', '127.0.0.1:1']);
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /no answer from 127\.0\.0\.1:1: .*refused/);
  assert.equal((await run(['reload', '--amdin', 'x'])).code, 2);
  assert.equal((await run(['reload', '--help'])).code, 0);
});
