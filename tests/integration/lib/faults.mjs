// SPDX-License-Identifier: Apache-2.0
// Upstreams that fail, each in one way of its own, and what has to become of a request that meets
// one. Where the fault is up to a server that was reached, run() has the exchange and what it holds
// back until the test says so: run(x, kind, go).
import { spawn } from 'node:child_process';
import net from 'node:net';
import { readFileSync } from 'node:fs';
import tls from 'node:tls';
import { Authority, noOpenssl } from './certs.mjs';
import { cleanup } from './cleanup.mjs';
import { DEAD, RawClient } from './http.mjs';
import { chunk, choice, DONE, event, textEvents } from './streams.mjs';
import { head } from './upstream.mjs';

/** The two kinds of answers: what a whole one is made of. */
export const KINDS = {
  stream: {
    fields: { 'Content-Type': 'text/event-stream' },
    parts: [...textEvents, event(chunk(choice({}, 'stop'))), DONE],
  },
  json: {
    fields: { 'Content-Type': 'application/json' },
    parts: ['{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":',
      '"stop","message":{"role":"assistant","content":"yes"}}],', '"usage":{"prompt_tokens":1,',
      '"completion_tokens":1,"total_tokens":2}}'],
  },
};
const whole = (kind) => KINDS[kind].parts.join('');
const first = (kind) => KINDS[kind].parts.slice(0, 2).join('');

const chunkedHead = (kind) => head(200, { ...KINDS[kind].fields, 'Transfer-Encoding': 'chunked' });
const lengthHead = (kind, n) => head(200, { ...KINDS[kind].fields, 'Content-Length': n });

/** A regular answer. */
export function answerWell(x, kind) {
  x.send(chunkedHead(kind));
  for (const part of KINDS[kind].parts) x.chunk(part);
  x.endChunks();
}

const refused = (reason, status = 502) => ({ status, outcome: 'connect_failed', reason });
const lost = (outcome, reason, status = 502) => ({ status, outcome, reason });
const cutOff = (outcome, reason) => ({ status: 200, outcome, reason, isComplete: false });
const errorAnswer = (status) => ({ status, outcome: 'http_error', isPassed: true });
const errorBody = '{"error":{"message":"no","type":"server_error","param":null,"code":null}}';
const says = (status) => (x) => x.reply(status, errorBody, { 'Content-Type': 'application/json' });

/** Sends the beginning of an answer, and breaks when told. */
const breaks = (begin, how) => async (x, kind, go) => {
  x.send(begin(kind));
  await go;
  how(x, kind);
};
const nothing = () => '';
const halfHead = () => 'HTTP/1.1 200 OK\r\nContent-Ty';
const someBody = (kind) => `${chunkedHead(kind)}${
  Buffer.byteLength(first(kind)).toString(16)}\r\n${first(kind)}\r\n`;
const shortBody = (kind) => lengthHead(kind, Buffer.byteLength(whole(kind))) + first(kind);
const reset = (x) => x.reset();
const fin = (x) => x.end();
const stall = () => {};

/**
 * at: how far the answer is when the client leaves: none, head, body. expect: with this upstream
 * alone. retried: with a second one, that one's answer; else the same. A reach instead of a run: the
 * URL of something that never becomes a server.
 */
export const FAULTS = [
  { name: 'refused', reach: refusedUrl, expect: refused('refused'), retried: true },
  { name: 'no-name', reach: () => 'http://no-such-host.invalid:8000', expect: refused('dns'), retried: true },
  { name: 'issuer', reach: unknownIssuerUrl, expect: refused('tls'), retried: true, needs: noOpenssl },
  { name: 'not-accepted', reach: fullUrl, expect: lost('timeout', 'connect', 504), retried: true, isStall: true },
  { name: 'no-handshake', reach: silentTlsUrl, expect: lost('timeout', 'connect', 504), retried: true,
    isStall: true },
  { name: 'plain-for-tls', reach: plainTlsUrl, expect: refused('tls'), retried: true },

  { name: 'reset-before-head', run: breaks(nothing, reset), expect: lost('upstream_cut'), retried: true },
  { name: 'empty-reply', run: breaks(nothing, fin), expect: lost('upstream_cut'), retried: true },
  { name: 'reset-in-head', run: breaks(halfHead, reset), expect: lost('upstream_cut'), retried: true },
  { name: 'fin-in-head', run: breaks(halfHead, fin), expect: lost('upstream_cut'), retried: true },
  { name: 'stall-before-head', run: breaks(nothing, stall), isStall: true,
    expect: lost('timeout', 'first_byte', 504) },
  { name: 'stall-in-head', run: breaks(halfHead, stall), isStall: true,
    expect: lost('timeout', 'first_byte', 504) },
  { name: 'slow-head', run: dripHead, isStall: true, expect: lost('timeout', 'first_byte', 504) },

  { name: 'garbage', run: breaks(nothing, (x) => x.send('220 mail ESMTP\r\n\r\n')),
    expect: lost('bad_response'), retried: true },
  { name: 'binary', run: breaks(nothing, (x) => x.send(Buffer.alloc(3000))),
    expect: lost('bad_response'), retried: true },
  { name: 'no-line-end', run: breaks(() => 'x'.repeat(3000), stall), isStall: true,
    expect: lost('timeout', 'first_byte', 504) },
  { name: 'large-head', run: breaks(nothing, (x) => x.send(`HTTP/1.1 200 OK\r\nA: ${'a'.repeat(70000)}\r\n\r\n`)),
    expect: lost('bad_response'), retried: true },
  { name: 'two-framings', retried: true, expect: lost('bad_response'),
    run: breaks(nothing, (x) => x.send(head(200, { 'Content-Length': 2, 'Transfer-Encoding': 'chunked' }))) },
  { name: 'two-lengths', retried: true, expect: lost('bad_response'),
    run: breaks(nothing, (x) => x.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}')) },
  { name: 'switching', run: breaks(nothing, (x) => x.send('HTTP/1.1 101 Switching\r\n\r\n')),
    expect: lost('bad_response'), retried: true },
  { name: 'interim-flood', run: breaks(nothing, (x) => x.send('HTTP/1.1 102 Wait\r\n\r\n'.repeat(100))),
    expect: lost('bad_response'), retried: true },

  { name: 'status-429', run: breaks(nothing, says(429)), expect: errorAnswer(429), retried: true },
  { name: 'status-500', run: breaks(nothing, says(500)), expect: errorAnswer(500) },
  { name: 'status-503', run: breaks(nothing, says(503)), expect: errorAnswer(503), retried: true },

  { name: 'fin-behind-head', at: 'head', run: breaks(chunkedHead, fin), expect: cutOff('upstream_cut') },
  { name: 'stall-behind-head', at: 'head', run: breaks(chunkedHead, stall), isStall: true,
    expect: cutOff('timeout', 'idle') },
  { name: 'reset-in-body', at: 'body', run: breaks(someBody, reset), expect: cutOff('upstream_cut') },
  { name: 'fin-in-body', at: 'body', run: breaks(someBody, fin), expect: cutOff('upstream_cut') },
  { name: 'stall-in-body', at: 'body', run: breaks(someBody, stall), isStall: true,
    expect: cutOff('timeout', 'idle') },
  { name: 'fin-in-chunk', at: 'body', expect: cutOff('upstream_cut'),
    run: breaks(someBody, (x) => x.send('400\r\nonly this').end()) },
  { name: 'stall-in-chunk', at: 'body', isStall: true, expect: cutOff('timeout', 'idle'),
    run: breaks(someBody, (x) => x.send('400\r\nonly this')) },
  { name: 'bad-chunk', at: 'body', run: breaks(someBody, (x) => x.send('nonsense\r\n')),
    expect: cutOff('bad_response') },
  { name: 'length-too-long', at: 'body', run: breaks(shortBody, fin), expect: cutOff('upstream_cut') },
  { name: 'length-too-short', at: 'body', expect: { status: 200, outcome: 'ok', isPassed: true },
    run: breaks(shortBody, (x, kind) => x.send(`${whole(kind).slice(first(kind).length)}and more`)) },
];

/** Every byte of the body that this fault lets out can only be of this text. */
export const bodyOf = (fault, kind) => (fault.expect.isPassed && fault.expect.status !== 200
  ? errorBody : fault.name.endsWith('-in-chunk') ? `${first(kind)}only this` : whole(kind));

async function dripHead(x) {
  const timer = setInterval(() => x.send('X'), 40);
  x.send('HTTP/1.1 200 OK\r\nX-');
  await x.closed;
  clearInterval(timer);
}

// --- servers that are not reached ---

function refusedUrl() {
  return `http://${DEAD}`;
}

async function listen(t, server, scheme) {
  const sockets = new Set();
  server.on('connection', (s) => {
    sockets.add(s);
    s.on('error', () => {});
    s.on('close', () => sockets.delete(s));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => {
    for (const s of sockets) s.destroy();
    return new Promise((done) => server.close(done));
  });
  return `${scheme}://127.0.0.1:${server.address().port}`;
}

function unknownIssuerUrl(t) {
  const { key, cert } = new Authority(t).issue('engine');
  const server = tls.createServer({ key: readFileSync(key), cert: readFileSync(cert) });
  server.on('tlsClientError', () => {});
  return listen(t, server, 'https');
}

function silentTlsUrl(t) {
  return listen(t, net.createServer((s) => s.resume()), 'https');
}

function plainTlsUrl(t) {
  return listen(t, net.createServer((s) => s.end('HTTP/1.1 400 Bad Request\r\n\r\n')), 'https');
}

/** A port whose backlog is full: connections to it neither succeed nor fail. */
export async function fullPort(t) {
  const code = "require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},"
    + 'function(){console.log(this.address().port);process.kill(process.pid,"SIGSTOP")})';
  const child = spawn(process.execPath, ['-e', code]);
  cleanup(t, () => child.kill('SIGKILL'));
  const port = await new Promise((done) => child.stdout.once('data', (d) => done(Number(d))));
  const fillers = [];
  cleanup(t, () => fillers.forEach((f) => f.close()));
  for (;;) {
    const filler = await Promise.race([
      RawClient.connect(port), new Promise((done) => setTimeout(done, 300))]);
    if (!filler) return port;
    fillers.push(filler);
  }
}

async function fullUrl(t) {
  return `http://127.0.0.1:${await fullPort(t)}`;
}
