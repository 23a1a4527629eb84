// SPDX-License-Identifier: Apache-2.0
// What Prometheus 2.42 and we answer differently, by cause. Each is recognised by what it does to the
// values, computed anew, and by nothing else. Most are changes between Prometheus 2 and 3, and we follow
// 3. In three we differ from 3, too, going by its sources: dates of what is no time, a window of
// predict_linear that is pinned, a step behind the window of a subquery.
import { ask, keyOf, number, seriesOf } from './promql_api.mjs';
import { isClose, isSameHistogram, pointsThatDiffer } from './promql_compare.mjs';

const isFinite = Number.isFinite;
const nameless = ({ __name__: _, ...rest }) => keyOf(rest);

/** Values of another expression at the same times as the query: key without the name -> t -> v. */
async function valuesOf(port, text, when) {
  const answer = await ask(port, text, when);
  const out = new Map();
  for (const { labels, points } of seriesOf(answer.data)) {
    out.set(nameless(labels), new Map(points.map((p) => [p.t, p.v])));
  }
  return out;
}

/** Of equal values, another one was chosen; of what was to choose from, both say the same. */
async function tie({ query, points, ports }) {
  const [a, b] = await Promise.all([
    ask(ports.ours, query.root.args[0], query.when, { range_semantics: 2 }),
    ask(ports.theirs, query.root.args[0], query.when),
  ]);
  if (pointsThatDiffer(a.data, b.data).length > 0) return false;
  const chosen = (side) => {
    const at = new Map();
    for (const p of points.filter((x) => x[side])) at.set(p.t, [...(at.get(p.t) ?? []), p[side].v]);
    return at;
  };
  const [ours, theirs] = [chosen('ours'), chosen('theirs')];
  const sorted = (list) => [...list].sort((x, y) => x - y);
  return ours.size === theirs.size && [...ours].every(([t, values]) => {
    const others = sorted(theirs.get(t) ?? []);
    return others.length === values.length && sorted(values).every((v, i) => isClose(v, others[i]));
  });
}

/** The deviation of one value that is no number: 0 then, NaN now. */
async function deviationOfOne({ query, points, ports }) {
  const { grouping = '', args } = query.root;
  const [counts, sums] = await Promise.all(['count', 'sum'].map((op) =>
    valuesOf(ports.theirs, `${op}${grouping} (${args[0]})`, query.when)));
  return points.every(({ key, t, ours, theirs }) => Number.isNaN(ours?.v) && theirs?.v === 0
    && counts.get(key)?.get(t) === 1 && !isFinite(sums.get(key)?.get(t)));
}

/** Dates of what is no time: any number there, NaN here; seconds beyond 64 bits are none, either. */
async function dateOfNoTime({ query, points, ports }) {
  const times = await valuesOf(ports.theirs, query.root.args[0], query.when);
  return points.every(({ key, t, ours }) => Number.isNaN(ours?.v) && !(Math.abs(times.get(key)?.get(t)) < 2 ** 63));
}

/** start() and end() of a query as numbers, to ask the same at one of its steps. */
const withoutStartAndEnd = (text, { start, end, time }) =>
  text.replaceAll('start()', start ?? time).replaceAll('end()', end ?? time);

const UNITS = { ms: 1, s: 1000, m: 60000 };
const duration = (text) => [...text.matchAll(/(\d+)(ms|s|m)/g)]
  .reduce((sum, [, n, unit]) => sum + n * UNITS[unit], 0) * (text.startsWith('-') ? -1 : 1);

const [NOW, THEN, UNLIMITED] = ['now', 'then', 'unlimited'];

/** rate or increase of the samples (ms) in a window, as extrapolated in an era. */
function extrapolated(fn, samples, from, to, era) {
  let result = samples.at(-1).v - samples[0].v;
  for (let i = 1; i < samples.length; i++)
    if (samples[i].v < samples[i - 1].v) result += samples[i - 1].v;
  const sampled = (samples.at(-1).t - samples[0].t) / 1000;
  const average = sampled / (samples.length - 1);
  const most = 1.1 * average;
  const toZero = result > 0 && samples[0].v >= 0 ? sampled * (samples[0].v / result) : Infinity;
  let start = (samples[0].t - from) / 1000;
  const end = (to - samples.at(-1).t) / 1000;
  if (era === THEN) start = Math.min(start, toZero);
  if (start >= most) start = average / 2;
  if (era === NOW) start = Math.min(start, toZero);
  const whole = sampled + start + (end < most ? end : average / 2);
  return result * (whole / sampled) / (fn === 'rate' ? (to - from) / 1000 : 1);
}

const WINDOW = /\[([0-9ms]+)(?::[^\]]*)?\](?: @ (\d+\.\d+|start\(\)|end\(\)))?(?: offset (-?[0-9ms]+))?$/;

/** A histogram with all of it multiplied. */
const scaled = (h, factor) => {
  const times = (text) => String(number(text) * factor);
  return {
    ...h, count: times(h.count), sum: times(h.sum),
    buckets: h.buckets?.map(([ends, low, high, n]) => [ends, low, high, times(n)]),
  };
};

/** Of histograms, 2.42 does not limit the extrapolation at all. */
function isExplained({ ours, theirs }, fn, samples, from, to) {
  const counts = samples.map((p) => ({ t: p.t, v: p.h ? number(p.h.count) : p.v }));
  const [now, then] = [NOW, samples[0].h ? UNLIMITED : THEN].map((era) =>
    extrapolated(fn, counts, from, to, era));
  if (ours.h && theirs.h) return isSameHistogram(ours.h, scaled(theirs.h, now / then));
  return isClose(ours.v, now) && isClose(theirs.v, then);
}

/** Where the value at the window's start is extrapolated to zero, and when that is tried. */
async function zeroPoint({ query, points, ports }) {
  const { fn, args } = query.root;
  const found = WINDOW.exec(args[0]);
  if (!found) return false;
  const fixed = withoutStartAndEnd(args[0], query.when);
  const at = found[2] && Number(withoutStartAndEnd(found[2], query.when)) * 1000;
  for (const { labels, t, ours, theirs } of points) {
    if (!ours || !theirs) return false;
    const to = (at ?? t) - duration(found[3] ?? '');
    const from = to - duration(found[1]);
    const matrix = seriesOf((await ask(ports.theirs, fixed, { time: (t / 1000).toFixed(3) })).data);
    const samples = matrix.filter((s) => nameless(s.labels) === nameless(labels));
    if (samples.length !== 1) return false;
    if (!isExplained({ ours, theirs }, fn, samples[0].points, from, to)) return false;
  }
  return true;
}

const RATES = /\b(rate|increase)\(((?:"(?:[^"\\]|\\.)*"|\(\)|[^()"])*)\)/g;

/** The same further inside: at each time of a difference, a rate in the query differs for that cause. */
async function zeroPointInside({ query, points, ports }) {
  const rates = [...query.text.matchAll(RATES)];
  for (const t of new Set(points.map((p) => p.t))) {
    const when = { time: (t / 1000).toFixed(3) };
    let isFound = false;
    for (const [whole, fn, arg] of rates) {
      const [text, range] = [whole, arg].map((x) => withoutStartAndEnd(x, query.when));
      const [ours, theirs] = await Promise.all([
        ask(ports.ours, text, when, { range_semantics: 2 }), ask(ports.theirs, text, when)]);
      const inner = pointsThatDiffer(ours.data, theirs.data);
      const root = { fn, args: [range] };
      if (inner.length > 0 && !(await zeroPoint({ query: { root, when }, points: inner, ports }))) return false;
      isFound ||= inner.length > 0;
    }
    if (!isFound) return false;
  }
  return true;
}

const PER_OCTAVE = 32;

/** Inside a bucket of a native histogram: linear then, exponential now. */
async function insideBucket({ points }) {
  return points.every(({ ours, theirs }) => {
    if (!(theirs?.v > 0)) return false;
    const upper = Math.ceil(Math.log2(theirs.v) * PER_OCTAVE - 1e-7);
    const [low, high] = [2 ** ((upper - 1) / PER_OCTAVE), 2 ** (upper / PER_OCTAVE)];
    return isClose(ours?.v, 2 ** ((upper - 1 + (theirs.v - low) / (high - low)) / PER_OCTAVE));
  });
}

/** That several match one is an error now although the comparison keeps none, as it was with bool. */
async function matchesOfNone({ query, ours, ports }) {
  const [a, op, matching, b] = query.root.args;
  const whole = await ask(ports.theirs, `${a} ${op} bool ${matching} ${b}`, query.when);
  return ours.status === 'error' && whole.errorType === ours.errorType && whole.error === ours.error;
}

/** Names of labels may be any text now. */
async function anyName({ theirs }) {
  return theirs.status === 'error' && /^invalid (destination|source) label name/.test(theirs.error);
}

/** The name of a metric stays then, and goes now as with all arithmetic. */
async function nameKept({ points }) {
  const theirs = points.filter((p) => p.theirs);
  const ours = new Map(points.filter((p) => p.ours).map((p) => [`${p.t} ${p.key}`, p.ours.v]));
  return ours.size === theirs.length && theirs.every(({ labels, t, theirs: point }) =>
    '__name__' in labels && isClose(ours.get(`${t} ${nameless(labels)}`), point.v));
}

/** A subquery of what does not change over time has, where no step is in its window, the one behind. */
async function stepBehind({ query, points }) {
  return points.every((p) => !p.ours && p.t > query.when.time * 1000);
}

/** In a range query, a window pinned by @ moves with the steps all the same; asked at one, it does not. */
async function pinnedWindow({ query, points, ports }) {
  const text = withoutStartAndEnd(query.text, query.when);
  for (const { key, t, ours } of points) {
    const values = await valuesOf(ports.theirs, text, { time: (t / 1000).toFixed(3) });
    if (!/ @ /.test(text) || !ours || !isClose(ours.v, values.get(key)?.get(t))) return false;
  }
  return 'step' in query.when;
}

const DATES = ['minute', 'hour', 'day_of_week', 'day_of_month', 'day_of_year', 'days_in_month', 'month',
  'year'];

export const CAUSES = [
  { name: 'ties in topk and bottomk', of: ['topk', 'bottomk'], holds: tie },
  { name: 'deviation of a single NaN or Inf', of: ['stddev', 'stdvar'], holds: deviationOfOne },
  { name: 'dates of NaN and Inf', of: DATES, holds: dateOfNoTime },
  { name: 'the zero point of rate and increase', of: ['rate', 'increase'], holds: zeroPoint },
  { name: 'the name of a metric under atan2', of: ['atan2'], holds: nameKept },
  { name: 'pinned windows of predict_linear', of: ['predict_linear'], holds: pinnedWindow },
  { name: 'a step behind the window', of: ['@'], holds: stepBehind },
  { name: 'matches of what is not kept', of: ['compare'], what: 'status', holds: matchesOfNone },
  { name: 'names of labels', of: ['label_replace', 'label_join'], what: 'status', holds: anyName },
  { name: 'interpolation in native buckets', of: ['histogram_quantile'], holds: insideBucket },
];
const INSIDE = { name: 'the zero point of rate and increase, inside', holds: zeroPointInside };

/** The name of the cause that explains all of a difference; null: none does. */
export async function causeOf(query, { what, points }, ports, answers) {
  const candidates = CAUSES.filter((c) => c.of.includes(query.root?.fn) && (c.what ?? 'values') === what);
  if (what === 'values' && !query.root) candidates.push(INSIDE);
  for (const cause of candidates)
    if (await cause.holds({ query, points, ports, ...answers })) return cause.name;
  return null;
}

