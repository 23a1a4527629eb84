// SPDX-License-Identifier: Apache-2.0
// Relabelling against a real Prometheus: one run with many jobs, each with made-up rules, over targets (what its target
// lists show) and over scraped series; and which rules promtool takes at all.
//
// COMPARE=500: so many jobs. SEED: what fixes them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { getJson } from './lib/http.mjs';
import { run, tempDir } from './lib/process.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import { LABEL_SETS, RuleMaker } from './lib/relabel_rules.mjs';
import { checkRules, missingRunner, relabelAll } from './lib/scrape_runner.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const skip = missing('prometheus') || missing('promtool') || missingRunner();
const N = Number(process.env.COMPARE ?? 60);
const SEED = Number(process.env.SEED ?? 1);

const textOf = (labels) => JSON.stringify(Object.entries(labels).sort());
const sorted = (list) => [...new Set(list)].sort();

async function serve(t) {
  const lines = LABEL_SETS.map((labels, i) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',');
    return `m_${i % 3}{${pairs}} ${i}\n`;
  });
  const server = http.createServer((req, res) => {
    res.setHeader('content-type', 'text/plain; version=0.0.4');
    res.end(lines.join(''));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => { server.closeAllConnections(); server.close(); });
  return server.address().port;
}

/** What a target ends up as: without what begins with "__", and with an instance. */
function targetOf(labels) {
  const shown = Object.entries(labels).filter(([name]) => !name.startsWith('__'));
  return { instance: labels.__address__, ...Object.fromEntries(shown) };
}

const INTERVAL = { __scrape_interval__: '1h', __scrape_timeout__: '200ms' };

/** The labels that a target has before it is relabelled. */
const discovered = (job, n, address) => ({
  __address__: address, __scheme__: 'http', __metrics_path__: '/metrics', ...INTERVAL,
  job: `targets${job}`, __meta_job: String(job), n: String(n), ...LABEL_SETS[n],
});

/** jobs: [rules]. Of each what is kept and what is dropped, ours and theirs; two that become one are one. */
async function compareTargets(prometheus, jobs, address) {
  const work = jobs.flatMap((rules, job) => LABEL_SETS.map((_, n) => ({ rules, labels: discovered(job, n, address) })));
  // Prometheus takes up one job after the other: all are there, and no more came since the last look.
  let nBefore = -1;
  const { data } = await waitFor('targets of each job', async () => {
    const answer = await getJson(prometheus.port, '/api/v1/targets');
    const { activeTargets, droppedTargets } = answer.data;
    const there = new Set(activeTargets.map((x) => x.scrapePool));
    droppedTargets.forEach((x) => there.add(`targets${x.discoveredLabels.__meta_job}`));
    const n = activeTargets.length + droppedTargets.length, isSame = n === nBefore;
    nBefore = n;
    return isSame && jobs.every((_, i) => there.has(`targets${i}`)) && answer;
  }, { timeoutMs: 20000 });
  const empty = () => ({ kept: [], nDropped: 0 });
  const ours = jobs.map(empty), theirs = jobs.map(empty);
  (await relabelAll(work)).forEach((labels, i) => {
    const of = ours[work[i].labels.__meta_job];
    if (labels) of.kept.push(textOf(targetOf(labels)));
    else of.nDropped++;
  });
  // Of what was discovered 2.42 shows only those labels as they were that no rule has set.
  for (const { labels, scrapePool } of data.activeTargets)
    theirs[scrapePool.match(/^targets(\d+)/)?.[1]]?.kept.push(textOf(labels));
  for (const { discoveredLabels } of data.droppedTargets) theirs[discoveredLabels.__meta_job].nDropped++;
  return { ours, theirs, n: work.length };
}

const RUN = (i) => ({ target_label: 'run', replacement: `r${i}` });

async function compareSeries(prometheus, jobs, target) {
  const work = jobs.flatMap((rules, i) => LABEL_SETS.map((labels, k) => ({
    rules: [...rules, RUN(i)],
    labels: { __name__: `m_${k % 3}`, job: `series${i}`, instance: target, ...labels },
  })));
  const ours = jobs.map(() => []);
  (await relabelAll(work)).forEach((labels, i) => {
    if (labels) ours[Math.floor(i / LABEL_SETS.length)].push(labels);
  });
  await waitFor('a scrape of each job', async () => {
    const { data } = await getJson(prometheus.port, '/api/v1/targets?state=active');
    return data.activeTargets.every((x) => !x.scrapePool.startsWith('series') || x.health !== 'unknown');
  }, { timeoutMs: 20000 });
  const { data } = await getJson(prometheus.port, '/api/v1/targets?state=active');
  const errors = new Map(data.activeTargets.map((x) => [x.scrapePool, x.lastError]));
  const theirs = jobs.map(() => []);
  for (const { metric } of await prometheus.query('{run!=""}')) theirs[Number(metric.run.slice(1))].push(metric);
  return jobs.map((_, i) => {
    // A series that has lost its name, or has none that is valid, makes the scrape fail there.
    const isGood = ours[i].every((labels) => /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(labels.__name__ ?? ''));
    return {
      ours: isGood ? sorted(ours[i].map(textOf)) : 'fails',
      theirs: errors.get(`series${i}`) ? 'fails' : sorted(theirs[i].map(textOf)),
    };
  });
}

test('targets and series come out as in Prometheus', async (t) => {
  const made = new RuleMaker(SEED);
  const jobs = Array.from({ length: N }, () => made.rules());
  const ofSeries = Array.from({ length: N }, () => made.rules());
  const port = await serve(t);
  const target = `127.0.0.1:${port}`;
  const prometheus = await startPrometheus(t, {
    scrapeConfigs: [
      ...jobs.map((rules, i) => ({
        job_name: `targets${i}`, scrape_interval: '1h', relabel_configs: rules,
        static_configs: LABEL_SETS.map((labels, k) => ({
          targets: [target], labels: { ...labels, n: String(k), __meta_job: String(i) },
        })),
      })),
      ...ofSeries.map((rules, i) => ({
        job_name: `series${i}`, scrape_interval: '2s', scrape_timeout: '2s', metric_relabel_configs: [...rules, RUN(i)],
        static_configs: [{ targets: [target] }],
      })),
    ],
  });
  const wrong = [];
  const targets = await compareTargets(prometheus, jobs, target);
  jobs.forEach((rules, i) => {
    const [ours, theirs] = [targets.ours[i], targets.theirs[i]].map((x) => ({ ...x, kept: sorted(x.kept) }));
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) wrong.push({ rules, ours, theirs });
  });
  const series = await compareSeries(prometheus, ofSeries, target);
  series.forEach(({ ours, theirs }, i) => {
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) wrong.push({ rules: ofSeries[i], ours, theirs });
  });
  const nKept = targets.ours.reduce((sum, { kept }) => sum + kept.length, 0);
  const nSeries = series.reduce((sum, { ours }) => sum + (ours === 'fails' ? 0 : ours.length), 0);
  console.log(`${2 * N} lists of rules, ${nKept} of ${targets.n} targets and ${nSeries} series kept`);
  assert.deepEqual(wrong, []);
  assert.ok(nKept > targets.n / 5 && nSeries > N);
}, { skip, limitMs: 60000 + 200 * N });

test('rules are taken and refused as promtool does it', async (t) => {
  const made = new RuleMaker(SEED);
  const rules = Array.from({ length: 4 * N }, () => made.anyRule());
  const dir = tempDir(t);
  const files = rules.map((rule, i) => {
    const path = join(dir, `${i}.yml`);
    writeFileSync(path, JSON.stringify({ scrape_configs: [{ job_name: 'x', relabel_configs: [rule] }] }));
    return path;
  });
  const { stdout } = await run(['check', 'config', ...files], { command: 'promtool', timeoutMs: 60000 });
  const ours = await checkRules(rules);
  const wrong = [];
  let nTaken = 0;
  rules.forEach((rule, i) => {
    const isTaken = stdout.includes(`SUCCESS: ${files[i]} is valid`);
    nTaken += isTaken;
    if (isTaken !== (ours[i] === null)) wrong.push({ rule, ours: ours[i], promtool: isTaken });
  });
  console.log(`${rules.length} rules, ${nTaken} of them taken`);
  assert.deepEqual(wrong, []);
  assert.ok(nTaken > rules.length / 10 && nTaken < rules.length * 0.9);
}, { skip, limitMs: 60000 + 200 * N });
