// SPDX-License-Identifier: Apache-2.0
/** The reader's name for what is written down; remembered in this browser. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../state/language';

const KEY = 'inferometer.author';

export function useAuthor(): [string, VNode] {
  const [author, setAuthor] = useState(localStorage.getItem(KEY) ?? '');
  const set = (name: string) => {
    localStorage.setItem(KEY, name);
    setAuthor(name);
  };
  return [author, <label>{t('alerts.author')} <input required maxLength={64} value={author} onInput={(e) => set(e.currentTarget.value)} /></label>];
}
