// SPDX-License-Identifier: Apache-2.0
// The request log: a disk that takes nothing more, and what must never be written anywhere.
// @tsan
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { DEAD, getText, rawClient, request } from './lib/http.mjs';
import { BIN, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { says, waitFor } from './lib/wait.mjs';

const FAST = sim({ 'ttft-ms': 0, 'itl-ms': 0, tokens: 2 });

async function askMany(gateway, n) {
  const answers = [];
  for (let i = 0; i < n; i++) answers.push(await gateway.chat({ stream: true }, { headers: FAST }));
  for (const a of answers) assert.equal(a.status, 200);
  return answers;
}

test('a full disk: reported, served on, nothing lost once there is room', async (t) => {
  const upstream = await Sim.start(t);
  // Files may grow to 16 KiB, that is about ten records.
  const gateway = await Gateway.start(t, {
    upstream, command: '/bin/bash', prefix: ['-c', 'ulimit -f 16; exec "$0" "$@"', BIN],
  });
  const answers = await askMany(gateway, 25);
  await waitFor('a report', () => /could not write request log/.test(gateway.process.stderr));
  answers.push(...await askMany(gateway, 5));
  assert.ok((await gateway.recent()).length > 0);
  const logged = (await gateway.metrics()).value('inferometer_records_logged_total');
  assert.ok(logged < 30, `${logged} logged`);

  // Rotating makes room. As often as it takes.
  const files = [];
  const ids = () => [...files, gateway.logFile].flatMap((f) =>
    (existsSync(f) ? readFileSync(f, 'utf8') : '').split('\n').filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line).request_id));
  await waitFor('all records', async () => {
    const isFull = existsSync(gateway.logFile) && readFileSync(gateway.logFile).length >= 16384;
    if (isFull) {
      const old = `${gateway.logFile}.${files.length}`;
      renameSync(gateway.logFile, old);
      files.push(old);
      gateway.process.signal('SIGHUP');
    }
    return ids().length >= 30;
  }, { timeoutMs: 10000 });

  assert.deepEqual(new Set(ids()), new Set(answers.map((a) => a.headers['x-request-id'])));
  assert.equal(ids().length, 30);
  await gateway.process.printed(/takes records again/, { from: 'stderr' });
  const reports = gateway.process.stderr.match(/could not write request log/g);
  assert.ok(reports.length <= files.length, 'one report for each time');
});

test('a device without room: every request is served, the loss is told', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, log: '/dev/full' });
  await askMany(gateway, 10);
  await waitFor('a report', () => /could not write request log/.test(gateway.process.stderr));
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_records_total'), 10);
  assert.equal(m.value('inferometer_records_logged_total'), 0);
  assert.equal(m.value('llm_requests_total', { outcome: 'ok' }), 10);

  const exit = await gateway.process.stop();
  assert.equal(exit.code, 0);
  await says(gateway.process, /10 records .*"\/dev\/full"/);
});

test('a log that cannot be opened: an error at the start that says which', async (t) => {
  const upstream = await Sim.start(t);
  const dir = join(tempDir(t), 'a-directory');
  mkdirSync(dir);
  await assert.rejects(Gateway.start(t, { upstream, log: dir, exitCode: 1 }), (e) => {
    assert.match(e.message, /could not open request log ".*a-directory"/);
    return true;
  });
});

test('no log file: everything else is there', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, log: '' });
  const [answer] = await askMany(gateway, 1);
  const r = await waitFor('the record', async () => (await gateway.recent())[0]);
  assert.equal(r.request_id, answer.headers['x-request-id']);
  assert.equal((await gateway.metrics()).value('llm_requests_total'), 1);
});

test('the log on standard output, one line each', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, log: '-' });
  const [answer] = await askMany(gateway, 1);
  const [line] = await gateway.process.printed(/^\{.*\}$/m);
  assert.equal(JSON.parse(line).request_id, answer.headers['x-request-id']);
});

test('keys, prompts and answers are written nowhere', async (t) => {
  const canaries = ['sk-canary-header', 'canary-api-key', 'canary-prompt', 'canary-system',
    'canary-tool', 'canary-query', 'canary-user', 'canary-cookie', 'canary-answer', 'canary-error'];
  const headers = {
    authorization: 'Bearer sk-canary-header', 'x-api-key': 'canary-api-key', cookie: 'c=canary-cookie',
  };
  const body = {
    user: 'canary-user', tools: [{ type: 'function', function: { name: 'canary-tool' } }],
    messages: [{ role: 'system', content: 'canary-system' }, { role: 'user', content: 'canary-prompt' }],
  };
  const upstream = await Sim.start(t);
  const config = { log: { level: 'debug' }, timeouts: { idle: '200ms', first_byte: '500ms', client_head: '300ms' } };
  const gateway = await Gateway.start(t, { upstream, config });
  const dead = await Gateway.start(t,
    { upstream: { url: `http://${DEAD}` }, config });
  const path = '/v1/chat/completions?api_key=canary-query';
  const seen = [];
  const look = async (g) => seen.push(
    await getText(g.adminPort, '/metrics'), await getText(g.adminPort, '/api/v1/inflight'),
    await getText(g.adminPort, '/api/v1/requests/recent?limit=1000'));

  const open = request(gateway.port, path, {
    json: { model: 'm', stream: true, ...body },
    headers: { ...headers, ...sim({ 'ttft-ms': 1, 'itl-ms': 20, tokens: 10 }) },
  });
  await waitFor('the request in flight', async () => (await gateway.inflight()).length === 1);
  await look(gateway);
  await open;
  for (const switches of [{}, { status: 401 }, { 'error-after': 0 }, { 'cut-after': 1 }, { 'hang-after': 1 }])
    for (const stream of [true, false])
      await request(gateway.port, path, {
        json: { model: 'm', stream, ...body }, headers: { ...headers, ...FAST, ...sim(switches) },
      }).catch((e) => e);
  await request(dead.port, path, { json: { model: 'm', ...body }, headers });

  // Requests that are refused for their form, which tempts to quote them.
  for (const bytes of [
    'GET /canary-query HTTP/9\r\n\r\n',
    'GET / HTTP/1.1\r\nAuthorization : sk-canary-header\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nCookie: canary-cookie\0\r\n\r\n',
    'Authorization: sk-canary-header',
  ]) {
    const raw = await rawClient(t, gateway.port);
    await raw.send(bytes).end();
    seen.push(raw.text);
  }
  await gateway.recordsWhere(() => true, 11);
  await dead.record();
  await look(gateway);
  await look(dead);
  for (const g of [gateway, dead])
    seen.push(readFileSync(g.logFile, 'utf8'), g.process.stderr, g.process.stdout);

  assert.ok(seen.join('').length > 10000);
  for (const canary of canaries)
    for (const text of seen) {
      const at = text.indexOf(canary);
      assert.equal(at, -1, `${canary} in ${text.slice(Math.max(0, at - 200), at + 100)}`);
    }
});
