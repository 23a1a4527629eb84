// SPDX-License-Identifier: Apache-2.0
// Requests that are kept: asked for over the admin listener and from a terminal; still there after
// kill -9, restarts, a full disk, and beside what is damaged.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, openSync, closeSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { getJson, request } from './lib/http.mjs';
import { BIN, Process, run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { SANITIZED, says, waitFor } from './lib/wait.mjs';

const SHORT = { 'ttft-ms': 1, 'itl-ms': 0, tokens: 3 };
const idOf = (answer) => answer.headers['x-request-id'];
const ids = (rows) => rows.map((r) => r.request_id);

/** query: as it stands in a URL. */
async function ask(gateway, query = '') {
  const answer = await request(gateway.adminPort, `/api/v1/requests?${query}`);
  assert.match(answer.headers['content-type'], /^application\/json/);
  return { code: answer.status, ...JSON.parse(answer.body) };
}

/** All rows, page by page. onPage is called between two pages. */
async function askAll(gateway, query, onPage = () => {}) {
  const rows = [];
  let after = '';
  for (;;) {
    const page = await ask(gateway, `${query}${after}`);
    assert.equal(page.code, 200, page.error);
    rows.push(...page.requests);
    if (!page.next) return rows;
    assert.ok(page.requests.length > 0);
    after = `&after=${page.next}`;
    await onPage();
  }
}

const isOnce = (list) => assert.equal(new Set(list).size, list.length, 'a row came twice');

const history = async (gateway) => (await getJson(gateway.adminPort, '/api/v1/status')).history;

/** Until rows of all these answers are there. */
async function waitForRows(gateway, answers) {
  const wanted = answers.map(idOf);
  return waitFor(`${wanted.length} rows`, async () => {
    const found = await askAll(gateway, 'limit=1000');
    isOnce(ids(found));
    const there = new Set(ids(found));
    return wanted.every((id) => there.has(id)) && found;
  }, { timeoutMs: 10000 });
}

async function setup(t, config = {}) {
  const upstream = await Sim.start(t);
  const dir = join(tempDir(t), 'data');
  return { upstream, dir, gateway: await Gateway.start(t, { upstream, config: { data_dir: dir, ...config } }) };
}

/** Requests that differ: one after the other. */
async function variety(gateway) {
  const answers = [];
  for (let i = 0; i < 12; i++)
    answers.push(await gateway.chat({ model: `m${i % 3}`, stream: i % 4 !== 3 },
      { headers: { 'x-request-id': newId(), ...sim({ ...SHORT, 'ttft-ms': 5 + 10 * i }) } }));
  answers.push(await gateway.chat({ model: 'm0' }, { headers: sim({ status: 503 }) }));
  return { answers, rows: await waitForRows(gateway, answers) };
}

const by = (rows, field, sign) => rows.filter((r) => r[field] !== null && r[field] !== undefined)
  .toSorted((a, b) => sign * (a[field] - b[field]));

test('rows are those of the request log, by any condition and in any order', async (t) => {
  const { gateway } = await setup(t);
  const { answers, rows } = await variety(gateway);
  assert.deepEqual(ids(rows), answers.map(idOf).reverse()); // the newest first
  const logged = new Map(gateway.records().map((r) => [r.request_id, r]));
  for (const row of rows) assert.deepEqual(row, logged.get(row.request_id));
  const middle = rows[6];
  const ended = (r) => Date.parse(r.started_at) + r.total_ms;
  const CASES = [
    ['model=m1', (r) => r.model === 'm1'],
    ['model!=m1', (r) => r.model !== 'm1'],
    ['model=m1&is_stream=false', (r) => r.model === 'm1' && !r.is_stream],
    [`ttft_ms>=${middle.ttft_ms}`, (r) => r.ttft_ms !== null && r.ttft_ms >= middle.ttft_ms],
    [`ttft>${middle.ttft_ms}`, (r) => r.ttft_ms !== null && r.ttft_ms > middle.ttft_ms],
    [`ttft%3C${middle.ttft_ms}`, (r) => r.ttft_ms !== null && r.ttft_ms < middle.ttft_ms],
    [`ttft=${middle.ttft_ms}`, (r) => r.ttft_ms === middle.ttft_ms],
    ['ttft>=0.05s', (r) => r.ttft_ms >= 50],
    ['ttft=', (r) => r.ttft_ms === null],
    ['ttft!=', (r) => r.ttft_ms !== null],
    ['outcome!=ok', (r) => r.outcome !== 'ok'],
    ['outcome=http_error&status=503', (r) => r.status === 503],
    ['completion_tokens>0&status<500', (r) => r.completion_tokens > 0],
    [`client_request_id=${rows[3].client_request_id}`, (r) => r === rows[3]],
    [`started_at>=${middle.started_at}`, (r) => r.started_at >= middle.started_at],
    [`from=${(ended(middle) / 1000 - 0.0005).toFixed(6)}`, (r) => ended(r) >= ended(middle) - 0.5],
    ['from=-1h&to=now', () => true],
    ['to=-1h', () => false],
    ['flags=slow&flags=stalled', () => false],
  ];
  for (const [query, isWanted] of CASES)
    assert.deepEqual(ids((await ask(gateway, query)).requests), ids(rows.filter(isWanted)), query);
  for (const field of ['ttft_ms', 'total_ms']) {
    assert.deepEqual(ids(await askAll(gateway, `order=-${field}&limit=4`)), ids(by(rows, field, -1)));
    assert.deepEqual(ids(await askAll(gateway, `order=${field}&limit=4`)), ids(by(rows, field, 1)));
  }
  assert.deepEqual(ids((await ask(gateway, 'order=time')).requests), answers.map(idOf));
  const posted = await request(gateway.adminPort, '/api/v1/requests', {
    body: 'limit=1&order=-ttft', headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.deepEqual(ids(JSON.parse(posted.body).requests), ids(by(rows, 'ttft_ms', -1).slice(0, 1)));
});

test('mistakes say what would be right', async (t) => {
  const { gateway } = await setup(t);
  for (const [query, text] of [
    ['ttf_ms>5', /"ttf_ms": a request has no such field; did you mean "ttft_ms"\?/],
    ['outcome=stall', /"outcome": "stall" is not one of its values; did you mean "stalled"\?/],
    ['from=yesterday', /"from": "yesterday" is not a time: 20/],
    ['limit=all', /from 1 to 1000/],
  ]) {
    const { code, errorType, error } = await ask(gateway, query);
    assert.deepEqual([code, errorType], [400, 'bad_data'], query);
    assert.match(error, text);
  }
  const without = await Gateway.start(t, { upstream: await Sim.start(t) });
  const { code, error } = await ask(without);
  assert.equal(code, 503);
  assert.match(error, /no requests are kept; data_dir/);
});

test('pages lose nothing and repeat nothing while requests come in', async (t) => {
  const { gateway } = await setup(t, { workers: 2 });
  const chat = () => gateway.chat({ stream: true }, { headers: sim(SHORT) });
  const first = [];
  for (let i = 0; i < 10; i++) first.push(...await Promise.all(Array.from({ length: 6 }, chat)));
  await waitForRows(gateway, first);
  const wanted = first.map(idOf);
  for (const order of ['-time', 'time', '-ttft', 'ttft']) {
    const later = [];
    const found = ids(await askAll(gateway, `limit=7&order=${order}`, async () => {
      later.push(...await Promise.all([chat(), chat()]));
      if (order === 'time' && later.length > 20) await waitForRows(gateway, later);
    }));
    isOnce(found);
    for (const id of wanted) assert.ok(found.includes(id), `${id} is not there, by ${order}`);
  }
}, { limitMs: 60000 });

test('one request by its id, also from a terminal', async (t) => {
  const { gateway } = await setup(t);
  const { answers, rows } = await variety(gateway);
  const row = rows[2];
  const find = async (id) => {
    const answer = await request(gateway.adminPort, `/api/v1/requests/${id}`);
    return { code: answer.status, row: JSON.parse(answer.body) };
  };
  assert.deepEqual(await find(row.request_id), { code: 200, row });
  assert.deepEqual(await find(row.client_request_id), { code: 200, row });
  assert.equal((await find('nobody')).code, 404);
  assert.equal((await getJson(gateway.adminPort, '/api/v1/requests/recent')).requests.length, answers.length);

  const requests = (...args) => run(['requests', ...args, '--url', `http://127.0.0.1:${gateway.adminPort}`]);
  const table = (await requests()).stdout.trim().split('\n');
  assert.match(table[0], /^started_at +request_id +model .* completion_tokens$/);
  assert.deepEqual(table.slice(1).map((l) => l.split(/ +/)[1]), ids(rows));
  const slowest = await requests('model=m1', '--order', '-ttft', '--last', '1h', '--limit', '2', '--format', 'json');
  assert.deepEqual(slowest.stdout.trim().split('\n').map((l) => JSON.parse(l)),
    by(rows.filter((r) => r.model === 'm1'), 'ttft_ms', -1).slice(0, 2));
  const csv = (await requests('--format', 'csv', 'ttft>=50', 'outcome=ok')).stdout.trim().split('\n');
  assert.match(csv[0], /^started_at,request_id,/);
  assert.equal(csv.length - 1, rows.filter((r) => r.ttft_ms >= 50).length);

  const one = (await requests(row.request_id)).stdout;
  assert.match(one, new RegExp(`^request ${row.request_id}\n\nstage +ms +share\nreceive `));
  assert.match(one, /\nfirst_event +\d+\.\d{3} +\d+\.\d% +[#\u2588]+\n/);
  assert.match(one, new RegExp(`\n  ttft_ms +${row.ttft_ms}0*\n`));
  assert.deepEqual(JSON.parse((await requests(row.request_id, '--format', 'json')).stdout), row);

  assert.match((await requests('nobody')).stderr, /no request "nobody" is kept/);
  const wrong = await requests('ttf=1');
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /did you mean "ttft"\?/);
  assert.equal((await requests('--limit', '0')).code, 2);
});

// --- what ends badly ---

const serve = (gateway, ...flags) => ['serve', '-c', gateway.configFile, ...flags];

/** The next process, whose end is the test's affair; it has ports of its own. */
async function begin(t, gateway) {
  const next = new Process(BIN, serve(gateway));
  cleanup(t, () => next.exit ?? next.signal('SIGKILL'));
  const [, listen, admin] = await next.printed(/ready listen=\S+:(\d+) admin=\S+:(\d+)\n/);
  gateway.process = next;
  gateway.port = Number(listen);
  gateway.adminPort = Number(admin);
}

/** Requests without a pause, until it is over; what broke off does not count. */
function load(gateway, n = 4) {
  const done = [];
  let isOver = false;
  const client = async (_, i) => {
    while (!isOver) {
      try {
        const answer = await gateway.chat({ stream: i % 2 === 0 }, { headers: sim(SHORT) });
        if (answer.isComplete) done.push({ id: idOf(answer), at: performance.now() });
      } catch {
        await delay(5);
      }
    }
  };
  const clients = Array.from({ length: n }, client);
  return {
    done,
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      return done;
    },
  };
}

/** The ids of all rows, of which none comes twice. */
async function idsOnce(gateway, query = '') {
  const found = ids(await askAll(gateway, `limit=1000${query}`));
  isOnce(found);
  return new Set(found);
}

const PROMISE_MS = 1000;
const ROUNDS = Number(process.env.KILLS ?? (SANITIZED ? 5 : 8));

test(`kill -9, ${ROUNDS} times: what ended a second before is there`, async (t) => {
  const { gateway } = await setup(t);
  await gateway.process.stop();
  const promised = [];
  for (let round = 0; round < ROUNDS; round++) {
    await begin(t, gateway);
    const started = Date.now() / 1000;
    const running = load(gateway);
    await waitFor('the first answers', () => running.done.length > 0);
    await delay(PROMISE_MS + 50 + Math.random() * 600); // a moment like any other
    const killed = performance.now();
    gateway.process.signal('SIGKILL');
    await gateway.process.exited;
    const done = await running.stop();
    const kept = done.filter(({ at }) => killed - at > PROMISE_MS).map(({ id }) => id);
    assert.ok(kept.length > 0, 'a round without load');
    promised.push(...kept);
    await begin(t, gateway);
    const there = await idsOnce(gateway, `&from=${started - 1}`);
    const missing = kept.filter((id) => !there.has(id));
    assert.deepEqual(missing, [], `round ${round}: ${missing.length} of ${kept.length} are gone`);
    await gateway.process.stop('SIGKILL');
  }
  await begin(t, gateway);
  const there = await idsOnce(gateway);
  assert.ok(promised.every((id) => there.has(id)));
  assert.deepEqual(await gateway.process.stop(), { code: 0, signal: null });
  gateway.process.assertClean();
}, { limitMs: 120000 });

for (const handover of [false, true])
  test(`a ${handover ? 'handover' : 'restart'} under load loses no row`, async (t) => {
    const config = handover ? { handover: join(tempDir(t), 'handover'), drain_timeout: '5s' } : {};
    const { gateway } = await setup(t, config);
    const running = load(gateway);
    const more = (n) => {
      const wanted = running.done.length + n;
      return waitFor(`${n} more answers`, () => running.done.length >= wanted);
    };
    await more(50);
    for (let i = 0; i < 2; i++) {
      const former = gateway.process;
      if (!handover) await former.stop();
      await begin(t, gateway);
      await more(50);
      assert.deepEqual(await former.exited, { code: 0, signal: null });
      await more(50);
    }
    const done = await running.stop();
    const rows = await waitForRows(gateway, done.map(({ id }) => ({ headers: { 'x-request-id': id } })));
    assert.ok(rows.length >= done.length);
    const { state, rows_lost: lost } = await history(gateway);
    assert.deepEqual([state, lost], ['writing', 0]);
    assert.deepEqual(await gateway.process.stop(), { code: 0, signal: null });
    gateway.process.assertClean();
  }, { limitMs: 40000 });

/** A file system of its own, that can be filled; null where we may not mount. */
function mount(t, options) {
  const dir = join(tempDir(t), 'small');
  mkdirSync(dir);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dir]).status !== 0) return null;
  cleanup(t, () => spawnSync('umount', ['-l', dir]));
  return dir;
}

function fill(path) {
  const fd = openSync(path, 'w');
  for (const size of [65536, 4096, 512])
    try {
      for (;;) writeSync(fd, Buffer.alloc(size));
    } catch (error) {
      assert.equal(error.code, 'ENOSPC');
    }
  closeSync(fd);
}

test('a full disk: told, served on, nothing lost once there is room', async (t) => {
  const dir = mount(t, 'size=24m');
  if (!dir) return t.skip('no tmpfs can be mounted here');
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, {
    upstream, config: { data_dir: join(dir, 'data'), requests: { spill: '1MiB' } },
  });
  const answers = [];
  const chat = async () => {
    answers.push(await gateway.chat({}, { headers: sim(SHORT) }));
    assert.equal(answers.at(-1).status, 200);
  };
  await chat();
  await waitForRows(gateway, answers);
  fill(join(dir, 'filler'));
  const failing = await waitFor('refusal', async () => {
    await Promise.all([chat(), chat(), chat(), chat()]);
    const now = await history(gateway);
    return now.state === 'failing' && now;
  }, { timeoutMs: 15000 });
  assert.match(failing.error, /no space left/);
  const m = await gateway.metrics();
  assert.ok(m.value('inferometer_store_errors_total', { cause: 'disk_full' }) > 0);
  await gateway.process.printed(/could not store request rows .*no space left.* keeping them aside; free some space/,
    { from: 'stderr' });
  for (let i = 0; i < 20; i++) await chat();
  assert.ok((await history(gateway)).rows_waiting > 0);
  assert.equal((await ask(gateway, 'limit=1')).code, 200);
  rmSync(join(dir, 'filler'));
  await waitFor('room', async () => (await history(gateway)).state === 'writing', { timeoutMs: 10000 });
  await waitForRows(gateway, answers);
  assert.equal((await history(gateway)).rows_lost, 0);
  return gateway.process.printed(/request rows in .* are stored again/, { from: 'stderr' });
}, { limitMs: 60000 });

test('a request log without room keeps no row from the store', async (t) => {
  const upstream = await Sim.start(t);
  const config = { data_dir: join(tempDir(t), 'data') };
  const gateway = await Gateway.start(t, { upstream, log: '/dev/full', config });
  const answers = [];
  for (let i = 0; i < 10; i++) answers.push(await gateway.chat({ model: 'm' }, { headers: sim(SHORT) }));
  await gateway.process.printed(/could not write request log/, { from: 'stderr' });
  for (let i = 0; i < 10; i++) answers.push(await gateway.chat({ model: 'm' }, { headers: sim(SHORT) }));
  assert.equal((await waitForRows(gateway, answers)).length, 20);
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_records_logged_total'), 0);
  assert.ok(m.value('inferometer_records_queued') > 0, 'the log waits for room');
});

test('a directory that cannot be written is a mistake at the start', async (t) => {
  const file = join(tempDir(t), 'file');
  writeFileSync(file, '');
  const { code, stderr } = await run(['serve', '--upstream', 'http://127.0.0.1:1', '--listen', '127.0.0.1:0',
    '--admin', '127.0.0.1:0', '--data', join(file, 'data')]);
  assert.equal(code, 1);
  assert.match(stderr, /could not make the data directory .*\nhint: /);
});

/** Writes over a part of the file. */
function scribble(path, at, size) {
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(size, 0xa5), 0, size, at);
  closeSync(fd);
}

const rowFiles = (dir) => readdirSync(dir).filter((f) => /^requests-.*\.db$/.test(f));

for (const kind of ['requests', 'series'])
  test(`a damaged file of ${kind} is set aside, and a fresh one begun`, async (t) => {
    const { gateway, dir } = await setup(t, { history: { interval: '1s' } });
    const before = await gateway.chat({}, { headers: sim(SHORT) });
    await waitForRows(gateway, [before]);
    await gateway.process.stop();
    const name = kind === 'requests' ? rowFiles(dir)[0] : 'series.db';
    for (const end of ['-wal', '-shm']) rmSync(join(dir, name + end), { force: true });
    scribble(join(dir, name), 0, 4096);
    await begin(t, gateway);
    const after = await gateway.chat({}, { headers: sim(SHORT) });
    assert.equal(after.status, 200);
    const there = ids(await waitForRows(gateway, [after]));
    assert.equal(there.includes(idOf(before)), kind === 'series');
    assert.ok(readdirSync(dir).some((f) => f.startsWith(`${name}.damaged-`)), readdirSync(dir).join());
    await says(gateway.process, /damaged/);
    assert.equal((await history(gateway)).state, 'writing');
    assert.deepEqual(await gateway.process.stop(), { code: 0, signal: null });
  });
