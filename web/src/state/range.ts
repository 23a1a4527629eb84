// SPDX-License-Identifier: Apache-2.0
/**
 * Which time is looked at: the last so long, up to now (?range=1h), or from one moment to another (?from=, ?to= in
 * seconds). All panels of a page share it, also its step, so that their points stand above one another.
 */
import { currentRoute, setParams, useRoute, type Route } from './route';
import { moment, useMoment } from './refresh';

export interface Range {
  start: number; // seconds
  end: number;
  step: number;
  isLive: boolean;
}

export const LENGTHS = ['5m', '15m', '30m', '1h', '3h', '6h', '12h', '1d', '2d', '7d', '30d'] as const;
const DEFAULT_LENGTH = '30m';
const POINTS = 180;
/** Steps that people can read off an axis. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 };

/** NaN: not a length of time. */
export function seconds(text: string): number {
  const m = /^(\d+)([smhd])$/.exec(text);
  return m ? Number(m[1]) * UNITS[m[2]] : NaN;
}

export function stepFor(length: number): number {
  return STEPS.find((s) => length / s <= POINTS) ?? STEPS[STEPS.length - 1];
}

export function lengthOf(params: Route['params']): string {
  return params.range && seconds(params.range) > 0 ? params.range : DEFAULT_LENGTH;
}

function isFixed({ from, to }: Route['params']): boolean {
  return Number(from) > 0 && Number(to) > Number(from);
}

export function rangeOf(params: Route['params'], now: number): Range {
  const isLive = !isFixed(params);
  const length = isLive ? seconds(lengthOf(params)) : Number(params.to) - Number(params.from);
  const step = stepFor(length);
  const end = isLive ? now : Number(params.to);
  return { start: Math.floor((end - length) / step) * step, end: Math.ceil(end / step) * step, step, isLive };
}

/** What of an address makes the range. */
export const rangeKey = (params: Route['params']): string => (isFixed(params) ? `${params.from} ${params.to}` : lengthOf(params));

/** Of the page, as of the last refresh. */
export function useRange(): Range {
  const { params } = useRoute();
  return rangeOf(params, useMoment());
}

export const currentRange = (): Range => rangeOf(currentRoute().params, moment());

export function setLength(range: string): void {
  setParams({ range, from: '', to: '' }, { isStep: true });
}

export function setFixed(from: number, to: number): void {
  setParams({ from: String(Math.floor(from)), to: String(Math.ceil(to)) }, { isStep: true });
}

/** Windows of rates: four samples at least, and no less than a step. */
export const windowOf = ({ step }: Range): string => `${Math.max(60, step)}s`;
