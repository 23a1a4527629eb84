// SPDX-License-Identifier: Apache-2.0
/** What each figure means, asked for once: the gateway's table of definitions, in both languages. */
import { getJson } from '../api/http';
import { language } from '../state/language';
import { Store, useStore } from '../state/store';

interface Definition {
  name: string;
  en: string;
  zh: string;
}

const table = new Store<ReadonlyMap<string, Definition>>(new Map());
let isAsked = false;

async function load(): Promise<void> {
  isAsked = true;
  try {
    const { data } = await getJson<{ data: Definition[] }>('/api/v1/definitions');
    table.set(new Map(data.map((d) => [d.name, d])));
  } catch {
    isAsked = false; // pages are whole without it; asked for again with the next one
  }
}

export function useDefinition(name: string): string | undefined {
  if (!isAsked) void load();
  const found = useStore(table).get(name);
  return found && (language() === 'zh-CN' ? found.zh : found.en);
}
