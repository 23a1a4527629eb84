// SPDX-License-Identifier: Apache-2.0
// inferometer targets explain: a saved page, as a table and as JSON, and how it ends.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';

const PAGE = `# HELP vllm:num_requests_running Requests that run.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a/b"} 3.0
vllm:num_requests_running{engine="1",model_name="a/b"} 4.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="a/b"} 0.25
# TYPE vllm:num_preemptions_total counter
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_sum{engine="0",model_name="a/b"} 1.5
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="a/b"} 1.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="+Inf",model_name="a/b"} 3.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="a/b"} 3.0
vllm:gpu_cache_usage_ratio 0.5
vllm:\u0061_new_name 1
process_open_fds 7
`;

const explain = (input, ...flags) => run(['targets', 'explain', '-', ...flags], { input });

test('a table', async () => {
  const { code, stdout, stderr } = await explain(PAGE);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^engines\n {2}vLLM \(V1\), 0\.10\.2 or newer\n {4}vllm:inter_token_latency_seconds is there\n/);
  assert.match(stdout, /\n {2}running +engine_running +3 requests {2}\{engine="0", model="a\/b"\}\n +4 requests {2}\{engine="1"/);
  assert.match(stdout, /\n +from vllm:num_requests_running\n/);
  assert.match(stdout, /\n {2}kv_usage +engine_kv_usage_ratio +0\.25 ratio /);
  assert.match(stdout, /\n {2}itl_seconds +engine_itl_seconds +count 3, mean 0\.5 seconds /);
  assert.match(stdout, /\n {2}preemptions_total +vllm:num_preemptions_total is declared and has no sample yet\n/);
  assert.match(stdout, /\nnames that are in no table: 2\n {2}vllm:a_new_name\n/);
  assert.match(stdout, /gpu_cache_usage_ratio: no version ever had it; did you mean vllm:kv_cache_usage_perc\?\n/);
  assert.match(stdout, /\n1 family is of another program\n/);
});

test('JSON', async () => {
  const { code, stdout } = await explain(PAGE, '--json');
  const page = JSON.parse(stdout);
  const signal = (name) => page.signals.find((s) => s.signal === name);
  assert.equal(code, 0);
  assert.deepEqual(page.engines, [{
    engine: 'vllm', title: 'vLLM', edition: 'V1', prefix: 'vllm:', since: '0.10.2', until: null,
    because: ['vllm:inter_token_latency_seconds is there'], is_whole: false, is_mixed: false,
  }]);
  assert.deepEqual(signal('running'), {
    signal: 'running', series: 'engine_running', type: 'gauge', unit: 'requests', from: 'vllm:num_requests_running',
    engine: 'vllm', note: null, is_approximate: false,
    samples: [{ labels: { engine: '0', model: 'a/b' }, value: 3 }, { labels: { engine: '1', model: 'a/b' }, value: 4 }],
  });
  assert.deepEqual(signal('itl_seconds').samples, [{
    labels: { engine: '0', model: 'a/b' }, count: 3, sum: 1.5,
    buckets: [{ le: '0.01', count: 1 }, { le: '+Inf', count: 3 }],
  }]);
  assert.deepEqual(page.missing.find((m) => m.signal === 'preemptions_total'), {
    signal: 'preemptions_total', engine: 'vllm', cause: 'no_data',
    why: 'vllm:num_preemptions_total is declared and has no sample yet',
  });
  assert.deepEqual(page.unknown.map((u) => [u.name, u.did_you_mean]),
    [['vllm:a_new_name', null], ['vllm:gpu_cache_usage_ratio', 'vllm:kv_cache_usage_perc']]);
  assert.deepEqual([page.foreign, page.mistakes, page.n_mistakes, page.remark], [1, [], 0, null]);
});

test('OpenMetrics is known by its end', async () => {
  const { code, stdout } = await explain('# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total 5\n# EOF\n',
    '--json');
  const page = JSON.parse(stdout);
  assert.equal(code, 0);
  assert.equal(page.format, 'openmetrics');
  assert.deepEqual(page.signals.map((s) => [s.signal, s.samples[0].value]), [['generation_tokens_total', 5]]);
});

test('lines that cannot be read are told with their place, and the rest is used', async (t) => {
  const path = join(tempDir(t), 'page.prom');
  writeFileSync(path, 'tgi_queue_size 4\ntgi_batch_current_size{ 1\n\x1b[31mevil 1\n');
  const table = await run(['targets', 'explain', path]);
  assert.equal(table.code, 1);
  assert.match(table.stdout, /\n {2}waiting +engine_waiting +4 requests\n/);
  assert.match(table.stdout, /\nlines that cannot be read: 2\n {2}line 2, column \d+: .+\n {2}line 3, column 1: .+\n/);
  assert.doesNotMatch(table.stdout, /\x1b/);
  const json = await run(['targets', 'explain', '--json', path]);
  assert.equal(json.code, 1);
  assert.deepEqual(JSON.parse(json.stdout).mistakes.map((m) => m.line), [2, 3]);
});

test('pages of nobody, and bodies that are no pages', async () => {
  for (const [body, why] of [
    ['python_info 1\nhttp_requests_total 3\n', /--disable-log-stats/],
    ['{"iteration": 1}\n', /JSON: .*\/prometheus\/metrics/],
    ['<!DOCTYPE html><html></html>\n', /HTML/],
    ['', /body is empty/],
    ['node_load1 1\n', /right port and path/],
  ]) {
    const { code, stdout } = await explain(body);
    assert.equal(code, 1, body);
    assert.match(stdout, /^no engine was recognised\n {2}remark: /);
    assert.match(stdout, why);
  }
});

test('usage, and files that cannot be read', async (t) => {
  const help = await run(['targets', 'explain', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /examples:\n {2}curl /);
  for (const args of [['explain'], ['explain', 'a', 'b'], ['explain', '--yaml', 'a'], ['list']])
    assert.equal((await run(['targets', ...args])).code, 2, args.join(' '));
  const none = await run(['targets', 'explain', join(tempDir(t), 'none')]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no such file/);
});
