// SPDX-License-Identifier: Apache-2.0
// Known delays in, measured ones out. The simulator stamps what it receives and sends with the same
// clock (CLOCK_MONOTONIC of this machine), so the difference is our error plus the loopback's way.
// @alone
import assert from 'node:assert/strict';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { quantile } from './lib/prometheus.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { SANITIZED } from './lib/wait.mjs';

/**
 * Bounds in ms. What they are to catch is far larger: a role-only chunk taken for the first token
 * is off by the role delay (25 ms), stamps of the event loop by its other work.
 */
const MEDIAN_MS = SANITIZED ? 2 : 0.2;
const P99_MS = SANITIZED ? 50 : 2;
/** More than the simulator is late on a machine that has nothing else to do. */
const QUIET_MS = 3;
/** Where the gateway's own work is in the figure, other programs of the machine are, too. */
const P99_WITH_WORK_MS = SANITIZED ? 100 : 6;
/** Inter-chunk quantiles come from a histogram with that relative error (docs/DEFINITIONS.md). */
const GAP_RATIO = 0.023;

function errorsOf(name, errors) {
  const e = {
    median: quantile(errors, 0.5), p99: quantile(errors, 0.99), max: quantile(errors, 1),
    min: quantile(errors, 0), n: errors.length,
  };
  const text = Object.entries(e).map(([k, v]) => `${k} ${Number(v.toFixed(4))}`).join(', ');
  console.log(`${name}: error in ms: ${text}`);
  return e;
}

/**
 * noiseMs: how late the simulator itself was at worst. A machine that is busy with other things delays
 * it between its stamp and its write, too; the tail then says nothing about the gateway.
 */
function assertSmall(name, errors, { p99Ms = P99_MS, noiseMs = 0 } = {}) {
  const e = errorsOf(name, errors);
  assert.ok(Math.abs(e.median) < MEDIAN_MS, `${name}: median error ${e.median} ms`);
  if (noiseMs > QUIET_MS) return;
  const q = errors.length >= 100 ? 0.99 : 0.9;
  const tail = quantile(errors.map(Math.abs), q);
  assert.ok(tail < p99Ms, `${name}: quantile ${q} of the error is ${tail} ms`);
}

/** How late the simulator sent first tokens, at worst. Its timers tick in milliseconds. */
function simulatorNoise(results, ttftMsOf) {
  const late = results.map((x) => ttft(x) - ttftMsOf(x.i));
  return Math.max(0, quantile(late, 0.99));
}

/** Times of the truth's events of a kind, in ms. */
const times = (truth, kind) => truth.events.filter((e) => e.kind === kind).map((e) => e.t_ns / 1e6);

/** From the last byte of the request, as the engine received it, to its first token. */
const ttft = ({ truth }) => times(truth, 'token')[0] - truth.t_request_ns / 1e6;

/** n streams, so many at a time, each with its record and its truth. */
async function streams(t, n, atOnce, switchesOf) {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const results = [];
  let next = 0;
  const client = async () => {
    while (next < n) {
      const i = next++;
      const id = newId();
      await gateway.chat({ stream: true }, { headers: { 'x-request-id': id, ...sim(switchesOf(i)) } });
      results.push({ i, r: await gateway.recordNamed(id), truth: await upstream.truth(id) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  for (const { r } of results) assertOutcome(r, 'ok');
  return { gateway, results };
}

test('time to first token, with and without a role chunk before it', async (t) => {
  const ttftMsOf = (i) => 30 + (i % 7) * 5;
  const { results } = await streams(t, 160, 4, (i) => ({
    'ttft-ms': ttftMsOf(i), 'itl-ms': 4, tokens: 6,
    role: i % 4 === 3 ? 'off' : 'on', 'role-delay-ms': i % 4 === 2 ? 25 : 0,
  }));
  const noiseMs = simulatorNoise(results, ttftMsOf);
  console.log(`the simulator was at most ${noiseMs.toFixed(2)} ms late`);

  assertSmall('upstream TTFT', results.map((x) => x.r.upstream_ttft_ms - ttft(x)), { noiseMs });
  // The client's view has the gateway's own work in it: what the record calls overhead.
  assertSmall('TTFT', results.map((x) => x.r.ttft_ms - ttft(x)), { p99Ms: P99_WITH_WORK_MS, noiseMs });

  let nTold = 0;
  for (const { r, truth } of results.filter((x) => x.i % 4 === 2)) {
    const role = times(truth, 'role')[0] - truth.t_request_ns / 1e6;
    if (ttft({ truth }) - role < 15) continue; // it was sent late, and tells nothing
    nTold++;
    assert.ok(r.ttft_ms >= ttft({ truth }), `TTFT ${r.ttft_ms} ms, the role chunk came at ${role} ms`);
    const bound = P99_WITH_WORK_MS + 2 * noiseMs;
    assert.ok(Math.abs(r.ttfe_ms - role) < bound, `first event ${r.ttfe_ms} ms, ${role} ms`);
  }
  assert.ok(nTold >= 20);
});

test('gaps: sum, longest, median, and TPOT', async (t) => {
  const { results } = await streams(t, 40, 4,
    (i) => ({ 'ttft-ms': 10, 'itl-ms': 5 + (i % 3) * 5, tokens: 40 }));
  const noiseMs = simulatorNoise(results, () => 10);
  const sum = [];
  const longest = [];
  const median = [];
  const tpot = [];
  for (const { r, truth } of results) {
    const at = times(truth, 'token');
    const gaps = at.slice(1).map((x, k) => x - at[k]);
    const p50 = quantile(gaps, 0.5);
    assert.equal(r.n_output_events, at.length);
    sum.push(r.stage_answer_ms - (at.at(-1) - at[0]));
    tpot.push(r.tpot_ms - (at.at(-1) - at[0]) / (at.length - 1));
    // Events that shared a read have no stamps of their own, so gaps become longer.
    if (r.n_coalesced === 0) longest.push(r.icl_max_ms - Math.max(...gaps));
    median.push(Math.max(0, Math.abs(r.icl_p50_ms - p50) - GAP_RATIO * p50));
  }
  assertSmall('sum of the gaps', sum, { noiseMs });
  assert.ok(longest.length >= results.length / 4, 'many streams have a read for each event');
  assertSmall('longest gap', longest, { noiseMs });
  assertSmall('median gap', median, { noiseMs });
  assertSmall('TPOT', tpot, { noiseMs });
});

test('end to end: to the end mark of a stream, to the last byte of another answer', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream });
  const errors = [];
  for (let i = 0; i < 30; i++) {
    const id = newId();
    await gateway.chat({ stream: i % 2 === 0 },
      { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 10, 'itl-ms': 1, tokens: 5 }) } });
    const [r, truth] = [await gateway.recordNamed(id), await upstream.truth(id)];
    errors.push(r.e2e_ms - (truth.events.at(-1).t_ns - truth.t_request_ns) / 1e6);
  }
  assertSmall('E2E', errors, { p99Ms: 2 * P99_WITH_WORK_MS });
});

test('several tokens in one event: the gap is that of the event, the token has its share', async (t) => {
  const k = 4;
  const { gateway, results } = await streams(t, 20, 2,
    () => ({ 'ttft-ms': 10, 'itl-ms': 3, tokens: 80, 'tokens-per-event': k }));
  for (const { r, truth } of results) {
    const at = times(truth, 'token');
    const tpot = (at.at(-1) - at[0]) / (80 - 1);
    const icl = quantile(at.slice(1).map((x, i) => x - at[i]), 0.5);
    assert.equal(r.tokens_per_event, k);
    assert.equal(r.n_output_events, 80 / k);
    assert.ok(Math.abs(r.tpot_ms - tpot) < 0.3 + MEDIAN_MS, `TPOT ${r.tpot_ms}, sent at ${tpot}`);
    assert.ok(Math.abs(r.icl_p50_ms - icl) < 0.5 + 3 * MEDIAN_MS + GAP_RATIO * icl,
      `ICL ${r.icl_p50_ms}, sent at ${icl}`);
  }
  const m = await gateway.metrics();
  const [icl, itl] = ['llm_icl_seconds', 'llm_itl_seconds'].map((family) =>
    ({ sum: m.value(`${family}_sum`), count: m.value(`${family}_count`) }));
  const nGaps = results.reduce((n, { r }) => n + r.n_arrivals - 1, 0);
  const nCoalesced = results.reduce((n, { r }) => n + r.n_coalesced, 0);
  assert.equal(icl.count, nGaps);
  // Every gap counts as many times as tokens came behind it, with its share each.
  assert.ok(itl.count >= nGaps * k && itl.count <= (nGaps + nCoalesced) * k, `${itl.count} samples`);
  assert.ok(Math.abs(itl.sum / icl.sum - 1) < GAP_RATIO, `sums ${itl.sum} and ${icl.sum}`);
});

test('a batch of events in one write is one arrival, not a row of gaps of nothing', async (t) => {
  const { gateway, results } = await streams(t, 10, 2,
    () => ({ 'ttft-ms': 10, 'itl-ms': 4, tokens: 40, batch: 8 }));
  for (const { r } of results) {
    assert.ok(r.flags.includes('coalesced'));
    assert.equal(r.n_output_events, 40);
    assert.equal(r.n_arrivals + r.n_coalesced, 40);
    assert.ok(r.n_arrivals <= 7, `${r.n_arrivals} arrivals`);
    assert.ok(r.icl_p50_ms > 4 * 8 * 0.5, `ICL ${r.icl_p50_ms}`);
    assert.ok(r.tpot_ms > 3 && r.tpot_ms < 5 + MEDIAN_MS, `TPOT ${r.tpot_ms}`);
  }
  const m = await gateway.metrics();
  const nGaps = results.reduce((n, { r }) => n + r.n_arrivals - 1, 0);
  assert.equal(m.value('llm_icl_seconds_count'), nGaps);
  assert.ok(m.value('llm_icl_seconds_bucket', { le: '0.001' }) < nGaps / 4);
});

test('an event that comes in several pieces counts once, when it is whole', async (t) => {
  const { results } = await streams(t, 10, 2,
    () => ({ 'ttft-ms': 20, 'itl-ms': 20, tokens: 6, split: 4, 'split-gap-ms': 2 }));
  for (const { r } of results) {
    assert.equal(r.n_output_events, 6);
    assert.equal(r.n_coalesced, 0);
    assert.ok(r.ttft_ms >= 20 + 3 * 2 - 0.5, `TTFT ${r.ttft_ms}`);
  }
});

test("the gateway's own time is small, and counted", async (t) => {
  const { gateway, results } = await streams(t, 60, 2, () => ({ 'ttft-ms': 5, 'itl-ms': 2, tokens: 10 }));
  const overhead = errorsOf('overhead of a request', results.map(({ r }) => r.overhead_ms));
  assert.ok(overhead.median < (SANITIZED ? 10 : 3));
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_overhead_seconds_count', { phase: 'request' }), 60);
  const nArrivals = results.reduce((n, { r }) => n + r.n_arrivals, 0);
  assert.equal(m.value('inferometer_overhead_seconds_count', { phase: 'event' }), nArrivals);
});
