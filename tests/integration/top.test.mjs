// SPDX-License-Identifier: Apache-2.0
// The live table: once for scripts, and in terminals of two sizes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, sim, Sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { BIN, run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { NO_TMUX, Terminal } from './lib/tmux.mjs';
import { waitFor } from './lib/wait.mjs';

const LABELS = { labels: [{ name: 'tenant', from: ['header:X-Tenant'] }] };
const EVIL = 'evil\u001b[2J\u202e<b>';

const urlOf = (gateway) => `http://127.0.0.1:${gateway.adminPort}`;
const once = (gateway, ...flags) => run(['top', '--once', '--url', urlOf(gateway), ...flags]);

async function traffic(gateway) {
  const chats = [['m', 'acme', 5], ['m', 'beta', 20], ['m', 'beta', 40], [EVIL, 'acme', 5]];
  for (const [model, tenant, ttft] of chats) {
    const answer = await gateway.chat({ model, stream: true, max_tokens: 4 },
      { headers: { 'x-tenant': tenant, ...sim({ 'ttft-ms': ttft, 'itl-ms': 2 }) } });
    assert.equal(answer.status, 200);
  }
  await gateway.recordsWhere(() => true, chats.length);
}

async function query(gateway, text) {
  const { status, body } = await request(gateway.adminPort, `/api/v1/query?query=${encodeURIComponent(text)}`);
  assert.equal(status, 200, body.toString());
  return JSON.parse(body).data.result;
}

test('once: figures are those that PromQL has of the same minutes', async (t) => {
  const upstream = await Sim.start(t);
  const config = { ...LABELS, data_dir: tempDir(t), history: { interval: '1s' }, models: ['m'] };
  const gateway = await Gateway.start(t, { upstream, config });
  await waitFor('a first sample', async () => (await query(gateway, 'inferometer_series')).length > 0);
  await traffic(gateway);
  const expected = await waitFor('all of it in the history', async () => {
    const n = await query(gateway, 'sum(llm_requests_total)');
    return n.length > 0 && Number(n[0].value[1]) === 4 && query(gateway,
      'histogram_quantile(0.95, sum by (le, tenant) (llm_ttft_seconds_bucket))');
  });
  const { code, stdout, stderr } = await once(gateway, '--json', '--by', 'tenant', '--sort', 'name');
  assert.equal(code, 0, stderr);
  const { rows, total, window_s } = JSON.parse(stdout);
  assert.deepEqual(rows.map((r) => r.labels), [{ tenant: 'acme' }, { tenant: 'beta' }]);
  for (const row of rows) {
    const [{ value }] = expected.filter((e) => e.metric.tenant === row.labels.tenant);
    assert.ok(Math.abs(row.ttft_s.p95 - Number(value[1])) < 1e-9, `${row.ttft_s.p95} ${value[1]}`);
    assert.equal(row.error_ratio, 0);
    assert.equal(Math.round(row.requests_per_s * window_s), 2);
  }
  assert.equal(total.in_flight, 0);
  assert.equal(Math.round(total.completion_tokens_per_s * window_s), 16);
});

test('once without history: two looks, as a table that obeys nobody', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: LABELS });
  await traffic(gateway);
  const { code, stdout, stderr } = await once(gateway, '--interval', '500ms', '--width', '100');
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\u202e]/);
  assert.match(stdout, /^inferometer \S+ at http:\S+, serving/);
  assert.match(stdout, /0 rows by model, upstream, no requests in the last \S+, p99/);
  for (const line of stdout.split('\n')) assert.ok([...line].length <= 100, line);
});

test('what does not work is said', async (t) => {
  const cases = [
    [['top'], 1, /this is no terminal.*\n +--once prints/],
    [['top', '--json'], 2, /--json goes with --once/],
    [['top', '--once', '--by', 'a,b,c'], 2, /--by takes two labels/],
    [['top', '--once', '--sort', 'age'], 2, /there is no column "age"/],
    [['top', '--once', '--window', '1h'], 2, /--window is 1s to 5m/],
    [['top', '--once', '--url', 'http://127.0.0.1:1'], 1, /no answer from 127.0.0.1:1: connection refused/],
  ];
  for (const [args, code, says] of cases) {
    const r = await run(args);
    assert.equal(r.code, code, args.join(' '));
    assert.match(r.stderr, says);
    assert.equal(r.stdout, '');
  }
});

test('a gateway that does not come to an end: Ctrl-C ends it at once', async (t) => {
  const server = createServer((req, res) => {
    const drip = setInterval(() => res.write('# x\n'), 100);
    res.on('close', () => clearInterval(drip));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
  const url = `http://127.0.0.1:${server.address().port}`;
  const begun = Date.now();
  const given_up = await run(['top', '--once', '--url', url], { timeoutMs: 20000 });
  assert.equal(given_up.code, 1);
  assert.match(given_up.stderr, /no answer from 127.0.0.1:\d+: /);
  assert.ok(Date.now() - begun < 9000, `${Date.now() - begun} ms`);
  if (NO_TMUX) return;
  const screen = Terminal.start(t, 80, 24, BIN, ['top', '--url', url]);
  await screen.shows(/waiting for the first figures/);
  screen.press('C-c');
  await screen.shows(/left with 130/, { timeoutMs: 2000 });
});

test('once in a terminal that is too narrow, and into one that is full', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: LABELS });
  const flags = ['top', '--once', '--interval', '500ms', '--url', urlOf(gateway)];
  for (const args of [flags, [...flags, '--json'], ['grafana', 'export', '--board', 'gpu']]) {
    const full = spawnSync('/bin/sh', ['-c', 'exec "$0" "$@" >/dev/full', BIN, ...args], { encoding: 'utf8' });
    assert.equal(full.status, 1, args.join(' '));
    assert.match(full.stderr, /standard output cannot be written: /);
  }
  if (NO_TMUX) return;
  const screen = Terminal.start(t, 20, 60, BIN, flags);
  await screen.shows(/left with 0/);
});

/** Two open streams, one of a hostile name, behind some traffic; an alert that fires. */
async function live(t) {
  const upstream = await Sim.start(t);
  const rules = join(tempDir(t), 'rules.yml');
  writeFileSync(rules, `groups: [{name: g, interval: 1s, rules: [{alert: Shouts, expr: "vector(1)",
    labels: {tier: P1}, annotations: {summary: "it is loud"}}]}]`);
  const config = { ...LABELS, data_dir: tempDir(t), history: { interval: '1s' }, rules: { files: [rules] } };
  const gateway = await Gateway.start(t, { upstream, config });
  await waitFor('a first sample', async () => (await query(gateway, 'inferometer_series')).length > 0);
  await traffic(gateway);
  const aborter = new AbortController();
  const streams = ['m', EVIL].map((model) => gateway.chat({ model, stream: true },
    { headers: sim({ 'ttft-ms': 10, 'itl-ms': 20, tokens: 100000 }), signal: aborter.signal, timeoutMs: 60000 })
    .catch(() => {}));
  cleanup(t, () => (aborter.abort(), Promise.all(streams)));
  await waitFor('open streams', async () => (await gateway.inflight()).length === 2);
  return gateway;
}

const start = (t, gateway, width, height, ...flags) => Terminal.start(t, width, height, BIN,
  ['top', '--url', urlOf(gateway), '--interval', '500ms', ...flags]);

test('80x24: all parts, and what keys do',
  async (t) => {
    const gateway = await live(t);
    const screen = start(t, gateway, 80, 24);
    await screen.shows(/alerts: 1 firing, 0 pending\nfiring +P1 .* Shouts/);
    await screen.shows(/\nm \/ up /);
    const lines = screen.lines();
    assert.equal(lines.length, 24);
    assert.match(lines[0], /^inferometer \S+ at http:\S+, serving, up .*Z$/);
    assert.match(lines[1], /^\S+ req\/s, errors 0%; p99 TTFT \S+ms TPOT \S+ms E2E \S+ms; 2 open; /);
    assert.match(lines[2], /^upstreams 1 of 1 good; engines: - running, - waiting, KV cache -, GPU -$/);
    assert.match(lines[3], /^2 rows by model, upstream, last \S+, p99$/);
    assert.match(lines[4], /^NAME +REQ\/S +ERR +TOK\/S OPEN +QUEUE +TTFT +TPOT +E2E TTFT 5m$/);
    assert.match(lines.join('\n'), /\nevil\?\[2J\?<b> \/ up +\d/); // and no screen was cleared by it
    assert.match(lines.join('\n'), /\nopen requests: 2, the oldest first\nSTATE .*\nstreams +\S+ +1\d\.\dms/);
    assert.match(lines[23], /^q quit  g group/);

    screen.type('ggg');
    await screen.shows(/3 rows by tenant, last/);
    await screen.shows(/\nbeta +\d/);
    screen.type('p/be');
    await screen.shows(/show rows with: be_/);
    screen.press('Enter');
    assert.doesNotMatch(await screen.shows(/1 rows by tenant with "be", last \S+, p50/), /\nacme/);
    screen.press('Escape');
    await screen.shows(/3 rows by tenant, last/);
    screen.type('?');
    await screen.shows(/tab +next part: rows, open requests, alerts/);
    screen.type('x');
    await screen.shows(/\nbeta +\d/);

    gateway.process.signal('SIGSTOP');
    try {
      screen.type(' '); // stops, so that nothing waits for the gateway
      await screen.shows(/PAUSED/, { timeoutMs: 12000 });
    } finally {
      gateway.process.signal('SIGCONT');
    }
    screen.type('q');
    assert.doesNotMatch(await screen.shows(/left with 0\n/), /TTFT 5m/);
  }, { skip: NO_TMUX });

test('200x50: all quantiles; a gateway that goes away',
  async (t) => {
    const gateway = await live(t);
    const screen = start(t, gateway, 200, 50);
    await screen.shows(/\nm \/ up /);
    const lines = screen.lines();
    assert.equal(lines.length, 50);
    assert.match(lines[4], /QUEUE p50 +QUEUE p95 +QUEUE p99 +TTFT p50 .* E2E p99 TTFT 5m$/);
    assert.match(lines[49], /^q quit/);
    assert.match(await screen.shows(/Shouts/), /\nfiring .* Shouts +it is loud/);
    screen.tmux(['resize-window', '-x', '90', '-y', '20']);
    await screen.shows(/QUEUE +TTFT +TPOT +E2E TTFT 5m/);
    assert.equal(screen.lines().length, 20);
    await gateway.process.kill();
    await screen.shows(/^\d\d:\d\d:\d\dZ  no answer for \S+: no answer from 127.0.0.1:\d+: connection refused/);
    screen.press('C-c');
    await screen.shows(/left with 130/);
  }, { skip: NO_TMUX });
