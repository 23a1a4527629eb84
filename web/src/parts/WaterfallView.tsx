// SPDX-License-Identifier: Apache-2.0
/** The waterfall: a bar per stage on one axis, the engine's own beneath, a tick for each arrival of tokens. */
import type { RequestRow } from '../api/requests';
import { waterfall, type Span, type Tick, type Waterfall } from '../data/waterfall';
import { show } from '../format/units';
import { t, tMaybe } from '../state/language';
import { PanelHead } from './Panel';
import { Term } from './Term';

const LEAST_PERCENT = 0.15; // so that what is short is still seen

function place(w: Waterfall, from: number, to: number): { left: string; width: string } {
  const whole = w.end - w.start;
  return { left: `${((from - w.start) / whole) * 100}%`, width: `${Math.max(LEAST_PERCENT, ((to - from) / whole) * 100)}%` };
}

const share = (part: number): string => (part > 0 && part < 0.001 ? '< 0.1 %' : `${(part * 100).toFixed(1)} %`);

function Bars({ w, spans, side }: { w: Waterfall; spans: Span[]; side: 'gateway' | 'engine' }) {
  const whole = w.end - w.start;
  const name = (s: Span): string => (side === 'engine' ? (s.name === 'unattributed' ? t('requests.unattributed') : tMaybe(`engine.${s.name}`, s.name)) : tMaybe(`part.${s.name}`, s.name));
  const term = (s: Span): string => (side === 'engine' ? `engine_${s.name}_ms` : `stage_${s.name}_ms`);
  return (
    <ul class="bars">
      {spans.map((s) => (
        <li key={s.name}>
          <span class="bar-name"><Term of={term(s)}>{name(s)}</Term></span>
          <span class="lane"><span class={`span span-${s.name} side-${side}`} style={place(w, s.from, s.to)} /></span>
          <span class="number">{show(s.to - s.from, 'ms')}</span>
          <span class="number share">{share((s.to - s.from) / whole)}</span>
        </li>
      ))}
    </ul>
  );
}

function Ticks({ w, ticks }: { w: Waterfall; ticks: Tick[] }) {
  const whole = w.end - w.start;
  const words = t('requests.ticks', { n: ticks.length, first: show(ticks[0].at, 'ms'), last: show(ticks[ticks.length - 1].at, 'ms') });
  return (
    <ul class="bars">
      <li>
        <span class="bar-name">{t('requests.tokens')}</span>
        <span class="lane">
          <svg class="ticks" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label={words}>
            {ticks.map((x, i) => {
              const at = ((x.at - w.start) / whole) * 1000;
              return <line key={i} x1={at} x2={at} y1="2" y2="18" vector-effect="non-scaling-stroke"><title>{`${show(x.at, 'ms')}: ${x.events}`}</title></line>;
            })}
          </svg>
        </span>
        <span class="number">{ticks.length}</span>
        <span class="number share" />
      </li>
    </ul>
  );
}

export function WaterfallView({ row }: { row: RequestRow }) {
  const w = waterfall(row);
  return (
    <section class="panel waterfall" aria-label={t('requests.waterfall')}>
      <PanelHead title={t('requests.waterfall')} aside={<span>{`0 – ${show(w.end - w.start, 'ms')}`}</span>} />
      <h3>{t('requests.gatewaySide')}</h3>
      <Bars w={w} spans={w.stages} side="gateway" />
      {w.ticks.length > 0 ? <Ticks w={w} ticks={w.ticks} /> : row.is_stream && <p><small>{t('requests.noTimeline')}</small></p>}
      <h3>{t('requests.engineSide')}</h3>
      {w.engine.length > 0 ? <Bars w={w} spans={w.engine} side="engine" /> : <p><small>{t('requests.noEngine')}</small></p>}
    </section>
  );
}
