// SPDX-License-Identifier: Apache-2.0
/**
 * A canvas of ECharts. All charts of a page are one group: the pointer in one is in all of them, and the time that is
 * drawn over with the mouse becomes the page's range (in the address), which zooms every chart.
 */
import { useEffect, useRef } from 'preact/hooks';
import type { EChartsCoreOption } from 'echarts/core';
import { setFixed } from '../state/range';
import { useIsDark } from '../state/theme';
import { useLanguage } from '../state/language';
import { colors, type Colors } from './colors';
import type { ECharts } from './lib';

const GROUP = 'page';
const MIN_ZOOM_S = 10;

interface Props {
  /** Another option when this is another object. */
  option: (c: Colors) => EChartsCoreOption;
  label: string; // what is seen, in words
  height?: number;
  isZoomable?: boolean; // its x axis is time, in ms
  isLinked?: boolean;
  onPointer?: (atMs: number | null) => void;
  onClick?: (params: { data: unknown; seriesId?: string }) => void;
}

/** Drawing over a time chooses it. */
function listenToZoom(chart: ECharts): void {
  chart.on('datazoom', (event) => {
    const { batch } = event as { batch?: { startValue?: number; endValue?: number }[] };
    const { startValue, endValue } = batch?.[0] ?? {};
    if (startValue === undefined || endValue === undefined) return;
    if (endValue - startValue < MIN_ZOOM_S * 1000) return;
    setFixed(startValue / 1000, endValue / 1000);
  });
}

function armZoom(chart: ECharts): void {
  chart.dispatchAction({ type: 'takeGlobalCursor', key: 'dataZoomSelect', dataZoomSelectActive: true });
}

export function Chart({ option, label, height = 200, isZoomable = true, isLinked = true, onPointer, onClick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<ECharts | null>(null);
  const isDark = useIsDark();
  const lang = useLanguage();
  const latest = useRef(option);
  latest.current = option;
  const heard = useRef({ onPointer, onClick });
  heard.current = { onPointer, onClick };

  const draw = () => {
    if (!chart.current) return;
    chart.current.setOption(latest.current(colors(isDark)), { notMerge: true, lazyUpdate: true });
    if (isZoomable) armZoom(chart.current);
  };
  const redraw = useRef(draw);
  redraw.current = draw;

  useEffect(() => {
    let isGone = false;
    const watcher = new ResizeObserver(() => chart.current?.resize());
    import('./lib').then(({ init, connect }) => {
      if (isGone || !box.current) return;
      const made = init(box.current, undefined, { renderer: 'canvas' });
      chart.current = made;
      if (isLinked) {
        made.group = GROUP;
        connect(GROUP);
      }
      if (isZoomable) listenToZoom(made);
      made.on('updateAxisPointer', (event) => {
        const axes = (event as { axesInfo?: { axisDim: string; value: number }[] }).axesInfo;
        heard.current.onPointer?.(axes?.find((a) => a.axisDim === 'x')?.value ?? null);
      });
      made.on('globalout', () => heard.current.onPointer?.(null));
      made.on('click', (p) => heard.current.onClick?.(p as { data: unknown; seriesId?: string }));
      redraw.current();
      watcher.observe(box.current);
      box.current.dataset.drawn = 'true';
    });
    return () => {
      isGone = true;
      watcher.disconnect();
      chart.current?.dispose();
      chart.current = null;
    };
  }, []);

  useEffect(draw, [option, isDark, lang]);

  return <div ref={box} class="chart" style={{ height: `${height}px` }} role="img" aria-label={label} />;
}
