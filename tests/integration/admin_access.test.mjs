// SPDX-License-Identifier: Apache-2.0
// Tokens of the admin listener: who gets in, what a reload changes, and where it is not served without.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const WRITE = 'w'.repeat(32), READ = 'r'.repeat(32), OTHER = 'o'.repeat(32);
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const upstream = { url: 'http://127.0.0.1:9' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

async function setup(t, admin = {}) {
  const dir = tempDir(t);
  const files = { write: join(dir, 'write'), read: join(dir, 'read') };
  writeFileSync(files.write, `${WRITE}\n`, { mode: 0o600 });
  writeFileSync(files.read, `${READ}\n`, { mode: 0o600 });
  const config = {
    admin: { listen: '127.0.0.1:0', token_file: files.write, read_token_file: files.read, ...admin },
  };
  const gateway = await Gateway.start(t, { upstream, config });
  const ask = (path, headers = {}, method = 'GET', body) =>
    request(gateway.adminPort, path, { headers, method, body });
  return { gateway, files, config, ask };
}

test('programs: a token for looking, one for changing', async (t) => {
  const { ask } = await setup(t);
  const status = async (...of) => (await ask(...of)).status;
  assert.equal(await status('/api/v1/status'), 401);
  assert.equal(await status('/metrics'), 401);
  assert.equal(await status('/healthz'), 200);
  assert.equal(await status('/metrics', bearer(READ)), 200);
  assert.equal(await status('/api/v1/status', bearer(OTHER)), 401);
  assert.equal(await status('/-/reload', bearer(READ), 'POST'), 403);
  assert.equal(await status('/-/reload', bearer(WRITE), 'POST'), 200);
  const metrics = (await ask('/metrics', bearer(WRITE))).body.toString();
  assert.match(metrics, /\ninferometer_admin_refused_total 3\n/);
  assert.ok(!metrics.includes(READ) && !metrics.includes(WRITE));
});

test('people: the way through the login, as a browser goes it', async (t) => {
  const { gateway, ask } = await setup(t);
  const html = { accept: 'text/html' };
  const away = await ask('/status', html);
  assert.equal(away.status, 303);
  const page = await ask(away.headers.location, html);
  assert.match(page.body.toString(), /name="next" value="\/status"/);
  const wrong = await ask('/login', { ...html, ...FORM }, 'POST', 'token=nothing&next=/status');
  assert.equal(wrong.status, 403);
  assert.match(wrong.body.toString(), /no token of this gateway/);
  const origin = `http://127.0.0.1:${gateway.adminPort}`;
  const let_in = await ask('/login', { ...html, ...FORM, origin }, 'POST', `token=${WRITE}&next=/status`);
  assert.equal(let_in.status, 303);
  assert.equal(let_in.headers.location, '/status');
  const [field] = let_in.headers['set-cookie'];
  assert.match(field, /^inferometer_session=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  const cookie = { cookie: field.split(';')[0] };
  assert.equal((await ask('/status', { ...html, ...cookie })).status, 200);
  const session = JSON.parse((await ask('/api/v1/session', cookie)).body);
  assert.equal(session.role, 'write');
  const change = (more) => ask('/-/reload', { ...cookie, ...more }, 'POST');
  assert.equal((await change({ origin })).status, 403);
  assert.equal((await change({ origin: 'http://evil.example', 'x-inferometer-csrf': session.csrf })).status, 403);
  assert.equal((await change({ origin, 'x-inferometer-csrf': session.csrf })).status, 200);
});

test('a reload: another token, and none that is no good', async (t) => {
  const { gateway, files, ask } = await setup(t);
  const login = await ask('/login', FORM, 'POST', `token=${WRITE}`);
  const cookie = { cookie: login.headers['set-cookie'][0].split(';')[0] };
  assert.equal((await ask('/api/v1/status', cookie)).status, 200);
  writeFileSync(files.write, 'short\n');
  const refused = await ask('/-/reload', bearer(WRITE), 'POST');
  assert.notEqual(refused.status, 200);
  assert.match(refused.body.toString(), /shorter than 16/);
  assert.equal((await ask('/api/v1/status', bearer(WRITE))).status, 200);
  writeFileSync(files.write, OTHER);
  gateway.process.signal('SIGHUP');
  await waitFor('the other token', async () => (await ask('/api/v1/status', bearer(OTHER))).status === 200);
  assert.equal((await ask('/api/v1/status', bearer(WRITE))).status, 401);
  assert.equal((await ask('/api/v1/status', cookie)).status, 401);
});

test('commands send the token of INFEROMETER_TOKEN', async (t) => {
  const { gateway } = await setup(t, { open_metrics: true });
  const url = `http://127.0.0.1:${gateway.adminPort}`;
  const reload = (env) => run(['reload', '--url', url], { env: { ...process.env, ...env } });
  assert.notEqual((await reload({})).code, 0);
  assert.equal((await reload({ INFEROMETER_TOKEN: WRITE })).code, 0);
});

test('commands take the token to whom they were told to ask, and nowhere else', async (t) => {
  const seen = [];
  const server = createServer((req, res) => {
    seen.push([req.url, req.headers.authorization]);
    res.writeHead(req.url.startsWith('/elsewhere') ? 200 : 307,
      { location: `http://localhost:${server.address().port}/elsewhere` }).end('{}');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
  const url = `http://127.0.0.1:${server.address().port}`;
  const env = { ...process.env, INFEROMETER_TOKEN: `${WRITE}\r\nX-Other: 1` };
  for (const args of [['query', 'up'], ['reload'], ['alert', 'list'], ['requests'], ['incident', 'list'], ['targets'], ['top', '--once'],
    ['prometheus', 'export', '--out', tempDir(t)]]) {
    const { code, stdout, stderr } = await run([...args, '--url', url], { env });
    assert.equal(code, 1, args.join(' '));
    assert.ok(!`${stdout}${stderr}`.includes(WRITE), args.join(' '));
  }
  assert.ok(seen.length >= 8);
  for (const [path, authorization] of seen) {
    assert.ok(!path.startsWith('/elsewhere'), path);
    assert.equal(authorization, `Bearer ${WRITE}`);
  }
});

test('an address that other machines reach is served with a token only', async (t) => {
  const serve = (...flags) => run(['serve', '--upstream', 'http://127.0.0.1:1', '--listen', '127.0.0.1:0',
    '--admin', '0.0.0.0:0', ...flags]);
  const open = await serve();
  assert.equal(open.code, 1);
  assert.match(open.stderr, /0\.0\.0\.0:0 is reachable[^]*no token[^]*openssl rand[^]*admin\.token_file/);
  const missing = await serve('--set', 'admin.token_file=/nonexistent/token');
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /\/nonexistent\/token/);
  const { gateway, config, ask } = await setup(t, { listen: '0.0.0.0:0' });
  assert.equal((await ask('/api/v1/status')).status, 401);
  assert.equal((await ask('/api/v1/status', bearer(READ))).status, 200);
  gateway.writeConfig({ ...config, admin: { listen: '0.0.0.0:0' } });
  const refused = await ask('/-/reload', bearer(WRITE), 'POST');
  assert.notEqual(refused.status, 200);
  assert.match(refused.body.toString(), /no token/);
  assert.equal((await ask('/api/v1/status')).status, 401);
});
