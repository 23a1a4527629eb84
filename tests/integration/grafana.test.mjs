// SPDX-License-Identifier: Apache-2.0
// Dashboards: they are what Grafana imports, name signals that there are, and each of their queries is answered by the
// gateway and by a real Prometheus that scrapes as "inferometer prometheus export" says.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, Sim } from './lib/daemon.mjs';
import { complaints } from './lib/grafana_types.mjs';
import { freePort, getJson, request } from './lib/http.mjs';
import { missing } from './lib/prometheus_server.mjs';
import { ROOT, run, start, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const BOARDS = ['errors', 'gpu', 'latency', 'overview', 'pipeline', 'scheduling', 'tokens', 'ttft-tpot'];

async function exported(t, ...flags) {
  const dir = tempDir(t);
  const { code, stderr } = await run(['grafana', 'export', '--out', join(dir, 'new', 'place'), ...flags]);
  assert.equal(code, 0, stderr);
  const folder = join(dir, 'new', 'place', 'dashboards');
  const files = readdirSync(folder).sort();
  assert.deepEqual(files, BOARDS.map((name) => `inferometer-${name}.json`));
  const boards = Object.fromEntries(files.map((f) => [f.slice(12, -5), JSON.parse(readFileSync(join(folder, f), 'utf8'))]));
  return { dir: join(dir, 'new', 'place'), boards };
}

const panelsOf = (board) => board.panels.filter((p) => p.type !== 'row');
const queriesOf = (boards) => Object.values(boards).flatMap((board) => panelsOf(board).flatMap((panel) =>
  panel.targets.map((target) => ({ panel: `${board.title}: ${panel.title}`, kind: panel.type, ...target }))));

test('dashboards are what Grafana imports', async (t) => {
  const { dir, boards } = await exported(t, '--labels', 'tenant', '--source', 'http://prometheus:9090');
  const uids = new Set();
  for (const [name, board] of Object.entries(boards)) {
    uids.add(board.uid);
    const taken = new Set();
    assert.equal(new Set(board.panels.map((p) => p.id)).size, board.panels.length);
    for (const { gridPos: g, title } of board.panels) {
      assert.ok(g.x >= 0 && g.x + g.w <= 24, title);
      for (let x = g.x; x < g.x + g.w; x++)
        for (let y = g.y; y < g.y + g.h; y++) {
          assert.ok(!taken.has(`${x},${y}`), `${name}: ${title} lies on another panel`);
          taken.add(`${x},${y}`);
        }
    }
    for (const panel of panelsOf(board)) {
      assert.ok(panel.description && panel.fieldConfig.defaults.unit && panel.fieldConfig.defaults.noValue, panel.title);
      assert.ok(panel.targets.length > 0, panel.title);
    }
    const variables = new Set(board.templating.list.map((v) => v.name));
    for (const { expr, panel } of queriesOf({ board }))
      for (const [, used] of expr.matchAll(/\$(\w+)/g))
        assert.ok(variables.has(used) || used.startsWith('__'), `${panel}: $${used} is no variable`);
  }
  assert.equal(uids.size, BOARDS.length);
  const provider = readFileSync(join(dir, 'provisioning/dashboards/inferometer.yaml'), 'utf8');
  assert.ok(provider.includes(`path: "${join(dir, 'dashboards')}"`));
  assert.match(readFileSync(join(dir, 'provisioning/datasources/inferometer.yaml'), 'utf8'), /url: "http:\/\/prometheus:9090"/);
  assert.deepEqual(complaints(boards, tempDir(t)), []);
  boards.overview.panels[1].fieldConfig.defaults.thresholds.mode = 'relative';
  assert.equal(complaints({ broken: boards.overview }, tempDir(t)).length, 1); // so it can fail
}, { limitMs: 60000 });

test('queries name signals of docs/METRICS.md, and none selects by le', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/METRICS.md'), 'utf8');
  const known = new Set([...page.matchAll(/^### (\w+)$|^\| `(\w+)`/gm)].map((m) => m[1] ?? m[2]));
  known.add('ALERTS');
  const { boards } = await exported(t);
  let n = 0;
  for (const { expr, panel } of queriesOf(boards)) {
    const bare = expr.replaceAll(/"[^"]*"/g, '""');
    assert.doesNotMatch(bare, /le=/, panel);
    for (const [name] of bare.matchAll(/\b(?:(?:llm|inferometer|engine|gpu|host|clock|kafka|scrape|source)_\w+|up|ALERTS)\b/g)) {
      const family = name.replace(/_(bucket|sum|count)$/, '');
      assert.ok(known.has(name) || known.has(family), `${panel}: there is no ${name}`);
      n++;
    }
  }
  assert.ok(n > 150, `${n} names`);
});


const substituted = (expr) => Object.entries({
  __rate_interval: '10s', __range: '1m', quantile: '0.95', split: 'tenant', model: '.*', upstream: '.*',
  price_prompt: '1', price_cached: '0.1', price_completion: '4',
}).reduce((text, [name, value]) => text.replaceAll(`$${name}`, value), expr);

async function ask(port, { expr, instant }) {
  const now = Date.now() / 1000;
  const times = instant ? `time=${now}` : `start=${now - 20}&end=${now}&step=1`;
  const path = `/api/v1/${instant ? 'query' : 'query_range'}?query=${encodeURIComponent(substituted(expr))}&${times}`;
  const { status, body } = await request(port, path);
  const answer = JSON.parse(body);
  assert.equal(status, 200, `${expr}: ${body}`);
  return answer.data.result;
}

/** A page of a GPU exporter. */
async function gpuPage(t) {
  const page = [
    ['DCGM_FI_DEV_GPU_UTIL', 'gauge', 87], ['DCGM_FI_DEV_FB_USED', 'gauge', 40000], ['DCGM_FI_DEV_FB_FREE', 'gauge', 1000],
    ['DCGM_FI_DEV_POWER_USAGE', 'gauge', 300], ['DCGM_FI_DEV_GPU_TEMP', 'gauge', 60], ['DCGM_FI_DEV_SM_CLOCK', 'gauge', 1400],
  ].map(([name, type, v]) => `# HELP ${name} x\n# TYPE ${name} ${type}\n${name}{gpu="0",UUID="GPU-1",modelName="H100"} ${v}\n`);
  const server = createServer((req, res) => res.end(page.join('')));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
  return `http://127.0.0.1:${server.address().port}/metrics`;
}

async function startGateway(t) {
  const upstream = await Sim.start(t, '--engine', 'vllm-0.13');
  const alerting = join(tempDir(t), 'alerting.yml');
  writeFileSync(alerting, JSON.stringify({
    route: { receiver: 'ops', group_by: ['alertname'], routes: [{ receiver: 'chat', matchers: ['tier="P2"'] }] },
    receivers: [
      { name: 'ops', webhook_configs: [{ url: 'http://127.0.0.1:1/hook' }], log_configs: [{}] },
      { name: 'chat', dingtalk_configs: [{ access_token: 'sesame' }], email_configs: [
        { to: 'a@example.com', from: 'b@example.com', smarthost: 'mail.example.com:25', language: 'zh' }] },
    ],
    inhibit_rules: [{ source_matchers: ['tier="P0"'], target_matchers: ['tier="P2"'], equal: ['model'] }],
  }));
  const config = {
    upstreams: [{ name: 'up', url: upstream.url }], data_dir: tempDir(t), history: { interval: '1s' },
    scrape: { interval: '500ms', timeout: '500ms', targets: [await gpuPage(t)] }, alerting: { file: alerting },
    labels: [{ name: 'tenant', from: ['header:X-Tenant'] }], slos: [{ name: 'chat', preset: 'chat' }],
    rules: { interval: '1s' }, host: { metrics: true },
  };
  return Gateway.start(t, { upstream, config });
}

/** A real Prometheus on exported files, with their interval. */
async function startPrometheusOn(t, dir) {
  const port = await freePort();
  const file = join(dir, 'prometheus.yml');
  start(t, [`--config.file=${file}`, `--storage.tsdb.path=${join(tempDir(t), 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`], { command: 'prometheus' });
  await waitFor('Prometheus', async () =>
    (await request(port, '/-/ready').catch(() => null))?.status === 200, { timeoutMs: 15000 });
  return port;
}

const checked = (command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`);
};

/** Rules by group and place, without what running adds; queries as the gateway at `prints` prints them. */
async function rulesOf(port, prints) {
  const { data } = await getJson(port, '/api/v1/rules');
  const printed = async (query) =>
    (await getJson(prints, `/api/v1/format_query?query=${encodeURIComponent(query)}`)).data;
  const sorted = (text) => text.replaceAll(/\{([^{}]*)\}/g, (_, matchers) => `{${matchers.split(/,(?=\w+[=!])/).sort()}}`);
  for (const rule of data.groups.flatMap((g) => g.rules)) rule.query = sorted(await printed(rule.query));
  return data.groups.flatMap((g) => g.rules.map((r, i) => ({
    group: g.name, i, interval: g.interval, type: r.type, name: r.name, query: r.query, for: r.duration, keep: r.keepFiringFor,
    labels: r.labels ?? {}, annotations: r.annotations,
  }))).sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : a.i - b.i));
}

async function traffic(gateway, n) {
  for (let i = 0; i < n; i++) {
    const model = i % 2 ? 'm' : 'n';
    const answer = await gateway.chat({ model, stream: true, max_tokens: 5 }, { headers: { 'x-tenant': `t${i % 3}` } });
    assert.equal(answer.status, 200);
  }
}

test('a Prometheus on exported files has the gateway\'s rules, and both answer every query of the dashboards',
  async (t) => {
    const gateway = await startGateway(t);
    const dir = tempDir(t);
    const url = `http://127.0.0.1:${gateway.adminPort}`;
    await traffic(gateway, 4);
    const { code, stderr } = await run(['prometheus', 'export', '--out', dir, '--url', url, '--interval', '1s']);
    assert.equal(code, 0, stderr);
    checked('promtool', 'check', 'config', join(dir, 'prometheus.yml'));
    if (!missing('amtool')) checked('amtool', 'check-config', join(dir, 'alertmanager.yml'));
    const routes = readFileSync(join(dir, 'alertmanager.yml'), 'utf8');
    assert.doesNotMatch(routes, /sesame|dingtalk_configs:|language:/);
    assert.match(routes, /# receiver chat: left out: dingtalk_configs/);

    const port = await startPrometheusOn(t, dir);
    const rules = await rulesOf(port, gateway.adminPort);
    assert.ok(rules.length > 200);
    assert.deepEqual(rules, await rulesOf(gateway.adminPort, gateway.adminPort));

    const { boards } = await exported(t, '--labels', 'tenant');
    const queries = queriesOf(boards);
    const seen = async (at, text) => (await ask(at, { expr: text, instant: true })).length > 0;
    await waitFor('rates at both', async () => {
      await traffic(gateway, 3);
      const all = ['rate(llm_requests_total[10s]) > 0', 'rate(engine_generation_tokens_total[10s]) > 0',
        'gpu_utilization_ratio', 'rate(host_cpu_seconds_total[10s])'];
      const both = await Promise.all([port, gateway.adminPort].flatMap((at) => all.map((text) => seen(at, text))));
      return both.every(Boolean);
    }, { timeoutMs: 20000 });
    const empty = [];
    for (const query of queries) {
      const [theirs, ours] = [await ask(port, query), await ask(gateway.adminPort, query)];
      if (ours.length === 0) empty.push(query.expr);
      if ((theirs.length === 0) !== (ours.length === 0))
        assert.fail(`${query.panel}: ${query.expr}: ${theirs.length} series in Prometheus, ${ours.length} here`);
    }
    // What did not happen here has no series; all else has.
    const filled = queries.length - empty.length;
    t.diagnostic(`${queries.length} queries, ${filled} with values; without: ${empty.join('\n  ')}`);
    assert.ok(filled > 130, `${filled} of ${queries.length} queries have values; not:\n${empty.join('\n')}`);
  }, { limitMs: 60000, skip: missing('prometheus') });

test('what is exported for Prometheus 3 keeps classic buckets; wrong wishes are told', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const url = `http://127.0.0.1:${gateway.adminPort}`;
  const dir = tempDir(t);
  const r = await run(['prometheus', 'export', '--out', dir, '--url', url, '--for', '3', '--target', 'gw:8401',
    '--token-file', '/etc/token', '--alertmanager', '']);
  assert.equal(r.code, 0, r.stderr);
  assert.match(r.stderr, /no rules are evaluated there/);
  const text = readFileSync(join(dir, 'prometheus.yml'), 'utf8');
  assert.match(text, /always_scrape_classic_histograms: true/);
  assert.match(text, /targets: \["gw:8401"\]/);
  assert.match(text, /credentials_file: "\/etc\/token"/);
  assert.doesNotMatch(text, /alertmanagers/);
  const cases = [
    [['prometheus', 'export'], 2, /--out DIR is missing/],
    [['prometheus'], 2, /the command is export/],
    [['prometheus', 'export', '--out', dir, '--for', '4'], 2, /--for is 2 or 3/],
    [['prometheus', 'export', '--out', dir, '--url', 'unix:/x'], 2, /--target HOST:PORT is missing/],
    [['prometheus', 'export', '--out', dir, '--url', 'http://127.0.0.1:1'], 1, /no answer from/],
    [['grafana', 'export'], 2, /either --out DIR or --board NAME/],
    [['grafana', 'export', '--board', 'x'], 2, /there is no dashboard "x"/],
    [['grafana', 'export', '--out', '/dev/null/x'], 1, /\/dev\/null/],
    [['grafana', 'export', '--board', 'gpu', '--labels', 'a b'], 2, /no name of a label/],
    [['grafana', 'export', '--out', dir, '--source', 'prometheus:9090'], 2, /begins with http/],
    [['grafana', 'export', '--out', dir, '--source', 'http://me:sesame@prometheus'], 2, /user and password would be/],
    [['grafana', 'export', '--out', dir, '--bord', 'gpu'], 2, /unknown flag --bord/],
    [['prometheus', 'export', '--ot', dir], 2, /unknown flag --ot/],
  ];
  for (const [args, code, says] of cases) {
    const got = await run(args);
    assert.equal(got.code, code, `${args.join(' ')}: ${got.stderr}`);
    assert.match(got.stderr, says);
  }
});

/** A gateway that answers with these groups of rules and these routes. */
async function answering(t, groups, original) {
  const answers = { '/api/v1/rules': { data: { groups } }, '/api/v2/status': { config: { original } } };
  const server = createServer((req, res) => res.end(JSON.stringify(answers[req.url.split('?')[0]])));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
  return `http://127.0.0.1:${server.address().port}`;
}

test('rule files keep apart, old ones do not count, and names do no harm', async (t) => {
  const evil = 'a"b\n{{ $x }} \u001b[2J $HOME .*[';
  const rule = (name) => ({ type: 'alerting', name, query: `up{a="${JSON.stringify(evil).slice(1, -1)}"} == 0`, duration: 1,
    labels: { evil: evil.replace('{{ $x }}', '') }, annotations: { summary: 'on {{ $labels.evil }}' } });
  const files = ['/a/r.yml', '/b/r-2.yml', '/b/r.yml', '/c/r.yaml', '../../x y.yml', 'slos', ''];
  const groups = files.map((file, i) => ({ file, name: `${evil} ${i}`, interval: 1, rules: [rule(`A${i}`)] }));
  const receivers = [{ name: `x\nroute: {receiver: other}`, dingtalk_configs: [] }, { name: evil }];
  const url = await answering(t, groups, JSON.stringify({ route: { receiver: evil }, receivers }));
  const dir = tempDir(t);
  mkdirSync(join(dir, 'rules'));
  writeFileSync(join(dir, 'rules', 'old.yml'), 'groups: [');
  const target = join(tempDir(t), 'elsewhere');
  writeFileSync(target, 'mine');
  symlinkSync(target, join(dir, 'alertmanager.yml'));
  const { code, stderr } = await run(['prometheus', 'export', '--out', dir, '--url', url]);
  assert.equal(code, 0, stderr);
  assert.equal(readFileSync(target, 'utf8'), 'mine');
  const written = readdirSync(join(dir, 'rules')).filter((name) => name !== 'old.yml').sort();
  assert.deepEqual(written, ['r-2.yml', 'r-3.yml', 'r-4.yml', 'r.yml', 'rules.yml', 'slos.yml', 'x_y.yml']);
  for (let i = 0; i < files.length; i++)
    assert.equal(written.filter((f) => readFileSync(join(dir, 'rules', f), 'utf8').includes(`alert: A${i}\n`)).length, 1);
  if (!missing('promtool')) checked('promtool', 'check', 'config', join(dir, 'prometheus.yml'));
  if (!missing('amtool')) checked('amtool', 'check-config', join(dir, 'alertmanager.yml'));
  assert.match(readFileSync(join(dir, 'alertmanager.yml'), 'utf8'), /^# receiver x\?route: \{receiver: other\}: left out/m);

  chmodSync(join(dir, 'rules'), 0o500);
  const refused = await run(['prometheus', 'export', '--out', dir, '--url', url]);
  if (process.getuid() !== 0) assert.match(refused.stderr, /rules\/r\.yml: permission denied/i);
});
