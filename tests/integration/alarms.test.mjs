// SPDX-License-Identifier: Apache-2.0
// Rules and alerts of a running gateway, from the metric to the message: beside the real Prometheus
// and the real Alertmanager.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { HttpSink } from './lib/alert_sinks.mjs';
import { startAlertmanager, startSink } from './lib/alertmanager.mjs';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { getJson, request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import { startPrometheus } from './lib/prometheus_server.mjs';
import testWithLimit from './lib/test.mjs';
import { says, timed, waitFor } from './lib/wait.mjs';

/** Alerts take their time: an interval, a scrape, a group. */
const test = (name, fn, options) => testWithLimit(name, fn, { limitMs: 90000, ...options });

const FAST = { 'ttft-ms': 1, tokens: 3 };
const SLOW_FIRST = { 'ttft-ms': 400, tokens: 3 };

/** An alert as long as a request in the last few seconds was slow to its first token. */
const RULES = {
  groups: [{
    name: 'latency',
    interval: '1s',
    rules: [
      { record: 'model:llm_ttft_seconds_sum:rate5s', expr: 'sum by (model) (rate(llm_ttft_seconds_sum[5s]))' },
      {
        alert: 'TTFTHigh',
        expr: 'model:llm_ttft_seconds_sum:rate5s / on (model) sum by (model) (rate(llm_ttft_seconds_count[5s])) > 0.2',
        for: '1s',
        labels: { tier: 'P1' },
        annotations: { summary: 'TTFT of {{ $labels.model }} is {{ $value | humanizeDuration }}' },
      },
    ],
  }],
};

function writeJson(dir, name, value) {
  const path = join(dir, name);
  writeFileSync(path, JSON.stringify(value, null, 2));
  return path;
}

const routesTo = (url) => ({
  route: { receiver: 'hook', group_by: ['alertname'], group_wait: '0s', group_interval: '1s', repeat_interval: '1h' },
  receivers: [{ name: 'hook', webhook_configs: [{ url, send_resolved: true }] }],
});

async function withRules(t, { rules = RULES, routes, config = {}, upstream } = {}) {
  const dir = tempDir(t);
  const file = writeJson(dir, 'rules.yml', rules);
  const alerting = { ...config.alerting };
  if (routes) alerting.file = writeJson(dir, 'alerting.yml', routes);
  const whole = {
    data_dir: tempDir(t), history: { interval: '1s' }, rules: { files: [file] }, models: ['m'], ...config, alerting,
  };
  const gateway = await Gateway.start(t, { upstream: upstream ?? await Sim.start(t), config: whole });
  await waitFor('delivery', async () => (await request(gateway.adminPort, '/api/v2/alerts')).status === 200);
  const ask = (headers) => gateway.chat({ model: 'm', stream: true }, { headers: sim(headers) });
  const alerts = async () => (await getJson(gateway.adminPort, '/api/v1/alerts')).data.alerts;
  return { gateway, config: whole, file, ask, alerts };
}

/** Slow requests until fn says so. */
async function slowUntil(ask, what, fn) {
  return waitFor(what, async () => {
    await ask(SLOW_FIRST);
    return fn();
  }, { timeoutMs: 20000 });
}

test('from a slow request to a message with the requests behind it, and back', async (t) => {
  const sink = await startSink(t);
  const { gateway, ask, alerts } = await withRules(t, { routes: routesTo(`${sink.url}/hook`) });
  await ask(FAST);
  const group = await waitFor('the rules', async () =>
    (await getJson(gateway.adminPort, '/api/v1/rules?rule_group[]=latency')).data.groups[0]);
  assert.deepEqual(group.rules.map((r) => [r.type, r.name]),
    [['recording', 'model:llm_ttft_seconds_sum:rate5s'], ['alerting', 'TTFTHigh']]);

  const { body } = await slowUntil(ask, 'a message', () => sink.messages[0]);
  assert.equal(body.version, '4');
  assert.equal(body.status, 'firing');
  assert.equal(body.receiver, 'hook');
  const [alert] = body.alerts;
  assert.deepEqual([alert.labels.alertname, alert.labels.model, alert.labels.tier], ['TTFTHigh', 'm', 'P1']);
  assert.match(alert.annotations.summary, /^TTFT of m is [234]\d\d(\.\d+)?ms$/);
  assert.match(alert.annotations.evidence, /requests in 15 min.*TTFT of \d+: p50 4\d\d ms/);
  const ids = alert.annotations.exemplar_requests.split(', ');
  assert.ok(ids.length >= 1 && ids.length <= 5);
  const times = await Promise.all(ids.map(async (id) =>
    (await getJson(gateway.adminPort, `/api/v1/requests/${id}`)).ttft_ms));
  assert.ok(times[0] >= 400, times);
  assert.deepEqual(times, [...times].sort((a, b) => b - a)); // the slowest first
  assert.equal((await alerts())[0].state, 'firing');
  const series = await getJson(gateway.adminPort, '/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D');
  assert.equal(series.data.result[0].metric.alertname, 'TTFTHigh');

  const cli = async (...args) =>
    (await run(['incident', ...args, '--url', `http://127.0.0.1:${gateway.adminPort}`])).stdout;
  const incident = (await waitFor('the incident', async () =>
    (await cli('list')).match(/\d{8}T\d{4}-\d+/)))[0];
  await cli('note', incident, 'restarted the engine', '--by', 'ops');
  const told = await waitFor('the requests behind it', async () => {
    const text = await cli('show', incident, '--markdown');
    return text.includes(ids[0]) && text;
  });
  assert.match(told, /TTFTHigh[^]*restarted the engine/);
  const { incidents } = await getJson(gateway.adminPort, '/api/v1/status');
  assert.deepEqual(incidents, { open: 1, waiting_for_curves: 0, unsaved: 0, lost: 0 });

  const resolved = await waitFor('the end', async () => {
    await ask(FAST);
    return sink.messages.find((m) => m.body.status === 'resolved');
  }, { timeoutMs: 20000 });
  assert.equal(resolved.body.alerts[0].status, 'resolved');
  assert.equal(resolved.body.groupKey, body.groupKey);
  await waitFor('no alert', async () => (await alerts()).length === 0);
});

test('evidence is of what an alert is about: the metric in its labels, failures of an upstream', async (t) => {
  const sink = await startSink(t);
  const rule = (alert, expr, labels) => ({ alert, expr, labels: { tier: 'P2', ...labels } });
  const rules = { groups: [{ name: 'g', interval: '1s', rules: [
    rule('SlowerThanUsual', 'sum by (model) (llm_requests_total) > 2', { metric: 'llm_ttft_seconds' }),
    rule('Failing', 'max by (upstream) (inferometer_breaker_open) and on () sum(llm_requests_total) > 2'),
  ] }] };
  const { gateway, ask } = await withRules(t, { rules, routes: routesTo(`${sink.url}/hook`) });
  await ask({ status: 500 });
  for (let i = 0; i < 3; i++) await ask(FAST);
  const told = (name) => waitFor(name, () => sink.messages.flatMap((m) => m.body.alerts)
    .find((a) => a.labels.alertname === name), { timeoutMs: 20000 });
  assert.match((await told('SlowerThanUsual')).annotations.evidence, /TTFT of 3: p50/);
  const ids = (await told('Failing')).annotations.exemplar_requests.split(', ');
  const rows = await Promise.all(ids.map((id) => getJson(gateway.adminPort, `/api/v1/requests/${id}`)));
  assert.deepEqual(rows.map((r) => r.outcome), ['http_error']);
});

test('without a file of routes alerts go to the log', async (t) => {
  const { gateway, ask } = await withRules(t);
  await slowUntil(ask, 'the alert in the log', () => /TTFTHigh/.test(gateway.process.stderr));
  await says(gateway.process, /TTFT of m is/);
});

test('a reload takes new rules and keeps alerts; one with a mistake changes nothing', async (t) => {
  const { gateway, config, file, ask, alerts } = await withRules(t, {
    rules: { groups: [{ name: 'g', interval: '1s', rules: [{ alert: 'Always', expr: 'vector(1)' }] }] },
  });
  const since = await waitFor('the alert', async () => (await alerts())[0]?.activeAt);
  writeFileSync(file, 'groups:\n- name: g\n  interval: 1s\n  rules:\n  - alert: Always\n    expr: vector(1\n');
  assert.equal(await gateway.reload(config), 'refused');
  await says(gateway.process, /rules\.yml:6:\d+: expr: unclosed left parenthesis/);
  const asked = await run(['reload', '--url', `http://127.0.0.1:${gateway.adminPort}`]);
  assert.equal(asked.code, 1);
  assert.match(asked.stderr, /^\S*rules\.yml:6:\d+: expr: unclosed left parenthesis\n[^]*refused, the running/);
  assert.equal((await alerts())[0].activeAt, since);

  writeFileSync(file, JSON.stringify({
    groups: [{ name: 'g', interval: '1s', rules: [{ alert: 'Always', expr: 'vector(1)' }, { alert: 'Also', expr: 'vector(2)' }] }],
  }));
  assert.equal(await gateway.reload(config), 'taken');
  await waitFor('the new alert', async () => (await alerts()).some((a) => a.labels.alertname === 'Also'));
  assert.equal((await alerts()).find((a) => a.labels.alertname === 'Always').activeAt, since);
  await ask(FAST);
});

test('links lead to this host until the configuration says where to; a reload changes them', async (t) => {
  const sink = await startSink(t);
  const { gateway, config, file } = await withRules(t, {
    rules: { groups: [{ name: 'g', interval: '1s', rules: [{ alert: 'Always', expr: 'vector(1) > 0' }] }] },
    routes: routesTo(`${sink.url}/hook`),
  });
  const { body } = await waitFor('the message', () => sink.messages[0]);
  const own = `http://${hostname()}:${gateway.adminPort}`;
  assert.equal(body.externalURL, own);
  assert.equal(body.alerts[0].generatorURL, `${own}/graph?g0.expr=vector%281%29+%3E+0&g0.tab=1`);

  const link = body.alerts[0].generatorURL.slice(own.length);
  assert.deepEqual((await getJson(gateway.adminPort, link)).data.result[0].value[1], '1');
  assert.match(String((await request(gateway.adminPort, '/graph?g0.expr=1%2B')).body), /invalid parameter .*g0\.expr/);

  writeFileSync(file, JSON.stringify({
    groups: [{ name: 'g', interval: '1s', rules: [{ alert: 'Other', expr: 'vector(2)' }] }],
  }));
  config.alerting.external_url = 'https://gw.example/';
  assert.equal(await gateway.reload(config), 'taken');
  const other = await waitFor('the other message', () =>
    sink.messages.find((m) => m.body.alerts[0].labels.alertname === 'Other'));
  assert.equal(other.body.externalURL, 'https://gw.example');
  assert.equal(other.body.alerts[0].generatorURL, 'https://gw.example/graph?g0.expr=vector%282%29&g0.tab=1');
});

test('a silence keeps the message back: our command, and amtool', async (t) => {
  const sink = await startSink(t);
  const url = () => `http://127.0.0.1:${gateway.adminPort}`;
  const { gateway, ask, alerts } = await withRules(t, { routes: routesTo(`${sink.url}/hook`) });
  const silence = await run(['alert', 'silence', 'TTFTHigh', 'model=m', '--for', '1h', '--comment', 'new weights',
    '--by', 'ops', '--url', url()]);
  const id = silence.stdout.trim();
  assert.match(id, /^[0-9a-f-]{36}$/);
  await slowUntil(ask, 'the alert', async () => (await alerts())[0]?.state === 'firing');
  const listed = await waitFor('the silenced alert', async () =>
    (await getJson(gateway.adminPort, '/api/v2/alerts'))[0]?.status.silencedBy[0]);
  assert.equal(listed, id);
  for (const [receiver, n] of [['hook', 1], ['h.*k', 1], ['oo', 0], ['', 1]]) {
    for (const path of ['alerts', 'alerts/groups'])
      assert.equal((await getJson(gateway.adminPort, `/api/v2/${path}?receiver=${receiver}`)).length, n, `${path} ${receiver}`);
  }
  assert.equal((await request(gateway.adminPort, '/api/v2/alerts?receiver=(')).status, 400);
  assert.equal(sink.messages.length, 0);
  assert.match((await run(['alert', 'list', '--url', url()])).stdout, /no alert is firing/);
  assert.match((await run(['alert', 'list', '--all', '--url', url()])).stdout, /P1 {2}TTFTHigh {2}suppressed/);

  const amtool = (...args) => execFileSync('amtool', [`--alertmanager.url=${url()}`, ...args], { encoding: 'utf8' });
  assert.match(amtool('silence', 'query'), new RegExp(`${id}.*new weights`));
  amtool('silence', 'expire', id);
  await slowUntil(ask, 'the message', () => sink.messages[0]);
  assert.match(amtool('alert', 'query'), /TTFTHigh/);
  const other = amtool('silence', 'add', 'alertname=TTFTHigh', '--comment=x', '--author=y', '--duration=1h').trim();
  assert.match((await run(['alert', 'silences', '--url', url()])).stdout, new RegExp(`${other} {2}active[^]*x, by y`));
  await run(['alert', 'unsilence', other, '--url', url()]);
  assert.match((await run(['alert', 'silences', '--url', url()])).stdout, /no silence is in force/);
});

test('where an alert would go; a word that is no label is a mistake', async (t) => {
  const { gateway } = await withRules(t, { routes: routesTo('http://127.0.0.1:9/hook') });
  const route = (...labels) => run(['alert', 'route', ...labels, '--url', `http://127.0.0.1:${gateway.adminPort}`]);
  assert.equal((await route('tier=P0', 'model=m')).stdout, 'hook\n');
  const { code, stderr } = await route('tier=P0', 'model~m');
  assert.equal(code, 1);
  assert.match(stderr, /"model~m" is no label; write it as name=value/);
});

test('what changes something is refused to pages of other sites', async (t) => {
  const { gateway } = await withRules(t);
  const headers = { origin: 'http://evil.example', 'content-type': 'application/json' };
  const body = JSON.stringify({ matchers: [{ name: 'a', value: 'b', isRegex: false }] });
  assert.equal((await request(gateway.adminPort, '/api/v2/silences', { method: 'POST', headers, body })).status, 403);
  assert.equal((await request(gateway.adminPort, '/api/v2/silence/x', { method: 'DELETE', headers })).status, 403);
  assert.equal((await request(gateway.adminPort, '/api/v1/alerts/test?receiver=x', { method: 'POST', headers })).status, 403);
  /* Another Prometheus, which takes this for an Alertmanager. */
  const sent = await request(gateway.adminPort, '/api/v2/alerts', { method: 'POST', body: '[]', headers: { 'content-type': 'application/json' } });
  assert.equal(sent.status, 405);
  const bad = await request(gateway.adminPort, '/api/v2/silences', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } });
  assert.equal(bad.status, 400);
});

test('the real Prometheus fires the same alert within an interval, the real Alertmanager gets both', async (t) => {
  const sink = await startSink(t);
  const alertmanager = await startAlertmanager(t, {
    route: { receiver: 'hook', group_by: ['alertname'], group_wait: '0s', group_interval: '1s', repeat_interval: '1h' },
    receivers: [{ name: 'hook', webhook_configs: [{ url: `${sink.url}/am`, send_resolved: true }] }],
  });
  // An interval that is long beside what else there is: samples are a second apart, looks less.
  const intervalS = 4;
  const rules = { groups: RULES.groups.map((g) => ({ ...g, interval: `${intervalS}s` })) };
  const { gateway, ask, alerts } = await withRules(t,
    { rules, config: { alerting: { alertmanagers: [`http://127.0.0.1:${alertmanager.port}`] } } });
  await ask(FAST);
  const prometheus = await startPrometheus(t, { targets: [gateway.adminPort], interval: '1s', rules });
  await waitFor('what it scrapes', () => prometheus.scalar('count_over_time(llm_ttft_seconds_count[5s]) >= 4'),
    { timeoutMs: 30000 });
  const theirs = async () =>
    JSON.parse((await request(prometheus.port, '/api/v1/alerts')).body).data.alerts;
  const at = {};
  await slowUntil(ask, 'both to fire', async () => {
    for (const [name, list] of [['ours', await alerts()], ['theirs', await theirs()]]) {
      if (list.some((a) => a.state === 'firing')) at[name] ??= Date.now();
    }
    return at.ours && at.theirs;
  });
  assert.ok(Math.abs(at.ours - at.theirs) < (intervalS + 1.5) * 1000, JSON.stringify(at));
  const [ours] = await alerts();
  const [other] = await theirs();
  assert.deepEqual({ ...ours.labels }, { ...other.labels, ...ours.labels });

  const message = await waitFor('what Alertmanager makes of it', () => sink.messages[0], { timeoutMs: 20000 });
  assert.equal(message.body.alerts[0].labels.alertname, 'TTFTHigh');
  assert.ok(message.body.alerts[0].annotations.exemplar_requests);
  const shown = execFileSync('amtool', [`--alertmanager.url=http://127.0.0.1:${alertmanager.port}`, 'alert', 'query'], { encoding: 'utf8' });
  assert.match(shown, /TTFTHigh/);
  await waitFor('that it is resolved there', async () => {
    await ask(FAST);
    return sink.messages.some((m) => m.body.status === 'resolved');
  }, { timeoutMs: 30000 });
});

test('state survives a restart: one message, however often it starts', async (t) => {
  const sink = await startSink(t);
  const always = { groups: [{ name: 'g', interval: '1s', rules: [{ alert: 'Always', expr: 'vector(1)', labels: { tier: 'P0' } }] }] };
  const { gateway, alerts } = await withRules(t, { rules: always, routes: routesTo(`${sink.url}/hook`) });
  await waitFor('the message', () => sink.messages.length === 1);
  for (let i = 0; i < 2; i++) {
    await gateway.restart(i === 0 ? 'SIGTERM' : 'SIGKILL');
    await waitFor('the alert', async () => (await alerts())[0]?.state === 'firing');
    await new Promise((done) => setTimeout(done, 2500)); // two intervals of its group
    assert.equal(sink.messages.length, 1);
  }
});

test('a data directory that cannot be opened yet: no rule runs, which is seen, and they begin when it can', async (t) => {
  const dir = tempDir(t);
  const always = { groups: [{ name: 'g', interval: '1s', rules: [{ alert: 'Always', expr: 'vector(1)' }] }] };
  mkdirSync(join(dir, 'lock')); // instead of the file
  const gateway = await Gateway.start(t, {
    upstream: await Sim.start(t),
    config: { data_dir: dir, rules: { files: [writeJson(tempDir(t), 'rules.yml', always)] } },
  });
  const seen = async () => [(await getJson(gateway.adminPort, '/api/v1/status')).rules.state,
    (await gateway.metrics()).value('inferometer_rules_stopped')];
  await says(gateway.process, /could not lock the data directory/);
  await waitFor('that rules are seen to be stopped', async () => (await seen()).join() === 'stopped,1');
  assert.equal((await gateway.chat({ model: 'm' })).status, 200);
  rmdirSync(join(dir, 'lock'));
  await waitFor('the alert', async () => (await getJson(gateway.adminPort, '/api/v1/alerts')).data.alerts
    .some((a) => a.labels.alertname === 'Always'));
  await waitFor('that rules are seen to run', async () => (await seen()).join() === 'running,0');
});

test('a tick never delays a byte of traffic', async (t) => {
  // Each tick is busy for a good part of a second: a thousand times what a byte may wait.
  const heavy = Array.from({ length: 12 }, (_, i) =>
    ({ record: `heavy:${i}`, expr: 'max_over_time(vector(1)[1h:1ms])' }));
  const upstream = await Sim.start(t);
  const { gateway } = await withRules(t, { upstream, rules: { groups: [{ name: 'heavy', interval: '1s', rules: heavy }] } });
  const group = async () =>
    (await getJson(gateway.adminPort, '/api/v1/rules?rule_group[]=heavy')).data.groups[0];
  await waitFor('a tick', async () => (await group())?.evaluationTime > 0, { timeoutMs: 20000 });
  const late = [];
  for (const end = Date.now() + 4000; Date.now() < end;) {
    const id = newId();
    const { ms } = await timed(() => gateway.chat({ model: 'm', stream: true },
      { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 5, 'itl-ms': 5, tokens: 100 }) } }));
    const truth = await upstream.truth(id);
    late.push(ms - (truth.events.at(-1).t_ns - truth.t_request_ns) / 1e6);
  }
  const { evaluationTime } = await group();
  assert.ok(late.length >= 4 && evaluationTime > 0.3, `${late.length} requests, ${evaluationTime} s a tick`);
  // Bytes that waited for a tick would do so in every second one; what is rarer is the machine.
  const most = late.sort((x, y) => x - y)[Math.floor(late.length * 0.7)];
  assert.ok(most < evaluationTime * 1000 / 4, `${late} ms late, ${evaluationTime} s a tick`);
});

test('tests of a receiver that hangs hold up neither queries nor the end', async (t) => {
  const sink = await HttpSink.start(t, { '/hang': () => {} });
  const { gateway } = await withRules(t, { routes: routesTo(`${sink.url}/hang`) });
  const asked = Promise.allSettled([1, 2].map(() =>
    request(gateway.adminPort, '/api/v1/alerts/test?receiver=hook', { method: 'POST' })));
  await waitFor('both at the receiver', () => sink.to('/hang').length === 2);
  assert.equal((await getJson(gateway.adminPort, '/api/v1/query?query=1')).status, 'success');
  const before = Date.now();
  gateway.process.signal('SIGTERM');
  await gateway.process.exited;
  assert.ok(Date.now() - before < 5000, `${Date.now() - before} ms`);
  await asked;
});
