// SPDX-License-Identifier: Apache-2.0
/*
 * node dev.mjs [GATEWAY [PORT]]: serves what is in src/, bundled anew when a page is asked for, with the headers that
 * the gateway sends; everything else goes to the admin listener of a running gateway.
 */
import { createServer, request } from 'node:http';
import { extname } from 'node:path';
import { bundle, TYPES } from './bundle.mjs';

const gateway = new URL(process.argv[2] ?? 'http://127.0.0.1:8401');
const port = Number(process.argv[3] ?? 8480);
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

let files = new Map();

async function build() {
  files = new Map((await bundle()).files.map((f) => [f.path, f.bytes]));
}

function languageOf(req) {
  const chosen = /(?:^|; )inferometer_lang=([\w-]+)/.exec(req.headers.cookie ?? '')?.[1] ?? req.headers['accept-language'] ?? '';
  return chosen.startsWith('zh') ? 'zh-CN' : 'en';
}

function send(res, path) {
  res.writeHead(200, {
    'content-type': TYPES[extname(path)], 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin', 'cache-control': 'no-store',
  });
  res.end(files.get(path));
}

function pass(req, res) {
  const headers = { ...req.headers, host: gateway.host };
  if (headers.origin) headers.origin = gateway.origin;
  const there = request(new URL(req.url, gateway), { method: req.method, headers }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.pipe(res);
  });
  there.on('error', () => res.writeHead(502).end());
  res.on('close', () => there.destroy());
  req.pipe(there);
}

createServer(async (req, res) => {
  const { pathname } = new URL(req.url, gateway);
  try {
    if (pathname === '/') await build();
  } catch (e) {
    return res.writeHead(500, { 'content-type': 'text/plain' }).end(String(e));
  }
  if (pathname === '/') send(res, `/index.${languageOf(req)}.html`);
  else if (files.has(pathname)) send(res, pathname);
  else pass(req, res);
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/ in front of ${gateway.origin}`));
await build().catch((e) => console.error(String(e)));
