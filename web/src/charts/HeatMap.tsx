// SPDX-License-Identifier: Apache-2.0
import { useMemo } from 'preact/hooks';
import type { HistogramCurve } from '../api/prom';
import { show, type Unit } from '../format/units';
import type { Range } from '../state/range';
import { Chart } from './Chart';
import type { Colors } from './colors';
import { cellsOf, heatOption } from './heat';

export function HeatMap({ title, curves, unit, range, height = 200 }: { title: string; curves: HistogramCurve[]; unit: Unit; range: Range; height?: number }) {
  const cells = useMemo(() => cellsOf(curves, range.step), [curves]);
  const option = useMemo(() => (c: Colors) => heatOption(cells, unit, range.start, range.end, range.step, c), [cells]);
  const total = cells.reduce((sum, x) => sum + x[3], 0);
  return <Chart option={option} label={`${title}: ${show(Math.round(total), 'requests')}`} height={height} isLinked={false} />;
}
