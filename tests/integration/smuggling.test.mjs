// SPDX-License-Identifier: Apache-2.0
// Requests that are malformed or ambiguous: what the gateway answers, and that nothing reaches an
// upstream that can be read in two ways. The same requests go to nginx and haproxy; COMPARE=1
// prints what each of the three makes of them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AMBIGUOUS } from './lib/ambiguous.mjs';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway } from './lib/daemon.mjs';
import { freePort, RawClient, request } from './lib/http.mjs';
import { noNginx, startNginx } from './lib/nginx.mjs';
import { start, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { SLOW, waitFor } from './lib/wait.mjs';

const HAPROXY = ['haproxy', '/usr/sbin/haproxy'].find((path) => spawnSync(path, ['-v']).status === 0);
const AT_ONCE = 20; // nginx has 64 connections here
const targetOf = (i) => `/v1/case-${i}`;

// --- the upstream: writes down every byte, answers one message per connection ---

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const REQUEST_LINE = new RegExp(`^${TOKEN} [\\x21-\\x7e]+ HTTP/1\\.[01]$`);
const FIELD = new RegExp(`^(${TOKEN}): ?([\\t\\x20-\\x7e\\x80-\\xff]*)$`);

/** The length of the one way to read the message at the front of text; 0: not all is there. */
function messageLength(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const [line, ...lines] = text.slice(0, end).split('\r\n');
  assert.match(line, REQUEST_LINE);
  const fields = lines.map((l) => FIELD.exec(l) ?? assert.fail(`field ${JSON.stringify(l)}`));
  const values = (name) => fields.filter((f) => f[1].toLowerCase() === name).map((f) => f[2]);
  const lengths = values('content-length');
  const codings = values('transfer-encoding');
  assert.equal(values('host').length, 1, text);
  assert.ok(lengths.length + codings.length <= 1, text);
  if (codings.length > 0) {
    assert.equal(codings[0], 'chunked');
    return chunksEnd(text, end + 4);
  }
  const n = lengths.length > 0 ? lengths[0] : '0';
  assert.match(n, /^\d+$/);
  return text.length >= end + 4 + Number(n) ? end + 4 + Number(n) : 0;
}

function chunksEnd(text, at) {
  for (;;) {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return 0;
    const size = text.slice(at, end);
    assert.match(size, /^[0-9a-f]{1,16}$/);
    at = end + 2 + parseInt(size, 16) + 2;
    if (text.length < at) return 0;
    assert.equal(text.slice(at - 2, at), '\r\n');
    if (parseInt(size, 16) === 0) return at;
  }
}

async function recorder(t) {
  const seen = [];
  const server = net.createServer((socket) => {
    const conn = { text: '', isAnswered: false, error: null };
    seen.push(conn);
    cleanup(t, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (data) => {
      conn.text += data.toString('latin1');
      try {
        if (conn.isAnswered || messageLength(conn.text) === 0) return;
      } catch (error) {
        conn.error = error; // an ambiguous message is told by the test
      }
      conn.isAnswered = true;
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(t, () => server.close());
  return { url: `http://127.0.0.1:${server.address().port}`, port: server.address().port, seen };
}

// --- the case ---

/** Sends it; resolves with the statuses of the answers when there are enough or the peer closed. */
async function send(t, port, text, nAnswers, timeoutMs) {
  const client = await RawClient.connect(port);
  cleanup(t, () => client.close());
  client.send(Buffer.from(text, 'latin1'));
  const statuses = () => [...client.text.matchAll(/^HTTP\/1\.1 (?!100)(\d\d\d)/gm)].map((m) => Number(m[1]));
  await waitFor('an answer', () => client.isEnded || statuses().length >= nAnswers, { timeoutMs })
    .catch(() => {});
  client.close();
  return statuses();
}

/** What a proxy makes of all cases: [{ statuses, conns }], conns: what the upstream got of each. */
async function sendAll(t, proxy, upstream, timeoutMs) {
  const results = [];
  for (let i = 0; i < AMBIGUOUS.length; i += AT_ONCE)
    results.push(...await Promise.all(AMBIGUOUS.slice(i, i + AT_ONCE).map(({ text, statuses }, k) =>
      send(t, proxy.port, text.replaceAll('@', targetOf(i + k)), statuses.length, timeoutMs))));
  // Whatever was on its way is there when a request that came after it is.
  await request(proxy.port, '/v1/last-of-all');
  return results.map((statuses, i) => {
    const own = new RegExp(`${targetOf(i)}\\b`);
    return { statuses, conns: upstream.seen.filter((c) => own.test(c.text)) };
  });
}

function assertUnambiguous(conn, name) {
  if (conn.error) throw new Error(`${name}: ${conn.error.message}`, { cause: conn.error });
  assert.equal(messageLength(conn.text), conn.text.length, `${name}: more than one message: ${conn.text}`);
}

const compared = {};

test(`${AMBIGUOUS.length} ambiguous requests to the gateway`, async (t) => {
  const upstream = await recorder(t);
  const gateway = await Gateway.start(t, { upstream });
  const results = await sendAll(t, gateway, upstream, 5000);
  compared.inferometer = results;
  results.forEach(({ statuses, conns }, i) => {
    const { name, n } = AMBIGUOUS[i];
    assert.deepEqual(statuses, AMBIGUOUS[i].statuses, name);
    assert.equal(conns.length, n, `${name}: messages at the upstream: ${JSON.stringify(conns)}`);
    for (const conn of conns) assertUnambiguous(conn, name);
  });
  for (const conn of upstream.seen) {
    assertUnambiguous(conn, 'any');
    assert.doesNotMatch(conn.text, /^\w+ \/smuggled/, 'a hidden request came through');
  }
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_internal_errors_total'), 0);
}, { limitMs: 30000 });

const others = {
  nginx: { skip: noNginx, start: (t, upstream) => startNginx(t, upstream, ['proxy_http_version 1.1']) },
  haproxy: { skip: HAPROXY ? false : 'haproxy is not installed', start: startHaproxy },
};

async function startHaproxy(t, upstream) {
  const port = await freePort();
  const file = join(tempDir(t), 'haproxy.cfg');
  writeFileSync(file, `
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
listen all
    bind 127.0.0.1:${port}
    server engine 127.0.0.1:${upstream.port}
`);
  const process = start(t, ['-db', '-f', file], { command: HAPROXY, exitCode: null });
  await waitFor('haproxy to listen', () => process.exit
    ?? RawClient.connect(port).then((c) => (c.close(), true), () => false));
  if (process.exit) throw new Error(`haproxy did not start: ${process.stderr}`);
  return { port };
}

for (const [name, { skip, start: startOther }] of Object.entries(others))
  test(`the same to ${name}, for comparison`, async (t) => {
    const upstream = await recorder(t);
    const proxy = await startOther(t, upstream);
    // What it leaves unanswered is not waited for long: others may wait for more bytes.
    compared[name] = await sendAll(t, proxy, upstream, 300 / SLOW);
    assert.ok(compared[name].some(({ conns }) => conns.length > 0));
  }, { limitMs: 30000, skip });

/** "400", "200+1" (passed on), "200+1!" (passed on ambiguously), "-" (no answer). */
function cell({ statuses, conns }) {
  const isOdd = conns.some((c) => {
    try {
      assertUnambiguous(c, '');
      return false;
    } catch {
      return true;
    }
  });
  return `${statuses.join(',') || '-'}${conns.length > 0 ? `+${conns.length}` : ''}${isOdd ? '!' : ''}`;
}

test('the comparison', (t) => {
  const names = Object.keys(compared);
  const rows = AMBIGUOUS.map((c, i) => [c.name, ...names.map((n) => cell(compared[n][i]))]);
  t.diagnostic('statuses + messages at the upstream; !: no strict parser takes these bytes as one message');
  for (const row of [['request', ...names], ...rows])
    t.diagnostic(row.map((text, i) => text.padEnd(i === 0 ? 38 : 14)).join(''));
}, { skip: process.env.COMPARE === '1' ? false : 'COMPARE=1 prints it' });
