// SPDX-License-Identifier: Apache-2.0
// Scrape files: the same verdicts as promtool's; the same file scraped by us and by a real Prometheus: the same targets,
// series, labels, values.
//
// COMPARE=2000: so many made-up files. SEED: what fixes them.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { getJson } from './lib/http.mjs';
import { BIN, run, tempDir } from './lib/process.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import { DIFFERENT, ScrapeFileMaker } from './lib/scrape_files.mjs';
import { jobs, PAGES, TARGETS } from './lib/scrape_pages_served.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const RUNNER = join(dirname(BIN), 'tests/collect_run');
const skip = missing('prometheus') || missing('promtool') || (existsSync(RUNNER) ? false : `${RUNNER} is not built`);
const N = Number(process.env.COMPARE ?? 150);
const SEED = Number(process.env.SEED ?? 1);

async function collect(args, timeoutMs = 60000) {
  const { code, stdout, stderr } = await run(args.map(String), { command: RUNNER, timeoutMs });
  assert.equal(code, 0, stderr);
  return stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
}

async function promtoolTakes(path) {
  const { code, stderr } = await run(['check', 'config', '--syntax-only', path], { command: 'promtool' });
  return { takes: code === 0, why: stderr };
}

/** Mistakes that promtool does not look for. */
const STRICTER = /^"(__scheme__|proxy_url)"/;

test('verdicts as promtool has them', async (t) => {
  const dir = tempDir(t);
  const made = new ScrapeFileMaker(SEED);
  const files = [...Array.from({ length: N }, () => made.file()), ...DIFFERENT.map((row) => ({ what: row.text, ...row }))];
  files.forEach((file, i) => {
    file.path = join(dir, `${i}.yml`);
    writeFileSync(file.path, file.text);
  });
  const ours = await collect(['check', ...files.map(({ path }) => path)]);
  const wrong = [];
  let nGood = 0;
  for (const [i, file] of files.entries()) {
    const isGood = ours[i].length === 0;
    const { takes, why } = await promtoolTakes(file.path);
    nGood += isGood && takes;
    if (file.why !== undefined ? isGood !== file.us || takes !== file.promtool : isGood !== takes && !ours[i].some(({ text }) => STRICTER.test(text)))
      wrong.push(`${file.what}\n  ours: ${JSON.stringify(ours[i])}\n  promtool: ${why}`);
    for (const { line, text } of ours[i]) assert.ok(line > 0 && text, file.what);
  }
  console.log(`${files.length} files, ${nGood} of them taken by both`);
  assert.deepEqual(wrong, []);
  assert.ok(nGood > N / 6 && nGood < N);
}, { skip, limitMs: 60000 + 400 * N });

async function serve(t) {
  const server = http.createServer((req, res) => {
    const page = PAGES[req.url.split('?')[0]];
    const [status, headers, body] = page ? page(req) : [404, {}, ''];
    res.writeHead(status, headers);
    res.end(body);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => { server.closeAllConnections(); server.close(); });
  return `127.0.0.1:${server.address().port}`;
}

const sortedKey = (labels) => JSON.stringify(Object.entries(labels).sort());

/** What only one of the two has, or what is never the same. */
const OURS_ONLY = /^(scrape_fault|engine_signal_missing)$/;
const NEVER_SAME = /^(scrape_duration_seconds|at)$/;

/** Series that were not ended: key to text of the value. */
function alive(samples) {
  const series = new Map();
  for (const { labels, v } of samples) {
    if (OURS_ONLY.test(labels.__name__)) continue;
    if (v === null) series.delete(sortedKey(labels));
    else series.set(sortedKey(labels), NEVER_SAME.test(labels.__name__) ? '' : v);
  }
  return series;
}

const asMap = (result) => new Map(result.map(({ metric, value }) =>
  [sortedKey(metric), NEVER_SAME.test(metric.__name__) ? '' : value[1]]));

const toNumber = (text) => (text === '' ? '' : text.endsWith('Inf') ? text : Number(text));

function difference(ours, theirs) {
  const wrong = [];
  for (const [key, v] of theirs)
    if (!ours.has(key)) wrong.push(`only theirs: ${key} ${v}`);
    else if (!Object.is(toNumber(v), toNumber(ours.get(key)))) wrong.push(`${key}: ${ours.get(key)}, ${v} there`);
  for (const [key, v] of ours) if (!theirs.has(key)) wrong.push(`only ours: ${key} ${v}`);
  return wrong;
}

test('a file scraped by us and by Prometheus', async (t) => {
  const address = await serve(t);
  const dir = tempDir(t);
  writeFileSync(join(dir, 'targets.yml'), TARGETS(address));
  const scrapeConfigs = jobs(address, dir);
  const file = join(tempDir(t), 'prometheus.yml');
  writeFileSync(file, JSON.stringify({ global: { scrape_interval: '1s', scrape_timeout: '1s' }, scrape_configs: scrapeConfigs }));
  const prometheus = await startPrometheus(t, { interval: '1s', scrapeConfigs });
  const [state, samples] = await Promise.all([collect(['targets', 10000, file]), collect(['scrape', 4000, file])]);
  const targets = () => getJson(prometheus.port, '/api/v1/targets').then(({ data }) => data);
  const theirs = await waitFor('two scrapes of each target', async () => {
    const data = await targets();
    const [{ value } = { value: [0, '0'] }] = await prometheus.query('min(count_over_time(up[1m]))');
    return data.activeTargets.every((x) => x.health !== 'unknown') && Number(value[1]) >= 3 && data;
  }, { timeoutMs: 20000 });
  const wrong = difference(alive(samples), asMap(await prometheus.query('{__name__!=""}')));

  const shown = ({ activeTargets, droppedTargets }) => ({
    active: activeTargets.map(({ labels, discoveredLabels, scrapePool, scrapeUrl, health, scrapeInterval, scrapeTimeout }) =>
      JSON.stringify([scrapePool, scrapeUrl, health, scrapeInterval, scrapeTimeout, sortedKey(labels), discoveredLabels.__address__])).sort(),
    dropped: droppedTargets.map(({ discoveredLabels }) => sortedKey(discoveredLabels)).sort(),
  });
  console.log(`${theirs.activeTargets.length} targets, ${alive(samples).size} series`);
  assert.deepEqual(shown(state[0]), shown(theirs));
  assert.deepEqual(wrong, []);
  for (const x of state[0].targets) if (x.health === 'down') assert.ok(x.fault && x.words, JSON.stringify(x));
  const faults = Object.fromEntries(state[0].targets.map((x) => [x.job, x.fault]));
  assert.equal(faults.nobody, 'refused');
  assert.equal(faults.error, 'status');
  assert.equal(faults.broken, 'body');
  assert.equal(faults.two, 'limit');
  assert.equal(faults.nameless, 'relabel');
}, { skip, limitMs: 60000 });
