// SPDX-License-Identifier: Apache-2.0
// The exposition as its reader sees it: promtool, and a real Prometheus that scrapes and answers
// queries, with classic histograms over text and with native ones over protobuf.
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { getText, request } from './lib/http.mjs';
import { run } from './lib/process.mjs';
import { parseExposition, quantile } from './lib/prometheus.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const N = 80;
const QUANTILES = [0.5, 0.9, 0.99];

/** A gateway that has measured N streams of very different speeds. */
async function measured(t) {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  let next = 0;
  const client = async () => {
    while (next < N) {
      const i = next++;
      const switches = { 'ttft-ms': 3 + 1.4 * i, 'itl-ms': 1 + (i % 12), tokens: 12 };
      await gateway.chat({ stream: true }, { headers: sim(switches) });
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  await gateway.chat({ model: 'm' }, { headers: sim({ 'ttft-ms': 1, tokens: 2 }) });
  await gateway.chat({ model: 'm', stream: true }, { headers: sim({ 'cut-after': 2 }) });
  const streams = await gateway.recordsWhere((r) => r.is_stream && r.outcome === 'ok', N);
  await gateway.recordsWhere(() => true, N + 2);
  return { gateway, streams };
}

test('promtool has no error to report', async (t) => {
  const { gateway } = await measured(t);
  const text = await getText(gateway.adminPort, '/metrics');
  const { code, stderr, stdout } = await run(['check', 'metrics'], { command: 'promtool', input: text });
  assert.ok(code === 0 || code === 3, `promtool: ${code}\n${stdout}${stderr}`); // 3: lint only
  assert.doesNotMatch(stderr + stdout, /error while linting|text format parsing error/i);
  console.log(`promtool: exit ${code}, ${stderr.trim().split('\n').filter(Boolean).length} lint line(s)`);
}, { skip: missing('promtool') });

test('the formats of the page, by Accept', async (t) => {
  const { gateway } = await measured(t);
  const get = (headers) => request(gateway.adminPort, '/metrics', { headers });
  const plain = await get({});
  assert.match(plain.headers['content-type'], /^text\/plain; version=0\.0\.4/);

  const open = await get({ accept: 'application/openmetrics-text; version=1.0.0' });
  assert.match(open.headers['content-type'], /^application\/openmetrics-text; version=1\.0\.0/);
  assert.ok(open.body.toString().endsWith('# EOF\n'));

  const zipped = await get({ 'accept-encoding': 'gzip' });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.ok(zipped.body.length < plain.body.length / 2);
  const names = (body) => new Set(parseExposition(body.toString()).samples.map((s) => s.name));
  assert.deepEqual(names(gunzipSync(zipped.body)), names(plain.body));

  const proto = await get({
    accept: 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited',
  });
  assert.match(proto.headers['content-type'], /^application\/vnd\.google\.protobuf/);
  assert.ok(proto.body.includes('llm_ttft_seconds'));
});

test('histograms: buckets ascend, +Inf is the count, the count is that of the records', async (t) => {
  const { gateway } = await measured(t);
  const m = await gateway.metrics();
  const histograms = Object.keys(m.types).filter((f) => m.types[f] === 'histogram');
  assert.ok(histograms.length >= 10);
  for (const family of histograms)
    for (const s of m.select(`${family}_count`)) {
      const buckets = m.select(`${family}_bucket`, s.labels);
      const values = buckets.map((b) => b.value);
      assert.deepEqual(values, [...values].sort((a, b) => a - b), family);
      assert.equal(buckets.at(-1).labels.le, '+Inf');
      assert.equal(values.at(-1), s.value, family);
    }
  // The stream that was cut has a first token, too.
  const ttft = (await gateway.recordsWhere((r) => r.ttft_ms !== null, N + 1)).map((r) => r.ttft_ms);
  assert.equal(m.value('llm_ttft_seconds_count'), ttft.length);
  const sum = ttft.reduce((a, b) => a + b, 0) / 1000;
  assert.ok(Math.abs(m.value('llm_ttft_seconds_sum') - sum) < 1e-6 * sum);
  for (const le of m.bounds('llm_ttft_seconds'))
    assert.equal(m.select('llm_ttft_seconds_bucket').find((s) => Number(s.labels.le) === le
      || (le === Infinity && s.labels.le === '+Inf')).value, ttft.filter((x) => x / 1000 <= le).length);
  // A slow machine may see all of an answer in one read: that one has no TPOT, and says so.
  const withTpot = gateway.records().filter((r) => r.tpot_status === 'ok');
  assert.equal(m.value('llm_tpot_seconds_count', { stream: 'true' }), withTpot.length);
});

/** Families with one sample per finished stream, and where the record has it. */
const families = [
  { family: 'llm_upstream_ttft_seconds', field: 'upstream_ttft_ms', labels: '' },
  { family: 'llm_tpot_seconds', field: 'tpot_ms', labels: '' },
  { family: 'llm_e2e_seconds', field: 'e2e_ms', labels: '{outcome="ok",stream="true"}' },
];

function samples(gateway, field, labels) {
  const records = gateway.records().filter((r) => labels === '' || (r.outcome === 'ok' && r.is_stream));
  return records.map((r) => r[field]).filter((x) => x !== undefined && x !== null).map((x) => x / 1000);
}

test('a Prometheus that scrapes text has our quantiles, within a bucket', async (t) => {
  const { gateway } = await measured(t);
  const prometheus = await startPrometheus(t, { targets: [gateway.adminPort] });
  await waitFor('the last record in Prometheus', async () =>
    (await prometheus.scalar('sum(llm_requests_total)')) === N + 2, { timeoutMs: 15000 });
  assert.equal(await prometheus.scalar('up{job="gateway"}'), 1);
  const m = await gateway.metrics();

  for (const { family, field, labels } of families) {
    const values = samples(gateway, field, labels);
    assert.equal(await prometheus.scalar(`sum(${family}_count${labels})`), values.length, family);
    for (const q of QUANTILES) {
      const theirs = await prometheus.scalar(
        `histogram_quantile(${q}, sum by (le) (${family}_bucket${labels}))`);
      const exact = quantile(values, q);
      const bounds = [0, ...m.bounds(family)];
      const upper = bounds.findIndex((b) => exact <= b);
      assert.ok(theirs >= bounds[upper - 1] && theirs <= bounds[upper],
        `${family} ${q}: ${theirs}, exactly ${exact}, bucket ${bounds[upper - 1]}..${bounds[upper]}`);
    }
  }

  // Names of models survive the way.
  const model = 'ünlabeled "quoted" \\ model';
  await gateway.chat({ model }, { headers: sim({ 'ttft-ms': 1, tokens: 1 }) });
  await waitFor('the series of that model', async () => {
    const result = await prometheus.query('llm_requests_total{endpoint="chat_completions"} == 1');
    return result.some(({ metric }) => metric.model === model);
  });
}, { skip: missing('prometheus') });

test('a Prometheus with native histograms has our quantiles, within a far smaller bucket', async (t) => {
  const { gateway } = await measured(t);
  const prometheus = await startPrometheus(t, { targets: [gateway.adminPort], flags: ['--enable-feature=native-histograms'] });
  await waitFor('the last record in Prometheus', async () =>
    (await prometheus.scalar('sum(llm_requests_total)')) === N + 2, { timeoutMs: 15000 });
  assert.equal(await prometheus.scalar('up{job="gateway"}'), 1);

  const ratio = 2 ** (1 / 8); // schema 3, and no finer one is worse
  for (const { family, field, labels } of families) {
    const values = samples(gateway, field, labels);
    assert.equal(await prometheus.scalar(`histogram_count(sum(${family}${labels}))`), values.length, family);
    for (const q of QUANTILES) {
      const theirs = await prometheus.scalar(`histogram_quantile(${q}, sum(${family}${labels}))`);
      const exact = quantile(values, q);
      assert.ok(theirs / exact < ratio && exact / theirs < ratio,
        `${family} ${q}: ${theirs}, exactly ${exact}`);
    }
  }
  const series = await prometheus.query('{__name__="llm_ttft_seconds_bucket"}');
  assert.equal(series.length, 0); // one form of a histogram, not both
}, { skip: missing('prometheus') });
