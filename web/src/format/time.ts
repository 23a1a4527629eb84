// SPDX-License-Identifier: Apache-2.0
/** Moments, in the reader's zone. */
import { language } from '../state/language';

const parts = (options: Intl.DateTimeFormatOptions) => (seconds: number): string =>
  new Intl.DateTimeFormat(language(), { hourCycle: 'h23', ...options }).format(seconds * 1000);

export const clock = parts({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const dayClock = parts({ month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' });
export const fullTime = parts({ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** RFC 3339 to seconds; null stays null. */
export const toSeconds = (time: string | null): number | null => (time === null ? null : Date.parse(time) / 1000);

const DAY = 86400;
/** Short enough for an axis that is so many seconds long. */
export const axisTime = (at: number, length: number): string => (length > DAY ? dayClock(at) : clock(at).slice(0, length > 1800 ? 5 : 8));
