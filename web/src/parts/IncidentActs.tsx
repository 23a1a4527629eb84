// SPDX-License-Identifier: Apache-2.0
/** What people know of an incident, and say of it. */
import { useState } from 'preact/hooks';
import { acknowledge, addNote, markNoise, type Incident } from '../api/incidents';
import { useMayChange } from '../api/session';
import { fullTime, toSeconds } from '../format/time';
import { t, tMaybe } from '../state/language';
import { useAuthor } from './Author';
import { PanelHead } from './Panel';

function Form({ i, again }: { i: Incident; again: () => void }) {
  const [author, authorField] = useAuthor();
  const [text, setText] = useState('');
  const [error, setError] = useState('');
  const act = async (what: () => Promise<unknown>) => {
    try {
      await what();
      setError('');
      again();
    } catch (cause) {
      setError((cause as Error).message);
    }
  };
  const submit = (e: Event) => {
    e.preventDefault();
    void act(async () => {
      await addNote(i.id, author, text);
      setText('');
    });
  };
  return (
    <form class="act" onSubmit={submit}>
      {authorField}
      <label class="note">{t('incident.note')} <textarea required rows={2} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
      <button type="submit">{t('incident.addNote')}</button>
      <button type="button" disabled={!author} onClick={() => void act(() => acknowledge(i.id, author))}>{t('incident.ack')}</button>
      <button type="button" disabled={!author} onClick={() => void act(() => markNoise(i.id, author))}>{t('incident.noise')}</button>
      {error && <p class="state-error" role="alert">{error}</p>}
    </form>
  );
}

export function IncidentActs({ i, again }: { i: Incident; again: () => void }) {
  const mayChange = useMayChange();
  const all = [...i.notes, ...i.marks].sort((a, b) => a.at.localeCompare(b.at));
  return (
    <section class="panel" aria-label={t('incident.notes')}>
      <PanelHead title={t('incident.notes')} />
      {all.length === 0 && <p><small>{t('incident.noNotes')}</small></p>}
      <ul class="list">
        {all.map((n, k) => <li key={k}><small>{fullTime(toSeconds(n.at)!)} {n.author}:</small> {n.text ?? `${tMaybe(`act.${n.act}`, n.act ?? '')} ${n.alert ?? ''}`}</li>)}
      </ul>
      {mayChange ? <Form i={i} again={again} /> : <p><small>{t('shell.readOnlyWhy')}</small></p>}
    </section>
  );
}
