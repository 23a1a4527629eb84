// SPDX-License-Identifier: Apache-2.0
/** What is shown where there is nothing to show yet, nothing at all, or an error; never a blank. */
import type { ComponentChildren } from 'preact';
import { AskError } from '../api/http';
import type { Asked } from '../data/ask';
import { t } from '../state/language';

export function Loading() {
  return <div class="state state-loading" role="status"><span class="skeleton" /><span class="skeleton" /><span class="skeleton" /><span class="hidden">{t('state.loading')}</span></div>;
}

export function Empty({ children }: { children?: ComponentChildren }) {
  return <div class="state state-empty" role="status">{children ?? t('state.empty')}</div>;
}

/** What happened, and what to do. */
function advice(error: Error): string {
  if (!(error instanceof AskError)) return t('state.error');
  if (error.kind === 'offline') return t('state.offline');
  if (error.kind === 'denied') return t('state.denied');
  return error.status === 503 ? t('state.busy') : t('state.error');
}

export function Failed({ error, again }: { error: Error; again: () => void }) {
  return (
    <div class="state state-error" role="alert">
      <p>{advice(error)}</p>
      <p class="detail">{error.message}</p>
      <button type="button" onClick={again}>{t('state.again')}</button>
    </div>
  );
}

interface Props<T> {
  of: Asked<T>;
  isEmpty?: (value: T) => boolean;
  empty?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}

export function Shown<T>({ of, isEmpty, empty, children }: Props<T>) {
  if (of.isLoading) return <Loading />;
  if (of.value === null) return <Failed error={of.error!} again={of.again} />;
  if (isEmpty?.(of.value)) return <Empty>{empty}</Empty>;
  return <>{children(of.value)}</>;
}
