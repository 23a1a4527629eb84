// SPDX-License-Identifier: Apache-2.0
/** One figure against another, a colour for each group. */
import { useMemo } from 'preact/hooks';
import type { EChartsCoreOption } from 'echarts/core';
import { show, type Unit } from '../format/units';
import { useIsDark } from '../state/theme';
import { Chart } from './Chart';
import { colors, type Colors } from './colors';

export interface Cloud {
  name: string;
  points: [number, number][];
}
interface Props {
  title: string;
  clouds: Cloud[];
  x: { name: string; unit: Unit };
  y: { name: string; unit: Unit };
  height?: number;
}

function scatterOption({ clouds, x, y }: Props, c: Colors): EChartsCoreOption {
  const axis = (a: { name: string; unit: Unit }) => ({
    type: 'value', min: 0, name: a.name, nameTextStyle: { color: c.dim }, splitNumber: 4, splitLine: { lineStyle: { color: c.line } },
    axisLabel: { color: c.dim, fontSize: 11, formatter: (v: number) => show(v, a.unit) },
  });
  return {
    animation: false,
    grid: { left: 8, right: 16, top: 26, bottom: 22, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    xAxis: { ...axis(x), nameLocation: 'middle', nameGap: 26 },
    yAxis: axis(y),
    tooltip: {
      trigger: 'item', renderMode: 'richText', confine: true, backgroundColor: c.back, borderColor: c.line, textStyle: { color: c.text, fontSize: 12 },
      formatter: (p: { seriesName: string; data: [number, number] }) => `${p.seriesName}\n${show(p.data[0], x.unit)}, ${show(p.data[1], y.unit)}`,
    },
    series: clouds.map((cloud, i) => ({ type: 'scatter', name: cloud.name, data: cloud.points, symbolSize: 5, color: c.series[i % c.series.length], itemStyle: { opacity: 0.6 } })),
  };
}

export function ScatterChart(props: Props) {
  const option = useMemo(() => (c: Colors) => scatterOption(props, c), [props.clouds]);
  const c = colors(useIsDark());
  return (
    <div>
      <Chart option={option} label={`${props.title}: ${props.clouds.map((x) => x.name).join(', ')}`} height={props.height ?? 240} isZoomable={false} isLinked={false} />
      <ul class="legend">
        {props.clouds.map((x, i) => (
          <li key={x.name}>
            <svg width="10" height="10" aria-hidden="true"><circle cx="5" cy="5" r="5" fill={c.series[i % c.series.length]} /></svg>
            <span class="legend-name">{x.name}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
