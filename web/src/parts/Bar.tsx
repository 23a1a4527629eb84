// SPDX-License-Identifier: Apache-2.0
import { show } from '../format/units';
import type { Tone } from './Figure';

/** A share as a bar; the number stands beside it. */
export function Bar({ value, tone, label }: { value: number | null; tone: Tone; label: string }) {
  const width = `${Math.max(0, Math.min(1, value ?? 0)) * 100}%`;
  return <span class="bar" role="img" aria-label={`${label} ${show(value, 'ratio')}`}><span class={`bar-fill fill-${tone}`} style={{ width }} /></span>;
}
