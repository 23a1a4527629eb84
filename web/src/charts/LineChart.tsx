// SPDX-License-Identifier: Apache-2.0
/** Lines with their legend, which tells the values under the pointer, else the last ones. */
import { useMemo, useState } from 'preact/hooks';
import { clock } from '../format/time';
import { show } from '../format/units';
import { useDefinition } from '../data/definitions';
import { t } from '../state/language';
import { useIsDark } from '../state/theme';
import { Chart } from './Chart';
import { colors } from './colors';
import { colorOf, lineOption, type Line, type Picture } from './lines';

interface Props {
  title: string;
  picture: Picture;
  height?: number;
}

/** What a line is, where that has a definition. */
function Name({ line }: { line: Line }) {
  return <span class="legend-name">{line.term ? <Defined of={line.term}>{line.name}</Defined> : line.name}</span>;
}

function Defined({ of, children }: { of: string; children: string }) {
  return <span title={useDefinition(of)} data-name={of} class="term">{children}</span>;
}

function valueAt(line: Line, at: number | null, step: number): number | null {
  if (at === null) return line.points[line.points.length - 1]?.[1] ?? null;
  const near = line.points.find(([s]) => Math.abs(s - at) <= step / 2);
  return near ? near[1] : null;
}

export function LineChart({ title, picture, height = 180 }: Props) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number | null>(null);
  const c = colors(useIsDark());
  const shown = useMemo(() => {
    const lines = picture.lines.map((l, i) => ({ ...l, color: l.color ?? i }));
    return { ...picture, lines: lines.filter((l) => !hidden.has(l.name)) };
  }, [picture, hidden]);
  const option = useMemo(() => (cs: typeof c) => lineOption(shown, cs), [shown]);
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const label = `${title}: ${picture.lines.map((l) => `${l.name} ${show(valueAt(l, null, picture.step), picture.unit)}`).join(', ')}`;
  return (
    <div class="line-chart">
      <Chart option={option} label={label} height={height} onPointer={(ms) => setAt(ms === null ? null : ms / 1000)} />
      <ul class="legend">
        {picture.lines.map((l, i) => (
          <li key={l.name}>
            <button type="button" aria-pressed={!hidden.has(l.name)} title={t('chart.toggle')} onClick={() => toggle(l.name)}>
              <svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="2" fill={colorOf(l, i, c)} /></svg>
              <Name line={l} />
              <b>{show(valueAt(l, at, picture.step), picture.unit)}</b>
            </button>
          </li>
        ))}
        <li class="legend-time">{at === null ? t('chart.last') : clock(at)}</li>
      </ul>
    </div>
  );
}
