// SPDX-License-Identifier: Apache-2.0
// inferometer rules suggest: thresholds from a gateway's history, and the rule file that has them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const N = 240;
const suggest = (port, ...flags) => run(['rules', 'suggest', '--url', `127.0.0.1:${port}`, ...flags]);

/** A gateway that has served N requests for one model and 3 for another, and knows it. */
async function withHistory(t) {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, {
    upstream, config: { data_dir: tempDir(t), history: { interval: '1s' } },
  });
  const chat = (model) => gateway.chat({ model, stream: true }, { headers: sim({ 'ttft-ms': 40, tokens: 3 }) });
  for (let i = 0; i < N; i += 24) await Promise.all(Array.from({ length: 24 }, () => chat('often')));
  for (let i = 0; i < 3; i++) await chat('rare');
  await waitFor('samples of what was served', async () => {
    const query = 'sum by (model) (increase(llm_ttft_seconds_count[10m]))';
    const { body } = await request(gateway.adminPort, `/api/v1/query?query=${encodeURIComponent(query)}`);
    const counts = JSON.parse(body).data?.result.map(({ value }) => Math.round(Number(value[1]))).sort();
    return counts?.length === 2 && counts.includes(N);
  });
  return gateway.adminPort;
}

/** The file's alert fires for a model that takes 60 to 120 s, and not for one that it does not name. */
async function fires(file, model) {
  const series = (name) => [
    { series: `llm_ttft_seconds_bucket{model="${name}",le="60"}`, values: '0x30' },
    { series: `llm_ttft_seconds_bucket{model="${name}",le="120"}`, values: '0+6x30' },
    { series: `llm_ttft_seconds_bucket{model="${name}",le="+Inf"}`, values: '0+6x30' },
    { series: `llm_ttft_seconds_count{model="${name}"}`, values: '0+6x30' },
  ];
  const firing = `ALERTS{alertname="LLMTimeToFirstTokenSlow",alertstate="firing"`;
  writeFileSync(`${file}.test`, JSON.stringify({
    rule_files: [file],
    evaluation_interval: '61s',
    tests: [{
      interval: '1m',
      input_series: [...series(model), ...series('other')],
      promql_expr_test: [{
        expr: `${firing}}`, eval_time: '25m30s', exp_samples: [{ labels: `${firing},model="${model}",tier="P1"}`, value: 1 }],
      }],
    }],
  }));
  const { code, stdout, stderr } = await run(['rules', 'test', `${file}.test`]);
  assert.equal(code, 0, stdout + stderr);
}

test('a table, and a rule file that Prometheus takes', async (t) => {
  const port = await withHistory(t);
  const table = await suggest(port, '--last', '1d');
  assert.deepEqual([table.code, table.stderr], [0, '']);
  assert.match(table.stdout, /UTC \(1d\): p95 and 50 % more\.\n/);
  const row = table.stdout.match(/^often +ttft +(\d+) +([\d.]+)ms +([\d.]+)ms +([\d.]+)ms +([\d.]+)ms +0 +0 min$/m);
  assert.ok(row, table.stdout);
  const [count, p50, p95, p99, threshold] = row.slice(1).map(Number);
  assert.ok(Math.abs(count - N) < 10, row[0]); // increase() extrapolates
  assert.ok(p50 >= 39 && p50 <= p95 && p95 <= p99, row[0]);
  assert.ok(threshold >= 1.49 * p95 && threshold <= 1.66 * p95, row[0]);
  assert.match(table.stdout, /^rare +ttft +3 .* too few requests$/m);

  const rules = await suggest(port, '--last', '1d', '--rules', '--margin', '100');
  assert.deepEqual([rules.code, rules.stderr], [0, '']);
  const file = join(tempDir(t), 'suggested.yml');
  writeFileSync(file, rules.stdout);
  const checked = await run(['rules', 'check', '--lint', file]);
  assert.deepEqual([checked.code, checked.stderr], [0, '']);
  if (spawnSync('promtool', ['--version']).status === 0) {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, ''], stdout);
  }
  await fires(file, 'often');
  assert.match(rules.stdout, /labels: \{of: ttft_p95, model: "often"\}/);
  assert.match(rules.stdout, /- alert: LLMTimeToFirstTokenSlow\n/);
  assert.ok(!rules.stdout.includes('rare'));
});

test('no history, nobody there, wrong flags', async (t) => {
  const gateway = await Gateway.start(t, { upstream: await Sim.start(t) });
  const without = await suggest(gateway.adminPort);
  assert.equal(without.code, 1);
  assert.match(without.stderr, /^inferometer rules suggest: there is no store to query.*\n.*data_dir/);
  for (const flags of [['--last', '36h'], ['--last', '91d'], ['--margin', '-1'], ['--nonsense'], ['word']]) {
    const wrong = await suggest(gateway.adminPort, ...flags);
    assert.equal(wrong.code, 2, flags.join(' '));
    assert.match(wrong.stderr, /^inferometer rules suggest: /);
  }
  const help = await run(['rules', 'suggest', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^usage: inferometer rules suggest/);
});
