// SPDX-License-Identifier: Apache-2.0
// Where alerts go in tests: an HTTP sink whose paths answer as they are told to, an SMTP sink, both
// with TLS where they are given the files of a certificate, and the player of alert/alerts.h.
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cleanup } from './cleanup.mjs';
import { BIN, Process, tempDir } from './process.mjs';
import { waitFor } from './wait.mjs';

export const PLAYER = join(dirname(BIN), 'tests/alert_player');
export const noPlayer = !existsSync(PLAYER) && `no ${PLAYER}`;

function listen(t, server) {
  const sockets = new Set();
  server.on('connection', (s) => sockets.add(s.on('close', () => sockets.delete(s)).on('error', () => {})));
  cleanup(t, async () => {
    for (const s of sockets) s.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  return once(server, 'listening');
}

/** What a TLS server is made with. */
const keysOf = ({ cert, key, ...more }) => ({ cert: readFileSync(cert), key: readFileSync(key), ...more });

/** Answers: path -> (res, request) => {}; what is not there answers 200 and `{"errcode":0,"code":0}`. */
export class HttpSink {
  static async start(t, answers = {}, files = null) {
    const sink = new HttpSink();
    sink.answers = answers;
    sink.requests = [];
    sink.connections = 0;
    const answerOne = (req, res) => {
      const parts = [];
      req.on('data', (b) => parts.push(b)).on('end', () => {
        const path = req.url.split('?')[0];
        const request = { path, url: req.url, headers: req.headers, at: Date.now(),
          bytes: Buffer.concat(parts), text: Buffer.concat(parts).toString() };
        sink.requests.push(request);
        const answer = sink.answers[path] ?? ((r) => r.end('{"errcode":0,"code":0}'));
        answer(res, request, sink.to(path).length);
      });
    };
    const server = files ? https.createServer(keysOf(files), answerOne) : http.createServer(answerOne);
    server.on('connection', () => sink.connections++);
    await listen(t, server);
    sink.port = server.address().port;
    sink.url = `http${files ? 's' : ''}://127.0.0.1:${sink.port}`;
    return sink;
  }

  to(path) {
    return this.requests.filter((r) => r.path === path);
  }

  /** The n-th request to a path, as JSON. */
  async nth(path, n, options) {
    await waitFor(`${n} requests to ${path}`, () => this.to(path).length >= n, options);
    return JSON.parse(this.to(path)[n - 1].text);
  }
}

/**
 * A mail server. answers: a line's first word -> what to say; "DATA.", the end of a mail -> that, or
 * a function that is given say. With the files of a certificate it offers STARTTLS, or speaks TLS from
 * the start where that is implicit; `plain` has the lines that came without TLS.
 */
export class SmtpSink {
  static async start(t, { answers = {}, greeting = '220 sink ESMTP', extensions = [], files = null, isImplicit = false } = {}) {
    const sink = new SmtpSink();
    Object.assign(sink, { answers, mails: [], lines: [], plain: [], connections: 0 });
    const keys = files && keysOf(files);
    const session = (s, isSecure) => {
      let rest = '', isData = false, isAuth = false, mail = { to: [] };
      const say = (text) => text !== undefined && s.write(`${text}\r\n`);
      const line = (text) => {
        if (isData) {
          if (text !== '.') return void mail.lines.push(text.replace(/^\./, ''));
          isData = false;
          sink.mails.push({ ...mail, text: mail.lines.join('\r\n') });
          const end = sink.answers['DATA.'] ?? '250 taken';
          return typeof end === 'function' ? end(say) : say(end);
        }
        sink.lines.push(text);
        if (!isSecure) sink.plain.push(text);
        const word = text.split(/[ :]/)[0].toUpperCase();
        if (word === 'MAIL') mail = { from: text, to: [], lines: [] };
        if (word === 'RCPT') mail.to.push(text);
        const own = Object.hasOwn(sink.answers, word) ? sink.answers[word] : null;
        if (own !== null) return say(typeof own === 'function' ? own(text) : own);
        const offered = keys && !isSecure ? ['STARTTLS', ...extensions] : extensions;
        if (word === 'EHLO') return say(['250-sink', ...offered.map((e) => `250-${e}`), '250 8BITMIME'].join('\r\n'));
        if (word === 'STARTTLS' && keys) {
          say('220 go on');
          s.removeAllListeners('data');
          return session(new tls.TLSSocket(s, { isServer: true, ...keys }).on('error', () => {}), true);
        }
        if (word === 'DATA') { isData = true; return say('354 go on'); }
        if (isAuth) { isAuth = false; return say('235 welcome'); }
        if (word === 'AUTH') { isAuth = true; return say('334 '); }
        if (word === 'QUIT') { say('221 bye'); return s.end(); }
        return say('250 ok');
      };
      s.on('data', (b) => {
        rest += b;
        for (let i; (i = rest.indexOf('\r\n')) >= 0; rest = rest.slice(i + 2)) line(rest.slice(0, i));
      });
    };
    const greet = (s, isSecure) => {
      session(s, isSecure);
      if (greeting) s.write(`${greeting}\r\n`);
    };
    const server = isImplicit ? tls.createServer(keys, (s) => greet(s.on('error', () => {}), true))
      : net.createServer((s) => greet(s, false));
    server.on('connection', () => sink.connections++);
    await listen(t, server);
    sink.port = server.address().port;
    return sink;
  }
}

/** A receiver's YAML, and the routes that send everything to all of them. */
export function routes(receivers, { wait = '20ms', interval = '200ms', repeat = '1h', more = '' } = {}) {
  const names = Object.keys(receivers);
  return `route:
  receiver: ${names[0]}
  group_by: [alertname]
  group_wait: ${wait}
  group_interval: ${interval}
  repeat_interval: ${repeat}
  routes:
${names.map((n) => `    - {receiver: ${n}, continue: true}`).join('\n')}
receivers:
${names.map((n) => `  - name: ${n}\n    ${receivers[n]}`).join('\n')}
${more}`;
}

export class Player {
  /** within: a command that runs the one that follows it. */
  static async start(t, yaml, { dir, alertmanagers = [], args = [], within = [] } = {}) {
    const p = new Player();
    p.t = t;
    p.home = dir ?? tempDir(t);
    p.file = join(p.home, 'routes.yml');
    writeFileSync(p.file, yaml);
    const [command, ...words] = [...within, PLAYER, p.file, `dir=${p.home}`,
      ...alertmanagers.map((u) => `alertmanager=${u}`), ...args];
    p.process = new Process(command, words,
    { stdin: 'pipe', env: { TZ: 'UTC', no_proxy: '*', NO_PROXY: '*' } });
    cleanup(t, () => p.stop());
    p.answers = [];
    let rest = '';
    p.process.child.stdout.on('data', (s) => {
      rest += s;
      for (let i; (i = rest.indexOf('\n')) >= 0; rest = rest.slice(i + 1)) p.answers.push(rest.slice(0, i));
    });
    p.n = 0;
    await p.next();
    return p;
  }

  async next() {
    const i = this.n++;
    await waitFor('an answer of the player', () => {
      if (this.process.exit) throw new Error(`the player ended:\n${this.process.stderr}`);
      return this.answers.length > i;
    }, { timeoutMs: 15000 });
    return JSON.parse(this.answers[i]);
  }

  call(what) {
    this.process.child.stdin.write(`${JSON.stringify(what)}\n`);
    return this.next();
  }

  show(what) {
    return this.call({ show: what });
  }

  /** Alerts with these labels begin to fire. */
  fire(...labels) {
    return this.call({ put: labels.map((l) => ({ labels: l, annotations: { summary: `${l.alertname} is on` } })) });
  }

  resolve(...labels) {
    return this.call({ put: labels.map((l) => ({ labels: l, annotations: {}, resolved: true })) });
  }

  async kill() {
    this.process.signal('SIGKILL');
    await this.process.exited;
  }

  async stop() {
    if (this.process.exit) return;
    this.process.child.stdin.end();
    await waitFor('the player to end', () => this.process.exit, { timeoutMs: 15000 });
    if (this.process.exit.code !== 0) throw new Error(`the player left with ${JSON.stringify(this.process.exit)}:\n${this.process.stderr}`);
  }
}
