// SPDX-License-Identifier: Apache-2.0
// Every way in which an upstream can fail x stream or not x a client that stays or leaves half-way
// x with or without a second upstream: what the client gets, what the record says, and that nothing
// is left behind. All cells of one combination run at the same time against one gateway.
import assert from 'node:assert/strict';
import { descriptors } from './lib/descriptors.mjs';
import { Gateway } from './lib/daemon.mjs';
import { rawClient } from './lib/http.mjs';
import { answerWell, bodyOf, FAULTS, KINDS } from './lib/faults.mjs';
import { assertSound } from './lib/records.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { SANITIZED, waitFor, within } from './lib/wait.mjs';

const cells = FAULTS.filter((f) => !f.needs);
// Long enough for 34 handshakes and answers at once on a busy machine.
const STALL = SANITIZED ? '1600ms' : '800ms';
const TIMEOUTS = { connect: STALL, first_byte: STALL, idle: STALL, upstream_idle: '100ms' };

/** An upstream for one fault. It breaks when go() is called. */
async function faultyUpstream(t, fault, kind) {
  const cell = { fault, kind };
  const broken = new Promise((done) => (cell.go = done));
  cell.arrived = new Promise((done) => (cell.onArrival = done));
  if (fault.reach) {
    cell.url = await fault.reach(t);
    return cell;
  }
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    cell.exchange = x;
    cell.onArrival();
    await fault.run(x, kind, broken);
  });
  return Object.assign(cell, { url: upstream.url, upstream });
}

async function setup(t, kind, hasSecond) {
  const all = [];
  for (const fault of cells) all.push(await faultyUpstream(t, fault, kind));
  const upstreams = all.map(({ fault, url }) =>
    ({ name: fault.name, url, models: [fault.name], max_inflight: 10 }));
  if (hasSecond) {
    const good = await startUpstream(t, async (x) => {
      await x.complete;
      answerWell(x, kind);
    });
    upstreams.push({ name: 'second', url: good.url, models: cells.map((f) => f.name), priority: 1,
      max_inflight: 100 });
  }
  const gateway = await Gateway.start(t, {
    upstream: all[0], config: { upstreams, timeouts: TIMEOUTS, retry: { budget: 100 } } });
  return { gateway, all };
}

/** Starts the cell's request. */
async function ask(t, gateway, { fault, kind }) {
  const body = JSON.stringify({ model: fault.name, stream: kind === 'stream', messages: [] });
  const client = await rawClient(t, gateway.port);
  client.send('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
    + `X-Request-Id: ${fault.name}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  return client;
}

/** What the client got: { status, body, isComplete }; body without its chunks. */
function answerIn(client) {
  const text = client.text;
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return { status: 0, body: '', isComplete: false };
  const answerHead = text.slice(0, end);
  const rest = client.received.subarray(end + 4);
  const answer = { status: Number(text.slice(9, 12)), head: answerHead };
  const length = /^content-length: (\d+)$/im.exec(answerHead);
  if (length) return { ...answer, body: rest.toString(), isComplete: rest.length === Number(length[1]) };
  return { ...answer, ...withoutChunks(rest) };
}

function withoutChunks(bytes) {
  const parts = [];
  for (;;) {
    const end = bytes.indexOf('\r\n');
    const n = end < 0 ? NaN : parseInt(bytes.subarray(0, end).toString('latin1'), 16);
    const part = bytes.subarray(end + 2, end + 2 + n);
    if (Number.isNaN(n)) return { body: Buffer.concat(parts).toString(), isComplete: false };
    if (n === 0) return { body: Buffer.concat(parts).toString(), isComplete: part.length === 0 };
    parts.push(part);
    bytes = bytes.subarray(end + 2 + n + 2);
  }
}

function assertBytes({ fault, kind }, answer, isOther) {
  const text = isOther ? KINDS[kind].parts.join('') : bodyOf(fault, kind);
  const known = Buffer.from(text);
  const got = Buffer.from(answer.body).subarray(0, known.length);
  assert.ok(known.subarray(0, got.length).equals(got), `${fault.name}: ${answer.body} is none of ${text}`);
  assert.ok(Buffer.byteLength(answer.body) <= known.length, `${fault.name}: too much: ${answer.body}`);
}

function assertTold({ fault, kind }, client, record, hasSecond) {
  const answer = answerIn(client);
  const isRetried = hasSecond && Boolean(fault.retried);
  const want = isRetried ? { status: 200, outcome: 'ok', isPassed: true } : fault.expect;
  const told = `${fault.name} ${kind}: ${JSON.stringify(record)}\n${client.text}`;

  assert.equal(answer.status, want.status, told);
  assert.equal(record.outcome, want.outcome, told);
  assert.equal(record.outcome_reason ?? '', want.reason ?? record.outcome_reason ?? '', told);
  assert.equal(record.status, want.status, told);
  assert.equal(record.n_attempts, isRetried ? 2 : 1, told);
  assert.equal(record.upstream, isRetried ? 'second' : fault.name, told);
  assert.equal(answer.isComplete, want.isComplete ?? true, told);
  if (want.status === 200 || want.isPassed) assertBytes({ fault, kind }, answer, isRetried);
  else assert.equal(typeof JSON.parse(answer.body).error.message, 'string', told);
  assertSound(record);
}

/** The client left: either that came first, or the fault. */
function assertLeft({ fault, kind }, record, hasSecond) {
  const told = `${fault.name} ${kind}: ${JSON.stringify(record)}`;
  const left = ['client_gone_before_first', 'client_gone_after_first'];
  if (fault.isStall) assert.ok(left.includes(record.outcome), told);
  else
    assert.ok([...left, fault.expect.outcome, ...(hasSecond && fault.retried ? ['ok'] : [])]
      .includes(record.outcome), told);
  assertSound(record);
}

/** Everything is as if nothing had been asked. */
async function assertNothingLeft(gateway, before) {
  await waitFor('no exchange and no connection', async () => {
    const m = await gateway.metrics();
    return m.value('inferometer_exchanges_open') === 0
      && m.value('inferometer_connections_open', { side: 'client' }) === 0
      && m.value('inferometer_connections_open', { side: 'upstream' }) === 0
      && m.value('inferometer_upstream_connections_idle') === 0
      && m.value('inferometer_admission_inflight') === 0
      && m.value('inferometer_admission_waiting') === 0;
  });
  assert.deepEqual(await gateway.inflight(), []);
  await waitFor('the descriptors of the start', () =>
    JSON.stringify(descriptors(gateway.process.pid)) === JSON.stringify(before))
    .catch((e) => assert.deepEqual(descriptors(gateway.process.pid), before, e.message));
  assert.equal((await gateway.metrics()).value('inferometer_internal_errors_total'), 0);
}

/** Far enough for the client to leave half-way: what it sees then is there. */
async function halfway(gateway, cell, client) {
  const { fault } = cell;
  if (fault.reach) return;
  await within(`${fault.name} at its upstream`, cell.arrived);
  if (fault.at) await client.until(fault.at === 'body' ? /\r\n\r\n[^]*[:{]/ : /\r\n\r\n/);
}

for (const kind of Object.keys(KINDS))
  for (const hasSecond of [false, true])
    for (const leaves of [false, true]) {
      const name = `${cells.length} faults, ${kind}, the client ${leaves ? 'leaves' : 'stays'}, `
        + (hasSecond ? 'two upstreams' : 'one upstream');
      test(name, async (t) => {
        const { gateway, all } = await setup(t, kind, hasSecond);
        const before = descriptors(gateway.process.pid);
        await Promise.all(all.map(async (cell) => {
          const client = await ask(t, gateway, cell);
          if (leaves) await halfway(gateway, cell, client);
          cell.go();
          if (leaves) client.reset();
          else await client.end({ timeoutMs: 10000 });
          const record = await gateway.recordNamed(cell.fault.name);
          if (leaves) assertLeft(cell, record, hasSecond);
          else assertTold(cell, client, record, hasSecond);
        }));
        await assertNothingLeft(gateway, before);
        assert.equal(gateway.records().length, all.length);
      }, { limitMs: 60000 });
    }
