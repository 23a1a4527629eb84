// SPDX-License-Identifier: Apache-2.0
/**
 * When pages ask again. "live": when the gateway says that something changed, and every 10 s; or at an interval; or
 * never. Nothing is asked while the page is not seen.
 */
import { onEvent, type Topic } from '../api/events';
import { currentRoute, followRoute } from './route';
import { Store, useStore } from './store';

export type { Topic };
export const REFRESHES = ['live', '5s', '10s', '30s', '1m', 'off'] as const;
const LIVE_MS = 10_000;
const INTERVALS_MS: Record<string, number> = { '5s': 5000, '10s': LIVE_MS, '30s': 30_000, '1m': 60_000, live: LIVE_MS };
/** Events come at any rate; pages ask no more often than this. */
const TOPIC_MS = 2000;

const nowSeconds = (): number => Date.now() / 1000;
const tick = new Store(nowSeconds());
const topics: Record<Topic, Store<number>> = {
  requests: new Store(0), alerts: new Store(0), incidents: new Store(0), targets: new Store(0),
};

export const refreshOf = (params: Readonly<Record<string, string>>): string =>
  params.refresh && (REFRESHES as readonly string[]).includes(params.refresh) ? params.refresh : 'live';

/** The moment of the last refresh, in seconds. */
export const useMoment = (): number => useStore(tick);
export const moment = (): number => tick.get();
export const useTopic = (topic: Topic): number => useStore(topics[topic]);

const wishes = new Store(0);
/** How often the reader asked for a refresh: that is for everything, also for what would not ask yet. */
export const useWishes = (): number => useStore(wishes);

function ask(): void {
  tick.set(nowSeconds());
}

export function refreshNow(): void {
  wishes.set(wishes.get() + 1);
  ask();
}

let timer: ReturnType<typeof setInterval> | undefined;

function restart(): void {
  clearInterval(timer);
  const ms = INTERVALS_MS[refreshOf(currentRoute().params)];
  if (ms && !document.hidden) timer = setInterval(ask, ms);
}

function bump(topic: Topic): void {
  if (refreshOf(currentRoute().params) === 'live' && !document.hidden) topics[topic].set(topics[topic].get() + 1);
}

export function startRefreshing(): void {
  let last = refreshOf(currentRoute().params);
  followRoute(() => {
    const now = refreshOf(currentRoute().params);
    if (now !== last) restart();
    last = now;
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && refreshOf(currentRoute().params) !== 'off') ask();
    restart();
  });
  const waiting = new Set<Topic>();
  onEvent((topic) => {
    if (waiting.has(topic)) return;
    waiting.add(topic);
    setTimeout(() => {
      waiting.delete(topic);
      bump(topic);
    }, TOPIC_MS);
  });
  restart();
}
