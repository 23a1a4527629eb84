// SPDX-License-Identifier: Apache-2.0
/** What is around every page: header, navigation, login where the gateway asks for one. */
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { onDenied } from '../api/http';
import { Empty } from '../parts/States';
import { t, useLanguage } from '../state/language';
import { linkTo, useRoute } from '../state/route';
import { Header } from './Header';
import { Login } from './Login';
import { Navigation } from './Navigation';
import { pages, type PageRow } from './pages';

/** A mistake in one page leaves the navigation usable. */
function Page({ row, id }: { row: PageRow; id: string | null }) {
  const [error, reset] = useErrorBoundary();
  if (!error) return <row.view id={id} />;
  return (
    <div class="state state-error" role="alert">
      <p>{t('state.broken')}</p>
      <p class="detail">{String(error)}</p>
      <button type="button" onClick={reset}>{t('state.again')}</button>
    </div>
  );
}

export function Shell() {
  const { page, id } = useRoute();
  const lang = useLanguage();
  const [isDenied, setDenied] = useState(false);
  const main = useRef<HTMLElement>(null);
  const row = pages.find((p) => p.path === page);
  useEffect(() => onDenied(() => setDenied(true)), []);
  useEffect(() => {
    document.title = `${row ? t(row.title) : t('page.missing')} · Inferometer`;
    document.documentElement.lang = lang;
  }, [row, lang]);
  if (isDenied) return <Login onDone={() => setDenied(false)} />;
  return (
    <div class="shell" key={lang}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>{t('shell.skip')}</a>
      <Header />
      <Navigation current={page} />
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{row ? t(row.title) : t('page.missing')}</h1>
        {row ? <Page key={row.path} row={row} id={id} /> : <Empty><a href={linkTo('overview')}>{t('page.overview')}</a></Empty>}
      </main>
    </div>
  );
}
