// SPDX-License-Identifier: Apache-2.0
// Clients that change nothing of what they receive: an HTTP client for whole exchanges, and bare
// sockets for everything that an HTTP client would not let us do.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { cleanup } from './cleanup.mjs';
import { waitFor, within } from './wait.mjs';

/**
 * One request on a connection of its own (or the agent's). Resolves when the answer is complete or
 * broke: { status, headers, rawHeaders, body: Buffer, isComplete, error }.
 * onResponse(res, req) is called with the head, before any of the body is read.
 */
export function request(port, path, options = {}) {
  const { method, headers = {}, body, json, agent = false, onResponse, signal, host = '127.0.0.1' } = options;
  const payload = json === undefined ? body : JSON.stringify(json);
  const fields = { ...headers };
  if (json !== undefined) fields['content-type'] = 'application/json';
  if (payload !== undefined) fields['content-length'] = Buffer.byteLength(payload);
  const sent = new Promise((resolve, reject) => {
    const req = http.request({
      host, port, path, agent, headers: fields, signal,
      method: method ?? (payload === undefined ? 'GET' : 'POST'),
    });
    req.on('error', reject);
    req.on('response', (res) => {
      const parts = [];
      const answer = { status: res.statusCode, headers: res.headers, rawHeaders: res.rawHeaders };
      const done = (error) =>
        resolve({ ...answer, body: Buffer.concat(parts), isComplete: res.complete, error });
      if (onResponse) onResponse(res, req);
      res.on('data', (part) => parts.push(part));
      res.on('end', () => done());
      res.on('error', done);
    });
    req.end(payload);
  });
  return within(`the answer to ${path}`, sent, { timeoutMs: options.timeoutMs ?? 20000 });
}

/** GET that has to succeed, as text. */
export async function getText(port, path, headers = {}) {
  const answer = await request(port, path, { headers });
  if (answer.status !== 200) throw new Error(`${path}: status ${answer.status}: ${answer.body}`);
  return answer.body.toString();
}

export const getJson = async (port, path) => JSON.parse(await getText(port, path));

/** The payloads of an event stream's data lines. */
export function sseData(body) {
  return body.toString().split(/\r?\n\r?\n/).flatMap((event) =>
    event.split(/\r?\n/).filter((l) => l.startsWith('data:')).map((l) => l.slice(5).trimStart()));
}

/** The parsed chunks of a stream, without [DONE]. */
export const sseChunks = (body) =>
  sseData(body).filter((d) => d !== '[DONE]').map((d) => JSON.parse(d));

/** A connection on which the test says every byte itself. */
export class RawClient {
  static async connect(port) {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
    await within(`a connection to port ${port}`, new Promise((done, fail) => {
      socket.once('connect', done).once('error', fail);
    }));
    return new RawClient(socket);
  }

  constructor(socket) {
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.isEnded = false; // the peer closed, regularly or not
    this.error = null;
    socket.on('data', (part) => (this.received = Buffer.concat([this.received, part])));
    socket.on('error', (error) => (this.error = error));
    socket.on('end', () => (this.isEnded = true));
    socket.on('close', () => (this.isEnded = true));
  }

  get text() {
    return this.received.toString('latin1');
  }

  send(bytes) {
    this.socket.write(bytes);
    return this;
  }

  /** Until what was received matches. */
  async until(regexp, options) {
    await waitFor(`${regexp} in ${JSON.stringify(this.text.slice(0, 400))}`,
      () => regexp.test(this.text), options);
    return this.text;
  }

  /** Until the peer closed; what was received. */
  async end(options) {
    await waitFor(`the end of the connection after ${JSON.stringify(this.text.slice(0, 400))}`,
      () => this.isEnded, options);
    return this.text;
  }

  close() {
    this.socket.destroy();
  }

  reset() {
    this.socket.resetAndDestroy();
  }
}

/** For a test: connected, and closed after it. */
export async function rawClient(t, port) {
  const client = await RawClient.connect(port);
  cleanup(t, () => client.close());
  return client;
}

/**
 * Where nobody listens. A free port of 127.0.0.1 would not do for that: another test may get it.
 */
export const DEAD = '127.7.7.7:1';

/** Where the kernel's own choice of ports begins: below, nobody gets one who did not ask for it. */
const firstOfKernel = () => {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  } catch {
    return 32768;
  }
};

/** A port that nothing listens on, and that nobody else is given meanwhile but by bad luck. */
export async function freePort() {
  const [from, to] = firstOfKernel() > 12000 ? [10240, firstOfKernel()] : [61000, 65500];
  for (;;) {
    const port = from + Math.floor(Math.random() * (to - from));
    const server = net.createServer();
    const isFree = await new Promise((done) => {
      server.once('error', () => done(false));
      server.listen(port, '127.0.0.1', () => done(true));
    });
    if (!isFree) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}
