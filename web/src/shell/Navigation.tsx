// SPDX-License-Identifier: Apache-2.0
/** Every page, one step away; the time that is looked at goes along. */
import { useFiringCount } from '../data/alerts';
import { t } from '../state/language';
import { linkTo, useRoute } from '../state/route';
import { pages } from './pages';

export function Navigation({ current }: { current: string }) {
  useRoute(); // links follow its parameters
  const firing = useFiringCount();
  return (
    <nav class="nav" aria-label={t('shell.pages')}>
      <ul>
        {pages.map((p) => (
          <li key={p.path}>
            <a href={linkTo(p.path)} aria-current={p.path === current ? 'page' : undefined}>
              {t(p.title)}
              {p.path === 'alerts' && firing > 0 && <span class="count"><span aria-hidden="true">{firing}</span><span class="hidden">{t('shell.firing', { n: firing })}</span></span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
