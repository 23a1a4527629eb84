// SPDX-License-Identifier: Apache-2.0
// A forward proxy: CONNECT and absolute targets, with or without credentials. Whatever name it is
// asked for, it goes to `to`, so names need not exist.
import http from 'node:http';
import net from 'node:net';
import { cleanup } from './cleanup.mjs';

export async function startForwardProxy(t, { to, credentials }) {
  const proxy = { asked: [], fields: [], sockets: new Set() };
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const isAllowed = (req) => !expected || req.headers['proxy-authorization'] === expected;
  const server = http.createServer((req, res) => {
    proxy.asked.push(`${req.method} ${req.url}`);
    proxy.fields.push(req.headers);
    if (!isAllowed(req)) {
      res.writeHead(407).end();
      return;
    }
    const url = new URL(req.url);
    const onward = http.request({ host: '127.0.0.1', port: to, method: req.method,
      path: url.pathname + url.search, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  server.on('connect', (req, socket) => {
    proxy.asked.push(`CONNECT ${req.url}`);
    proxy.fields.push(req.headers);
    if (!isAllowed(req)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const onward = net.connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    proxy.sockets.add(onward);
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  server.on('connection', (socket) => proxy.sockets.add(socket));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => {
    for (const socket of proxy.sockets) socket.destroy();
    return new Promise((done) => server.close(done));
  });
  proxy.port = server.address().port;
  return proxy;
}
