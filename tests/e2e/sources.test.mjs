// SPDX-License-Identifier: Apache-2.0
// What the pages compute, without a browser.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../integration/lib/process.mjs';
import test from '../integration/lib/test.mjs';
import { source } from './lib/source.mjs';

const names = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();

test('both languages have the same words, with the same values in them', async () => {
  const { en } = await source('words/en.ts');
  const { zh } = await source('words/zh.ts');
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
  for (const key of Object.keys(en)) {
    assert.deepEqual(names(zh[key]), names(en[key]), key);
    assert.ok(zh[key].length > 0 && en[key].length > 0, key);
  }
});

test('every word is used', async () => {
  const { en } = await source('words/en.ts');
  const dir = join(ROOT, 'web/src');
  const files = readdirSync(dir, { recursive: true }).filter((f) => /\.tsx?$/.test(f) && !f.startsWith('words'));
  const all = files.map((f) => readFileSync(join(dir, f), 'utf8')).join('\n');
  const prefixes = [...all.matchAll(/`([\w.]+\.)\$\{/g)].map((m) => m[1]); // t(`stage.${key}`)
  const unused = Object.keys(en).filter((k) => !all.includes(`'${k}'`) && !prefixes.some((p) => k.startsWith(p)));
  assert.deepEqual(unused, []);
});

test('an alert is split into what is measured and what it is compared with', async () => {
  const { comparison } = await source('data/threshold.ts');
  for (const [expr, value, sign, threshold] of [
    ['a > 5', 'a', '>', '5'],
    ['(a{x=">1 and 2"} / b >= on () group_left () max(t{of="x"})) and on (m) (c > 3)', 'a{x=">1 and 2"} / b', '>=', 'max(t{of="x"})'],
    ['(sum(rate(a[5m])) / sum(rate(b[5m])) > 0.144 and c > 1) or (d > 2)', 'sum(rate(a[5m])) / sum(rate(b[5m]))', '>', '0.144'],
    ['up == 0 unless on (job) brand == 1', 'up', '==', '0'],
    ['a < bool 3', 'a', '<', '3'],
  ])
    assert.deepEqual(comparison(expr), { value, sign, threshold }, expr);
  assert.equal(comparison('absent(up)'), null);
});

test('lines that would have one name are told apart', async () => {
  const { toldApart } = await source('data/names.ts');
  const names = (names, ...labels) => toldApart(names, labels.map((l) => ({ labels: l, points: [] })));
  assert.deepEqual(names(['a', 'b'], { instance: 'a' }, { instance: 'b' }), ['a', 'b']);
  assert.deepEqual(names(['a', 'a'], { instance: 'a', job: 'j' }, { instance: 'a', job: 'k' }), ['a · j', 'a · k']);
  assert.deepEqual(names(['x', 'x'], {}, {}), ['x (1)', 'x (2)']);
});

test('a curve that leaves what is usual is found at its first point above, and noise is none', async () => {
  const { departure } = await source('data/departure.ts');
  const flat = Array.from({ length: 60 }, (_, i) => [i, 1 + 0.02 * (i % 5)]);
  assert.equal(departure(flat, 30), null);
  const step = flat.map(([at, v]) => [at, at >= 45 ? 3 : v]);
  assert.deepEqual(departure(step, 30), { at: 45, usual: 1.04, value: 3 });
  const spike = flat.map(([at, v]) => [at, at === 45 ? 9 : v]);
  assert.equal(departure(spike, 30), null, 'one point is no departure');
  assert.equal(departure(step.slice(0, 5), 0), null, 'too few points to know what is usual');
  assert.equal(departure(step, 30, 5), null, 'less than the floor');
});

test('conditions go through an address and into the query of the API', async () => {
  const { conditionsOf, formatConditions, parseConditions, queryOf } = await source('data/requests.ts');
  const where = 'ttft_ms>=500\nmodel!=a&b=c\noutcome=';
  const all = conditionsOf({ tenant: 'x y', model: 'm', outcome: '!ok', range: '1h', where });
  assert.deepEqual(all.map((c) => `${c.field} ${c.sign} ${c.value}`), ['labels.tenant = x y', 'model = m', 'outcome != ok', 'ttft_ms >= 500', 'model != a&b=c', 'outcome = ']);
  assert.equal(formatConditions(parseConditions(where)), where);
  const query = queryOf(all, '-ttft_ms', { start: 10, end: 20, step: 5, isLive: false }, 'KEY');
  assert.equal(query, 'labels.tenant=x%20y&model=m&outcome!=ok&ttft_ms%3E=500&model!=a%26b%3Dc&outcome=&from=10&to=20&order=-ttft_ms&limit=50&after=KEY');
});

test('stages of a waterfall follow one another, the engine’s begin where sending ended', async () => {
  const { waterfall, curl } = await source('data/waterfall.ts');
  const row = {
    stage_receive_ms: 2, stage_route_ms: 1, stage_send_ms: 0.5, stage_wait_ms: 10, stage_answer_ms: 20, stage_delivery_ms: 1, endpoint: 'chat_completions', model: "it's", is_stream: true, max_tokens: 5,
    engine_queue_ms: 3, engine_prefill_ms: 6, engine_unattributed_ms: 1, timeline: [[12, 1, 0], [31, 2, 0]],
  };
  const w = waterfall(row);
  assert.equal(w.start, -2);
  assert.equal(w.end, 32.5);
  for (let i = 1; i < w.stages.length; i++) assert.equal(w.stages[i].from, w.stages[i - 1].to);
  assert.deepEqual(w.engine.map((s) => [s.name, s.from, s.to]), [['unattributed', 1.5, 2.5], ['queue', 2.5, 5.5], ['prefill', 5.5, 11.5]]);
  assert.deepEqual(w.ticks.map((x) => x.at), [12, 31]);
  assert.match(curl(row, 'http://g'), /'http:\/\/g\/v1\/chat\/completions'[^]*"model":"it'\\''s"[^]*"max_tokens":5/);
});

test('numbers have units, and what is not known is a dash', async () => {
  const { show, span } = await source('format/units.ts');
  for (const [s, text] of [[0, '0 s'], [119.6, '2 min'], [140, '2 min 20 s'], [119.2, '119 s'], [11520, '3 h 12 min'], [5 * 86400 + 7200, '5 d 2 h'], [7199, '119 min 59 s']]) assert.equal(span(s), text);
  for (const [v, unit, text] of [
    [0.0123, 'seconds', '12.3 ms'], [0.00000123, 'seconds', '1.23 µs'], [90, 'seconds', '90 s'], [600, 'seconds', '10 min'], [3 * 86400, 'seconds', '3 d'], [1234.5, 'ms', '1.23 s'],
    [0.12345, 'ratio', '12.3 %'], [0.00001, 'ratio', '< 0.01 %'], [0, 'ratio', '0 %'], [1536, 'bytes', '1.5 KiB'], [12345, 'tokens', '12.3\u202fk tok'], [9999, 'count', '9,999'], [2.5, 'x', '2.5×'],
    [null, 'seconds', '–'], [NaN, 'count', '–'], [Infinity, 'ms', '–'],
  ])
    assert.equal(show(v, unit), text, `${v} ${unit}`);
});
