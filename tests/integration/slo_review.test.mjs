// SPDX-License-Identifier: Apache-2.0
// inferometer slo review: what a gateway's short history was, before and after somebody called it noise.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { getJson, request } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const review = (port, ...flags) => run(['slo', 'review', '--url', `127.0.0.1:${port}`, ...flags]);

const RULES = {
  groups: [{
    name: 'latency',
    interval: '1s',
    rules: [
      {
        alert: 'TTFTHigh',
        expr: 'sum by (model) (rate(llm_ttft_seconds_sum[5s])) / sum by (model) (rate(llm_ttft_seconds_count[5s])) > 0.2',
        for: '1s',
        labels: { tier: 'P1' },
      },
      { alert: 'Never', expr: 'up > 2', labels: { tier: 'P0' } },
    ],
  }],
};

/** A gateway on which requests were slow for a while, so that an alert fired and is over. */
async function withTrouble(t) {
  const file = join(tempDir(t), 'rules.yml');
  writeFileSync(file, JSON.stringify(RULES));
  const gateway = await Gateway.start(t, {
    upstream: await Sim.start(t),
    config: {
      data_dir: tempDir(t), history: { interval: '1s' }, rules: { files: [file] }, models: ['m'],
      slos: [{ name: 'mine', objectives: { ttft: { threshold: '100ms', target: '90%' } } }],
    },
  });
  const ask = (ms) => gateway.chat({ model: 'm', stream: true }, { headers: sim({ 'ttft-ms': ms, tokens: 2 }) });
  const states = async () => (await getJson(gateway.adminPort, '/api/v1/alerts')).data.alerts
    .filter(({ labels }) => labels.alertname === 'TTFTHigh').map(({ state }) => state);
  await ask(1);
  await waitFor('the alert', async () => {
    await ask(400);
    return (await states()).includes('firing');
  }, { timeoutMs: 20000 });
  await waitFor('its end', async () => (await states()).length === 0, { timeoutMs: 20000 });
  return gateway;
}

const rowOf = ({ stdout }) => JSON.parse(stdout).data.rules.find(({ name }) => name === 'TTFTHigh');

test('what fired, what it cost, and what people say of it', async (t) => {
  const { adminPort: port } = await withTrouble(t);
  const page = await waitFor('the end of the alert in the store', async () => {
    const { code, stdout, stderr } = await review(port, '--since', '1h');
    assert.deepEqual([code, stderr], [0, '']);
    return /^\| TTFTHigh \| P1 \| 1s \| 1 \|/m.test(stdout) && stdout;
  });
  assert.match(page, /^# SLO review\n\nFrom .* UTC \(1 h 0 min\)\.$/m);
  assert.match(page, /^\| TTFTHigh \| P1 \| 1s \| 1 \| \d+ s \| \d+ s \| 1 \| 0 \(0\.0 %\) \| 0 \| 0 \| 20/m);
  assert.match(page, /^- Marks: people marked 0 of 1 alert in incidents as noise\.$/m);
  assert.match(page, /^Never fired: .*Never/m);
  const [, total, bad] = page.match(/^\| mine \| ttft \| 90 % \| (\d+) \| (\d+) \| [\d.]+ % \|/m);
  assert.ok(Number(bad) >= 1 && Number(total) === Number(bad) + 1, `${bad} of ${total}`);

  const before = await review(port, '--json');
  assert.equal(before.code, 0, before.stderr);
  assert.deepEqual(rowOf(before).verdicts, { real: 1, noise: 0, unjudged: 0 });
  assert.ok(rowOf(before).worst.burn_rate > 5);
  assert.deepEqual(JSON.parse(before.stdout).data.missed, []);

  const [{ id }] = (await getJson(port, '/api/v1/incidents')).data;
  const marked = await run(['incident', 'noise', id, 'TTFTHigh', '--by', 'ann', '--url', `127.0.0.1:${port}`]);
  assert.equal(marked.code, 0, marked.stderr);
  const after = rowOf(await review(port, '--json', '--since', '30m'));
  assert.deepEqual([after.verdicts, after.marked_as_noise], [{ real: 0, noise: 1, unjudged: 0 }, 1]);

  const short = JSON.parse((await review(port, '--json', '--since', '1500ms')).stdout).data;
  assert.equal(Date.parse(short.to) - Date.parse(short.from), 1500);

  const { headers } = await request(port, '/api/v1/slo/review?since=1h&format=markdown');
  assert.equal(headers['content-type'], 'text/markdown; charset=utf-8');
});

test('no history, wrong flags', async (t) => {
  const gateway = await Gateway.start(t, { upstream: await Sim.start(t) });
  const without = await review(gateway.adminPort);
  assert.equal(without.code, 1);
  assert.match(without.stderr, /^inferometer slo review: refused with status 503: there is no store to query.*\n.*data_dir/);
  const long = await review(gateway.adminPort, '--since', '500d');
  assert.equal(long.code, 1);
  assert.match(long.stderr, /400: .*at most 400d/);
  for (const flags of [['--since', 'x'], ['--since', '0s'], ['--json', '--markdown'], ['--nonsense'], ['word']]) {
    const wrong = await review(gateway.adminPort, ...flags);
    assert.equal(wrong.code, 2, flags.join(' '));
    assert.match(wrong.stderr, /^inferometer slo review: /);
  }
  const help = await run(['slo', 'review', '--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^usage: inferometer slo review/);
});
