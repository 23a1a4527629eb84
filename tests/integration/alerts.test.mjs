// SPDX-License-Identifier: Apache-2.0
// Delivery of alerts (alert/alerts.h) beside local HTTP and SMTP sinks: what arrives, every way in
// which a receiver can fail, and that nothing is lost, repeated, or held up by somebody else.
// @tsan
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanup } from './lib/cleanup.mjs';
import { HttpSink, noPlayer, Player, routes, SmtpSink } from './lib/alert_sinks.mjs';
import { freePort } from './lib/http.mjs';
import { Process, tempDir } from './lib/process.mjs';
import testWithLimit from './lib/test.mjs';
import { says, SLOW, waitFor } from './lib/wait.mjs';

const test = (name, fn, options = {}) => testWithLimit(name, fn, { limitMs: 40000, ...options, skip: noPlayer });
const waitingOf = async (p, receiver) => (await p.show('deliveries')).waiting.find((w) => w.receiver === receiver);
const webhook = (url) => `webhook_configs: [{url: '${url}', timeout: 1s}]`;

test('an alert arrives with evidence, and so does its end', async (t) => {
  const sink = await HttpSink.start(t);
  const p = await Player.start(t, routes({ hook: webhook(`${sink.url}/hook`) }));
  assert.equal(await p.fire({ alertname: 'A', tier: 'P1' }), 0);
  const first = await sink.nth('/hook', 1);
  assert.equal(first.version, '4');
  assert.equal(first.status, 'firing');
  assert.equal(first.alerts[0].annotations.exemplar_requests, 'req-1, req-2');
  assert.equal(first.alerts[0].annotations.requests_looked_at, '42');
  assert.match(first.alerts[0].fingerprint, /^[0-9a-f]{16}$/);
  assert.equal(sink.to('/hook')[0].headers['content-type'], 'application/json');
  const [alert] = await p.show('alerts');
  assert.equal(alert.fingerprint, first.alerts[0].fingerprint);
  assert.deepEqual(alert.receivers, [{ name: 'hook' }]);
  assert.equal(alert.status.state, 'active');
  await p.fire({ alertname: 'A', tier: 'P1' }); // told again by the rules: nobody is told
  await p.resolve({ alertname: 'A', tier: 'P1' });
  const second = await sink.nth('/hook', 2);
  assert.equal(second.status, 'resolved');
  assert.equal(second.alerts[0].annotations.exemplar_requests, 'req-1, req-2');
  assert.deepEqual(await p.show('alerts'), []);
  assert.equal((await p.show('stats')).delivered, 2);
});

test('signatures and mentions of chats', async (t) => {
  const sink = await HttpSink.start(t, { '/slack': (res) => res.end('ok') });
  const p = await Player.start(t, routes({
    ding: `dingtalk_configs: [{url: '${sink.url}/ding?access_token=abc', secret: SEC1, at_mobiles: ['138']}]`,
    feishu: `feishu_configs: [{url: '${sink.url}/feishu', secret: SEC2, language: zh}]`,
    wecom: `wecom_configs: [{url: '${sink.url}/wecom?key=k'}]`,
    slack: `slack_configs: [{api_url: '${sink.url}/slack'}]`,
  }));
  await p.fire({ alertname: 'A', model: '模型' });
  await sink.nth('/ding', 1);
  const ding = new URL(sink.to('/ding')[0].url, sink.url).searchParams;
  const ts = ding.get('timestamp');
  assert.equal(ding.get('sign'), createHmac('sha256', 'SEC1').update(`${ts}\nSEC1`).digest('base64'));
  assert.ok(Math.abs(Number(ts) - Date.now()) < 20000 * SLOW);
  const feishu = await sink.nth('/feishu', 1);
  assert.equal(feishu.sign, createHmac('sha256', `${feishu.timestamp}\nSEC2`).update('').digest('base64'));
  assert.match(feishu.card.header.title.content, /^\[告警:1\] A \(模型\)$/);
  assert.match((await sink.nth('/wecom', 1)).markdown.content, /Labels: model=模型/);
  assert.equal((await sink.nth('/slack', 1)).attachments[0].blocks[0].type, 'header');
  await waitFor('all to be delivered', async () => (await p.show('stats')).delivered === 4);
});

// Each of these fails in its own way, forever; `good` has to be told all the same, and at once.
const FAILURES = {
  errcode: [(res) => res.end('{"errcode":310000,"errmsg":"keywords not in content, SECRETTOKEN0123"}'), /310000/, true],
  limited: [(res) => res.writeHead(429, { 'retry-after': '600' }).end('slow down'), /answered 429: slow down/, false],
  broken: [(res) => res.writeHead(500).end('oops'), /answered 500: oops/, false],
  hang: [() => {}, /timed out/i, false],
  redirect: [(res) => res.writeHead(302, { location: '/elsewhere' }).end(), /redirect/, true],
  garbage: [(res) => res.end('<html>\x00\x01 SECRETTOKEN0123'), /something else than its API does/, false],
  nothing: [(res) => res.socket.destroy(), /./, false],
  huge: [(res) => { res.writeHead(200); const more = () => { while (res.write('x'.repeat(65536))); }; res.on('drain', more); more(); }, /something else/, false],
  drip: [(res) => { res.writeHead(200); const i = setInterval(() => res.write('{'), 50); res.on('close', () => clearInterval(i)); }, /timed out/i, false],
  noise: [(res) => { res.socket.write('\x00\xff\r\n\r\nHTTP/9 garbage'); res.socket.end(); }, /./, false],
};

test('every failure is kept and shown, and delays nobody else', async (t) => {
  const answers = Object.fromEntries(Object.entries(FAILURES).map(([k, [f]]) => [`/${k}`, f]));
  const sink = await HttpSink.start(t, answers);
  const refused = await freePort();
  const ding = (url) => `dingtalk_configs: [{url: '${url}', timeout: 1s}]`;
  const p = await Player.start(t, routes({
    good: webhook(`${sink.url}/good`),
    refused: ding(`http://127.0.0.1:${refused}/`),
    name: ding('http://no-such-host.invalid/'),
    ...Object.fromEntries(Object.keys(FAILURES).map((k) => [k, ding(`${sink.url}/${k}?access_token=SECRETTOKEN0123`)])),
  }));
  const start = Date.now();
  for (let i = 0; i < 5; i++) {
    await p.fire({ alertname: `A${i}` });
    await sink.nth('/good', i + 1);
  }
  assert.ok(Date.now() - start < 3000 * SLOW, `${Date.now() - start} ms`);
  for (const [name, [, why, isGivenUp]] of [...Object.entries(FAILURES), ['refused', [, /connect/i, false]], ['name', [, /resolve/i, false]]]) {
    const w = await waitFor(`${name} to fail`, () => waitingOf(p, name), { timeoutMs: 8000 });
    assert.match(w.error, why, name);
    assert.equal(w.givenUp, isGivenUp, name);
    assert.ok(Date.parse(w.nextAttemptAt) >= Date.parse(w.lastAttemptAt), name);
    assert.ok(!JSON.stringify(w).includes('SECRETTOKEN'), JSON.stringify(w));
  }
  const limited = await waitingOf(p, 'limited');
  assert.ok(Date.parse(limited.nextAttemptAt) - Date.parse(limited.lastAttemptAt) > 590000);
  const stats = await p.show('stats');
  assert.equal(stats.delivered, 5);
  assert.ok(stats.givenUp >= 2 && stats.failedAttempts >= 12);
  assert.equal(sink.to('/elsewhere').length, 0);
  assert.ok(sink.to('/broken').length < 12, 'attempts back off');
  await says(p.process, /could not deliver to receiver "broken" \(dingtalk 0\): answered 500: oops/);
  assert.doesNotMatch(p.process.stderr, /SECRETTOKEN/);
});

test('an answer that repeats secrets is shown without them, wherever it is cut', async (t) => {
  const SECRET = 'SECRETTOKEN0123456789abcdefghijklmnop';
  const echo = (res, r) => res.writeHead(400).end(`${'x'.repeat(60)} ${r.url} ${r.headers.authorization}`);
  const sink = await HttpSink.start(t, { '/hook': echo, [`/${SECRET}/api/v2/alerts`]: echo });
  const p = await Player.start(t, routes({
    url: webhook(`${sink.url}/hook?token=${SECRET}`),
    header: `webhook_configs: [{url: '${sink.url}/hook', http_config: {authorization: {credentials: ${SECRET}}}}]`,
  }), { alertmanagers: [`${sink.url}/${SECRET}`] });
  await p.fire({ alertname: 'A' });
  for (const name of ['url', 'header'])
    assert.match((await waitFor(`${name} to fail`, () => waitingOf(p, name))).error, /answered 400: x{60} .*\*{8}/);
  await waitFor('the Alertmanager to refuse', async () => /answered 400/.test((await p.show('deliveries')).alertmanagers[0].error));
  assert.doesNotMatch(p.process.stderr + JSON.stringify(await p.show('deliveries')), /SECRETTO/);
});

test('what failed is delivered with what is new, once the receiver is back', async (t) => {
  let isBack = false;
  const sink = await HttpSink.start(t, { '/hook': (res) => (isBack ? res.end() : res.writeHead(503).end()) });
  const p = await Player.start(t, routes({ hook: webhook(`${sink.url}/hook`) }));
  await p.fire({ alertname: 'A', n: '1' });
  await waitFor('it to fail', () => waitingOf(p, 'hook'));
  await p.fire({ alertname: 'A', n: '2' });
  isBack = true;
  await waitFor('it to be delivered', async () => (await p.show('stats')).delivered >= 1, { timeoutMs: 8000 });
  const last = JSON.parse(sink.to('/hook').at(-1).text);
  assert.deepEqual(last.alerts.map((a) => a.labels.n).sort(), ['1', '2']);
  assert.equal(await waitingOf(p, 'hook'), undefined);
  await says(p.process, /delivered to receiver "hook" \(webhook 0\) after \d+ failed attempt/);
});

test('a mended receiver is tried at once after a reload', async (t) => {
  const sink = await HttpSink.start(t, { '/ding': (res, r) => res.end(r.text.includes('gateway') ? '{"errcode":0}' : '{"errcode":310000,"errmsg":"keywords"}') });
  const yaml = (keyword) => routes({ ding: `dingtalk_configs: [{url: '${sink.url}/ding', keyword: '${keyword}'}]` });
  const p = await Player.start(t, yaml('x'));
  await p.fire({ alertname: 'A' });
  const w = await waitFor('it to be given up', () => waitingOf(p, 'ding'));
  assert.equal(w.givenUp, true);
  assert.match(w.hint, /keyword/);
  writeFileSync(p.file, yaml('gateway'));
  assert.equal(await p.call({ reload: p.file }), 0);
  await waitFor('it to be delivered', async () => (await p.show('stats')).delivered === 1);
  assert.equal(await waitingOf(p, 'ding'), undefined);
});

test('a receiver that is configured no more is not listed any more', async (t) => {
  const sink = await HttpSink.start(t, { '/old': (res) => res.writeHead(500).end() });
  const p = await Player.start(t, routes({ new: webhook(`${sink.url}/new`), old: webhook(`${sink.url}/old`) }));
  await p.fire({ alertname: 'A' });
  await waitFor('it to fail', () => waitingOf(p, 'old'));
  writeFileSync(p.file, routes({ new: webhook(`${sink.url}/new`) }));
  assert.equal(await p.call({ reload: p.file }), 0);
  await waitFor('one to be listed', async () => (await p.show('deliveries')).receivers.map((r) => r.receiver).join() === 'new');
  assert.deepEqual((await p.show('deliveries')).waiting, []);
});

test('kill -9 and restart: nothing is lost, nothing told twice', async (t) => {
  let isUp = false;
  const sink = await HttpSink.start(t, { '/flaky': (res) => (isUp ? res.end() : res.writeHead(500).end()) });
  const yaml = routes({ hook: webhook(`${sink.url}/hook`), flaky: webhook(`${sink.url}/flaky`) });
  const dir = tempDir(t);
  let p = await Player.start(t, yaml, { dir });
  await p.fire({ alertname: 'A' }, { alertname: 'B' });
  await sink.nth('/hook', 2);
  await waitFor('flaky to fail', () => waitingOf(p, 'flaky'));
  await waitFor('that to be kept', async () => (await p.show('stats')).delivered === 2);
  const { id } = { id: await p.call({ silence: { matchers: [{ name: 'alertname', value: 'S', isRegex: false, isEqual: true }],
    startsAt: new Date().toISOString(), endsAt: new Date(Date.now() + 3600000).toISOString(), createdBy: 'ann', comment: 'work' } }) };
  assert.match(id, /^[0-9a-f-]{36}$/);
  await p.show('stats');
  await p.fire({ alertname: 'C' }); // taken, and in the file, when the call is over
  await p.kill();

  p = await Player.start(t, yaml, { dir });
  await waitFor('C to be told', () => sink.to('/hook').some((r) => JSON.parse(r.text).groupLabels.alertname === 'C'));
  await p.fire({ alertname: 'S' });
  assert.deepEqual((await p.show('silences')).map((s) => s.id), [id]);
  await waitFor('S to be silenced', async () => (await p.show('alerts')).find((a) => a.labels.alertname === 'S')?.status.state === 'suppressed');
  isUp = true;
  await waitFor('flaky to be told of all', () => {
    const ok = new Set(sink.to('/flaky').slice(1).map((r) => JSON.parse(r.text).groupLabels.alertname));
    return ['A', 'B', 'C'].every((n) => ok.has(n));
  }, { timeoutMs: 15000 });
  await waitFor('nothing to wait', async () => (await p.show('deliveries')).waiting.length === 0, { timeoutMs: 15000 });
  const told = sink.to('/hook').map((r) => JSON.parse(r.text).groupLabels.alertname).sort();
  assert.deepEqual(told.filter((n) => n !== 'C'), ['A', 'B']);
  const [a] = (await p.show('alerts')).filter((x) => x.labels.alertname === 'A');
  assert.equal(a.annotations.exemplar_requests, 'req-1, req-2');
  await p.resolve({ alertname: 'A' });
  await waitFor('the end of A', () => sink.to('/hook').some((r) => JSON.parse(r.text).status === 'resolved'));
});

test('a robot gets no more than its rate, and everything in the end', async (t) => {
  const sink = await HttpSink.start(t);
  const p = await Player.start(t, routes({ wecom: `wecom_configs: [{url: '${sink.url}/wecom?key=a'}]`, again: `wecom_configs: [{url: '${sink.url}/wecom?key=a', type: text}]` }));
  await p.fire(...Array.from({ length: 30 }, (_, i) => ({ alertname: `A${i}` })));
  await waitFor('18 of them', () => sink.to('/wecom').length >= 18);
  await waitFor('the others to wait', async () => (await p.show('stats')).waiting === 42);
  assert.equal(sink.to('/wecom').length, 18);
});

test('labels that try to break out', async (t) => {
  const sink = await HttpSink.start(t, { '/slack': (res) => res.end('ok') });
  const mail = await SmtpSink.start(t);
  const p = await Player.start(t, routes({
    hook: webhook(`${sink.url}/hook`), ding: `dingtalk_configs: [{url: '${sink.url}/ding'}]`,
    feishu: `feishu_configs: [{url: '${sink.url}/feishu'}]`, wecom: `wecom_configs: [{url: '${sink.url}/wecom'}]`,
    slack: `slack_configs: [{api_url: '${sink.url}/slack'}]`, log: 'log_configs: [{}]',
    mail: `email_configs: [{to: a@example.com, from: gw@example.com, smarthost: '127.0.0.1:${mail.port}', require_tls: false}]`,
  }));
  const labels = { alertname: 'E\r\nBcc: v@example.com\r\n\r\n.\r\nMAIL FROM:<x>', a: '"\'`\\<script>&<!channel><@all>](http://evil)', b: '🔥\u0000\u202e', c: '# *x* _y_' };
  await p.call({ put: [{ labels, annotations: { summary: 'S\r\n.\r\nQUIT', description: '告'.repeat(34000), runbook_url: 'javascript:alert(1)' } }] });
  const hook = await sink.nth('/hook', 1);
  assert.deepEqual(hook.alerts[0].labels, labels);
  assert.equal(hook.alerts[0].annotations.description.length, 34000);
  for (const path of ['/ding', '/feishu', '/wecom', '/slack']) {
    const body = JSON.stringify(await sink.nth(path, 1));
    assert.ok(body.length < 20000, path);
    assert.ok(!body.includes('<@all>') || path === '/feishu', path);
    assert.ok(!body.includes('javascript:'), path);
    new TextDecoder('utf-8', { fatal: true }).decode(sink.to(path)[0].bytes);
  }
  await waitFor('the mail', () => mail.mails.length === 1);
  assert.equal(mail.lines.filter((l) => /^(MAIL|RCPT)/i.test(l)).length, 2);
  assert.doesNotMatch(mail.mails[0].text, /^(Bcc|MAIL)/m);
  await says(p.process, /alert firing: E Bcc: v@example.com/);
  assert.equal(p.process.stderr.split('\n').filter((l) => l.startsWith('Bcc')).length, 0);
});

test('mail: text and HTML, credentials, several addresses', async (t) => {
  const mail = await SmtpSink.start(t, { extensions: ['AUTH PLAIN LOGIN'], answers: { RCPT: (l) => (l.includes('gone@') ? '550 no such user' : '250 ok') } });
  const p = await Player.start(t, routes({ mail: `email_configs: [{to: 'a@example.com, Bob <b@example.com>, gone@example.com', from: 'Gw <gw@example.com>', smarthost: '127.0.0.1:${mail.port}', hello: gw.example, require_tls: false, auth_username: u, auth_password: pw, language: zh, send_resolved: true}]` }));
  await p.fire({ alertname: 'A', model: '模型' });
  await waitFor('the mail', () => mail.mails.length === 1);
  const { text, from, to } = mail.mails[0];
  assert.match(from, /<gw@example.com>/);
  assert.equal(to.length, 3);
  assert.ok(mail.lines.includes('EHLO gw.example'));
  assert.ok(mail.lines.some((l) => l.startsWith('AUTH PLAIN') || l === Buffer.from('\0u\0pw').toString('base64')));
  const head = text.slice(0, text.indexOf('\r\n\r\n'));
  const subject = [...head.matchAll(/=\?UTF-8\?B\?([^?]*)\?=/g)].map((m) => Buffer.from(m[1], 'base64').toString()).join('');
  assert.equal(subject, '[告警:1] A (模型)');
  const boundary = head.match(/boundary="([^"]*)"/)[1];
  const parts = text.split(`--${boundary}`).slice(1, 3).map((part) => {
    const [h, body] = part.split('\r\n\r\n');
    return { h, body: Buffer.from(body, 'base64').toString() };
  });
  assert.match(parts[0].h, /text\/plain; charset=utf-8/);
  assert.match(parts[0].body, /开始时间: .*相关请求: req-1, req-2/s);
  assert.match(parts[1].h, /text\/html/);
  assert.match(parts[1].body, /<h3 style="color:#b3261e">\[告警:1\] A \(模型\)<\/h3>/);
  await waitFor('a word about the third', async () => /gone|550/.test((await p.show('deliveries')).receivers[0].warning ?? ''));
  await p.resolve({ alertname: 'A', model: '模型' });
  await waitFor('the second mail', () => mail.mails.length === 2);
  const thread = /^In-Reply-To: (.*)$/m;
  assert.equal(mail.mails[1].text.match(thread)[1], text.match(thread)[1]);
});

test('mail servers that refuse and hang', async (t) => {
  const silent = await SmtpSink.start(t, { greeting: null });
  const quiet = await SmtpSink.start(t, { answers: { QUIT: undefined } });
  const busy = await SmtpSink.start(t, { answers: { MAIL: '451 later' } });
  const denied = await SmtpSink.start(t, { extensions: ['AUTH PLAIN'], answers: { AUTH: '535 wrong password', QUIT: undefined } });
  const mailTo = (s, more = 'require_tls: false') => `email_configs: [{to: a@example.com, from: g@example.com, smarthost: '127.0.0.1:${s.port}', timeout: 1s, send_resolved: true, ${more}}]`;
  const good = await SmtpSink.start(t);
  const p = await Player.start(t, routes({ silent: mailTo(silent), quiet: mailTo(quiet), busy: mailTo(busy),
    denied: mailTo(denied, 'require_tls: false, auth_username: u, auth_password: SECRETPASSWORD'), plain: mailTo(good, 'require_tls: true'), good: mailTo(good) }));
  const start = Date.now();
  for (let i = 0; i < 3; i++) {
    await p.fire({ alertname: `A${i}` });
    await waitFor('good and quiet to be told', () => good.mails.length > i && quiet.mails.length > i);
  }
  assert.ok(Date.now() - start < 3000 * SLOW, `${Date.now() - start} ms`);
  const why = async (name) => (await waitFor(`${name} to fail`, () => waitingOf(p, name), { timeoutMs: 15000 }));
  assert.match((await why('silent')).error, /timed out/i);
  assert.match((await why('busy')).error, /answered 451: 451 later/);
  assert.match((await why('denied')).error, /535 wrong password/);
  assert.equal((await why('denied')).givenUp, true);
  assert.match((await why('plain')).hint, /require_tls: false/);
  assert.doesNotMatch(p.process.stderr, /SECRETPASSWORD/);
});

/** Threads of a process by that name. */
const threads = (pid, name) => readdirSync(`/proc/${pid}/task`).filter((tid) => {
  try {
    return readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8') === `${name}\n`;
  } catch {
    return false; // it has just ended
  }
});

test('a mail server that does not answer QUIT does not keep a thread', async (t) => {
  const quiet = await SmtpSink.start(t, { answers: { QUIT: undefined } });
  const p = await Player.start(t, routes({ quiet: `email_configs: [{to: a@example.com, from: g@example.com, smarthost: '127.0.0.1:${quiet.port}', require_tls: false}]` }));
  await p.fire({ alertname: 'A' }, { alertname: 'B' });
  await waitFor('two mails', async () => (await p.show('stats')).delivered === 2);
  const start = Date.now();
  await waitFor('their threads to end', () => threads(p.process.pid, 'mail').length === 0, { timeoutMs: 15000 });
  assert.ok(Date.now() - start < 8000, `${Date.now() - start} ms`); // each answer has 10 s
  assert.ok(quiet.lines.includes('QUIT'));
});

test('a mail server may take as long as timeout allows', async (t) => {
  const slow = await SmtpSink.start(t, { answers: { 'DATA.': (say) => setTimeout(() => say('250 taken'), 11000) } });
  const p = await Player.start(t, routes({ slow: `email_configs: [{to: a@example.com, from: g@example.com, smarthost: '127.0.0.1:${slow.port}', require_tls: false, timeout: 30s}]` }));
  await p.fire({ alertname: 'A' });
  await waitFor('the mail', async () => (await p.show('stats')).delivered === 1, { timeoutMs: 20000 });
  assert.equal((await p.show('stats')).failedAttempts, 0);
});

test('tests of receivers say what came of it', async (t) => {
  const sink = await HttpSink.start(t, { '/bad': (res) => res.writeHead(403).end('no'), '/hang': () => {} });
  const p = await Player.start(t, routes({ good: webhook(`${sink.url}/good`), bad: webhook(`${sink.url}/bad`), hang: `webhook_configs: [{url: '${sink.url}/hang', timeout: 20s}]`, log: 'log_configs: [{}]' }));
  const good = await p.call({ test: 'good' });
  assert.equal(good.result, 0);
  assert.match(good.text, /^webhook 0 to http:\/\/127\.0\.0\.1:\d+\/\.\.\.: delivered in \d+ ms, answer 200\n$/);
  assert.equal((await sink.nth('/good', 1)).alerts[0].labels.alertname, 'InferometerTest');
  const bad = await p.call({ test: 'bad' });
  assert.notEqual(bad.result, 0);
  assert.match(bad.text, /not delivered, answer 403: answered 403: no \(check the receiver's credentials/);
  assert.match((await p.call({ test: 'nobody' })).error, /there is no receiver "nobody"/);
  assert.match((await p.call({ test: 'hang', timeoutMs: 200 })).error, /did not answer in time/);
  assert.equal((await p.call({ test: 'log' })).result, 0);
});

test('every Alertmanager gets every notice, whatever the others do', async (t) => {
  let n = 0;
  const sink = await HttpSink.start(t, {
    '/good/api/v2/alerts': (res) => res.end(),
    '/down/api/v2/alerts': (res) => (n++ < 2 ? res.writeHead(500).end() : res.end()),
    '/picky/api/v2/alerts': (res) => res.writeHead(400).end('bad start time'),
    '/hang/api/v2/alerts': () => {},
  });
  const p = await Player.start(t, routes({ log: 'log_configs: [{}]' }), { alertmanagers: ['good', 'down', 'picky', 'hang'].map((k) => `${sink.url}/${k}/`) });
  await p.fire(...Array.from({ length: 300 }, (_, i) => ({ alertname: 'A', i: String(i) })));
  const of = (k) => sink.to(`/${k}/api/v2/alerts`).flatMap((r) => JSON.parse(r.text));
  await waitFor('all of them', () => new Set(of('good').map((a) => a.labels.i)).size === 300);
  assert.ok(sink.to('/good/api/v2/alerts').every((r) => JSON.parse(r.text).length <= 256));
  const [a] = of('good');
  assert.deepEqual(Object.keys(a).sort(), ['annotations', 'endsAt', 'generatorURL', 'labels', 'startsAt']);
  assert.ok(Date.parse(a.endsAt) > Date.parse(a.startsAt));
  await waitFor('the one that was down', () => new Set(sink.to('/down/api/v2/alerts').slice(2).flatMap((r) => JSON.parse(r.text)).map((x) => x.labels.i)).size === 300, { timeoutMs: 10000 });
  await p.resolve({ alertname: 'A', i: '7' });
  await waitFor('the end', () => of('good').some((x) => x.labels.i === '7' && Date.parse(x.endsAt) <= Date.now()));
  const { alertmanagers } = await waitFor('drops to show', async () => { const d = await p.show('deliveries'); return d.alertmanagers[2].dropped > 0 && d; });
  assert.equal(alertmanagers[0].taken >= 301, true);
  assert.match(alertmanagers[2].error, /answered 400: bad start time/);
  assert.equal(alertmanagers[3].waiting >= 300, true);
});

const ALERTMANAGER = ['/usr/bin/prometheus-alertmanager'].find(existsSync);
testWithLimit('a real Alertmanager takes, groups and resolves them', async (t) => {
  const sink = await HttpSink.start(t);
  const dir = tempDir(t);
  writeFileSync(join(dir, 'am.yml'), `route: {receiver: hook, group_by: [alertname], group_wait: 100ms, group_interval: 300ms}
receivers: [{name: hook, webhook_configs: [{url: '${sink.url}/am'}]}]
`);
  const port = await freePort();
  const am = new Process(ALERTMANAGER, [`--config.file=${join(dir, 'am.yml')}`, `--storage.path=${dir}`,
    `--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address=']);
  cleanup(t, async () => { am.signal('SIGTERM'); await am.exited; });
  const p = await Player.start(t, routes({ hook: webhook(`${sink.url}/ours`) }), { alertmanagers: [`http://127.0.0.1:${port}`] });
  await p.fire({ alertname: 'A', model: 'm', text: '模型 "x"' });
  const theirs = await sink.nth('/am', 1, { timeoutMs: 15000 });
  const ours = await sink.nth('/ours', 1);
  for (const key of ['version', 'status', 'groupLabels', 'commonLabels', 'commonAnnotations', 'truncatedAlerts'])
    assert.deepEqual(ours[key], theirs[key], key);
  for (const key of ['status', 'labels', 'annotations', 'fingerprint', 'generatorURL'])
    assert.deepEqual(ours.alerts[0][key], theirs.alerts[0][key], key);
  assert.equal(Date.parse(ours.alerts[0].startsAt), Date.parse(theirs.alerts[0].startsAt)); // .23 is .230
  await p.resolve({ alertname: 'A', model: 'm', text: '模型 "x"' });
  await waitFor('its end', () => sink.to('/am').some((r) => JSON.parse(r.text).status === 'resolved'), { timeoutMs: 15000 });
}, { limitMs: 60000, skip: noPlayer || (!ALERTMANAGER && 'no prometheus-alertmanager') });

const AMTOOL = ['/usr/bin/amtool'].find(existsSync);
testWithLimit('amtool reads alerts and silences', async (t) => {
  const sink = await HttpSink.start(t);
  const p = await Player.start(t, routes({ hook: webhook(`${sink.url}/hook`) }));
  await p.fire({ alertname: 'A', model: 'm' });
  await sink.nth('/hook', 1);
  const body = { matchers: [{ name: 'alertname', value: 'X', isRegex: false, isEqual: true }], startsAt: new Date().toISOString(), endsAt: new Date(Date.now() + 3600000).toISOString(), createdBy: 'ann', comment: 'planned work' };
  await p.call({ silence: body });
  const shown = { '/api/v2/alerts': 'alerts', '/api/v2/alerts/groups': 'groups', '/api/v2/silences': 'silences', '/api/v2/status': 'status', '/api/v2/receivers': 'receivers' };
  const server = http.createServer(async (req, res) => {
    const what = shown[req.url.split('?')[0]];
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(await p.show(what)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(t, () => server.close());
  const amtool = async (...args) => (await promisify(execFile)(AMTOOL, [`--alertmanager.url=http://127.0.0.1:${server.address().port}`, ...args])).stdout;
  assert.match(await amtool('alert', 'query', '-o', 'extended'), /alertname="A" model="m".*A is on/s);
  assert.match(await amtool('silence', 'query'), /alertname="X".*ann.*planned work/s);
  assert.match(await amtool('config', 'show'), /receiver: hook/);
}, { limitMs: 40000, skip: noPlayer || (!AMTOOL && 'no amtool') });
