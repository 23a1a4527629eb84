// SPDX-License-Identifier: Apache-2.0
/**
 * When a curve left what it usually is. Pure.
 *
 * Usual is the median of the points before the range (as long as the range), or of the first half of the range where
 * there are none; it is left where RUN points one after the other lie more than SPREADS spreads and MARGIN of the
 * median above it. The first of them is the moment.
 */
export interface Departure {
  at: number; // s
  usual: number;
  value: number; // the highest of the run's points
}
type Point = [number, number];

const RUN = 3;
const SPREADS = 4;
const MARGIN = 0.3;
const ENOUGH = 8;
const MAD_TO_SPREAD = 1.4826;

function median(values: number[]): number {
  const v = [...values].sort((a, b) => a - b);
  const m = v.length >> 1;
  return v.length % 2 ? v[m] : (v[m - 1] + v[m]) / 2;
}

export function departure(points: Point[], start: number, floor = 0): Departure | null {
  const inside = points.filter(([at]) => at >= start);
  let before = points.filter(([at]) => at < start);
  if (before.length < ENOUGH) before = inside.slice(0, Math.floor(inside.length / 2));
  if (before.length < ENOUGH) return null;
  const usual = median(before.map(([, v]) => v));
  const spread = MAD_TO_SPREAD * median(before.map(([, v]) => Math.abs(v - usual)));
  const limit = usual + Math.max(SPREADS * spread, MARGIN * usual, floor);
  let run = 0;
  for (let i = 0; i < inside.length; i++) {
    run = inside[i][1] > limit ? run + 1 : 0;
    if (run === RUN) {
      const first = i - RUN + 1;
      let last = i;
      while (last + 1 < inside.length && inside[last + 1][1] > limit) last++;
      return { at: inside[first][0], usual, value: Math.max(...inside.slice(first, last + 1).map(([, v]) => v)) };
    }
  }
  return null;
}
