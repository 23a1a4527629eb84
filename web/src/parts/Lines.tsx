// SPDX-License-Identifier: Apache-2.0
/** A panel with lines over the page's range. */
import type { ComponentChildren } from 'preact';
import { LineChart } from '../charts/LineChart';
import type { Line, Mark } from '../charts/lines';
import { useAskRange } from '../data/ask';
import { show, type Unit } from '../format/units';
import { useMemo } from 'preact/hooks';
import { t } from '../state/language';
import { seconds, useRange, windowOf, type Range } from '../state/range';
import { Panel } from './Panel';

export interface Drawn {
  lines: Line[];
  range: Range;
  marks?: Mark[];
  threshold?: { value: number; text: string };
}
interface Props {
  title: string;
  term?: string;
  unit: Unit;
  askKey: string;
  load: (r: Range, signal: AbortSignal) => Promise<Line[] | Omit<Drawn, 'range'>>;
  aside?: ComponentChildren;
  empty?: ComponentChildren;
  height?: number;
  max?: number;
  isRate?: boolean; // points are means of a window, which is told
}

function Picture({ title, unit, drawn, height, max }: { title: string; unit: Unit; drawn: Drawn; height?: number; max?: number }) {
  const { lines, marks, threshold, range } = drawn;
  const picture = useMemo(() => ({ lines, unit, marks, threshold, max, start: range.start, end: range.end, step: range.step }), [drawn, unit]);
  return <LineChart title={title} picture={picture} height={height} />;
}

export function LinesPanel({ title, term, unit, askKey, load, aside, empty, height, max, isRate }: Props) {
  const window = seconds(windowOf(useRange()));
  const asked = useAskRange<Drawn>(askKey, async (range, signal) => {
    const got = await load(range, signal);
    return Array.isArray(got) ? { lines: got, range } : { ...got, range };
  });
  return (
    <Panel title={title} term={term} of={asked} isEmpty={(d) => d.lines.length === 0} empty={empty} aside={isRate ? <small>{t('chart.mean', { length: show(window, 'seconds') })}</small> : aside}>
      {(drawn) => <Picture title={title} unit={unit} drawn={drawn} height={height} max={max} />}
    </Panel>
  );
}
