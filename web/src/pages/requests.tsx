// SPDX-License-Identifier: Apache-2.0
/** All requests that are kept: found by any field, sorted, page by page; one of them as a waterfall. */
import { useRef, useState } from 'preact/hooks';
import { requestPage, type RequestRow } from '../api/requests';
import { useAsk } from '../data/ask';
import { conditionsOf, ORDERS, queryOf } from '../data/requests';
import { dayClock, clock, toSeconds } from '../format/time';
import { show } from '../format/units';
import { Badge } from '../parts/Badge';
import { Conditions } from '../parts/Conditions';
import { Panel } from '../parts/Panel';
import { RequestView } from '../parts/RequestView';
import { Table, type Column, type Order } from '../parts/Table';
import { t } from '../state/language';
import { currentRange, rangeKey } from '../state/range';
import { linkTo, setParams, useRoute } from '../state/route';

const DAY = 86400;
const NEWEST = '-time';
const time = (at: number): string => (Date.now() / 1000 - at > DAY ? dayClock(at) : clock(at));
const ms = (v: number | null | undefined): string => show(v, 'ms');

const columns = (): Column<RequestRow>[] => [
  { key: 'time', name: t('requests.started'), cell: (r) => <a href={linkTo('requests', {}, r.request_id)}>{time(toSeconds(r.started_at)!)}</a> },
  { key: 'model', name: t('label.model'), cell: (r) => r.model },
  { key: 'upstream', name: t('label.upstream'), isMinor: true, cell: (r) => r.upstream },
  { key: 'tenant', name: t('requests.labels'), cell: (r) => Object.values(r.labels ?? {}).join(' · ') || '–' },
  { key: 'outcome', name: t('requests.outcome'), term: 'outcome', cell: (r) => <Badge tone={r.outcome === 'ok' ? 'good' : 'bad'} title={r.outcome_reason}>{r.outcome}</Badge> },
  { key: 'status', name: t('requests.status'), isNumber: true, isMinor: true, cell: (r) => r.status || '–' },
  { key: 'ttft_ms', name: 'TTFT', term: 'ttft_ms', isNumber: true, cell: (r) => ms(r.ttft_ms) },
  { key: 'tpot_ms', name: 'TPOT', term: 'tpot_ms', isNumber: true, cell: (r) => ms(r.tpot_ms) },
  { key: 'e2e_ms', name: 'E2E', term: 'e2e_ms', isNumber: true, cell: (r) => ms(r.e2e_ms) },
  { key: 'prompt_tokens', name: t('requests.prompt'), term: 'prompt_tokens', isNumber: true, cell: (r) => show(r.prompt_tokens, 'tokens') },
  { key: 'completion_tokens', name: t('requests.completion'), term: 'completion_tokens', isNumber: true, cell: (r) => show(r.completion_tokens, 'tokens') },
  { key: 'flags', name: t('requests.flags'), isMinor: true, cell: (r) => r.flags.map((f) => <Badge key={f} tone="plain">{f}</Badge>) },
];

/** Pages that were gone through; a list that is followed live is its first page. */
function List() {
  const { params } = useRoute();
  const held = useRef(currentRange());
  const [pages, setPages] = useState<string[]>([]);
  const after = pages[pages.length - 1] ?? '';
  const order = params.order || NEWEST;
  const conditions = conditionsOf(params);
  const load = (signal: AbortSignal) => {
    if (!after) held.current = currentRange(); // the pages behind it are of the same time
    return requestPage(queryOf(conditions, order, held.current, after), signal);
  };
  const asked = useAsk(JSON.stringify([conditions, order, rangeKey(params), after]), load, after ? { when: '' } : { topics: order === NEWEST ? ['requests'] : [] });
  const sort = (o: Order) => {
    setPages([]);
    setParams({ order: `${o.isDown ? '-' : ''}${o.key}` }, { isStep: true });
  };
  return (
    <Panel title={t('requests.label')} of={asked} isEmpty={(p) => p.requests.length === 0} empty={t('requests.none')} class="wide">
      {(page) => (
        <>
          <Table label={t('requests.label')} columns={columns()} rows={page.requests} rowKey={(r) => r.request_id} remote={{ order: { key: order.replace(/^-/, ''), isDown: order.startsWith('-') }, keys: ORDERS, onOrder: sort }} />
          <div class="pager">
            <button type="button" disabled={pages.length === 0} onClick={() => setPages([])}>{t('requests.first')}</button>
            <button type="button" disabled={!page.next} onClick={() => setPages([...pages, page.next!])}>{t('requests.next')}</button>
          </div>
        </>
      )}
    </Panel>
  );
}

function FindById() {
  const [id, setId] = useState('');
  const find = (e: Event) => {
    e.preventDefault();
    if (id.trim()) location.hash = linkTo('requests', {}, id.trim());
  };
  return (
    <form class="find" onSubmit={find}>
      <label>{t('requests.findId')} <input value={id} onInput={(e) => setId(e.currentTarget.value)} /></label>
      <button type="submit">{t('requests.find')}</button>
    </form>
  );
}

export function RequestsPage({ id }: { id: string | null }) {
  const { params } = useRoute();
  if (id !== null) return <RequestView key={id} id={id} />;
  return (
    <>
      <div class="scopes"><div class="scope"><Conditions /></div><FindById /></div>
      <List key={`${JSON.stringify(conditionsOf(params))} ${rangeKey(params)}`} />
    </>
  );
}
