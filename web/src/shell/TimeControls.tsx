// SPDX-License-Identifier: Apache-2.0
/** Which time is looked at, and how often it is asked for again. */
import { useState } from 'preact/hooks';
import { dayClock } from '../format/time';
import { t } from '../state/language';
import { LENGTHS, lengthOf, rangeOf, setFixed, setLength } from '../state/range';
import { moment, REFRESHES, refreshNow, refreshOf } from '../state/refresh';
import { setParams, useRoute } from '../state/route';

/** As an input of type datetime-local wants it. */
function localTime(seconds: number): string {
  const d = new Date(seconds * 1000);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

function Between({ onDone }: { onDone: () => void }) {
  const { params } = useRoute();
  const { start, end } = rangeOf(params, moment());
  const [from, setFrom] = useState(localTime(start));
  const [to, setTo] = useState(localTime(end));
  const isRight = Date.parse(to) > Date.parse(from);
  const submit = (e: Event) => {
    e.preventDefault();
    if (!isRight) return;
    setFixed(Date.parse(from) / 1000, Date.parse(to) / 1000);
    onDone();
  };
  return (
    <form class="between" onSubmit={submit}>
      <label>{t('range.from')} <input type="datetime-local" value={from} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
      <label>{t('range.to')} <input type="datetime-local" value={to} onInput={(e) => setTo(e.currentTarget.value)} /></label>
      <button type="submit" disabled={!isRight}>{t('range.look')}</button>
      <button type="button" class="quiet" onClick={onDone}>{t('action.cancel')}</button>
    </form>
  );
}

export function RangeControl() {
  const { params } = useRoute();
  const [isOpen, setOpen] = useState(false);
  const { start, end, isLive } = rangeOf(params, moment());
  if (isOpen) return <Between onDone={() => setOpen(false)} />;
  const choose = (value: string) => (value === 'between' ? setOpen(true) : value !== 'fixed' && setLength(value));
  const length = lengthOf(params);
  const known = (LENGTHS as readonly string[]).includes(length) ? [...LENGTHS] : [length, ...LENGTHS];
  return (
    <>
      <select aria-label={t('range.label')} value={isLive ? length : 'fixed'} onChange={(e) => choose(e.currentTarget.value)}>
        {!isLive && <option value="fixed">{`${dayClock(start)} – ${dayClock(end)}`}</option>}
        {known.map((l) => <option key={l} value={l}>{t('range.last', { length: l })}</option>)}
        <option value="between">{t('range.between')}</option>
      </select>
      {!isLive && <button type="button" onClick={() => setLength(length)}>{t('range.live')}</button>}
    </>
  );
}

export function RefreshControl() {
  const { params } = useRoute();
  return (
    <>
      <select aria-label={t('refresh.label')} value={refreshOf(params)} onChange={(e) => setParams({ refresh: e.currentTarget.value })}>
        {REFRESHES.map((r) => <option key={r} value={r}>{r === 'live' ? t('refresh.live') : r === 'off' ? t('refresh.off') : t('refresh.every', { length: r })}</option>)}
      </select>
      <button type="button" class="quiet" aria-label={t('refresh.now')} title={t('refresh.now')} onClick={refreshNow}>↻</button>
    </>
  );
}
