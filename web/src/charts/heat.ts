// SPDX-License-Identifier: Apache-2.0
/** Heat maps of histograms over time: many buckets become rows that can be seen, on a logarithmic axis. Pure. */
import type { EChartsCoreOption } from 'echarts/core';
import { show, type Unit } from '../format/units';
import { clock } from '../format/time';
import type { HistogramCurve } from '../api/prom';
import { axes } from './lines';
import type { Colors } from './colors';

/** [start of the cell in ms, lower, upper, count] */
export type Cell = [number, number, number, number];

const ROWS_PER_DOUBLING = 4;
const rowOf = (v: number): number => Math.floor(Math.log2(Math.max(v, 1e-6)) * ROWS_PER_DOUBLING + 1e-9);
const boundOf = (row: number): number => 2 ** (row / ROWS_PER_DOUBLING);

/** Points at the end of their steps, as increase() gives them. */
export function cellsOf(curves: HistogramCurve[], step: number): Cell[] {
  const cells = new Map<string, Cell>();
  for (const { points } of curves)
    for (const { at, buckets } of points)
      for (const [lower, upper, n] of buckets) {
        if (n <= 0) continue;
        const row = rowOf(lower > 0 ? Math.sqrt(lower * upper) : upper);
        const key = `${at} ${row}`;
        const cell = cells.get(key);
        if (cell) cell[3] += n;
        else cells.set(key, [(at - step) * 1000, boundOf(row), boundOf(row + 1), n]);
      }
  return [...cells.values()];
}

interface Api {
  value: (dimension: number) => number;
  coord: (point: [number, number]) => [number, number];
}

export function heatOption(cells: Cell[], unit: Unit, start: number, end: number, step: number, c: Colors): EChartsCoreOption {
  const base = axes(unit, start, end, c);
  const most = Math.max(1, ...cells.map((x) => x[3]));
  const lowest = Math.min(...cells.map((x) => x[1]));
  const highest = Math.max(...cells.map((x) => x[2]));
  const colorOf = (n: number): string => c.heat[Math.min(c.heat.length - 1, Math.floor((Math.log1p(n) / Math.log1p(most)) * c.heat.length))];
  return {
    ...base,
    yAxis: { ...base.yAxis, type: 'log', logBase: 2, min: lowest, max: highest, splitNumber: 4 },
    tooltip: {
      trigger: 'item', renderMode: 'richText', confine: true, backgroundColor: c.back, borderColor: c.line, textStyle: { color: c.text, fontSize: 12 },
      formatter: ({ data }: { data: Cell }) => `${clock(data[0] / 1000)}\n${show(data[1], unit)} – ${show(data[2], unit)}\n${show(Math.round(data[3]), 'requests')}`,
    },
    series: [{
      type: 'custom', id: 'heat', data: cells, encode: { x: 0, y: [1, 2] }, clip: true,
      renderItem: (_: unknown, api: Api) => {
        const [x0, y0] = api.coord([api.value(0), api.value(1)]);
        const [x1, y1] = api.coord([api.value(0) + step * 1000, api.value(2)]);
        return { type: 'rect', shape: { x: x0, y: y1, width: Math.max(1, x1 - x0 - 0.5), height: Math.max(1, y0 - y1 - 0.5) }, style: { fill: colorOf(api.value(3)) } };
      },
    }],
  };
}
