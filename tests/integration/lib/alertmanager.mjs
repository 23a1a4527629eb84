// SPDX-License-Identifier: Apache-2.0
// A real Alertmanager for one test, and a place where its webhooks go.
import http from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanup } from './cleanup.mjs';
import { freePort, request } from './http.mjs';
import { start, tempDir } from './process.mjs';
import { waitFor } from './wait.mjs';

/** Listens for webhooks: { port, received: [{ at, path, body }] }, in the order in which they came. */
export async function webhookSink(t) {
  const received = [];
  const server = http.createServer((req, res) => {
    const at = Date.now();
    const parts = [];
    req.on('data', (part) => parts.push(part));
    req.on('end', () => {
      received.push({ at, path: req.url, body: JSON.parse(Buffer.concat(parts).toString()) });
      res.end();
    });
  });
  server.keepAliveTimeout = 0; // or a message meets a connection that is just being closed
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => {
    server.closeAllConnections?.();
    return new Promise((done) => server.close(done));
  });
  return { port: server.address().port, received };
}

/** config: an object, written as YAML's subset JSON. */
export async function startAlertmanager(t, config) {
  const dir = tempDir(t);
  const port = await freePort();
  const file = join(dir, 'alertmanager.yml');
  writeFileSync(file, JSON.stringify(config));
  start(t, [
    `--config.file=${file}`, `--storage.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address=',
  ], { command: 'prometheus-alertmanager' });
  await waitFor('Alertmanager', async () => {
    const answer = await request(port, '/-/ready').catch(() => null);
    return answer?.status === 200;
  }, { timeoutMs: 15000 });
  const post = async (path, json) => {
    const answer = await request(port, `/api/v2/${path}`, { json });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return answer.body.toString();
  };
  return { port, post };
}

/** Takes what is POSTed: messages are {path, headers, text, body, at}. answer(message, response). */
export async function startSink(t, answer = (message, response) => response.end('ok')) {
  const messages = [];
  const server = http.createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (s) => (text += s)).on('end', () => {
      let body = null;
      try {
        body = JSON.parse(text);
      } catch {
        // not JSON
      }
      const message = { path: request.url, headers: request.headers, text, body, at: Date.now() };
      messages.push(message);
      answer(message, response);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return { messages, url: `http://127.0.0.1:${server.address().port}` };
}
