// SPDX-License-Identifier: Apache-2.0
/** Numbers as people read them, always with their unit. What is not known is a dash. */
export type Unit = 'seconds' | 'ms' | 'tokens' | 'tokens/s' | 'requests' | 'requests/s' | 'ratio' | 'bytes' | 'count' | 'per_s' | 'money' | 'x';

export const NONE = '–';

function digits(v: number, n: number): string {
  const s = v.toPrecision(n);
  return s.includes('e') ? String(Number(s)) : s.includes('.') ? s.replace(/\.?0+$/, '') : s;
}

/** 12,345 of counts, 1.23 of small ones. */
function plain(v: number): string {
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return v.toLocaleString('en-US');
  return Math.abs(v) >= 1000 ? Math.round(v).toLocaleString('en-US') : digits(v, 3);
}

function short(v: number): string {
  const size = Math.abs(v);
  for (const [limit, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']] as const)
    if (size >= limit) return `${digits(v / (letter === 'k' ? 1e3 : limit), 3)}\u202f${letter}`;
  return plain(v);
}

function duration(s: number): string {
  const size = Math.abs(s);
  if (size === 0) return '0 s';
  if (size < 1e-3) return `${digits(s * 1e6, 3)} µs`;
  if (size < 1) return `${digits(s * 1e3, 3)} ms`;
  if (size < 120) return `${digits(s, 3)} s`;
  if (size < 7200) return `${digits(s / 60, 3)} min`;
  if (size < 172800) return `${digits(s / 3600, 3)} h`;
  return `${digits(s / 86400, 3)} d`;
}

/** 2 min 20 s: how long something lasts, as people say it. */
export function span(seconds: number): string {
  const s = Math.round(seconds);
  for (const [size, name, less, lessName] of [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's']] as const)
    if (s >= 2 * size) return `${Math.floor(s / size)} ${name}${s % size >= less ? ` ${Math.floor((s % size) / less)} ${lessName}` : ''}`;
  return `${s} s`;
}

function bytes(v: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; Math.abs(v) >= 1024 && i < names.length - 1; i++) v /= 1024;
  return `${digits(v, 3)} ${names[i]}`;
}

const writers: Record<Unit, (v: number) => string> = {
  seconds: duration,
  ms: (v) => duration(v / 1000),
  tokens: (v) => `${short(Math.round(v))} tok`,
  'tokens/s': (v) => `${short(v)} tok/s`,
  requests: (v) => `${short(v)} req`,
  'requests/s': (v) => `${short(v)} req/s`,
  ratio: (v) => (v !== 0 && Math.abs(v) < 1e-4 ? '< 0.01 %' : `${digits(v * 100, 3)} %`),
  bytes,
  count: short,
  per_s: (v) => `${short(v)} /s`,
  money: (v) => digits(v, 4),
  x: (v) => `${digits(v, 3)}×`,
};

export function show(v: number | null | undefined, unit: Unit): string {
  return v === null || v === undefined || !Number.isFinite(v) ? NONE : writers[unit](v);
}
