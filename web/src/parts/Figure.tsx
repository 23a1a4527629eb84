// SPDX-License-Identifier: Apache-2.0
/** One number, large, with its name and unit. */
import { NONE, show, type Unit } from '../format/units';
import { Term } from './Term';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

interface Props {
  name: string;
  term?: string;
  value: number | null;
  unit: Unit;
  tone?: Tone;
  none?: string; // words for a value that is not there
  href?: string;
}

/** The number stands out, its unit does not; what is not a number is a word. */
export function Value({ text, tone = 'plain' }: { text: string; tone?: Tone }) {
  const at = /\d/.test(text) ? text.lastIndexOf(' ') : -1;
  const [number, unit] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
  return <b class={`figure-value tone-${tone}`}>{number}{unit && <span class="figure-unit">{unit}</span>}</b>;
}

export function Figure({ name, term, value, unit, tone = 'plain', none, href }: Props) {
  const words = show(value, unit);
  const text = words === NONE && none ? <span class="figure-none">{none}</span> : <Value text={words} tone={tone} />;
  return (
    <div class="figure">
      <span class="figure-name">{term ? <Term of={term}>{name}</Term> : name}</span>
      {href ? <a href={href} aria-label={`${name} ${words}`}>{text}</a> : text}
    </div>
  );
}
