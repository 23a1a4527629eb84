// SPDX-License-Identifier: Apache-2.0
// A real Alertmanager for one test, and a sink for what webhooks get.
import http from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanup } from './cleanup.mjs';
import { freePort, getText } from './http.mjs';
import { start, tempDir } from './process.mjs';

/** config: as in its configuration file. */
export async function startAlertmanager(t, config) {
  const dir = tempDir(t);
  const port = await freePort();
  writeFileSync(join(dir, 'alertmanager.yml'), JSON.stringify(config));
  const server = start(t, [
    `--config.file=${join(dir, 'alertmanager.yml')}`, `--storage.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address=',
  ], { command: 'prometheus-alertmanager' });
  await server.printed(/Listening/, { from: 'stderr' });
  const alerts = async () => JSON.parse(await getText(port, '/api/v2/alerts'));
  return { port, url: `http://127.0.0.1:${port}`, alerts, process: server };
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
