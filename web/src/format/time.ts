// SPDX-License-Identifier: Apache-2.0
/** Moments, in the reader's zone, which the header names. */
import { language } from '../state/language';

const parts = (options: Intl.DateTimeFormatOptions) => (seconds: number): string =>
  new Intl.DateTimeFormat(language(), { hourCycle: 'h23', ...options }).format(seconds * 1000);

export const clock = parts({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const dayClock = parts({ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });

/** Of today: the time alone. */
export const shortTime = (seconds: number): string =>
  (new Date(seconds * 1000).toDateString() === new Date().toDateString() ? clock(seconds).slice(0, 5) : dayClock(seconds));

/** 2026-11-30 15:04:05: read alike everywhere. */
export function fullTime(seconds: number): string {
  const d = new Date(seconds * 1000);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(seconds)}`;
}

/** As UTC, GMT+8. */
export const zone = (): string =>
  new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' }).formatToParts(Date.now()).find((p) => p.type === 'timeZoneName')!.value.replace(/^GMT(\+0)?$/, 'UTC').replace('GMT', 'UTC');

/** RFC 3339 to seconds; null stays null. */
export const toSeconds = (time: string | null): number | null => (time === null ? null : Date.parse(time) / 1000);

const DAY = 86400;
/** Short enough for an axis that is so many seconds long. */
export const axisTime = (at: number, length: number): string => (length > DAY ? dayClock(at) : clock(at).slice(0, length > 1800 ? 5 : 8));
