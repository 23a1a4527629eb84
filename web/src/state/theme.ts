// SPDX-License-Identifier: Apache-2.0
/** Light, dark, or as the system has it; kept in this browser. */
import { Store, useStore } from './store';

export type Theme = 'auto' | 'light' | 'dark';
const KEY = 'inferometer.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme {
  const t = localStorage.getItem(KEY);
  return t === 'light' || t === 'dark' ? t : 'auto';
}

const choice = new Store<Theme>(stored());
const isDark = new Store(false);

function apply(): void {
  isDark.set(choice.get() === 'dark' || (choice.get() === 'auto' && system.matches));
  document.documentElement.dataset.theme = isDark.get() ? 'dark' : 'light';
}

system.addEventListener('change', apply);
apply();

export const useTheme = (): Theme => useStore(choice);
export const useIsDark = (): boolean => useStore(isDark);

export function setTheme(t: Theme): void {
  localStorage.setItem(KEY, t);
  choice.set(t);
  apply();
}
