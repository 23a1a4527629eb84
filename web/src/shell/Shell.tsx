// SPDX-License-Identifier: Apache-2.0
/** What is around every page: header and navigation. */
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { Empty } from '../parts/States';
import { t, useLanguage } from '../state/language';
import { linkTo, useRoute } from '../state/route';
import { Header } from './Header';
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
  const main = useRef<HTMLElement>(null);
  const row = pages.find((p) => p.path === page);
  useEffect(() => {
    document.title = `${row ? t(row.title) : t('page.missing')} · Inferometer`;
    document.documentElement.lang = lang;
  }, [row, lang]);
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
