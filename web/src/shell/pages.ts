// SPDX-License-Identifier: Apache-2.0
/** All pages, in the order of the navigation. A new page: a file in src/pages/, a row here, its name in src/words/. */
import type { ComponentType } from 'preact';
import { AlertsPage } from '../pages/alerts';
import { IncidentsPage } from '../pages/incidents';
import { LatencyPage } from '../pages/latency';
import { OverviewPage } from '../pages/overview';
import { PipelinePage } from '../pages/pipeline';
import { RequestsPage } from '../pages/requests';
import { SlosPage } from '../pages/slos';
import { TokensPage } from '../pages/tokens';
import type { Word } from '../state/language';

export interface PageProps {
  id: string | null; // of what the page shows one of
}

export interface PageRow {
  path: string; // #/path
  title: Word;
  view: ComponentType<PageProps>;
}

export const pages: PageRow[] = [
  { path: 'overview', title: 'page.overview', view: OverviewPage },
  { path: 'latency', title: 'page.latency', view: LatencyPage },
  { path: 'tokens', title: 'page.tokens', view: TokensPage },
  { path: 'requests', title: 'page.requests', view: RequestsPage },
  { path: 'alerts', title: 'page.alerts', view: AlertsPage },
  { path: 'incidents', title: 'page.incidents', view: IncidentsPage },
  { path: 'slos', title: 'page.slos', view: SlosPage },
  { path: 'pipeline', title: 'page.pipeline', view: PipelinePage },
];
