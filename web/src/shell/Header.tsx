// SPDX-License-Identifier: Apache-2.0
import { useIsConnected } from '../api/events';
import { useIsLoggedIn, useMayChange } from '../api/session';
import { zone } from '../format/time';
import { Badge } from '../parts/Badge';
import { setLanguage, t, useLanguage } from '../state/language';
import { linkTo } from '../state/route';
import { setTheme, useTheme, type Theme } from '../state/theme';
import { RangeControl, RefreshControl } from './TimeControls';

const THEMES: Theme[] = ['auto', 'light', 'dark'];

function ThemeButton() {
  const theme = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return <button type="button" class="quiet" aria-label={t('shell.theme', { name: t(`theme.${theme}`) })} title={t('shell.theme', { name: t(`theme.${theme}`) })} onClick={() => setTheme(next)}>{theme === 'auto' ? '◐' : theme === 'light' ? '☀' : '☾'}</button>;
}

function LanguageButton() {
  const isChinese = useLanguage() === 'zh-CN';
  return <button type="button" class="quiet" lang={isChinese ? 'en' : 'zh-CN'} onClick={() => setLanguage(isChinese ? 'en' : 'zh-CN')}>{isChinese ? 'English' : '中文'}</button>;
}

function Live() {
  const isConnected = useIsConnected();
  return <span class={`live ${isConnected ? 'live-on' : ''}`} role="img" aria-label={t(isConnected ? 'shell.events' : 'shell.noEvents')} title={t(isConnected ? 'shell.events' : 'shell.noEvents')} />;
}

export function Header() {
  const isLoggedIn = useIsLoggedIn();
  const mayChange = useMayChange();
  return (
    <header class="top">
      <a class="brand" href={linkTo('overview')}>Inferometer</a>
      <span class="zone" title={t('shell.zone')}>{zone()}</span>
      <div class="controls">
        {!mayChange && <Badge tone="plain" title={t('shell.readOnlyWhy')}>{t('shell.readOnly')}</Badge>}
        <RangeControl />
        <RefreshControl />
        <Live />
        <LanguageButton />
        <ThemeButton />
        {isLoggedIn && <form method="post" action="/logout"><button type="submit" class="quiet">{t('shell.logout')}</button></form>}
      </div>
    </header>
  );
}
