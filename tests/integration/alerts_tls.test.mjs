// SPDX-License-Identifier: Apache-2.0
// Receivers over TLS: webhooks over HTTPS, mail with STARTTLS and with TLS from the start. Who is not
// who they have to be is told nothing, and the reason is.
// @tsan
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpSink, noPlayer, Player, routes, SmtpSink } from './lib/alert_sinks.mjs';
import { Authority, noOpenssl } from './lib/certs.mjs';
import { tempDir } from './lib/process.mjs';
import testWithLimit from './lib/test.mjs';
import { says, waitFor } from './lib/wait.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 40000, skip: noPlayer || noOpenssl });

const SECRET = 'SECRETTOKEN0123';
const deliveriesOf = (p) => p.show('deliveries');
const failureOf = (p, receiver) => waitFor(`${receiver} to fail`,
  async () => (await deliveriesOf(p)).waiting.find((w) => w.receiver === receiver), { timeoutMs: 15000 });

// Three ways; each: a sink, the YAML of a receiver of it, and what came there.
const WAYS = {
  https: {
    start: (t, files) => HttpSink.start(t, {}, files),
    yaml: (sink, tls, host = '127.0.0.1') => `webhook_configs: [{url: 'https://${host}:${sink.port}/hook?token=${SECRET}',
        http_config: {authorization: {credentials: ${SECRET}}, tls_config: {${tls}}}}]`,
    took: (sink) => sink.requests.map((r) => r.headers.authorization),
    secret: `Bearer ${SECRET}`,
    plain: () => [],
  },
  starttls: {
    start: (t, files) => SmtpSink.start(t, { files, extensions: ['AUTH PLAIN'] }),
    yaml: (sink, tls, host = '127.0.0.1') => `email_configs: [{to: a@example.com, from: g@example.com, smarthost: '${host}:${sink.port}',
        auth_username: u, auth_password: ${SECRET}, tls_config: {${tls}}}]`,
    took: (sink) => sink.mails.map(() => sink.lines.find((l) => l.length > 20 && !l.includes(' '))),
    secret: Buffer.from(`\0u\0${SECRET}`).toString('base64'),
    plain: (sink) => sink.plain.map((l) => l.split(' ')[0]),
  },
};
WAYS.smtps = {
  ...WAYS.starttls,
  start: (t, files) => SmtpSink.start(t, { files, extensions: ['AUTH PLAIN'], isImplicit: true }),
  yaml: (sink, tls, host) => WAYS.starttls.yaml(sink, tls, host).replace('tls_config', 'force_implicit_tls: true, tls_config'),
};

for (const [name, way] of Object.entries(WAYS))
  test(`${name}: taken where the issuer is the configured one`, async (t) => {
    const ca = new Authority(t);
    const sink = await way.start(t, ca.issue('sink'));
    const p = await Player.start(t, routes({ ip: way.yaml(sink, `ca_file: ${ca.ca}`), name: way.yaml(sink, `ca_file: ${ca.ca}`, 'localhost') }));
    await p.fire({ alertname: 'A' });
    await waitFor('both to be told', async () => (await p.show('stats')).delivered === 2);
    assert.deepEqual(way.took(sink), [way.secret, way.secret]);
    assert.ok(way.plain(sink).every((word) => ['EHLO', 'STARTTLS'].includes(word)), sink.plain?.join());
    assert.equal((await p.show('stats')).failedAttempts, 0);
  });

// What is wrong with the certificate -> how it is made, what tls_config has, and what is told of it.
const REFUSALS = {
  'an unknown issuer': { issue: () => [], tls: () => '', why: /local issuer certificate/ },
  'another issuer than the configured one': { issue: () => [], tls: (ca, other) => `ca_file: ${other.ca}`, why: /local issuer certificate/ },
  'another name': { issue: () => ['DNS:other.example,IP:127.0.0.2'], why: /no alternative certificate subject name matches/ },
  'a certificate that expired': { issue: () => [undefined, 'old', -1], why: /certificate has expired/ },
};

for (const [name, way] of Object.entries(WAYS))
  for (const [what, c] of Object.entries(REFUSALS))
    test(`${name}: refused, with the reason: ${what}`, async (t) => {
      const ca = new Authority(t), other = new Authority(t, 'other');
      const sink = await way.start(t, ca.issue('sink', ...c.issue()));
      const tls = (c.tls ?? (() => `ca_file: ${ca.ca}`))(ca, other);
      const p = await Player.start(t, routes({ one: way.yaml(sink, tls), unchecked: way.yaml(sink, 'insecure_skip_verify: true') }));
      await p.fire({ alertname: 'A' });
      const w = await failureOf(p, 'one');
      assert.match(w.error, c.why);
      assert.match(w.hint, /tls_config/);
      assert.equal(w.givenUp, false);
      await waitFor('who does not check to be told', async () => (await p.show('stats')).delivered === 1);
      assert.ok(sink.connections >= 2);
      assert.deepEqual(way.took(sink), [way.secret]); // that of the other receiver
      assert.ok(way.plain(sink).every((word) => ['EHLO', 'STARTTLS'].includes(word)), sink.plain?.join());
      await says(p.process, new RegExp(`could not deliver to receiver "one".*${c.why.source}`));
      assert.doesNotMatch(p.process.stderr + JSON.stringify(await deliveriesOf(p)), new RegExp(SECRET));
    });

test('mail: a server without STARTTLS, and ones that only seem to have it, get no word', async (t) => {
  const ca = new Authority(t);
  const without = await SmtpSink.start(t, { extensions: ['AUTH PLAIN'] });
  const denying = await SmtpSink.start(t, { files: ca.issue('sink'), extensions: ['AUTH PLAIN'], answers: { STARTTLS: '454 TLS not available' } });
  const early = await SmtpSink.start(t, { files: ca.issue('sink'), extensions: ['AUTH PLAIN'], answers: { STARTTLS: '220 go on\r\n235 welcome\r\n250 ok\r\n354 go on\r\n250 ok' } });
  const { yaml } = WAYS.starttls;
  const p = await Player.start(t, routes({ without: yaml(without, `ca_file: ${ca.ca}`), denying: yaml(denying, `ca_file: ${ca.ca}`),
    early: yaml(early, `ca_file: ${ca.ca}, insecure_skip_verify: true`).replace('to:', 'timeout: 1s, to:') }));
  await p.fire({ alertname: 'A' });
  const w = await failureOf(p, 'without');
  assert.match(w.error, /STARTTLS not supported/);
  assert.match(w.hint, /require_tls: false/);
  assert.match((await failureOf(p, 'denying')).error, /454 TLS not available/);
  await failureOf(p, 'early'); // it answers what was not asked yet, as if TLS were there
  for (const sink of [without, denying, early]) {
    assert.ok(sink.lines.length > 0);
    assert.ok(sink.lines.every((l) => /^(EHLO|STARTTLS|QUIT)\b/.test(l)), sink.lines.join('\n'));
    assert.equal(sink.mails.length, 0);
  }
  assert.equal((await p.show('stats')).delivered, 0);
});

test('a ca_file that is mended is read again', async (t) => {
  const ca = new Authority(t), other = new Authority(t, 'other');
  const sink = await HttpSink.start(t, {}, ca.issue('sink'));
  const p = await Player.start(t, routes({ one: WAYS.https.yaml(sink, `ca_file: ${other.ca}`) }));
  await p.fire({ alertname: 'A' });
  await failureOf(p, 'one');
  copyFileSync(ca.ca, other.ca);
  await waitFor('it to be told', async () => (await p.show('stats')).delivered === 1, { timeoutMs: 15000 });
});

const noMounts = spawnSync('unshare', ['-rm', 'true']).status === 0 ? false : 'mounts cannot be unshared';
testWithLimit("ca_file stands in place of the system's issuers, not beside them", async (t) => {
  const system = new Authority(t, 'system'), own = new Authority(t, 'own');
  const certs = tempDir(t);
  copyFileSync(system.ca, join(certs, 'ca-certificates.crt'));
  const hash = execFileSync('openssl', ['x509', '-hash', '-noout', '-in', system.ca]).toString().trim();
  copyFileSync(system.ca, join(certs, `${hash}.0`));
  const sink = await HttpSink.start(t, {}, system.issue('sink'));
  const within = ['unshare', '-rm', 'sh', '-c', 'mount --bind "$0" /etc/ssl/certs && exec "$@"', certs];
  const p = await Player.start(t, routes({ system: WAYS.https.yaml(sink, ''), own: WAYS.https.yaml(sink, `ca_file: ${own.ca}`) }), { within });
  await p.fire({ alertname: 'A' });
  await waitFor('one to be told', async () => (await p.show('stats')).delivered === 1);
  assert.match((await failureOf(p, 'own')).error, /local issuer certificate/);
  assert.equal(sink.requests.length, 1);
}, { skip: noPlayer || noOpenssl || noMounts });

test('HTTPS where no TLS is spoken, and the other way round', async (t) => {
  const ca = new Authority(t);
  const plain = await HttpSink.start(t), secure = await HttpSink.start(t, {}, ca.issue('sink'));
  const p = await Player.start(t, routes({ one: WAYS.https.yaml(plain, ''), two: `webhook_configs: [{url: 'http://127.0.0.1:${secure.port}/'}]` }));
  await p.fire({ alertname: 'A' });
  assert.match((await failureOf(p, 'one')).error, /wrong version number/);
  await failureOf(p, 'two');
  assert.equal(plain.requests.length + secure.requests.length, 0);
});

test('a client certificate; files that are not there', async (t) => {
  const ca = new Authority(t);
  const own = ca.issue('gateway', 'DNS:gateway');
  const sink = await HttpSink.start(t, {}, { ...ca.issue('sink'), ca: readFileSync(ca.ca), requestCert: true, rejectUnauthorized: true });
  const yaml = (tls) => WAYS.https.yaml(sink, `ca_file: ${ca.ca}${tls}`);
  const p = await Player.start(t, routes({
    with: yaml(`, cert_file: ${own.cert}, key_file: ${own.key}`),
    without: yaml(''),
    no_key: yaml(`, cert_file: ${own.cert}, key_file: /nonexistent/none.key`),
    no_ca: WAYS.https.yaml(sink, `ca_file: /nonexistent/none.pem`),
  }));
  await p.fire({ alertname: 'A' });
  await waitFor('who has one to be told', async () => (await p.show('stats')).delivered === 1);
  assert.match((await failureOf(p, 'without')).error, /certificate required/);
  assert.match((await failureOf(p, 'no_key')).error, /none\.key/);
  const w = await failureOf(p, 'no_ca');
  assert.match(w.error, /none\.pem/);
  assert.equal(sink.requests.length, 1);
});
