// SPDX-License-Identifier: Apache-2.0
// An upstream that does exactly what a test tells it, byte by byte: a bare socket with just enough
// HTTP to know where a request ends.
import net from 'node:net';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './cleanup.mjs';
import { within } from './wait.mjs';

/** One request as it came; answer it with send, stream and close. */
class Exchange {
  constructor(conn, head) {
    const [line, ...fields] = head.split('\r\n');
    [this.method, this.target] = line.split(' ');
    this.head = head;
    this.fields = fields.map((f) => [f.slice(0, f.indexOf(':')), f.slice(f.indexOf(':') + 1).trim()]);
    this.conn = conn;
    this.parts = [];
    this.hash = createHash('sha256');
    this.complete = new Promise((done) => (this.finish = done));
    /** When the gateway closed this connection. */
    this.closed = conn.closed;
  }

  field(name) {
    return this.fields.find(([n]) => n.toLowerCase() === name.toLowerCase())?.[1];
  }

  take(part) {
    this.parts.push(part);
    this.hash.update(part);
  }

  get body() {
    return Buffer.concat(this.parts);
  }

  get json() {
    return JSON.parse(this.body);
  }

  send(bytes) {
    this.conn.socket.write(bytes);
    return this;
  }

  /** An answer with a length. */
  reply(status, body, fields = {}) {
    return this.send(head(status, { 'Content-Length': Buffer.byteLength(body), ...fields })).send(body);
  }

  /** The head of a chunked event stream. */
  stream(fields = {}) {
    return this.send(head(200,
      { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked', ...fields }));
  }

  chunk(bytes) {
    const part = Buffer.from(bytes);
    return this.send(Buffer.concat(
      [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]));
  }

  endChunks() {
    return this.send('0\r\n\r\n');
  }

  /** FIN after what was sent. */
  end() {
    this.conn.socket.end();
  }

  /** RST. */
  reset() {
    this.conn.socket.resetAndDestroy();
  }
}

export function head(status, fields) {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`;
}

/** Requests on one connection, one after the other. */
class Connection {
  constructor(socket, number, onRequest) {
    this.socket = socket;
    this.number = number; // 1 is the upstream's first
    this.n_requests = 0;
    this.rest = Buffer.alloc(0);
    this.closed = new Promise((done) => socket.once('close', done));
    this.onRequest = onRequest;
    socket.setNoDelay(true);
    socket.on('error', () => {}); // resets are part of the game
    socket.on('data', (data) => this.feed(data));
    socket.on('end', () => socket.end());
  }

  feed(data) {
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, data]) : data;
    while (this.rest.length > 0 && (this.exchange ? this.feedBody() : this.feedHead()));
  }

  feedHead() {
    const end = this.rest.indexOf('\r\n\r\n');
    if (end < 0) return false;
    this.exchange = new Exchange(this, this.rest.subarray(0, end).toString('latin1'));
    this.rest = this.rest.subarray(end + 4);
    this.left = Number(this.exchange.field('content-length') ?? 0);
    this.isChunked = /chunked/i.test(this.exchange.field('transfer-encoding') ?? '');
    this.n_requests++;
    this.onRequest(this.exchange);
    if (!this.isChunked && this.left === 0) this.finish();
    return true;
  }

  feedBody() {
    if (this.isChunked && this.left === 0) return this.feedChunkHead();
    const part = this.rest.subarray(0, this.left);
    this.exchange.take(part);
    this.left -= part.length;
    this.rest = this.rest.subarray(part.length);
    if (!this.isChunked && this.left === 0) this.finish();
    return true;
  }

  feedChunkHead() {
    if (this.rest.subarray(0, 2).toString() === '\r\n') this.rest = this.rest.subarray(2);
    const end = this.rest.indexOf('\r\n');
    if (end < 0) return false;
    this.left = parseInt(this.rest.subarray(0, end).toString(), 16);
    if (this.left === 0) {
      if (this.rest.length < end + 4) return false; // the empty line behind the last chunk
      this.rest = this.rest.subarray(end + 4);
      this.finish();
    } else {
      this.rest = this.rest.subarray(end + 2);
    }
    return true;
  }

  finish() {
    const exchange = this.exchange;
    this.exchange = null;
    exchange.sha256 = exchange.hash.digest('hex');
    exchange.finish(exchange);
  }
}

/** handler(exchange, number): called with the head; await exchange.complete for the body. */
export async function startUpstream(t, handler) {
  const up = { exchanges: [], connections: [] };
  const errors = [];
  const server = net.createServer((socket) => {
    const conn = new Connection(socket, up.connections.length + 1, (exchange) => {
      up.exchanges.push(exchange);
      Promise.resolve(handler(exchange, up.exchanges.length)).catch((e) => errors.push(e));
    });
    up.connections.push(conn);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(t, async () => {
    for (const c of up.connections) c.socket.destroy();
    await new Promise((done) => server.close(done));
    if (errors.length > 0) throw errors[0];
  });
  up.port = server.address().port;
  up.url = `http://127.0.0.1:${up.port}`;
  return up;
}

/** Answers every complete request with these writes: bytes, or milliseconds to wait. */
export const replay = (...writes) => async (x) => {
  await x.complete;
  for (const w of writes) {
    if (typeof w === 'number') await delay(w);
    else x.send(w);
  }
};

/** Until the gateway has closed the connection of that exchange. */
export const closedByGateway = (exchange, options) =>
  within('the close of the upstream connection', exchange.closed, options);
