// SPDX-License-Identifier: Apache-2.0
/** Which language. The server chooses first (the page's lang); a choice of the reader's is kept in a cookie. */
import { en } from '../words/en';
import { zh } from '../words/zh';
import { Store, useStore } from './store';

export type Language = 'en' | 'zh-CN';
export type Word = keyof typeof en;

const tables: Record<Language, Record<Word, string>> = { en, 'zh-CN': zh };
const YEAR_S = 365 * 86400;

const chosen = /(?:^|; )inferometer_lang=(en|zh-CN)(?:;|$)/.exec(document.cookie)?.[1] as Language | undefined;
const store = new Store<Language>(chosen ?? (document.documentElement.lang.startsWith('zh') ? 'zh-CN' : 'en'));

export const language = (): Language => store.get();
export const useLanguage = (): Language => useStore(store);

export function setLanguage(l: Language): void {
  document.cookie = `inferometer_lang=${l}; Path=/; Max-Age=${YEAR_S}; SameSite=Strict`;
  document.documentElement.lang = l;
  store.set(l);
}

/** The words of a key; {name} is replaced by the value of that name. */
export function t(key: Word, values: Record<string, string | number> = {}): string {
  return tables[store.get()][key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}

/** Of a key that is made of what the server says, like outcome.ok; the text itself where there is no such key. */
export function tMaybe(key: string, otherwise: string): string {
  return (tables[store.get()] as Record<string, string>)[key] ?? otherwise;
}
