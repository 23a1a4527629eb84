// SPDX-License-Identifier: Apache-2.0
// The history as clients of Prometheus read it: every kind of request that Grafana's data source
// sends, promtool, and our own command.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const METRIC = 'llm_requests_total';

/** Parameters as a client encodes them; a list repeats its name. */
const encode = (params) => new URLSearchParams(
  Object.entries(params).flatMap(([k, v]) => [v].flat().map((one) => [k, String(one)])),
).toString();

async function call(port, method, path, params = {}) {
  const text = encode(params);
  const answer = method === 'POST'
    ? await request(port, `/api/v1/${path}`, { method, headers: FORM, body: text })
    : await request(port, `/api/v1/${path}${text ? `?${text}` : ''}`);
  assert.match(answer.headers['content-type'], /^application\/json/);
  return { code: answer.status, ...JSON.parse(answer.body) };
}

/** A gateway that has served requests and has taken its series at least twice since. */
async function withHistory(t) {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, {
    upstream, config: { data_dir: tempDir(t), history: { interval: '1s' } },
  });
  for (let i = 0; i < 5; i++)
    await gateway.chat({ stream: true }, { headers: sim({ 'ttft-ms': 1, tokens: 3 }) });
  await waitFor('samples of what was served', async () => {
    const { data } = await call(gateway.adminPort, 'GET', 'query',
      { query: `count_over_time(${METRIC}[1m])` });
    return data?.result.some((r) => Number(r.value[1]) >= 2);
  });
  return { gateway, port: gateway.adminPort };
}

const now = () => Date.now() / 1000;
const range = () => ({ start: (now() - 3600).toFixed(3), end: now().toFixed(3) });
const isNumber = (s) => typeof s === 'string'
  && (['NaN', '+Inf', '-Inf'].includes(s) || !Number.isNaN(Number(s)));

const isVector = (data) => {
  assert.equal(data.resultType, 'vector');
  assert.ok(data.result.length > 0);
  for (const { metric, value } of data.result) {
    assert.equal(typeof metric, 'object');
    assert.equal(typeof value[0], 'number');
    assert.ok(isNumber(value[1]));
  }
};
/** Requests of withHistory, each under the bucket that its time to first token is in. */
const areExemplars = (data) => {
  assert.ok(data.length > 0);
  for (const { seriesLabels: l, exemplars } of data) {
    assert.deepEqual([l.__name__, l.job, l.model], ['llm_ttft_seconds_bucket', 'inferometer', 'm']);
    assert.equal(exemplars.length, 1);
    const [{ labels, value, timestamp }] = exemplars;
    assert.match(labels.request_id, /^[0-9a-f]{32}$/);
    assert.ok(Number(value) > 0 && Number(value) <= (l.le === '+Inf' ? Infinity : Number(l.le)));
    assert.ok(Math.abs(timestamp - now()) < 60);
  }
};
const isMatrix = (data) => {
  assert.equal(data.resultType, 'matrix');
  assert.ok(data.result.length > 0);
  for (const { values } of data.result)
    for (const [at, v] of values) assert.ok(typeof at === 'number' && isNumber(v));
};
const has = (...wanted) => (data) => {
  assert.ok(Array.isArray(data));
  assert.deepEqual(data, [...data].sort());
  for (const one of wanted) assert.ok(data.includes(one), `${one} is not in ${data}`);
};
const areSeries = (data) => {
  assert.ok(data.length > 0);
  for (const labels of data) assert.equal(labels.__name__, METRIC);
};

/** What Grafana's Prometheus data source asks, and what it takes the answer for. */
const GRAFANA = [
  ['save and test', 'query', () => ({ query: '1+1', time: now() }),
    (d) => assert.deepEqual([d.resultType, d.result[1]], ['scalar', '2'])],
  ['version', 'status/buildinfo', () => ({}), (d) => assert.match(d.version, /^3\./), 'GET'],
  ['table panel', 'query', () => ({ query: `sum by (model) (${METRIC})`, time: now() }), isVector],
  ['graph panel', 'query_range',
    () => ({ query: `sum(rate(${METRIC}[1m]))`, step: 15, ...range() }), isMatrix],
  ['graph panel, step as a duration', 'query_range',
    () => ({ query: METRIC, step: '15s', timeout: '60s', ...range() }), isMatrix],
  ['heat map of a classic histogram', 'query_range',
    () => ({ query: 'sum by (le) (increase(llm_ttft_seconds_bucket[1m]))', step: 15, ...range() }),
    isMatrix],
  ['quantile', 'query_range', () => ({
    query: 'histogram_quantile(0.99, sum by (le) (rate(llm_ttft_seconds_bucket[1m])))',
    step: 15, ...range(),
  }), isMatrix],
  ['annotations', 'query_range', () => ({ query: `changes(${METRIC}[1m]) > 0`, step: 60, ...range() }),
    (d) => assert.equal(d.resultType, 'matrix')],
  ['metric names', 'label/__name__/values', () => ({ limit: 40000, ...range() }), has(METRIC), 'GET'],
  ['metric names that match', 'label/__name__/values',
    () => ({ 'match[]': '{__name__=~"llm_.*"}', ...range() }), has(METRIC), 'GET'],
  ['names of labels', 'labels', () => range(), has('__name__', 'model')],
  ['names of labels of a metric', 'labels', () => ({ 'match[]': METRIC, ...range() }),
    has('__name__', 'model', 'upstream')],
  ['names of labels of several', 'labels',
    () => ({ 'match[]': [METRIC, 'inferometer_build_info'], ...range() }), has('model')],
  ['values of a label', 'label/model/values', () => range(), has('m'), 'GET'],
  ['values of a label of a metric', 'label/model/values',
    () => ({ 'match[]': `${METRIC}{upstream="up"}`, ...range() }), has('m'), 'GET'],
  ['values of a label with an escaped name', 'label/U__model/values', () => range(), has('m'), 'GET'],
  ['series of a variable', 'series', () => ({ 'match[]': METRIC, ...range() }), areSeries],
  ['query_result of a variable', 'query', () => ({ query: `topk(1, ${METRIC})` }), isVector],
  ['metadata', 'metadata', () => ({ limit: 1000 }),
    (d) => assert.equal(d[METRIC][0].type, 'counter'), 'GET'],
  ['metadata of one', 'metadata', () => ({ metric: METRIC }),
    (d) => assert.deepEqual(Object.keys(d), [METRIC]), 'GET'],
  ['exemplars of what has none', 'query_exemplars', () => ({ query: METRIC, ...range() }),
    (d) => assert.deepEqual(d, [])],
  ['exemplars', 'query_exemplars', () => ({
    query: 'histogram_quantile(0.9, sum by (le) (rate(llm_ttft_seconds_bucket{job="inferometer"}[5m])))',
    ...range() }), areExemplars],
  ['exemplars of another time', 'query_exemplars',
    () => ({ query: 'llm_ttft_seconds_bucket', start: 1, end: 2 }), (d) => assert.deepEqual(d, [])],
  ['rules', 'rules', () => ({}), (d) => assert.ok(d.groups.some((g) => g.name === 'inferometer.latency' && g.rules.length > 0)), 'GET'],
  ['targets', 'targets', () => ({ state: 'active' }),
    (d) => assert.ok(Array.isArray(d.activeTargets)), 'GET'],
  ['a query as it is written best', 'format_query', () => ({ query: 'sum(up)by(job)' }),
    (d) => assert.equal(d, 'sum by (job) (up)')],
];

const ERRORS = [
  ['a query that does not parse', 'query', { query: 'sum(' }, 400, 'bad_data', /1:5: parse error/],
  ['a query that cannot be evaluated', 'query',
    { query: `label_replace(${METRIC}, "a", "b", "c", "(")` }, 422, 'execution', /regular expression/],
  ['too many points', 'query_range', { query: '1', start: 0, end: 20000, step: 1 }, 400,
    'bad_data', /11,000 points/],
  ['no time', 'query', { query: '1', time: 'noon' }, 400, 'bad_data', /valid timestamp/],
  ['no match', 'series', {}, 400, 'bad_data', /no match\[\]/],
  ['a match of everything', 'series', { 'match[]': '{}' }, 400, 'bad_data', /non-empty matcher/],
];

const promtool = (...args) => {
  const { status, stdout, stderr } = spawnSync('promtool', ['query', ...args], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
};
const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'no promtool';

test('the history has an HTTP API that clients of Prometheus know', async (t) => {
  const { port } = await withHistory(t);
  for (const [name, path, params, check, only] of GRAFANA) {
    for (const method of only ? [only] : ['POST', 'GET']) {
      const { status, data, ...rest } = await call(port, method, path, params());
      assert.equal(status, 'success', `${name}: ${JSON.stringify(rest)}`);
      check(data);
    }
  }
  for (const [name, path, params, code, type, text] of ERRORS) {
    const answer = await call(port, 'GET', path, params);
    assert.deepEqual([answer.code, answer.status, answer.errorType], [code, 'error', type], name);
    assert.match(answer.error, text, name);
  }
});

test('what the program uses is in its history, though nobody scrapes it', async (t) => {
  const { port } = await withHistory(t);
  for (const [metric, least] of [['memory_resident_bytes', 1e6], ['open_descriptors', 5], ['memory_blocks', 10]]) {
    const { data } = await call(port, 'GET', 'query', { query: `inferometer_${metric}` });
    assert.equal(data.result.length, 1, metric);
    assert.ok(Number(data.result[0].value[1]) >= least, `${metric}: ${data.result[0].value[1]}`);
  }
});

test('promtool reads the history', async (t) => {
  const { port } = await withHistory(t);
  const url = `http://127.0.0.1:${port}`;
  assert.match(promtool('instant', url, METRIC), /^llm_requests_total\{.*model="m".*\} => \d+ @\[/m);
  assert.match(promtool('range', '--step=15s', url, `sum(${METRIC})`), /^\{\} =>\n\d+ @\[/m);
  assert.match(promtool('labels', url, 'model'), /^m$/m);
  assert.match(promtool('series', url, `--match=${METRIC}`), /^\{__name__="llm_requests_total", /m);
}, { skip });

test('inferometer query shows the history', async (t) => {
  const { port } = await withHistory(t);
  const query = (...args) => run(['query', ...args, '--url', `http://127.0.0.1:${port}`]);
  assert.equal((await query('6 * 7')).stdout, '42\n');
  assert.match((await query(`sum by (model) (${METRIC})`)).stdout, /^\{model="m"\} {2}\d+\n$/);
  assert.match((await query(METRIC, '--format', 'csv')).stdout, /^metric,time,value\n"llm_requests/);
  const json = JSON.parse((await query(METRIC, '--format=json')).stdout);
  isVector(json.data);
  assert.match((await query(METRIC, '--format', 'plot', '--start=-5m')).stdout, /\n {5}UTC {2}\d\d:/);
  assert.match((await query(METRIC, '--start=-1m', '--step', '5s')).stdout, /^llm_requests.*\n {2}20/);
  const wrong = await query('sum(a b)');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /1:7: parse error: unexpected identifier "b".*\n {2}sum\(a b\)\n {8}\^\n/);
  const refused = await run(['query', '1', '--url', 'http://127.0.0.1:1']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /no answer from 127\.0\.0\.1:1/);
});
