// SPDX-License-Identifier: Apache-2.0
// Two answers to one query: equal labels and times, values within 1e-9 of each other, relatively (and
// what is left where numbers of some size cancel out: 1e-12).
import { keyOf, number, seriesOf } from './promql_api.mjs';

const RELATIVE = 1e-9;
const LEFT_OVER = 1e-12;

export function isClose(a, b) {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  return Math.abs(a - b) <= Math.max(RELATIVE * Math.max(Math.abs(a), Math.abs(b)), LEFT_OVER);
}

export function isSameHistogram(a, b) {
  const buckets = (h) => h.buckets ?? [];
  return isClose(number(a.count), number(b.count)) && isClose(number(a.sum), number(b.sum))
    && buckets(a).length === buckets(b).length
    && buckets(a).every((x, i) => x.every((v, k) => isClose(number(v), number(buckets(b)[i][k]))));
}

function isSamePoint(a, b) {
  if (!a || !b || a.t !== b.t || ('h' in a) !== ('h' in b)) return false;
  return 'h' in a ? isSameHistogram(a.h, b.h) : isClose(a.v, b.v);
}

/** Points of either that the other has not, or not so: [{ labels, key, t, ours?, theirs? }]. */
export function pointsThatDiffer(ours, theirs) {
  const sides = [ours, theirs].map((data) =>
    new Map(seriesOf(data).map((s) => [keyOf(s.labels), s])));
  const out = [];
  for (const key of new Set([...sides[0].keys(), ...sides[1].keys()])) {
    const [a, b] = sides.map((side) => new Map((side.get(key)?.points ?? []).map((p) => [p.t, p])));
    const { labels } = sides[0].get(key) ?? sides[1].get(key);
    const both = sides.every((side) => side.has(key));
    if (!both && a.size + b.size === 0) out.push({ labels, key });
    for (const t of new Set([...a.keys(), ...b.keys()]))
      if (!isSamePoint(a.get(t), b.get(t))) out.push({ labels, key, t, ours: a.get(t), theirs: b.get(t) });
  }
  return out;
}

const isSorted = (text) => /^sort(_desc)?\(/.test(text);

/** Order counts where the query asks for it: that of values, since equal ones may come in any. */
function differsInOrder(query, ours, theirs) {
  if (!isSorted(query.text) || 'step' in query.when) return false;
  const values = (data) => seriesOf(data).map((s) => s.points[0].v);
  const [a, b] = [values(ours), values(theirs)];
  return a.some((v, i) => !isClose(v, b[i]));
}

/** null: they agree. Otherwise { what, points }. */
export function difference(query, ours, theirs) {
  if (ours.status !== theirs.status || ours.errorType !== theirs.errorType || ours.code !== theirs.code)
    return { what: 'status', points: [] };
  if (ours.status === 'error') return null;
  if (ours.data.resultType !== theirs.data.resultType) return { what: 'type', points: [] };
  const points = pointsThatDiffer(ours.data, theirs.data);
  if (points.length > 0) return { what: 'values', points };
  return differsInOrder(query, ours.data, theirs.data) ? { what: 'order', points } : null;
}

export function describe(query, difference, ours, theirs) {
  const short = (x) => JSON.stringify(x)?.slice(0, 300);
  const lines = [`${difference.what}: ${query.text}  ${JSON.stringify(query.when)}`];
  if (difference.what !== 'values') lines.push(`  ours ${short(ours)}`, `  theirs ${short(theirs)}`);
  for (const p of difference.points.slice(0, 3))
    lines.push(`  ${p.key} at ${p.t}: ours ${short(p.ours)} (${p.ours?.v}),`
      + ` theirs ${short(p.theirs)} (${p.theirs?.v})`);
  return lines.join('\n');
}
