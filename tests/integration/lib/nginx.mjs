// SPDX-License-Identifier: Apache-2.0
// A real nginx between the gateway and an engine.
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './http.mjs';
import { start, tempDir } from './process.mjs';
import { waitFor } from './wait.mjs';

// Debian has it where the paths of ordinary users do not lead.
const NGINX = ['nginx', '/usr/sbin/nginx'].find((path) => spawnSync(path, ['-v']).status === 0);

/** Why tests that need it are skipped, or false. */
export const noNginx = NGINX ? false : 'nginx is not installed';

const isListening = (port) => new Promise((done) => {
  const socket = net.connect({ host: '127.0.0.1', port });
  socket.once('connect', () => (socket.destroy(), done(true)));
  socket.once('error', () => done(false));
});

/**
 * upstream: what has a url. directives: of the location that passes everything on to it. tls:
 * { cert, key } and further directives of its own: clients speak TLS.
 */
export async function startNginx(t, upstream, directives, tls) {
  const dir = tempDir(t);
  const port = await freePort();
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(join(dir, 'nginx.conf'), `
    daemon off;
    master_process off;
    pid ${dir}/nginx.pid;
    error_log stderr warn;
    events { worker_connections 64; }
    http {
      access_log off;
      ${temp.map((name) => `${name}_temp_path ${dir}/${name};`).join('\n      ')}
      server {
        listen 127.0.0.1:${port}${tls ? ' ssl' : ''};
        ${tls ? `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key};` : ''}
        ${(tls?.directives ?? []).map((d) => `${d};`).join(' ')}
        location / {
          proxy_pass ${upstream.url};
          ${directives.map((d) => `${d};`).join('\n          ')}
        }
      }
    }`);
  const process = start(t, ['-c', join(dir, 'nginx.conf'), '-p', dir, '-e', 'stderr'],
    { command: NGINX });
  await waitFor('nginx to listen', () => process.exit ?? isListening(port));
  if (process.exit) throw new Error(`nginx did not start: ${process.stderr}`);
  return { port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}` };
}
