// SPDX-License-Identifier: Apache-2.0
/** One number, large, with its name and unit. */
import { show, type Unit } from '../format/units';
import { Term } from './Term';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

interface Props {
  name: string;
  term?: string;
  value: number | null;
  unit: Unit;
  tone?: Tone;
  note?: string;
  href?: string;
}

export function Figure({ name, term, value, unit, tone = 'plain', note, href }: Props) {
  const text = <b class={`figure-value tone-${tone}`}>{show(value, unit)}</b>;
  return (
    <div class="figure">
      <span class="figure-name">{term ? <Term of={term}>{name}</Term> : name}</span>
      {href ? <a href={href} aria-label={`${name} ${show(value, unit)}`}>{text}</a> : text}
      {note && <small>{note}</small>}
    </div>
  );
}
