// SPDX-License-Identifier: Apache-2.0
// /metrics pages read by us, by a real Prometheus that scrapes them, and by promtool: recorded pages of engines where
// they are there, single lines, made-up pages in both formats, and those with some bytes gone wrong.
//
// COMPARE=2000: so many made-up pages of each kind. SEED: what fixes them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { getJson } from './lib/http.mjs';
import { ROOT, run } from './lib/process.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import { linePages, PageMaker } from './lib/scrape_pages.mjs';
import { missingRunner, readPages } from './lib/scrape_runner.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const skip = missing('prometheus') || missing('promtool') || missingRunner();
const N = Number(process.env.COMPARE ?? 60);
const SEED = Number(process.env.SEED ?? 1);
const INTERVAL = `${Math.ceil(2 + N / 200)}s`;

const DUMPS = join(process.env.INFEROMETER_SHARED ?? join(ROOT, '../shared'), 'reference/metrics-dumps');
const dumps = () => (existsSync(DUMPS)
  ? readdirSync(DUMPS).map((name) => ({ what: name, text: readFileSync(join(DUMPS, name)), isSound: true }))
  : []);

function allPages() {
  const made = new PageMaker(SEED, Date.now());
  const pages = dumps();
  pages.push(...linePages());
  for (let i = 0; i < N; i++)
    for (const isOpenMetrics of [false, true]) {
      const text = made.page(isOpenMetrics);
      pages.push({ what: `made ${i}`, text: Buffer.from(text), isOpenMetrics, isSound: true });
      pages.push({ what: `spoilt ${i}`, text: made.spoil(text), isOpenMetrics });
    }
  return pages;
}

const TYPES = ['text/plain; version=0.0.4', 'application/openmetrics-text; version=1.0.0'];

async function serve(t, pages) {
  const server = http.createServer((req, res) => {
    const page = pages[Number(req.url.slice(1))];
    res.setHeader('content-type', TYPES[page.isOpenMetrics ? 1 : 0]);
    res.end(page.text);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  cleanup(t, () => { server.closeAllConnections(); server.close(); });
  return server.address().port;
}

/** Not scraped yet: a busy machine may be late for one. */
const isDue = ({ health, lastError }) => health === 'unknown' || /^Get "/.test(lastError);

/** What Prometheus makes of each page: { error, series: Map of label text to [[ms, text]], metadata }. */
async function scraped(t, pages) {
  const port = await serve(t, pages);
  const prometheus = await startPrometheus(t, {
    scrapeConfigs: [{
      job_name: 'pages', scrape_interval: INTERVAL, scrape_timeout: INTERVAL,
      static_configs: pages.map((_, i) => ({
        targets: [`127.0.0.1:${port}`], labels: { __metrics_path__: `/${i}`, page: String(i) },
      })),
    }],
  });
  const seen = pages.map(() => ({ error: '', series: new Map(), metadata: [] }));
  await waitFor('a scrape of each page', async () => {
    const { data } = await getJson(prometheus.port, '/api/v1/targets?state=active');
    for (const { labels, lastError } of data.activeTargets) seen[Number(labels.page)].error = lastError;
    return data.activeTargets.length === pages.length && !data.activeTargets.some(isDue);
  }, { timeoutMs: 20000 + 20 * N });
  for (const { metric, values } of await prometheus.query('{page!="",job="pages"}[10m]')) {
    const { page, job, instance, ...labels } = metric;
    seen[Number(page)].series.set(keyOf(labels), values.map(([s, v]) => [Math.round(s * 1000), v]));
  }
  const { data } = await getJson(prometheus.port, '/api/v1/targets/metadata');
  for (const { target, ...one } of data) seen[Number(target.page)].metadata.push(one);
  return seen;
}

/** Labels that a target has as well are called otherwise in Prometheus. */
const OF_TARGET = ['page', 'job', 'instance'];
const keyOf = (labels) => JSON.stringify(Object.entries(labels)
  .map(([name, value]) => [OF_TARGET.includes(name) ? `exported_${name}` : name, value]).sort());

/** About the scrape, not of the page. */
const ABOUT = /^\[\["__name__","(up|scrape_\w+)"\]\]$/;

const toNumber = (text) => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

/** Times far away are read, and refused by the store there. */
const isStored = (ms) => ms === undefined || Math.abs(ms - Date.now()) < 300000;

/** Lines in which the two differ, or nothing. */
function differences(ours, theirs, isOpenMetrics) {
  const wrong = [];
  const left = new Set([...theirs.series.keys()].filter((key) => !ABOUT.test(key)));
  const isTwice = ours.advice.some(({ text }) => text.includes('there twice')); // the other one counts there
  for (const { samples } of ours.families)
    for (const { labels, v, t } of samples) {
      const key = keyOf(labels);
      const values = theirs.series.get(key);
      left.delete(key);
      if (!values && isStored(t)) wrong.push(`only ours: ${key}`);
      else if (!values) continue;
      else if (!isTwice && !values.some(([ms, text]) => Object.is(toNumber(text), toNumber(v))
        && (t === undefined || Math.abs(ms - t) <= (isOpenMetrics ? 1 : 0))))
        wrong.push(`${key}: ${v} ${t ?? ''}, ${JSON.stringify(values)} there`);
    }
  for (const key of left) wrong.push(`only theirs: ${key}`);
  const families = new Map(ours.families.map((f) => [f.name, f]));
  for (const { metric, type, help, unit } of theirs.metadata) {
    const suffix = isOpenMetrics ? { counter: '_total', info: '_info' }[type] ?? '' : '';
    const f = families.get(metric.endsWith(suffix) ? metric : metric + suffix);
    if (!f || f.type !== type || f.help !== help || f.unit !== unit)
      wrong.push(`${metric}: ${JSON.stringify({ type, help, unit })} there, ${f && f.type} ${f && f.help}`);
  }
  return wrong;
}

/** Why Prometheus 2.42 may refuse what we take (in lines), and take what we refuse (in what we say). */
const TAKEN_HERE = [
  /\r$/m, // the end of a line
  /^[ \t]+[a-zA-Z_:]/m, // blanks in front
  /^[^#\n]*[ \t]-\d+[ \t]*$/m, // a time before 1970
  /^#[ \t]+TYPE[ \t]+\S+[ \t]+\w*[ \t]*$/m, // blanks around a type
];
const TAKEN_HERE_OPENMETRICS = [...TAKEN_HERE, /[ \t]{2}|\t|[ \t]$|[{,=][ \t]|[ \t][},=]|[ \t]\{|\}[^ ]/m, // blanks
  /^[ \t]*$/m, /^#(?! (HELP|TYPE|UNIT) )/m, // empty lines, comments
  /^# (HELP|UNIT) \S+$/m, // nothing behind the name
  /^# UNIT/m, // that are no end of the name
  /# \{/]; // exemplars of what is neither a total nor a bucket
const TAKEN_THERE = /^(a comma or a closing brace is expected|the label's value has no closing quote|a metric's name is expected$|the time is not a number of seconds)/;

function isKnown(page, ours, theirs) {
  const text = page.text.toString('latin1');
  if (ours.mistakes.length > 0) return !theirs.error && ours.mistakes.some(({ text: why }) => TAKEN_THERE.test(why));
  return (page.isOpenMetrics ? TAKEN_HERE_OPENMETRICS : TAKEN_HERE).some((cause) => cause.test(text));
}

/** Whether promtool takes the page: lint (3) is no refusal. */
async function promtoolTakes(page) {
  const { code } = await run(['check', 'metrics'], { command: 'promtool', input: page.text });
  return code !== 1;
}

test('pages are read as Prometheus reads them', async (t) => {
  const pages = allPages();
  const [theirs, ours] = await Promise.all([scraped(t, pages), readPages(pages)]);
  const wrong = [];
  let nSeries = 0, nGood = 0, nKnown = 0;
  pages.forEach((page, i) => {
    const isGood = ours[i].mistakes.length === 0;
    const isGoodThere = !theirs[i].error;
    const what = `${page.what} (${page.isOpenMetrics ? 'openmetrics' : 'text'}): `;
    if (page.verdicts !== undefined) {
      if (isGood !== page.verdicts.includes('o')) wrong.push(`${what}ours: ${JSON.stringify(ours[i].mistakes)}`);
      if (isGoodThere !== page.verdicts.includes('p')) wrong.push(`${what}theirs: ${theirs[i].error}`);
    } else if (isGood !== isGoodThere) {
      nKnown++;
      if (page.isSound || !isKnown(page, ours[i], theirs[i]))
        wrong.push(`${what}${theirs[i].error || 'taken there'}, ${JSON.stringify(ours[i].mistakes)}\n${page.text}`);
    }
    if (!isGood || !isGoodThere) return;
    nGood++;
    nSeries += theirs[i].series.size;
    for (const line of differences(ours[i], theirs[i], page.isOpenMetrics)) wrong.push(`${what}${line}\n${page.text}`);
  });
  console.log(`${pages.length} pages, ${nGood} of them read by both with ${nSeries} series, ${nKnown} judged otherwise`);
  assert.deepEqual(wrong, []);
  assert.ok(nGood > pages.length / 2);
}, { skip, limitMs: 60000 + 100 * N });

test('promtool takes the same pages', async () => {
  const made = new PageMaker(SEED, Date.now());
  const pages = [...dumps(), ...linePages()];
  for (let i = 0; i < N / 4; i++) { // without comments, whose order promtool has an opinion of
    const text = made.page(false).split('\n').filter((line) => !line.startsWith('#')).join('\n');
    pages.push({ what: text, text: Buffer.from(text.replaceAll('\\d', '')) });
  }
  const wrong = [];
  const ours = await readPages(pages);
  await Promise.all([0, 1].map(async (half) => {
    for (let i = half; i < pages.length; i += 2) {
      const takes = await promtoolTakes(pages[i]);
      const want = pages[i].verdicts?.includes('t') ?? ours[i].mistakes.length === 0;
      if (takes !== want) wrong.push(`${pages[i].what}: promtool ${takes ? 'takes' : 'refuses'} it`);
    }
  }));
  assert.deepEqual(wrong, []);
}, { skip, limitMs: 60000 + 100 * N });
