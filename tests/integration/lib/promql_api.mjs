// SPDX-License-Identifier: Apache-2.0
// The query API of a Prometheus or of the gateway, as values that can be compared.
import http from 'node:http';
import { request } from './http.mjs';

const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** when: { time } or { start, end, step }, in seconds. The answer's JSON and its status. */
export async function ask(port, query, when, more = {}) {
  const path = `/api/v1/query${'step' in when ? '_range' : ''}`;
  const body = new URLSearchParams({ query, ...when, ...more }).toString();
  const answer = await request(port, path, { method: 'POST', headers: FORM, body, agent });
  return { code: answer.status, ...JSON.parse(answer.body) };
}

export const number = (text) => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

export const keyOf = (labels) =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

const ms = (t) => Math.round(t * 1000);

function pointsOf(series) {
  const points = [];
  const floats = series.values ?? (series.value ? [series.value] : []);
  const histograms = series.histograms ?? (series.histogram ? [series.histogram] : []);
  for (const [t, v] of floats) points.push({ t: ms(t), v: number(v) });
  for (const [t, h] of histograms) points.push({ t: ms(t), h });
  return points.sort((a, b) => a.t - b.t);
}

/** data of an answer as series: [{ labels, points: [{ t, v } or { t, h }] }], times in ms. */
export function seriesOf({ resultType, result }) {
  if (resultType === 'scalar') return [{ labels: {}, points: pointsOf({ value: result }) }];
  if (resultType === 'string') return [{ labels: { text: result[1] }, points: [] }];
  return result.map((s) => ({ labels: s.metric, points: pointsOf(s) }));
}
