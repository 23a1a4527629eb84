// SPDX-License-Identifier: Apache-2.0
// The real-time clock is set while streams run. Durations are of the monotonic clock and do not care.
// @alone
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { assertOutcome } from './lib/records.mjs';
import { tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { SANITIZED, waitFor } from './lib/wait.mjs';

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), 'lib/clock_step.c');

/** Errors of more than that are not the machine's doing: the clock is stepped by an hour. */
const TOLERANCE_MS = SANITIZED ? 200 : 20;

async function setup(t, config = {}) {
  const dir = tempDir(t);
  const library = join(dir, 'clock_step.so');
  const stepFile = join(dir, 'step');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE]);
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t,
    { upstream, config, env: { LD_PRELOAD: library, CLOCK_STEP_FILE: stepFile } });
  return { upstream, gateway, step: (seconds) => writeFileSync(stepFile, `${seconds}\n`) };
}

function assertNear(actual, expected, what) {
  assert.ok(Math.abs(actual - expected) < TOLERANCE_MS, `${what}: ${actual} ms, in truth ${expected} ms`);
}

/** The record's figures are those of what the engine really did. */
function assertTrue(r, truth) {
  const tokens = truth.events.filter((e) => e.kind === 'token').map((e) => e.t_ns / 1e6);
  const gaps = tokens.slice(1).map((at, i) => at - tokens[i]);
  assertNear(r.ttft_ms, tokens[0] - truth.t_request_ns / 1e6, 'TTFT');
  assertNear(r.stage_answer_ms, tokens.at(-1) - tokens[0], 'sum of the gaps');
  assertNear(r.icl_max_ms, Math.max(...gaps), 'longest gap');
  assertNear(r.e2e_ms, truth.events.at(-1).t_ns / 1e6 - truth.t_request_ns / 1e6, 'E2E');
  assertNear(r.tpot_ms, (tokens.at(-1) - tokens[0]) / (tokens.length - 1), 'TPOT');
}

for (const seconds of [3600, -3600]) {
  const how = seconds > 0 ? 'forward' : 'back';

  test(`an hour ${how} in mid-stream`, async (t) => {
    const { upstream, gateway, step } = await setup(t);
    const id = newId();
    const answer = gateway.chat({ stream: true },
      { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 20, 'itl-ms': 10, tokens: 30 }) } });
    await waitFor('some tokens', async () => (await gateway.inflight())[0]?.n_output_events >= 5);
    step(seconds);
    assert.ok((await answer).isComplete);
    const r = await gateway.recordNamed(id);

    assertOutcome(r, 'ok');
    assertTrue(r, await upstream.truth(id));
    const m = await gateway.metrics();
    assert.ok(m.value('inferometer_clock_steps_total') >= 1);
    assert.ok(r.flags.includes('clock_stepped'), JSON.stringify(r.flags));
    assert.equal(r.stamp_source, 'mixed');
    assert.equal(m.value('inferometer_stamp_order_violations_total'), 0);
    assert.ok(m.value('llm_icl_seconds_sum') < 1);

    // After it, everything is as before, on old connections and new ones.
    const later = await gateway.chat({ stream: true },
      { headers: { 'x-request-id': `${id}-b`, ...sim({ 'ttft-ms': 20, 'itl-ms': 5, tokens: 5 }) } });
    const s = await gateway.recordOf(later);
    assertOutcome(s, 'ok');
    assertTrue(s, await upstream.truth(`${id}-b`));
    assert.equal(s.stamp_source, 'kernel');
    const wall = (Date.parse(s.started_at) - Date.parse(r.started_at)) / 1000;
    assert.ok(Math.abs(wall - seconds) < 60, 'the wall time is what the clock says');
  });

  test(`an hour ${how} before the first token`, async (t) => {
    const { upstream, gateway, step } = await setup(t);
    const id = newId();
    const answer = gateway.chat({ stream: true },
      { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 150, 'itl-ms': 5, tokens: 10 }) } });
    await waitFor('the request in flight', async () => (await gateway.inflight()).length === 1);
    step(seconds);
    assert.ok((await answer).isComplete);
    const r = await gateway.recordNamed(id);

    assertOutcome(r, 'ok');
    assertTrue(r, await upstream.truth(id));
    assert.ok((await gateway.metrics()).value('llm_ttft_seconds_sum') < 1);
  });
}

/** A gateway that keeps a history, and has rows of three weeks ago. */
async function setupHistory(t) {
  const data = tempDir(t);
  const old = new Date(Date.now() - 21 * 86400e3).toISOString().slice(0, 10);
  const oldRows = join(data, `requests-${old}.db`);
  writeFileSync(oldRows, '');
  const all = await setup(t, { data_dir: data, history: { interval: '1s' } });
  const samples = async () => (await all.gateway.metrics()).value('inferometer_store_samples_total');
  const drops = async () => (await all.gateway.metrics())
    .value('inferometer_drops_total', { cause: 'store_samples' });
  await waitFor('samples', async () => (await samples()) > 0);
  return { ...all, oldRows, samples, drops };
}

test('a clock that leaps a year ahead removes nothing that was kept', async (t) => {
  const { gateway, step, oldRows, samples } = await setupHistory(t);
  step(365 * 86400);
  await gateway.process.printed(/the clock is \d{6} min ahead of what is stored/, { from: 'stderr' });
  const before = await samples();
  await waitFor('more samples', async () => (await samples()) > before);
  assert.ok(existsSync(oldRows));
});

test('while the clock is behind the newest samples, that is told and counted', async (t) => {
  const { gateway, step, drops } = await setupHistory(t);
  step(-3600);
  await gateway.process.printed(/the clock was set back: no samples .* in 3[56]\d\d s/, { from: 'stderr' });
  await waitFor('samples counted', async () => (await drops()) > 0);
});
