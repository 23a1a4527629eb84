// SPDX-License-Identifier: Apache-2.0
/** A silence for alerts with these labels. Who and why are asked for, as others will wonder. */
import { useState } from 'preact/hooks';
import { addSilence, type Matcher } from '../api/alerts';
import type { Labels } from '../api/prom';
import { t } from '../state/language';
import { seconds } from '../state/range';
import { refreshNow } from '../state/refresh';
import { Choice } from './Choice';
import { useAuthor } from './Author';

const LENGTHS = ['30m', '2h', '8h', '1d', '7d'] as const;

export function SilenceForm({ labels, onDone }: { labels: Labels; onDone: () => void }) {
  const [length, setLength] = useState<string>('2h');
  const [comment, setComment] = useState('');
  const [error, setError] = useState('');
  const [author, authorField] = useAuthor();
  const matchers: Matcher[] = Object.entries(labels).map(([name, value]) => ({ name, value, isRegex: false, isEqual: true }));
  const submit = async (e: Event) => {
    e.preventDefault();
    const now = Date.now();
    try {
      await addSilence({ matchers, startsAt: new Date(now).toISOString(), endsAt: new Date(now + seconds(length) * 1000).toISOString(), createdBy: author, comment });
      refreshNow();
      onDone();
    } catch (cause) {
      setError((cause as Error).message);
    }
  };
  return (
    <form class="act" onSubmit={submit}>
      <p>{t('alerts.matchers')} <code>{matchers.map((m) => `${m.name}=${m.value}`).join(', ')}</code></p>
      <Choice label={t('alerts.length')} value={length} options={LENGTHS.map((l) => [l, l])} onChoose={setLength} />
      {authorField}
      <label>{t('alerts.comment')} <input required value={comment} onInput={(e) => setComment(e.currentTarget.value)} /></label>
      <button type="submit">{t('alerts.makeSilence')}</button>
      <button type="button" class="quiet" onClick={onDone}>{t('action.cancel')}</button>
      {error && <p class="state-error" role="alert">{error}</p>}
    </form>
  );
}
