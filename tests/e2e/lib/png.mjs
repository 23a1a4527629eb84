// SPDX-License-Identifier: Apache-2.0
// Screenshots for a repository: the same picture with its 256 most frequent colours, in a third of the bytes.
import { deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE_BYTES = 8;
const COLOURS = 256;

function chunksOf(png) {
  const chunks = [];
  for (let at = SIGNATURE_BYTES; at < png.length;) {
    const length = png.readUInt32BE(at);
    chunks.push([png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length)]);
    at += length + 12;
  }
  return chunks;
}

function nearer(a, b, c) { // Paeth's filter
  const p = a + b - c;
  const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}
const FILTERS = [() => 0, (a) => a, (_, b) => b, (a, b) => (a + b) >> 1, nearer];

/** Three bytes a dot, of a picture with 8 bits for each of three colours, which is what browsers write. */
function dotsOf(png) {
  const chunks = chunksOf(png);
  const header = chunks[0][1];
  if (header[8] !== 8 || header[9] !== 2) throw new Error('a picture of another kind');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const raw = inflateSync(Buffer.concat(chunks.filter(([name]) => name === 'IDAT').map(([, bytes]) => bytes)));
  const row = width * 3;
  const dots = Buffer.alloc(row * height);
  for (let y = 0, at = 0; y < height; y++) {
    const filter = FILTERS[raw[at++]];
    for (let x = 0; x < row; x++, at++) {
      const i = y * row + x;
      const [left, above] = [x >= 3, y > 0];
      dots[i] = raw[at] + filter(left ? dots[i - 3] : 0, above ? dots[i - row] : 0, left && above ? dots[i - row - 3] : 0);
    }
  }
  return { width, height, dots };
}

const CRCS = Int32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function chunk(name, bytes) {
  const text = Buffer.concat([Buffer.from(name, 'latin1'), bytes]);
  const framed = Buffer.alloc(text.length + 8);
  framed.writeUInt32BE(bytes.length, 0);
  text.copy(framed, 4);
  framed.writeInt32BE(~text.reduce((crc, byte) => CRCS[(crc ^ byte) & 255] ^ (crc >>> 8), -1), text.length + 4);
  return framed;
}

const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];

function paletteOf(counts) {
  const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COLOURS).map(([colour]) => colour);
  const distance = (a, b) => parts(a).reduce((sum, v, i) => sum + (v - parts(b)[i]) ** 2, 0);
  const nearest = (colour) => kept.reduce((best, other, i) => (distance(colour, other) < distance(colour, kept[best]) ? i : best), 0);
  return { kept, indexOf: new Map([...counts.keys()].map((colour) => [colour, nearest(colour)])) };
}

export function smaller(png) {
  const { width, height, dots } = dotsOf(png);
  const colourAt = (i) => (dots[i] << 16) | (dots[i + 1] << 8) | dots[i + 2];
  const counts = new Map();
  for (let i = 0; i < dots.length; i += 3) counts.set(colourAt(i), (counts.get(colourAt(i)) ?? 0) + 1);
  const { kept, indexOf } = paletteOf(counts);
  const rows = Buffer.alloc((width + 1) * height); // each with filter 0
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf.get(colourAt((y * width + x) * 3));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([png.subarray(0, SIGNATURE_BYTES), chunk('IHDR', header), chunk('PLTE', Buffer.from(kept.flatMap(parts))),
    chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
