// SPDX-License-Identifier: Apache-2.0
/** A figure's name, with its definition on hover and focus; Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { useDefinition } from '../data/definitions';
import { t } from '../state/language';

/** Asked for when the first one is wanted. */
function Definition({ of }: { of: string }) {
  return <>{useDefinition(of) ?? t('state.noDefinition', { name: of })}</>;
}

const WIDTH = 340;

/** Beside its name, inside the window: tables that scroll would cut it off. */
function below(name: HTMLElement): { left: string; top: string } {
  const { left, bottom } = name.getBoundingClientRect();
  return { left: `${Math.max(4, Math.min(left, innerWidth - WIDTH))}px`, top: `${bottom + 2}px` };
}

export function Term({ of, children }: { of: string; children: ComponentChildren }) {
    const [place, setPlace] = useState<{ left: string; top: string } | null>(null);
  const name = useRef<HTMLButtonElement>(null);
  const id = useId();
  const open = () => setPlace(below(name.current!));
  const close = () => setPlace(null);
  return (
    <span class="term" data-name={of} onMouseEnter={open} onMouseLeave={close}>
      <button ref={name} type="button" class="term-name" aria-describedby={place ? id : undefined} onFocus={open} onBlur={close} onKeyDown={(e) => e.key === 'Escape' && close()}>{children}</button>
      {place && <span role="tooltip" id={id} class="term-text" style={place}><Definition of={of} /></span>}
    </span>
  );
}
