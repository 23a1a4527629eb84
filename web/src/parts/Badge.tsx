// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from 'preact';
import type { Tone } from './Figure';

/** The text says it, too: nothing is told by colour alone. */
export function Badge({ tone, children, title }: { tone: Tone; children: ComponentChildren; title?: string }) {
  return <span class={`badge badge-${tone}`} title={title}>{children}</span>;
}

/** P0, P1, P2: how soon somebody has to look. */
export function Tier({ tier }: { tier: string }) {
  return <Badge tone={tier === 'P0' ? 'bad' : tier === 'P1' ? 'warn' : 'plain'}>{tier || '–'}</Badge>;
}
