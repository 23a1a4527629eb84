// SPDX-License-Identifier: Apache-2.0
// Templates of annotations against a real Prometheus: the same texts come out for the same alerts, and what
// fails there fails here. Left out are functions that Prometheus 2.42 lacks (now, toDuration, urlQueryEscape).
//
// template_run is built beside the program, from lib/template_run.c.
//
// COMPARE=5000: so many random templates besides. SEED: what fixes them.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getJson } from './lib/http.mjs';
import { BIN, run } from './lib/process.mjs';
import { missing, startPrometheus } from './lib/prometheus_server.mjs';
import { LABELS, NONE, OF_LABELS, OF_VALUES, randomTexts, TWO, VALUES } from './lib/template_texts.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const RUNNER = join(dirname(BIN), 'tests/template_run');
const skip = missing('prometheus') || (existsSync(RUNNER) ? false : `${RUNNER} is not built`);

const N = Number(process.env.COMPARE ?? 400);
const SEED = Number(process.env.SEED ?? 1);

const URL = 'http://prom.example:9090/pre%20fix/path';
const EXTERNAL = { cluster: 'c1' };

/** Of what fails, Prometheus shows this in place of the text. */
const FAILED = /^<error expanding template: /;

/** An expression whose one sample has the value and the labels. */
const withLabels = (value, labels) => Object.entries(labels).reduce(
  (expr, [name, text]) => `label_replace(${expr}, "${name}", ${JSON.stringify(text.replaceAll('$', '$$'))}, "", "")`,
  `vector(${value})`,
);

const alert = (name, expr, texts) => ({
  alert: name, expr, annotations: Object.fromEntries(texts.map((text, i) => [`a${i}`, text])),
});

const ALERTS = [
  { name: 'labels', value: '1234.5', labels: LABELS, texts: OF_LABELS },
  { name: 'random', value: '0.25', labels: LABELS, texts: randomTexts(N, SEED) },
  ...VALUES.map((value, i) => ({ name: `value${i}`, value, labels: {}, texts: OF_VALUES })),
];

const rules = {
  groups: [{
    name: 'templates', interval: '1s',
    rules: ALERTS.map(({ name, value, labels, texts }) => alert(name, withLabels(value, labels), texts)),
  }],
};

async function theirs(prometheus) {
  const alerts = await waitFor('all alerts', async () => {
    const answer = await getJson(prometheus.port, '/api/v1/alerts');
    return answer.data.alerts.length === ALERTS.length && answer.data.alerts;
  }, { timeoutMs: 20000 });
  return new Map(alerts.map((a) => [a.labels.alertname, a.annotations]));
}

const field = (word, text) => `${word} ${Buffer.byteLength(text)}\n${text}\n`;

async function given(prometheus) {
  let input = '';
  for (const expr of [TWO, NONE]) {
    input += field('query', expr);
    for (const sample of await prometheus.query(expr)) {
      input += field('sample', sample.value[1]);
      for (const [name, text] of Object.entries(sample.metric)) input += field('of', `${name}=${text}`);
    }
  }
  return input;
}

/** What the runner printed: [{ isGood, text }]. */
function answers(stdout) {
  const bytes = Buffer.from(stdout);
  const found = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\n', at);
    const [word, length] = bytes.toString('utf8', at, end).split(' ');
    const from = end + 1;
    found.push({ isGood: word === 'ok', text: bytes.toString('utf8', from, from + Number(length)) });
    at = from + Number(length) + 1;
  }
  return found;
}

async function ours(prometheus) {
  const queries = await given(prometheus);
  let input = '';
  for (const { value, labels, texts } of ALERTS) {
    input += field('clear', '') + field('url', URL) + field('value', value) + queries;
    for (const [name, text] of Object.entries(EXTERNAL)) input += field('external', `${name}=${text}`);
    for (const [name, text] of Object.entries(labels)) input += field('label', `${name}=${text}`);
    for (const text of texts) input += field('text', text);
  }
  const { code, stdout, stderr } = await run([], { command: RUNNER, input });
  assert.equal(code, 0, stderr);
  return answers(stdout);
}

test('annotations come out as in Prometheus', async (t) => {
  const prometheus = await startPrometheus(t, {
    rules, externalLabels: EXTERNAL, flags: [`--web.external-url=${URL}`, '--web.route-prefix=/'],
  });
  const want = await theirs(prometheus);
  const got = await ours(prometheus);
  const different = [];
  let at = 0, nFailed = 0;
  for (const { name, value, texts } of ALERTS) {
    texts.forEach((text, i) => {
      const { isGood, text: our } = got[at++];
      const their = want.get(name)[`a${i}`] ?? ''; // empty ones are left out
      if (FAILED.test(their)) nFailed++;
      if (isGood ? our !== their : !FAILED.test(their)) different.push({ value, text, our, their });
    });
  }
  console.log(`${at} texts, ${nFailed} of them errors, ${different.length} different`);
  assert.deepEqual(different, []);
  assert.ok(nFailed < at / 5, 'most texts are results');
}, { skip, limitMs: 60000 });
