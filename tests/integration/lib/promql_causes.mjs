// SPDX-License-Identifier: Apache-2.0
// What Prometheus 2.42 and the semantics of Prometheus 3, which are ours, answer differently, by cause.
// Each is recognised by what it does to the values, computed anew, and by nothing else.
import { ask, keyOf, seriesOf } from './promql_api.mjs';
import { isClose, pointsThatDiffer } from './promql_compare.mjs';

const isFinite = Number.isFinite;

/** Values of another expression at the same times as the query: key without the name -> t -> v. */
async function valuesOf(port, text, when) {
  const answer = await ask(port, text, when);
  const out = new Map();
  for (const { labels, points } of seriesOf(answer.data)) {
    const { __name__: _, ...rest } = labels;
    out.set(keyOf(rest), new Map(points.map((p) => [p.t, p.v])));
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

/** Dates of what is no time: any number then, NaN now. */
async function dateOfNoTime({ query, points, ports }) {
  const times = await valuesOf(ports.theirs, query.root.args[0], query.when);
  return points.every(({ key, t, ours }) => Number.isNaN(ours?.v) && !isFinite(times.get(key)?.get(t)));
}

const UNITS = { ms: 1, s: 1000, m: 60000 };
const duration = (text) => [...text.matchAll(/(\d+)(ms|s|m)/g)]
  .reduce((sum, [, n, unit]) => sum + n * UNITS[unit], 0) * (text.startsWith('-') ? -1 : 1);

/** rate or increase of the samples (ms) in a window, as 2.42 or as 3.x extrapolates. */
function extrapolated(fn, samples, from, to, isOld) {
  let result = samples.at(-1).v - samples[0].v;
  for (let i = 1; i < samples.length; i++)
    if (samples[i].v < samples[i - 1].v) result += samples[i - 1].v;
  const sampled = (samples.at(-1).t - samples[0].t) / 1000;
  const average = sampled / (samples.length - 1);
  const most = 1.1 * average;
  const toZero = result > 0 && samples[0].v >= 0 ? sampled * (samples[0].v / result) : Infinity;
  let start = (samples[0].t - from) / 1000;
  const end = (to - samples.at(-1).t) / 1000;
  if (isOld) start = Math.min(start, toZero);
  if (start >= most) start = average / 2;
  if (!isOld) start = Math.min(start, toZero);
  const whole = sampled + start + (end < most ? end : average / 2);
  return result * (whole / sampled) / (fn === 'rate' ? (to - from) / 1000 : 1);
}

const WINDOW = /\[([0-9ms]+)(?::[^\]]*)?\](?: @ (\d+\.\d+|start\(\)|end\(\)))?(?: offset (-?[0-9ms]+))?$/;

/** Where the value at the window's start is extrapolated to zero, and when that is tried. */
async function zeroPoint({ query, points, ports }) {
  const { fn, args } = query.root;
  const found = WINDOW.exec(args[0]);
  if (!found) return false;
  const pinned = { 'start()': query.when.start ?? query.when.time, 'end()': lastStep(query.when) };
  const fixed = args[0].replace(/(start|end)\(\)/g, (name) => pinned[name]);
  const at = found[2] && Number(pinned[found[2]] ?? found[2]) * 1000;
  for (const { labels, t, ours, theirs } of points) {
    if (!ours || !theirs) return false;
    const to = (at ?? t) - duration(found[3] ?? '');
    const from = to - duration(found[1]);
    const matrix = seriesOf((await ask(ports.theirs, fixed, { time: (t / 1000).toFixed(3) })).data);
    const samples = matrix.filter((s) => keyOf({ ...s.labels, __name__: '' }) === keyOf({ ...labels, __name__: '' }));
    if (samples.length !== 1) return false;
    const [now, then] = [false, true].map((isOld) => extrapolated(fn, samples[0].points, from, to, isOld));
    if (!isClose(ours.v, now) || !isClose(theirs.v, then)) return false;
  }
  return true;
}

function lastStep({ start, end, step, time }) {
  if (time !== undefined) return time;
  const n = Math.floor((end * 1000 - start * 1000 + 1e-6) / (step * 1000));
  return ((start * 1000 + n * step * 1000) / 1000).toFixed(3);
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

const DATES = ['minute', 'hour', 'day_of_week', 'day_of_month', 'day_of_year', 'days_in_month', 'month',
  'year'];

export const CAUSES = [
  { name: 'ties in topk and bottomk', of: ['topk', 'bottomk'], holds: tie },
  { name: 'deviation of a single NaN or Inf', of: ['stddev', 'stdvar'], holds: deviationOfOne },
  { name: 'dates of NaN and Inf', of: DATES, holds: dateOfNoTime },
  { name: 'the zero point of rate and increase', of: ['rate', 'increase'], holds: zeroPoint },
  { name: 'interpolation in native buckets', of: ['histogram_quantile'], holds: insideBucket },
];

/** The name of the cause that explains all of a difference; null: none does. */
export async function causeOf(query, difference, ports) {
  if (!query.root || difference.what !== 'values') return null;
  for (const cause of CAUSES.filter((c) => c.of.includes(query.root.fn)))
    if (await cause.holds({ query, points: difference.points, ports })) return cause.name;
  return null;
}

