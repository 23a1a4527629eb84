// SPDX-License-Identifier: Apache-2.0
/** A part of a page: its title with the definition behind it, whether it is old, and one of the states. */
import type { ComponentChildren } from 'preact';
import type { Asked } from '../data/ask';
import { t } from '../state/language';
import { Shown } from './States';
import { Term } from './Term';

interface Props<T> {
  title: string;
  term?: string; // in the table of definitions
  of: Asked<T>;
  isEmpty?: (value: T) => boolean;
  empty?: ComponentChildren;
  aside?: ComponentChildren; // beside the title
  class?: string;
  children: (value: T) => ComponentChildren;
}

export function Panel<T>({ title, term, of, isEmpty, empty, aside, children, ...more }: Props<T>) {
  return (
    <section class={`panel ${more.class ?? ''}`} aria-label={title}>
      <PanelHead title={title} term={term} aside={<>{of.isStale && <span class="badge badge-warn" title={of.error?.message}>{t('state.stale')}</span>}{aside}</>} />
      <Shown of={of} isEmpty={isEmpty} empty={empty}>{children}</Shown>
    </section>
  );
}

export function PanelHead({ title, term, aside }: { title: string; term?: string; aside?: ComponentChildren }) {
  return (
    <header class="panel-head">
      <h2>{term ? <Term of={term}>{title}</Term> : title}</h2>
      <span class="panel-aside">{aside}</span>
    </header>
  );
}
