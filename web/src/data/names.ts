// SPDX-License-Identifier: Apache-2.0
/** Names of lines, from labels. Pure. */
import type { Curve, Labels } from '../api/prom';

export const nameBy = (by: string[]) => (labels: Labels): string => by.map((b) => labels[b] ?? '–').join(' · ');

/** Names that several lines would have also say where each comes from; then which one it is. */
export function toldApart(names: string[], curves: Curve[]): string[] {
  const isTwice = (name: string, all: string[]): boolean => all.indexOf(name) !== all.lastIndexOf(name);
  const longer = names.map((name, i) => (isTwice(name, names)
    ? [name, ...['job', 'instance'].map((l) => curves[i].labels[l]).filter((v) => v && v !== name)].join(' · ') : name));
  return longer.map((name, i) => (isTwice(name, longer) ? `${name} (${longer.slice(0, i + 1).filter((n) => n === name).length})` : name));
}
