// SPDX-License-Identifier: Apache-2.0
/**
 * Where the reader is, as it stands behind the # of the address: #/requests/ID?range=1h&model=m. Everything that
 * makes a view is in it, so that any address can be sent to somebody.
 */
import { Store, useStore } from './store';

export interface Route {
  page: string;
  id: string | null;
  params: Readonly<Record<string, string>>;
}

/** What stays when the reader goes to another page. */
const KEPT = ['range', 'from', 'to', 'refresh', 'model', 'upstream'];

export function parseRoute(hash: string): Route {
  const [path, query = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [page, id] = path.split('/', 2);
  return {
    page: page || 'overview',
    id: id ? safeDecode(id) : null,
    params: Object.fromEntries(new URLSearchParams(query)),
  };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function formatRoute({ page, id, params }: Route): string {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== '')).toString();
  return `#/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}${query && `?${query}`}`;
}

const store = new Store<Route>(parseRoute(location.hash));
addEventListener('hashchange', () => store.set(parseRoute(location.hash)));

export const useRoute = (): Route => useStore(store);
export const currentRoute = (): Route => store.get();
export const followRoute = (told: () => void): (() => void) => store.follow(told);

/** Parameters with an empty text go. Not a step back in the browser's history unless it is told. */
export function setParams(changes: Record<string, string>, { isStep = false } = {}): void {
  const { page, id, params } = store.get();
  const href = formatRoute({ page, id, params: { ...params, ...changes } });
  if (isStep) history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  store.set(parseRoute(location.hash));
}

/** An address of a page, with what stays and what is given. */
export function linkTo(page: string, more: Record<string, string> = {}, id: string | null = null): string {
  const { params } = store.get();
  const kept = Object.fromEntries(KEPT.filter((k) => params[k]).map((k) => [k, params[k]]));
  return formatRoute({ page, id, params: { ...kept, ...more } });
}
