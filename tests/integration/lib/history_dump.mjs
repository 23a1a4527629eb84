// SPDX-License-Identifier: Apache-2.0
// All raw samples of a gateway's history, read through its own API, for remote_write.mjs.
//
// A range vector does not show stale markers. They are where a series has no sample at a moment at
// which it was looked at, but had one at the moment before; and at the ends of the program's runs, all
// of it at once, which queries show to the millisecond.
import { ask, seriesOf, number } from './promql_api.mjs';
import { STALE } from './remote_write.mjs';

const SCHEMA = 5; // what the program's histograms have
const ALWAYS = 'inferometer_build_info'; // it has a sample at every moment

/** A histogram of the API. The zero bucket's width shows only where something fell into it. */
function histogramOf(h, zeroThreshold) {
  const all = (h.buckets ?? []).map(([ends, , upper, count]) =>
    ({ ends, upper: number(upper), count: number(count) }));
  const zero = all.find((b) => b.ends === 3);
  return {
    count: number(h.count), sum: number(h.sum), schema: SCHEMA,
    zeroThreshold: zero?.upper ?? zeroThreshold, zeroCount: zero?.count ?? 0,
    buckets: all.filter((b) => b.ends === 0)
      .map((b) => ({ index: Math.round(Math.log2(b.upper) * 2 ** SCHEMA), count: b.count })),
  };
}

/** When the series of ALWAYS that was there at from_ms ended; null: it did not before to_ms. */
async function endBetween(port, from, to) {
  const isThere = async (t) =>
    (await ask(port, ALWAYS, { time: t / 1000 })).data.result.length > 0;
  if (await isThere(to - 1)) return null;
  let [low, high] = [from, to - 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isThere(middle)) low = middle;
    else high = middle;
  }
  return high;
}

function withMarkers(samples, moments) {
  const out = [];
  let i = 0;
  for (const { t, isEnd } of moments) {
    while (i < samples.length && samples[i].t < t) out.push(samples[i++]);
    const isSeen = !isEnd && i < samples.length && samples[i].t === t;
    if (isSeen) out.push(samples[i++]);
    const last = out.at(-1);
    if (!isSeen && last && last.v !== STALE && last.h !== STALE)
      out.push('h' in last ? { t, h: STALE } : { t, v: STALE });
  }
  return out;
}

/** { series, moments }: samples with stale markers, and when everything was looked at (ms). */
export async function dumpHistory(port) {
  const answer = await ask(port, '{__name__=~".+"}[1h]', { time: Date.now() / 1000 + 60 });
  const raw = seriesOf(answer.data);
  const ticks = raw.find((s) => s.labels.__name__ === ALWAYS).points.map((p) => p.t);
  const moments = [];
  for (const [i, t] of ticks.entries()) {
    const end = i > 0 ? await endBetween(port, ticks[i - 1], t) : null;
    if (end !== null) moments.push({ t: end, isEnd: true });
    moments.push({ t, isEnd: false });
  }
  const widths = new Map(); // of the families' zero buckets
  for (const { labels, points } of raw)
    for (const { h } of points) {
      const zero = h?.buckets?.find(([ends]) => ends === 3);
      if (zero) widths.set(labels.__name__, number(zero[2]));
    }
  const series = raw.map(({ labels, points }) => {
    const width = widths.get(labels.__name__) ?? 1e-6;
    const samples = points.map((p) => (p.h ? { t: p.t, h: histogramOf(p.h, width) } : p));
    return { labels, samples: withMarkers(samples, moments) };
  });
  return { series, moments };
}
