// SPDX-License-Identifier: Apache-2.0
/** Lines over time, as an option of ECharts. Pure. */
import type { EChartsCoreOption } from 'echarts/core';
import { axisTime } from '../format/time';
import { show, type Unit } from '../format/units';
import type { Colors } from './colors';

export interface Line {
  name: string;
  points: [number, number][]; // seconds, value
  isDashed?: boolean;
  isArea?: boolean; // stacked with the other areas
  term?: string; // of the table of definitions
  color?: number; // of the palette; else in order
}
export interface Mark {
  at: number; // seconds
  text: string;
}
export interface Picture {
  lines: Line[];
  unit: Unit;
  start: number;
  end: number;
  step: number;
  marks?: Mark[];
  threshold?: { value: number; text: string };
  max?: number; // of the axis
}

/** No line over a time that has no points. */
function withGaps(points: [number, number][], step: number): [number, number | null][] {
  const all: [number, number | null][] = [];
  for (const [i, [at, v]] of points.entries()) {
    if (i > 0 && at - points[i - 1][0] > step * 1.5) all.push([(points[i - 1][0] + step) * 1000, null]);
    all.push([at * 1000, v]);
  }
  return all;
}

export const colorOf = (line: Line, i: number, c: Colors): string => c.series[(line.color ?? i) % c.series.length];

/** Ticks that people can read: quarters of a whole, powers of two of bytes, whole requests. */
function ticks(unit: Unit, highest: number, max?: number): { interval?: number; minInterval?: number; max?: number } {
  if (max === 1) return { interval: unit === 'ratio' ? 0.25 : 1 };
  if (unit === 'bytes' && highest > 0) {
    const interval = 2 ** Math.ceil(Math.log2(highest / 3));
    return { interval, max: Math.ceil(highest / interval) * interval };
  }
  return ['requests', 'tokens', 'count'].includes(unit) ? { minInterval: 1 } : {};
}

/** No tooltip: the legend has the values under the pointer. */
export function axes(unit: Unit, start: number, end: number, c: Colors) {
  const text = { color: c.dim, fontSize: 11 };
  return {
    xAxis: {
      type: 'time', min: start * 1000, max: end * 1000, axisLine: { lineStyle: { color: c.line } }, splitLine: { show: false },
      axisLabel: { ...text, hideOverlap: true, formatter: (ms: number) => axisTime(ms / 1000, end - start) },
      axisPointer: { show: true, type: 'line', label: { show: true, formatter: ({ value }: { value: number }) => axisTime(value / 1000, Math.min(end - start, 1800)) } },
    },
    yAxis: {
      type: 'value', min: 0, splitNumber: 3, axisLabel: { ...text, formatter: (v: number) => show(v, unit) },
      splitLine: { lineStyle: { color: c.line } },
    },
    // The same in every chart, so that moments stand above one another.
    grid: { left: 76, right: 26, top: 12, bottom: 22, outerBoundsMode: 'none' },
    animation: false,
    toolbox: { show: true, itemSize: 0, right: -40, feature: { dataZoom: { yAxisIndex: 'none', filterMode: 'none', icon: { zoom: 'path://', back: 'path://' }, title: { zoom: '', back: '' } } } },
  };
}

function markLines({ marks = [], threshold }: Picture, c: Colors) {
  const label = { color: c.text, fontSize: 11, backgroundColor: c.back, padding: 2 };
  return {
    symbol: 'none', silent: true, animation: false,
    data: [
      ...marks.map((m) => ({ xAxis: m.at * 1000, label: { ...label, formatter: m.text, position: 'insideEndTop' }, lineStyle: { color: c.mark, type: 'dashed', width: 1.5 } })),
      ...(threshold ? [{ yAxis: threshold.value, label: { ...label, formatter: threshold.text, position: 'insideStartTop' }, lineStyle: { color: c.mark, type: 'solid', width: 1 } }] : []),
    ],
  };
}

export function lineOption(p: Picture, c: Colors): EChartsCoreOption {
  const isFew = p.lines.every((l) => l.points.length < 3);
  const base = axes(p.unit, p.start, p.end, c);
  const top = Math.max(0, p.threshold?.value ?? 0);
  const values = p.lines.flatMap((l) => l.points.map(([, v]) => v));
  const isBelow = values.some((v) => v < 0);
  const highest = values.reduce((a, b) => Math.max(a, b), 0);
  const marked = p.max ?? ((v: { max: number }) => (top > v.max ? top * 1.1 : null));
  const yAxis = { ...base.yAxis, max: marked, ...(isBelow ? { min: null } : ticks(p.unit, highest, p.max)) };
  return {
    ...base,
    yAxis,
    series: p.lines.map((l, i) => ({
      type: 'line', id: l.name, name: l.name, data: withGaps(l.points, p.step), showSymbol: isFew, symbolSize: 4, connectNulls: false,
      lineStyle: { width: 1.6, type: l.isDashed ? 'dashed' : 'solid' }, color: colorOf(l, i, c),
      ...(l.isArea ? { stack: 'all', areaStyle: { opacity: 0.35 } } : {}),
      ...(i === 0 ? { markLine: markLines(p, c) } : {}),
    })),
  };
}
