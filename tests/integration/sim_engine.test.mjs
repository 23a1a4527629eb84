// SPDX-License-Identifier: Apache-2.0
// The simulator as a batching engine: its metrics under every version's names, what they have to do
// with what clients were told, and its faults: each has its effect, and ends.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sim } from './lib/daemon.mjs';
import { getJson, getText, request, sseChunks } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import { parseExposition } from './lib/prometheus.mjs';
import test from './lib/test.mjs';
import { timed, waitFor } from './lib/wait.mjs';

const VERSIONS = ['vllm-0.13', 'vllm-0.10', 'vllm-0.8', 'vllm-0.6', 'sglang-0.5.7'];
const CHAT = '/v1/chat/completions';
const BODY = { max_tokens: 4, messages: [{ role: 'user', content: 'hello' }] };

const engine = (t, ...flags) => Sim.start(t, '--engine', 'vllm-0.13', ...flags);

const post = (sim, json, headers = {}, path = CHAT) => request(sim.port, path, { json, headers });

async function ask(sim, json = BODY, headers = {}, path = CHAT) {
  const answer = await post(sim, json, headers, path);
  assert.equal(answer.status, 200, answer.body.toString());
  return JSON.parse(answer.body);
}

const page = async (sim, path = '/metrics') => parseExposition(await getText(sim.port, path));
const value = async (sim, name, labels) => (await page(sim)).value(name, labels);

const setFaults = (sim, json) => post(sim, json, {}, '/sim/faults');
const clearFaults = (sim, name) =>
  request(sim.port, name ? `/sim/faults/${name}` : '/sim/faults', { method: 'DELETE' });
const active = async (sim) => (await getJson(sim.port, '/sim/faults')).active;

/** A stream that is under way: started after its first bytes; leave() or over. */
async function stream(t, sim, json, headers = {}) {
  const aborter = new AbortController();
  let onStart;
  const started = new Promise((done) => (onStart = done));
  const over = request(sim.port, CHAT, {
    json: { ...json, stream: true }, headers, signal: aborter.signal, timeoutMs: 60000,
    onResponse: (res) => res.once('data', onStart),
  }).catch((error) => ({ error }));
  t.after(() => aborter.abort());
  return { started, over, leave: () => aborter.abort() };
}

/** Waits until a metric of the engine is as it should be. */
const until = (sim, name, is) =>
  waitFor(`${name} of the engine`, async () => is(await value(sim, name)), { timeoutMs: 15000 });

for (const version of VERSIONS) {
  test(`${version}: targets explain reads its metrics`, async (t) => {
    const sim = await Sim.start(t, '--engine', version);
    await ask(sim);
    await ask(sim, { ...BODY, stream: false, n: 2 });
    const { stdout } = await run(['targets', 'explain', '--json', '-'], { input: await getText(sim.port, '/metrics') });
    const told = JSON.parse(stdout);
    const of = (name) => told.signals.find((s) => s.signal === name)?.samples[0];
    assert.equal(told.engines.length, 1);
    assert.equal(told.engines[0].engine, version.split('-')[0]);
    assert.equal(told.engines[0].is_mixed, false);
    assert.deepEqual([told.mistakes, told.unknown], [[], []]);
    assert.equal(of('running').value, 0);
    assert.equal(of('waiting').value, 0);
    assert.ok(of('kv_usage').value >= 0 && of('kv_usage').value <= 1);
    assert.equal(of('generation_tokens_total').value, 12);
    assert.equal(of('ttft_seconds').count, 3);
    assert.equal(of('e2e_seconds').count, 3);
    assert.ok(of('ttft_seconds').sum > 0.02 && of('ttft_seconds').sum < 3);
  });
}

test('what clients were told adds up to the counters', async (t) => {
  const sim = await engine(t, '--output-median', '8', '--output-sigma', '0.5', '--output-max', '20');
  let prompt = 0, completion = 0, sequences = 0;
  const add = (usage, n = 1) => {
    prompt += usage.prompt_tokens * n;
    completion += usage.completion_tokens;
    sequences += n;
  };
  const body = (i) => ({ messages: [{ role: 'user', content: 'x'.repeat(30 * i) }] });
  await Promise.all(Array.from({ length: 24 }, async (_, i) => {
    if (i % 4 === 0) add((await ask(sim, { ...body(i), n: 2 })).usage, 2);
    else if (i % 4 === 1) add((await ask(sim, body(i), { 'X-Sim-Tokens-Per-Event': '3' })).usage);
    else if (i % 4 === 2) {
      const answer = await post(sim, { ...body(i), stream: true, stream_options: { include_usage: true } },
        { 'X-Sim-Reasoning': '2', 'X-Sim-Tokens-Per-Event': String(1 + i % 3) });
      add(sseChunks(answer.body).at(-1).usage);
    } else {
      const last = (await post(sim, body(i), { 'X-Sim-Tool-Calls': 'on' }, '/api/chat')).body.toString()
        .trim().split('\n').at(-1);
      const { prompt_eval_count, eval_count } = JSON.parse(last);
      add({ prompt_tokens: prompt_eval_count, completion_tokens: eval_count });
    }
  }));
  await post(sim, { input: 'text' }, {}, '/v1/embeddings'); // has no part in it
  const metrics = await page(sim);
  assert.equal(metrics.value('vllm:generation_tokens_total'), completion);
  assert.equal(metrics.value('vllm:prompt_tokens_total'), prompt);
  assert.equal(metrics.value('vllm:request_success_total'), sequences);
  assert.equal(metrics.value('vllm:request_generation_tokens_sum'), completion);
  assert.equal(metrics.value('vllm:time_to_first_token_seconds_count'), sequences);
  assert.equal(metrics.value('vllm:num_requests_running'), 0);
  assert.equal(metrics.value('vllm:kv_cache_usage_perc'), 0);
  assert.ok(completion > sequences);
});

test("the engine's own times are those of its histograms", async (t) => {
  const sim = await engine(t);
  const { metrics } = await ask(sim, { ...BODY, max_tokens: 9 }, { 'X-Sim-Engine-Times': 'vllm' });
  const told = await page(sim);
  const close = (name, ms) => {
    const s = told.value(`vllm:${name}_sum`);
    assert.ok(Math.abs(s - ms / 1000) < 1e-6, `${name}: ${s} s, told ${ms} ms`);
  };
  close('request_decode_time_seconds', metrics.generation_time_ms);
  close('request_queue_time_seconds', metrics.queue_time_ms);
  close('request_time_per_output_token_seconds', metrics.mean_itl_ms);
});

test('KV usage rises with a request, and falls when its client leaves', async (t) => {
  const sim = await engine(t, '--kv-tokens', '8000');
  const one = await stream(t, sim, { ...BODY, max_tokens: 3000 }, { 'X-Sim-Prompt-Tokens': '4000' });
  await one.started;
  await until(sim, 'vllm:kv_cache_usage_perc', (v) => v > 0.5);
  assert.equal(await value(sim, 'vllm:num_requests_running'), 1);
  assert.deepEqual(await getJson(sim.port, '/load'), { server_load: 1 });
  one.leave();
  await until(sim, 'vllm:kv_cache_usage_perc', (v) => v === 0);
  assert.equal(await value(sim, 'vllm:request_success_total', { finished_reason: 'abort' }), 1);
  assert.deepEqual(await getJson(sim.port, '/load'), { server_load: 0 });
});

test('too few blocks: preemptions, and every answer is whole', async (t) => {
  const sim = await engine(t, '--kv-tokens', '960');
  const answers = await Promise.all([1, 2, 3].map(() =>
    ask(sim, { ...BODY, max_tokens: 40 }, { 'X-Sim-Prompt-Tokens': '300' })));
  for (const { usage } of answers) assert.equal(usage.completion_tokens, 40);
  const metrics = await page(sim);
  assert.ok(metrics.value('vllm:num_preemptions_total') > 0);
  assert.equal(metrics.value('vllm:generation_tokens_total'), 120);
});

test('more than the engine can ever hold is refused', async (t) => {
  const sim = await engine(t, '--kv-tokens', '960');
  for (const tokens of ['960', '2000']) {
    const answer = await post(sim, BODY, { 'X-Sim-Prompt-Tokens': tokens });
    assert.equal(answer.status, 400);
    assert.match(answer.body.toString(), /longer than what the engine can hold/);
  }
  const long = await ask(sim, { ...BODY, max_tokens: 100 }, { 'X-Sim-Prompt-Tokens': '900' });
  assert.equal(long.usage.completion_tokens, 60);
  assert.equal(long.choices[0].finish_reason, 'length');
});

test('prompts that begin alike are cached, and said to be', async (t) => {
  const sim = await engine(t);
  const long = (end) => ({ ...BODY, messages: [
    { role: 'system', content: 'You are careful. '.repeat(20) }, { role: 'user', content: end }] });
  const cached = async (json, headers) => (await ask(sim, json, headers)).usage.prompt_tokens_details.cached_tokens;
  assert.equal(await cached(long('a')), 0);
  assert.ok(await cached(long('b')) >= 64);
  assert.equal(await cached({ ...BODY, messages: [{ role: 'user', content: 'other '.repeat(80) }] }), 0);
  const head = { 'X-Sim-Prefix': '7', 'X-Sim-Prompt-Tokens': '320', 'X-Sim-Prefix-Tokens': '160' };
  assert.equal(await cached(BODY, head), 0);
  assert.equal(await cached(BODY, head), 160);
  assert.equal(await cached(long('b'), { 'X-Sim-Prefix': '0' }), 0);
  const metrics = await page(sim);
  assert.ok(metrics.value('vllm:prefix_cache_hits_total') >= 64 + 160);
});

test('version, tokenizer and server info belong to their engines', async (t) => {
  const [vllm, sglang, simple] = await Promise.all([
    engine(t, '--tokenize-ms', '60'), Sim.start(t, '--engine', 'sglang-0.5.7'), Sim.start(t)]);
  const status = async (sim, path, options) => (await request(sim.port, path, options)).status;
  assert.deepEqual(await getJson(vllm.port, '/version'), { version: '0.13.0' });
  assert.equal((await getJson(sglang.port, '/get_server_info')).version, '0.5.7');
  assert.equal(await status(sglang, '/version'), 404);
  assert.equal(await status(sglang, '/tokenize', { json: { prompt: 'x' } }), 404);
  assert.equal(await status(vllm, '/get_server_info'), 404);
  for (const path of ['/metrics', '/gpu/metrics', '/version', '/load', '/sim/faults', '/get_server_info'])
    assert.equal(await status(simple, path), 404, path);
  assert.equal(await status(vllm, '/metrics', { json: {} }), 405);
  assert.equal(await status(vllm, '/sim/faults/errors'), 405);

  const text = 'a prompt\nof "some" length: ä€';
  const { value: answer, ms } = await timed(() => post(vllm, { prompt: text }, {}, '/tokenize'));
  assert.ok(ms >= 60, `${ms} ms`);
  const { count, tokens } = JSON.parse(answer.body);
  assert.equal(count, tokens.length);
  assert.deepEqual(JSON.parse((await post(vllm, { tokens }, {}, '/detokenize')).body), { prompt: text });
  assert.equal((await post(vllm, { text }, {}, '/tokenize')).status, 400);
});

test('GPUs on a page of their own, or on the same', async (t) => {
  const [own, same] = await Promise.all([
    engine(t, '--hardware', 'llama2-70b-a100-tp4'), engine(t, '--gpu-metrics', 'page', '--gpu-names', 'dcgm-4.9')]);
  const gpus = await page(own, '/gpu/metrics');
  assert.equal(gpus.select('DCGM_FI_DEV_SM_CLOCK').length, 4);
  assert.equal(gpus.value('DCGM_FI_DEV_SM_CLOCK', { gpu: '0' }), 1410);
  assert.equal((await page(own)).select('DCGM_FI_DEV_SM_CLOCK').length, 0);
  const all = await page(same);
  assert.equal(all.select('DCGM_FI_DEV_SM_CLOCK_HERTZ').length, 8);
  assert.equal(all.value('vllm:num_requests_running'), 0);
});

// --- faults ---

const SHORT = { ...BODY, max_tokens: 2 };
const status = async (sim) => (await post(sim, SHORT)).status;
const usage = async (sim, json = BODY, headers = {}) => (await ask(sim, json, headers)).usage;
const decodeMs = async (sim) =>
  (await ask(sim, { ...BODY, max_tokens: 9 }, { 'X-Sim-Engine-Times': 'vllm' })).metrics.generation_time_ms;
const gpu = async (sim, name) => (await page(sim, '/gpu/metrics')).value(`DCGM_FI_DEV_${name}`, { gpu: '0' });

/** fault, its strength, flags of the engine, and what is to be seen; normal: when it is over. */
const FAULTS = {
  load_surge: { strength: 20, async seen(sim) {
    await until(sim, 'vllm:num_requests_running', (v) => v > 3);
    await until(sim, 'vllm:generation_tokens_total', (v) => v > 0);
    assert.deepEqual(await getJson(sim.port, '/load'), { server_load: 0 }); // nobody is at the door
  }, async normal(sim) {
    await clearFaults(sim);
    const arrived = await waitFor('the same number of requests', async () => {
      const before = await value(sim, 'vllm:prefix_cache_queries_total');
      await ask(sim, { ...BODY, max_tokens: 20 }, { 'X-Sim-Prompt-Tokens': '1' });
      return (await value(sim, 'vllm:prefix_cache_queries_total')) === before + 1;
    }, { timeoutMs: 15000 });
    assert.ok(arrived);
  } },
  long_prompts: { strength: 3, async seen(sim) {
    assert.equal((await usage(sim, BODY, { 'X-Sim-Prompt-Tokens': '100' })).prompt_tokens, 300);
    assert.equal(await value(sim, 'vllm:request_prompt_tokens_sum'), 300);
  }, async normal(sim) {
    assert.equal((await usage(sim, BODY, { 'X-Sim-Prompt-Tokens': '100' })).prompt_tokens, 100);
  } },
  long_outputs: { strength: 3, flags: ['--output-max', '5'], async seen(sim) {
    assert.equal((await usage(sim, { messages: [] })).completion_tokens, 15);
    assert.equal((await usage(sim, { messages: [], max_tokens: 4 })).completion_tokens, 4);
  }, async normal(sim) {
    assert.equal((await usage(sim, { messages: [] })).completion_tokens, 5);
  } },
  prefix_cache_loss: { strength: true, async before(sim) {
    await usage(sim, SHORT, { 'X-Sim-Prefix': '1', 'X-Sim-Prompt-Tokens': '320' });
  }, async seen(sim) {
    const before = await page(sim);
    const { prompt_tokens_details: { cached_tokens } } =
      await usage(sim, SHORT, { 'X-Sim-Prefix': '1', 'X-Sim-Prompt-Tokens': '320' });
    const after = await page(sim);
    assert.equal(cached_tokens, 0);
    const grown = (name) => after.value(`vllm:prefix_cache_${name}_total`) - before.value(`vllm:prefix_cache_${name}_total`);
    assert.deepEqual([grown('queries'), grown('hits')], [320, 0]);
  }, async normal(sim) {
    const headers = { 'X-Sim-Prefix': '1', 'X-Sim-Prompt-Tokens': '320' };
    await usage(sim, SHORT, headers);
    assert.equal((await usage(sim, SHORT, headers)).prompt_tokens_details.cached_tokens, 304);
  } },
  kv_exhaustion: { strength: 0.75, async seen(sim) {
    assert.ok(Math.abs(await value(sim, 'vllm:kv_cache_usage_perc') - 0.75) < 1e-4);
  }, async normal(sim) {
    assert.equal(await value(sim, 'vllm:kv_cache_usage_perc'), 0);
  } },
  slow_gpu: { strength: 4, async seen(sim) {
    const ms = await decodeMs(sim);
    assert.ok(ms > 3.3 * 8 * 30 && ms < 5 * 8 * 30, `${ms} ms`);
    await waitFor('the lower clock', async () => (await gpu(sim, 'SM_CLOCK')) === 495);
    assert.ok(await gpu(sim, 'GPU_TEMP') > 80);
  }, async normal(sim) {
    assert.ok(await decodeMs(sim) < 1.5 * 8 * 30);
    await waitFor('the full clock', async () => (await gpu(sim, 'SM_CLOCK')) === 1980);
  } },
  host_stall: { strength: 70, async seen(sim) {
    const { value: answer, ms } = await timed(() => post(sim, { prompt: 'x' }, {}, '/tokenize'));
    assert.ok(answer.status === 200 && ms > 70, `${ms} ms`); // the same host
    assert.ok(await decodeMs(sim) > 2.7 * 8 * 30);
    assert.equal(await gpu(sim, 'SM_CLOCK'), 1980);
  }, async normal(sim) {
    assert.ok(await decodeMs(sim) < 1.5 * 8 * 30);
  } },
  network_delay: { strength: 250, async seen(sim) {
    const { value: answer, ms } = await timed(() => post(sim, { ...SHORT, stream: true }));
    assert.equal(answer.status, 200);
    assert.ok(ms > 500 + 30, `${ms} ms`);
    assert.ok(await value(sim, 'vllm:e2e_request_latency_seconds_sum') < 0.25); // nothing of it there
    for (const path of ['/metrics', '/gpu/metrics', '/health', '/v1/models', '/version'])
      assert.ok((await timed(() => request(sim.port, path))).ms >= 500, path); // who scrapes sees it
  }, async normal(sim) {
    await post(sim, { ...SHORT, stream: true }, { 'X-Request-Id': 'after' });
    const { t_request_ns, events } = await sim.truth('after');
    assert.ok(events.at(-1).t_ns - t_request_ns < 250e6);
    assert.ok((await timed(() => request(sim.port, '/metrics'))).ms < 500);
  } },
  proxy_buffering: { strength: 1e6, async seen(sim) {
    await post(sim, { ...BODY, stream: true }, { 'X-Request-Id': 'held' });
    const { events } = await sim.truth('held');
    assert.equal(new Set(events.map((e) => e.t_ns)).size, 1); // all in one write, at the end
  }, async normal(sim) {
    await post(sim, { ...BODY, stream: true }, { 'X-Request-Id': 'free' });
    const { events } = await sim.truth('free');
    assert.ok(new Set(events.filter((e) => e.kind === 'token').map((e) => e.t_ns)).size === 4);
  } },
  seqs_cap: { strength: 2, async seen(sim, t) {
    const all = await Promise.all([1, 2, 3, 4, 5].map(() => stream(t, sim, { ...BODY, max_tokens: 20 })));
    await until(sim, 'vllm:num_requests_waiting', (v) => v === 3);
    assert.equal(await value(sim, 'vllm:num_requests_running'), 2);
    await clearFaults(sim, 'seqs_cap');
    await until(sim, 'vllm:num_requests_waiting', (v) => v === 0);
    for (const one of all) assert.equal((await one.over).status, 200);
    assert.ok(await value(sim, 'vllm:request_queue_time_seconds_sum') > 0.1);
  } },
  rate_limit: { strength: 1, async seen(sim) {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(sim, SHORT)));
    const refused = answers.filter((a) => a.status === 429);
    assert.ok(refused.length >= 2, String(refused.length));
    assert.ok(Number(refused[0].headers['retry-after']) >= 1);
    assert.match(refused[0].body.toString(), /rate limit/);
  }, async normal(sim) {
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => status(sim))), [200, 200, 200, 200]);
  } },
  cold_start: { strength: 1000, async before(sim, t) {
    await ask(sim);
    this.open = await stream(t, sim, { ...BODY, max_tokens: 1000 });
    await this.open.started;
    this.startedAt = await value(sim, 'process_start_time_seconds');
  }, async seen(sim) {
    const broken = await this.open.over;
    assert.ok(broken.error || !broken.isComplete);
    const refused = await post(sim, SHORT);
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers['retry-after']) > 900);
    for (const path of ['/health', '/metrics', '/version', '/v1/models'])
      assert.equal((await request(sim.port, path)).status, 503, path);
    assert.equal(await gpu(sim, 'SM_CLOCK'), 1980); // another program tells of them
  }, async normal(sim) {
    assert.equal((await request(sim.port, '/health')).status, 200);
    assert.ok(await value(sim, 'process_start_time_seconds') > this.startedAt);
    assert.equal(await value(sim, 'vllm:generation_tokens_total'), 0);
    await ask(sim);
    assert.equal(await value(sim, 'vllm:generation_tokens_total'), 4);
  } },
  bad_replica: { strength: 0.5, async seen(sim) {
    const all = await Promise.all(Array.from({ length: 40 }, () => status(sim)));
    const failed = all.filter((s) => s === 500).length;
    assert.ok(failed > 5 && failed < 35, String(failed));
    await waitFor('an XID', async () => (await gpu(sim, 'XID_ERRORS')) === 94);
    assert.equal(await gpu(sim, 'SM_CLOCK'), 1980);
  }, async normal(sim) {
    assert.equal(await status(sim), 200);
    await waitFor('no XID', async () => (await gpu(sim, 'XID_ERRORS')) === 0);
  } },
  runaway_output: { strength: 30, async seen(sim) {
    const { usage: { completion_tokens }, choices: [one] } = await ask(sim, { ...BODY, max_tokens: 3 });
    assert.equal(completion_tokens, 30);
    assert.equal(one.finish_reason, 'length');
    assert.match(one.message.content, /^( and so on it goes){6}$/);
  }, async normal(sim) {
    const { usage: { completion_tokens }, choices: [one] } = await ask(sim, { ...BODY, max_tokens: 3 });
    assert.equal(completion_tokens, 3);
    assert.doesNotMatch(one.message.content, /and so on/);
  } },
  memory_leak: { strength: 20000, async seen(sim) {
    const at = await value(sim, 'vllm:kv_cache_usage_perc');
    await until(sim, 'vllm:kv_cache_usage_perc', (v) => v > at + 0.1);
    await until(sim, 'vllm:kv_cache_usage_perc', (v) => v > at + 0.3);
  }, async normal(sim) {
    assert.equal(await value(sim, 'vllm:kv_cache_usage_perc'), 0);
  } },
  errors: { strength: 1, async seen(sim) {
    const answer = await post(sim, SHORT);
    assert.equal(answer.status, 500);
    assert.match(answer.body.toString(), /simulated engine failure/);
    assert.equal(await value(sim, 'vllm:request_success_total'), 0);
  }, async normal(sim) {
    assert.equal(await status(sim), 200);
  } },
  added_latency: { strength: 0.6, async seen(sim) {
    const { ms } = await timed(() => ask(sim, SHORT));
    assert.ok(ms > 600, `${ms} ms`);
    const metrics = await page(sim);
    assert.ok(metrics.value('vllm:time_to_first_token_seconds_sum') > 0.6); // before its own queue
    assert.ok(metrics.value('vllm:request_queue_time_seconds_sum') < 0.1);
  }, async normal(sim) {
    await ask(sim, SHORT);
    assert.ok(await value(sim, 'vllm:time_to_first_token_seconds_sum') < 1.1);
  } },
};

for (const [name, { strength, flags = [], ...fault }] of Object.entries(FAULTS)) {
  test(`fault ${name}: is seen, and ends`, async (t) => {
    const sim = await engine(t, ...flags);
    await fault.before?.(sim, t);
    const answer = await setFaults(sim, { [name]: strength });
    assert.equal(answer.status, 200, answer.body.toString());
    assert.deepEqual(Object.keys(await active(sim)), [name]);
    await fault.seen(sim, t);
    assert.equal((await clearFaults(sim, name)).status, 200);
    assert.deepEqual(await active(sim), {});
    await fault.normal?.(sim, t);
  });
}

test('every fault has a test', async (t) => {
  const sim = await engine(t);
  const { faults } = await getJson(sim.port, '/sim/faults');
  assert.deepEqual(faults.map((f) => f.name).sort(), Object.keys(FAULTS).sort());
  const { stdout } = await run(['sim', '--help']);
  for (const { name, unit } of faults) assert.ok(stdout.includes(`${name} X`) && stdout.includes(unit), name);
});

test('cold_start ends by itself', async (t) => {
  const sim = await engine(t);
  await setFaults(sim, { cold_start: 0.3 });
  assert.equal((await request(sim.port, '/health')).status, 503);
  await waitFor('the engine', async () => (await request(sim.port, '/health')).status === 200);
  await waitFor('the end of the fault', async () => Object.keys(await active(sim)).length === 0);
});

test('mistakes in faults are told, and change nothing', async (t) => {
  const sim = await engine(t);
  for (const [json, why] of [
    [{ errors: 0.5, slow_gpo: 2 }, /did you mean slow_gpu\?/],
    [{ errors: 2 }, /errors takes 0 to 1 \(share\), not 2/],
    [{ errors: 'x' }, /takes a number/],
    [[1], /not a JSON object/],
  ]) {
    const answer = await setFaults(sim, json);
    assert.equal(answer.status, 400);
    assert.match(JSON.parse(answer.body).error.message, why);
  }
  assert.equal((await clearFaults(sim, 'erors')).status, 404);
  assert.equal((await clearFaults(sim, '%22')).status, 404);
  assert.deepEqual(await active(sim), {});
});

test('a file that is played is no answer to who switches faults', async (t) => {
  const file = join(tempDir(t), 'answer.json');
  writeFileSync(file, '{"played":true}');
  const sim = await engine(t, '--play', file);
  assert.equal((await setFaults(sim, { errors: 1 })).status, 200);
  assert.deepEqual(await active(sim), { errors: 1 });
  assert.equal(await status(sim), 500);
  await clearFaults(sim);
  assert.deepEqual(await ask(sim), { played: true });
});

test('a script', async (t) => {
  const file = join(tempDir(t), 'day.txt');
  writeFileSync(file, '# a short day\nat 0s for 900ms errors 1\nat 600ms for 1s seqs_cap 3\nat 1s errors 0.5 # stays\n');
  const sim = await engine(t, '--script', file);
  const seen = [];
  await waitFor('the end of the script', async () => {
    const now = JSON.stringify(await active(sim));
    if (seen.at(-1) !== now) seen.push(now);
    return now === '{"errors":0.5}' && seen.length > 2;
  }, { timeoutMs: 10000 });
  assert.ok(seen.includes('{"errors":1}'), seen.join());
  assert.ok(seen.includes('{"seqs_cap":3,"errors":1}'), seen.join());
});

test('a script, or flags, that cannot be right', async (t) => {
  const file = join(tempDir(t), 'day.txt');
  writeFileSync(file, 'at 1s errors\nat 30s slow_gp 2\n');
  for (const [flags, why] of [
    [['--engine', 'vllm-0.13', '--script', file], /day\.txt: line 2: there is no fault "slow_gp"\n.*did you mean slow_gpu/],
    [['--engine', 'vllm-0.13', '--script', `${file}.none`], /could not read .*no such file/],
    [['--engine', 'vllm-0.99'], /"vllm-0\.99" is none that can be played\n.*vllm-0\.13/],
    [['--engine', 'vllm-0.13', '--hardware', 'abacus'], /nothing is known of "abacus"\n.*llama2-70b-h100-tp8/],
    [['--engine', 'vllm-0.13', '--workers', '2'], /has one worker/],
    [['--engine', 'vllm-0.13', '--max-seqs', '0'], /max-seqs/],
    [['--engine', 'vllm-0.13', '--gpu-metrics', 'there'], /page or path/],
    [['--engine', 'vllm-0.13', '--kv-tokens', '960', '--max-model-len', '2000'], /room for 960 tokens only/],
    [['--engine', 'vllm-0.13', '--kv-tokens', '1000000000', '--block-tokens', '1'],
      /1000000000 blocks of 1 tokens.*at most 67108864\n.*--block-tokens 15/],
    [['--max-seqs', '4'], /--max-seqs is for the batching engine\n.*--engine vllm-0\.13/],
    [['--script', file], /line 2/],
    [['--max-sqs', '4'], /did you mean --max-seqs/],
  ]) {
    const { code, stderr } = await run(['sim', ...flags]);
    assert.equal(code, 2, flags.join(' '));
    assert.match(stderr, why);
  }
});

test('prompts, answers and counters through every dialect', async (t) => {
  const sim = await engine(t);
  const all = [
    ['/v1/chat/completions', { messages: [], max_tokens: 3 }],
    ['/v1/completions', { prompt: 'x', max_tokens: 3 }],
    ['/v1/responses', { input: 'x', max_output_tokens: 3 }],
    ['/v1/messages', { messages: [{ role: 'user', content: 'x' }], max_tokens: 3 }],
    ['/api/chat', { messages: [{ role: 'user', content: 'x' }], options: { num_predict: 3 } }],
    ['/v1beta/models/m:generateContent', { contents: [{ parts: [{ text: 'x' }] }], generationConfig: { maxOutputTokens: 3 } }],
  ];
  for (const [path, json] of all) {
    const answer = await post(sim, json, {}, path);
    assert.equal(answer.status, 200, path);
  }
  assert.equal(await value(sim, 'vllm:generation_tokens_total'), 3 * all.length);
});
