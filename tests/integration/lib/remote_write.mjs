// SPDX-License-Identifier: Apache-2.0
// Samples into a Prometheus that was started with --web.enable-remote-write-receiver: the one way in
// that takes stale markers and native histograms as they are.
//
// A series: { labels: { name: value }, samples: [{ t, v } or { t, h }] }, ascending in t (ms). v is a
// number or STALE; h: { count, sum, schema, zeroThreshold, zeroCount, buckets: [{ index, count }] }, or
// STALE.
import { request } from './http.mjs';

export const STALE = Symbol('stale');
const STALE_BITS = 0x7ff0000000000002n;
const SERIES_PER_REQUEST = 1000;

function varint(value) {
  let n = BigInt.asUintN(64, BigInt(value));
  const bytes = [];
  for (; n > 0x7fn; n >>= 7n) bytes.push(Number(n & 0x7fn) | 0x80);
  bytes.push(Number(n));
  return Buffer.from(bytes);
}

const zigzag = (n) => (n >= 0 ? 2 * n : -2 * n - 1);

function double(v) {
  const b = Buffer.alloc(8);
  if (v === STALE) b.writeBigUInt64LE(STALE_BITS);
  else b.writeDoubleLE(v);
  return b;
}

// Fields of a protobuf message.
const integer = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const fixed = (field, v) => Buffer.concat([varint((field << 3) | 1), double(v)]);
const bytes = (field, ...parts) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
};

const label = ([name, value]) => bytes(1, bytes(1, Buffer.from(name)), bytes(2, Buffer.from(value)));
const sample = ({ t, v }) => bytes(2, fixed(1, v), integer(2, t));

/** Runs of neighbouring buckets, and counts as differences. */
function buckets(all) {
  const spans = [];
  const deltas = [];
  let next = 0;
  let before = 0;
  for (const { index, count } of all) {
    if (spans.length === 0 || index !== next) spans.push({ offset: index - next, length: 0 });
    spans.at(-1).length++;
    deltas.push(varint(zigzag(count - before)));
    before = count;
    next = index + 1;
  }
  return [
    ...spans.map((s) => bytes(11, integer(1, zigzag(s.offset)), integer(2, s.length))),
    bytes(12, ...deltas),
  ];
}

function histogram({ t, h }) {
  if (h === STALE) return bytes(4, fixed(3, STALE), integer(15, t));
  return bytes(4, integer(1, h.count), fixed(3, h.sum), integer(4, zigzag(h.schema)),
    fixed(5, h.zeroThreshold), integer(6, h.zeroCount), ...buckets(h.buckets), integer(15, t));
}

function timeSeries({ labels, samples }) {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return bytes(1, ...sorted.map(label), ...samples.map((s) => ('h' in s ? histogram(s) : sample(s))));
}

/** Snappy's block format without any compression. */
function snappy(body) {
  const head = Buffer.alloc(5);
  head[0] = 0xfc; // a literal whose length has four bytes
  head.writeUInt32LE(body.length - 1, 1);
  return Buffer.concat([varint(body.length), head, body]);
}

export async function remoteWrite(port, series) {
  for (let i = 0; i < series.length; i += SERIES_PER_REQUEST) {
    const body = snappy(Buffer.concat(series.slice(i, i + SERIES_PER_REQUEST).map(timeSeries)));
    const answer = await request(port, '/api/v1/write', {
      method: 'POST', body,
      headers: { 'content-encoding': 'snappy', 'content-type': 'application/x-protobuf' },
    });
    if (answer.status !== 204) throw new Error(`remote write: ${answer.status} ${answer.body}`);
  }
}
