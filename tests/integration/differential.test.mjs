// SPDX-License-Identifier: Apache-2.0
// The history against a real Prometheus: with the same samples, both answer queries alike; and what a
// Prometheus scrapes from us are the series that the history has.
//
// COMPARE=5000: so many random queries, in several seeds. SEED: the first seed.
import assert from 'node:assert/strict';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { dumpHistory } from './lib/history_dump.mjs';
import { freePort, getJson } from './lib/http.mjs';
import { tempDir } from './lib/process.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import { ask, keyOf, number, seriesOf } from './lib/promql_api.mjs';
import { causeOf } from './lib/promql_causes.mjs';
import { describe, difference, isClose, isSameHistogram } from './lib/promql_compare.mjs';
import { Queries } from './lib/promql_queries.mjs';
import { remoteWrite } from './lib/remote_write.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const N = Number(process.env.COMPARE ?? 400);
const FIRST_SEED = Number(process.env.SEED ?? 1);
const PER_SEED = 1000;
const LIMIT_MS = 100000 + 40 * N;

const skip = missing('prometheus');

/** Two engines, models that are known and not, streams and not, every kind of end. */
async function load(gateway, isOver) {
  let i = 0;
  let isDone = false;
  const client = async (k) => {
    while (!isDone) {
      const n = i++;
      const switches = { 'ttft-ms': 1 + (7 * n) % 90, 'itl-ms': 1 + (n % 5), tokens: 1 + (n % 17) };
      if (n % 11 === 0) switches.status = 500;
      if (n % 13 === 0) switches['cut-after'] = 1;
      const model = ['m-small', 'm-large', 'm-other'][(n + k) % 3];
      await gateway.chat({ model, stream: n % 4 !== 0 }, { headers: sim(switches) });
    }
  };
  const clients = Array.from({ length: 4 }, (_, k) => client(k));
  try {
    await waitFor('enough of a history', isOver, { timeoutMs: 60000 });
  } finally {
    isDone = true;
    await Promise.all(clients);
  }
}

const config = (dir, adminPort, upstreams, interval) => ({
  data_dir: dir, models: ['m-small', 'm-large'], history: { interval }, rules: { builtin: false },
  // What is measured beside the traffic no scrape of the gateway has.
  upstreams: upstreams.map((u) => ({ ...u, metrics: 'none' })), gpu: { source: 'none' }, host: { metrics: false },
  admin: { listen: `127.0.0.1:${adminPort}` },
});

const nTicks = async (port) => {
  const { data } = await ask(port, 'count_over_time(inferometer_build_info[1h])', { time: Date.now() / 1000 });
  return data ? number(data.result[0]?.value[1] ?? '0') : 0;
};

async function engines(t) {
  const fast = await Sim.start(t);
  const slow = await Sim.start(t, '--ttft-median-ms', '120', '--load-factor', '3');
  return [{ name: 'fast', url: fast.url }, { name: 'slow', url: slow.url }];
}

/**
 * A gateway whose history has three runs of the program: one that ended, one that was killed, and the
 * one that answers now, which takes its next samples in 5 minutes only.
 */
async function withThreeRuns(t) {
  const upstreams = await engines(t);
  const dir = tempDir(t);
  const adminPort = await freePort();
  const start = (interval, options) => Gateway.start(t, {
    upstream: upstreams[0], config: config(dir, adminPort, upstreams, interval), ...options,
  });
  const first = await start('1s');
  await load(first, async () => (await nTicks(adminPort)) >= 12);
  await first.process.stop();
  const second = await start('1s', { exitCode: null });
  await load(second, async () => (await nTicks(adminPort)) >= 18);
  await second.process.stop('SIGKILL');
  const gateway = await start('5m');
  await waitFor('samples of the third run', async () => (await nTicks(adminPort)) >= 19);
  return gateway;
}

async function withCopy(t, gateway) {
  const dump = await dumpHistory(gateway.adminPort);
  const prometheus = await startPrometheus(t, {
    flags: ['--web.enable-remote-write-receiver', '--enable-feature=native-histograms'],
  });
  await remoteWrite(prometheus.port, dump.series);
  const moments = dump.moments.map((m) => m.t);
  return { ...dump, from: moments[0], to: moments.at(-1), theirs: prometheus.port, ours: gateway.adminPort };
}

class Tally {
  constructor() {
    this.n = this.nErrors = this.nEmpty = 0;
    this.causes = new Map();
    this.unexplained = [];
  }

  async add(query, ports) {
    const [ours, theirs] = await Promise.all([
      ask(ports.ours, query.text, query.when, { range_semantics: 2 }),
      ask(ports.theirs, query.theirs ?? query.text, query.when),
    ]);
    this.n++;
    if (theirs.status === 'error') this.nErrors++;
    else if (theirs.data.result.length === 0) this.nEmpty++;
    const found = difference(query, ours, theirs);
    if (!found) return;
    const cause = await causeOf(query, found, ports, { ours, theirs });
    if (cause) this.causes.set(cause, (this.causes.get(cause) ?? 0) + 1);
    else this.unexplained.push(describe(query, found, ours, theirs));
  }

  report() {
    const causes = [...this.causes].map(([name, n]) => `${name}: ${n}`).join('; ');
    console.log(`${this.n} queries, ${this.nErrors} errors, ${this.nEmpty} empty; explained: ${causes || 'none'}; `
      + `${this.unexplained.length} not explained`);
    if (process.env.COMPARE) console.log(this.unexplained.join('\n'));
  }
}

test('with the same samples, queries have the same answers', async (t) => {
  const copy = await withCopy(t, await withThreeRuns(t));
  const tally = new Tally();
  for (const query of Queries.written(copy.series, [(2 * copy.from + copy.to) / 3, copy.to - 1500]))
    await tally.add(query, copy);
  for (const query of Queries.atTheEnds(copy.to)) await tally.add(query, copy);
  for (let seed = FIRST_SEED, left = N; left > 0; seed++) {
    const queries = new Queries(copy, seed);
    for (let i = 0; i < PER_SEED && left > 0; i++, left--) await tally.add(queries.next(), copy);
  }
  tally.report();
  assert.deepEqual(tally.unexplained.slice(0, 40), []);
  assert.ok(tally.n - tally.nErrors - tally.nEmpty > tally.n / 3, 'most answers are empty');
}, { skip, limitMs: LIMIT_MS });

/** What a Prometheus adds to what it scrapes, and the creation times that OpenMetrics tells. */
const ITS_OWN = /^(up|scrape_\w+|\w+_created)$/;
/** What goes on changing when no request is there. */
const OVER_TIME = /^(inferometer_|llm_(completion_tokens_max|upstream_silent_seconds)$)/;

/** The series at a moment, without what only says where they come from: key -> point. */
async function seriesAt(port, time, more) {
  const { data } = await ask(port, '{__name__=~".+"}', { time }, more);
  const found = seriesOf(data).filter((s) => !ITS_OWN.test(s.labels.__name__));
  return new Map(found.map(({ labels: { job: _, instance: __, ...rest }, points }) =>
    [keyOf(rest), { name: rest.__name__, ...points[0] }]));
}

/** name -> type. OpenMetrics, whose names of counters end before _total, and protobuf. */
async function typesOf(port) {
  const { data } = await getJson(port, '/api/v1/metadata');
  return new Map(Object.entries(data).map(([name, [{ type }]]) => [name.replace(/_total$/, ''), type]));
}

function assertSameSeries(ours, theirs) {
  assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort());
  for (const [key, a] of ours) {
    const b = theirs.get(key);
    assert.equal('h' in a, 'h' in b, key);
    if (OVER_TIME.test(a.name)) continue;
    if ('h' in a) assert.ok(isSameHistogram(a.h, b.h), `${key}: ${JSON.stringify([a.h, b.h])}`);
    else assert.ok(isClose(a.v, b.v), `${key}: ${a.v}, scraped ${b.v}`);
  }
}

const pick = (series, wanted) => new Map([...series].filter(([, point]) => wanted(point)));

test('what a Prometheus scrapes are the series of the history', async (t) => {
  const upstreams = await engines(t);
  const adminPort = await freePort();
  const gateway = await Gateway.start(t, {
    upstream: upstreams[0], config: config(tempDir(t), adminPort, upstreams, '1s'),
  });
  const scrape = (flags) => startPrometheus(t, { targets: [adminPort], interval: '1s', flags });
  const classic = await scrape([]);
  const native = await scrape(['--enable-feature=native-histograms']);
  await load(gateway, async () => (await nTicks(adminPort)) >= 8);

  await waitFor('the end of all requests', async () => (await gateway.inflight()).length === 0
    && (await gateway.metrics()).value('llm_inflight_requests') === 0);
  const n = (await gateway.metrics()).value('llm_requests_total');
  const now = () => Date.now() / 1000;
  const quiet = now();
  for (const port of [adminPort, classic.port, native.port])
    await waitFor('samples from after that', async () => {
      const { data } = await ask(port, 'timestamp(inferometer_build_info)', { time: now() });
      return number(data.result[0]?.value[1] ?? '0') > quiet;
    });
  const time = now();
  const [ours, text, protobuf] = await Promise.all(
    [adminPort, classic.port, native.port].map((port) => seriesAt(port, time)));
  const families = new Set([...ours.values()].filter((p) => 'h' in p).map((p) => p.name));
  const isClassic = ({ name }) => families.has(name.replace(/_(bucket|sum|count)$/, ''));
  assertSameSeries(pick(ours, (p) => !('h' in p)), text);
  assertSameSeries(pick(ours, (p) => 'h' in p || !isClassic(p)), protobuf);

  const types = await typesOf(adminPort);
  for (const port of [classic.port, native.port])
    for (const [name, type] of await typesOf(port)) assert.equal(types.get(name), type, name);

  // Nothing is missed of what came before a series was seen for the first time; a scrape misses that.
  const [last] = (await ask(adminPort, 'timestamp(inferometer_build_info)', { time })).data.result;
  const value = async (port, query, at = number(last.value[1]).toFixed(3)) => {
    const { data } = await ask(port, query, { time: at });
    return number(data.result[0].value[1]);
  };
  const increase = 'sum(increase(llm_requests_total[5m]))';
  assert.ok(isClose(await value(adminPort, increase), n), `${await value(adminPort, increase)} of ${n}`);
  const raw = await ask(classic.port, 'llm_requests_total[5m]', { time: number(last.value[1]).toFixed(3) });
  const seen = seriesOf(raw.data).reduce((sum, { points }) => sum + points.at(-1).v - points[0].v, 0);
  const scraped = await value(classic.port, increase);
  assert.ok(scraped >= seen && scraped < n, `${scraped}, seen ${seen} of ${n}`);

  for (const q of [0.5, 0.9, 0.99]) {
    const buckets = `histogram_quantile(${q}, sum by (le) (llm_e2e_seconds_bucket))`;
    assert.ok(isClose(await value(adminPort, buckets, time), await value(classic.port, buckets, time)), buckets);
    const whole = `histogram_quantile(${q}, sum(llm_e2e_seconds))`;
    const ratio = (await value(adminPort, whole, time)) / (await value(native.port, whole, time));
    assert.ok(Math.abs(Math.log2(ratio)) < 1 / 32, `${whole}: ${ratio}`);
  }
}, { skip, limitMs: 60000 });
