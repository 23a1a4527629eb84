// SPDX-License-Identifier: Apache-2.0
// What a running gateway scrapes and measures beside the traffic: engines of its upstreams, pages of
// its configuration, jobs of scrape files, this machine; and what people are told of it.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, Sim } from './lib/daemon.mjs';
import { getJson, request } from './lib/http.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const FAST = { interval: '200ms', timeout: '200ms' };

async function start(t, upstream, more) {
  const config = {
    upstreams: [{ name: 'up', url: upstream.url }], data_dir: tempDir(t), scrape: FAST, history: { interval: '1s' },
    gpu: { source: 'none' }, host: { metrics: false }, ...more,
  };
  return Object.assign(await Gateway.start(t, { upstream, config }), { config });
}

async function query(gateway, text) {
  const { status, body } = await request(gateway.adminPort, `/api/v1/query?query=${encodeURIComponent(text)}`);
  assert.equal(status, 200, body.toString());
  return JSON.parse(body).data.result;
}

/** The value of the only series that text means, once there is one that `is` likes. */
const value = (gateway, text, is = () => true) =>
  waitFor(text, async () => {
    const found = await query(gateway, text);
    const v = found.length === 1 ? Number(found[0].value[1]) : NaN;
    return !Number.isNaN(v) && is(v) ? { v } : null;
  }, { timeoutMs: 15000 }).then(({ v }) => v);

/** A server whose page is what `at.body` says, with `at.status`. */
async function page(t, at) {
  const seen = [];
  const server = createServer((req, res) => {
    seen.push(req.url);
    res.writeHead(at.status ?? 200, { 'content-type': at.type ?? 'text/plain; version=0.0.4' }).end(at.body ?? '');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
  return { seen, url: `http://127.0.0.1:${server.address().port}`, at: `127.0.0.1:${server.address().port}` };
}

const collected = (gateway) => getJson(gateway.adminPort, '/api/v1/collected');
const targetsOf = (gateway, ...flags) => run(['targets', '--url', `http://127.0.0.1:${gateway.adminPort}`, ...flags]);

test('an upstream\'s own metrics are scraped, under its names and the common ones', async (t) => {
  const upstream = await Sim.start(t, '--engine', 'vllm-0.13');
  const gateway = await start(t, upstream);
  for (let i = 0; i < 3; i++)
    assert.equal((await gateway.chat({ max_tokens: 5, stream: true })).status, 200);
  const labels = `job="upstreams",instance="127.0.0.1:${upstream.port}",upstream="up"`;
  assert.equal(await value(gateway, `up{${labels}}`), 1);
  assert.equal(await value(gateway, `engine_success_total{reason="length",${labels}}`, (v) => v === 3), 3);
  assert.equal(await value(gateway, `vllm:request_success_total{finished_reason="length",${labels}}`), 3);
  assert.equal(await value(gateway, `engine_ttft_seconds_count{${labels}}`), 3);
  assert.equal(await value(gateway, `engine_generation_tokens_total{${labels}}`), 15);
  /* What the engine says of the first token is what the gateway saw of it, but for the way there. */
  const theirs = await value(gateway, `engine_ttft_seconds_sum{${labels}} / engine_ttft_seconds_count`);
  const ours = await value(gateway, 'sum(llm_ttft_seconds_sum) / sum(llm_ttft_seconds_count)');
  assert.ok(ours >= theirs - 0.002 && ours < theirs + 0.1, `${ours} s, the engine says ${theirs} s`);

  const { targets } = await collected(gateway);
  assert.equal(targets.length, 1);
  assert.deepEqual(targets[0].engines.map((e) => [e.name, e.since]), [['vllm', '0.13.0']]);
  const active = (await getJson(gateway.adminPort, '/api/v1/targets')).data.activeTargets;
  assert.deepEqual(active.filter((a) => a.scrapePool === 'upstreams').map((a) => [a.health, a.scrapeUrl]),
    [['up', `${upstream.url}/metrics`]]);

  const { code: status, stdout } = await targetsOf(gateway);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^up +http:\/\/127\.0\.0\.1:\d+\/metrics \(job upstreams\): \d+ samples in \d+ ms\n +vLLM \(V1\), 0\.13\.0 to 0\.15\.x$/m);
  assert.match((await targetsOf(gateway, '--signals')).stdout, /engine_kv_usage_ratio: from vllm:kv_cache_usage_perc/);
});

test('an upstream without such a page is absent: nothing is told of it, and it is left alone', async (t) => {
  const plain = await Sim.start(t);
  const gateway = await start(t, plain);
  await waitFor('the first look', async () => (await collected(gateway)).targets[0]?.health === 'absent');
  assert.deepEqual(await query(gateway, 'up{job="upstreams"}'), []);
  const { code: status, stdout } = await targetsOf(gateway);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^absent +http.*: it answered with status 404$/m);
});

test('an engine that had its page and loses it is down', async (t) => {
  const at = { body: 'vllm:num_requests_running{model_name="m"} 2\n' };
  const engine = await page(t, at);
  const gateway = await start(t, engine);
  assert.equal(await value(gateway, 'engine_running{upstream="up"}'), 2);
  at.status = 404;
  assert.equal(await value(gateway, 'up{upstream="up"}', (v) => v === 0), 0);
  assert.equal(await value(gateway, 'scrape_fault{upstream="up",reason="status"}'), 1);
  await waitFor('the end of its series', async () => (await query(gateway, 'engine_running')).length === 0);
  const { code: status, stdout } = await targetsOf(gateway);
  assert.equal(status, 1);
  assert.match(stdout, /^down +http.*: it answered with status 404$/m);
  const asJson = await targetsOf(gateway, '--json');
  assert.equal(asJson.code, 1);
  assert.equal(JSON.parse(asJson.stdout).targets[0].health, 'down');
});

test('another Prometheus gets the common names by /federate', async (t) => {
  const engine = await page(t, { body: 'vllm:num_requests_running{model_name="m \\"x\\""} 2\n' });
  const gateway = await start(t, engine);
  assert.equal(await value(gateway, 'engine_running{upstream="up"}'), 2);
  const prometheus = await startPrometheus(t, { interval: '1s', scrapeConfigs: [{
    job_name: 'inferometer', metrics_path: '/federate', honor_labels: true, params: { 'match[]': ['{__name__=~"engine_.+|up"}'] },
    static_configs: [{ targets: [`127.0.0.1:${gateway.adminPort}`] }],
  }] });
  await waitFor('the signal', async () => (await prometheus.scalar('engine_running')) === 2, { timeoutMs: 15000 });
  const [theirs] = await prometheus.query('engine_running');
  const [ours] = await query(gateway, 'engine_running');
  assert.deepEqual(theirs.metric, ours.metric);
  assert.equal(theirs.metric.model, 'm "x"');
  assert.equal(await prometheus.scalar(`up{instance="${engine.at}"}`), 1);
}, { skip: missing('prometheus') });

test('an upgrade between two scrapes: the signal goes on, and nothing is counted twice', async (t) => {
  const names = (kv, waiting) => [
    'vllm:num_requests_running{model_name="m",engine="0"} 1', `vllm:num_requests_waiting{model_name="m",engine="0"} ${waiting}`,
    ...kv.map((name) => `vllm:${name}{model_name="m",engine="0"} 0.5`)].join('\n') + '\n';
  const at = { body: names(['gpu_cache_usage_perc'], 1) };
  const engine = await page(t, at);
  const gateway = await start(t, engine);
  assert.equal(await value(gateway, 'engine_kv_usage_ratio'), 0.5);
  at.body = names(['gpu_cache_usage_perc', 'kv_cache_usage_perc'], 2); /* both, as 0.9.2 to 0.10.2 */
  assert.equal(await value(gateway, 'engine_waiting', (v) => v === 2), 2);
  assert.equal(await value(gateway, 'engine_kv_usage_ratio'), 0.5);
  at.body = names(['kv_cache_usage_perc'], 3);
  assert.equal(await value(gateway, 'engine_waiting', (v) => v === 3), 3);
  assert.equal(await value(gateway, 'engine_kv_usage_ratio'), 0.5);
  assert.deepEqual(await query(gateway, 'engine_signal_missing{signal="kv_usage",cause="drifted"}'), []);
  at.body = names([], 4); /* a name that nobody knows took its place */
  assert.equal(await value(gateway, 'engine_signal_missing{signal="kv_usage",cause="drifted"}'), 1);
  await waitFor('the end of the signal', async () => (await query(gateway, 'engine_kv_usage_ratio')).length === 0);
});

test('pages of the configuration, jobs of scrape files with relabelling; a reload takes and leaves', async (t) => {
  const upstream = await Sim.start(t);
  const one = await page(t, { body: 'a 1\n' });
  const two = await page(t, { body: 'b{drop="x"} 2\nc 3\n' });
  const file = join(tempDir(t), 'prometheus.yml');
  writeFileSync(file, JSON.stringify({
    global: { evaluation_interval: '1m' }, rule_files: ['nothing.yml'],
    scrape_configs: [{
      job_name: 'theirs', scrape_interval: '200ms', scrape_timeout: '200ms', static_configs: [{ targets: [two.at], labels: { rack: 'r1' } }],
      metric_relabel_configs: [{ source_labels: ['__name__'], regex: 'c', action: 'drop' }, { regex: 'drop', action: 'labeldrop' }],
    }],
  }));
  const config = { scrape: { ...FAST, targets: [`${one.url}/x/metrics`], files: [file] } };
  const gateway = await start(t, upstream, config);
  assert.equal(await value(gateway, `a{job="targets",instance="${one.at}"}`), 1);
  assert.equal(one.seen[0], '/x/metrics');
  assert.equal(await value(gateway, `b{job="theirs",instance="${two.at}",rack="r1"}`), 2);
  assert.deepEqual(await query(gateway, 'c'), []);
  assert.equal(await gateway.reload({ ...gateway.config, scrape: { ...FAST, files: [file] } }), 'taken');
  await waitFor('the end of a', async () => (await query(gateway, 'a')).length === 0);
  assert.equal(await value(gateway, 'b'), 2);
  writeFileSync(file, 'scrape_configs:\n- job_name: x\n  scrape_intervall: 5s\n');
  assert.equal(await gateway.reload({ ...gateway.config, scrape: { ...FAST, files: [file] } }), 'refused');
  assert.equal(await value(gateway, 'b'), 2);
  const { code: status, stderr } = await run(['config', 'check', gateway.configFile]);
  assert.equal(status, 1);
  assert.match(stderr, /prometheus\.yml:3:3: .*scrape_intervall[^]*scrape_interval/);
});

test('what a terminal would obey does not reach it', async (t) => {
  const upstream = await Sim.start(t);
  const other = await page(t, { body: 'a 1\n' });
  const file = join(tempDir(t), 'prometheus.yml');
  writeFileSync(file, JSON.stringify({ scrape_configs: [{ job_name: 'red\u001b[31m', static_configs: [{ targets: [other.at] }] }] }));
  const gateway = await start(t, upstream, { scrape: { ...FAST, files: [file] } });
  await waitFor('the target', async () => (await collected(gateway)).targets.length === 2);
  assert.match((await targetsOf(gateway)).stdout, /\(job red\?\[31m\)/);
});

test('a Kafka that does not answer is told as broken, for LLMKafkaUnread to read', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await start(t, upstream, { kafka: [{ name: 'jobs', brokers: '127.0.0.1:1', groups: ['workers'] }] });
  assert.equal(await value(gateway, 'source_up{source="kafka"}'), 0);
  const { code: status, stdout } = await targetsOf(gateway);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /^broken +kafka jobs: \S/m);
  assert.deepEqual((await collected(gateway)).sources.filter((s) => s.name === 'kafka').map((s) => s.cluster), ['jobs']);
  assert.match(gateway.process.stderr, /source "kafka jobs" does not work/);
});

test('a Kafka that cannot be asked is a mistake of the configuration', async (t) => {
  const file = join(tempDir(t), 'inferometer.yml');
  const kafka = { name: 'jobs', brokers: 'k:9092', groups: ['workers'] };
  for (const [more, said] of [[{ properties: ['sasl.password=x'] }, /"sasl.password" is a secret/],
    [{ brokers: '' }, /no brokers/], [{ properties_file: ['sasl.password=/not/on/this/machine'] }, null]]) {
    writeFileSync(file, JSON.stringify({ upstreams: 'http://127.0.0.1:1', kafka: [{ ...kafka, ...more }] }));
    const { code: status, stderr } = await run(['config', 'check', file]);
    assert.equal(status, said ? 1 : 0, stderr);
    if (said) assert.match(stderr, said);
  }
});

test('this machine, its clock, and that there is no GPU', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await start(t, upstream, { gpu: { source: 'nvidia-smi' }, host: { engines: [{ name: 'sim', port: upstream.port }] } });
  assert.ok(await value(gateway, `host_memory_total_bytes{instance="${hostname()}"}`) > 1e6);
  assert.equal(await value(gateway, 'host_engine_processes{engine="sim"}'), 1);
  assert.equal(await value(gateway, 'count(clock_synchronised)'), 1);
  const { sources } = await waitFor('all of them', async () => {
    const c = await collected(gateway);
    return c.sources.length === 3 && c.sources.every((s) => s.state !== 'unknown') ? c : null;
  }, { timeoutMs: 15000 });
  assert.deepEqual(sources.map((s) => s.name).sort(), ['clock', 'gpu', 'host']);
  assert.ok(['absent', 'working', 'broken'].includes(sources.find((s) => s.name === 'gpu').state));
});
