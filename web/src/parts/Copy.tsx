// SPDX-License-Identifier: Apache-2.0
/** A text to be copied; shown as well, as not every page may write to the clipboard. */
import { useState } from 'preact/hooks';
import { t } from '../state/language';

export function Copy({ text, name, note }: { text: string; name: string; note?: string }) {
  const [state, setState] = useState<'' | 'shown' | 'copied'>('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      setState('shown');
    }
  };
  return (
    <span class="copy">
      <button type="button" title={note} onClick={copy}>{name}</button>
      {state && <span class="copy-text"><span role="status">{state === 'copied' ? t('action.copied') : ''}</span><pre>{text}</pre><button type="button" onClick={() => setState('')}>{t('action.close')}</button></span>}
    </span>
  );
}
