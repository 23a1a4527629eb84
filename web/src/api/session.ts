// SPDX-License-Identifier: Apache-2.0
/** Who the reader is to the gateway: what may be changed, and the secret that changes have to show. */
import { Store, useStore } from '../state/store';

interface Session {
  is_token_needed: boolean;
  role: 'none' | 'read' | 'write';
  csrf: string | null;
}

const session = new Store<Session>({ is_token_needed: false, role: 'write', csrf: null });

export async function startSession(): Promise<void> {
  try {
    const answer = await fetch('/api/v1/session');
    if (answer.ok) session.set(await answer.json());
  } catch {
    // Pages say themselves that there is no answer.
  }
}

export const csrfToken = (): string => session.get().csrf ?? '';
export const useMayChange = (): boolean => useStore(session).role === 'write';
export const useIsLoggedIn = (): boolean => useStore(session).csrf !== null;

/** To the page that asks for the token, and back here. */
export function goToLogin(): void {
  const here = location.pathname + location.hash;
  location.assign(`/login?next=${encodeURIComponent(here)}`);
}
