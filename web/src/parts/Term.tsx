// SPDX-License-Identifier: Apache-2.0
/** A figure's name, with its definition on hover and focus; Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { useDefinition } from '../data/definitions';

export function Term({ of, children }: { of: string; children: ComponentChildren }) {
  const definition = useDefinition(of);
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  if (!definition) return <>{children}</>;
  return (
    <span class="term" onMouseEnter={() => setOpen(true)} onMouseLeave={() => setOpen(false)}>
      <button type="button" class="term-name" aria-describedby={isOpen ? id : undefined} onFocus={() => setOpen(true)} onBlur={() => setOpen(false)}
        onKeyDown={(e) => e.key === 'Escape' && setOpen(false)}>{children}</button>
      {isOpen && <span role="tooltip" id={id} class="term-text">{definition}</span>}
    </span>
  );
}
