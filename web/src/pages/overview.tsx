// SPDX-License-Identifier: Apache-2.0
/** Is everything well; if not, where. One screen. */
import type { Labels } from '../api/prom';
import { status } from '../api/status';
import { useAsk } from '../data/ask';
import { quantileLines, rateLines } from '../data/curves';
import { gpuLines, kvLines, nowLength, overviewNow, overviewRows, waitingLines, type Row } from '../data/overview';
import { scopeKey, useScope } from '../data/scope';
import { show, span } from '../format/units';
import { AlertList } from '../parts/AlertList';
import { BudgetList } from '../parts/BudgetList';
import { Badge } from '../parts/Badge';
import { Figure, type Tone } from '../parts/Figure';
import { LinesPanel } from '../parts/Lines';
import { Panel } from '../parts/Panel';
import { Scope } from '../parts/Scope';
import { Failed, Loading } from '../parts/States';
import { Table, type Column } from '../parts/Table';
import { t, tMaybe } from '../state/language';
import { linkTo } from '../state/route';

const failureTone = (ratio: number | null): Tone => (ratio === null ? 'plain' : ratio > 0.05 ? 'bad' : ratio > 0.01 ? 'warn' : 'good');
const fullTone = (ratio: number | null): Tone => (ratio !== null && ratio > 0.9 ? 'warn' : 'plain');

function Figures() {
  const scope = useScope();
  const now = useAsk(`now ${scopeKey(scope)}`, (signal) => overviewNow(scope, signal));
  if (now.isLoading) return <Loading />;
  if (!now.value) return <Failed error={now.error!} again={now.again} />;
  const v = now.value;
  return (
    <section class="figures" aria-label={t('overview.now')}>
      <Figure name={t('figure.requests')} term="qps" value={v.requestRate} unit="requests/s" href={linkTo('requests')} />
      <Figure name={t('figure.failed')} term="error_ratio" value={v.failedRatio} unit="ratio" tone={failureTone(v.failedRatio)} href={linkTo('requests', { outcome: '!ok' })} />
      <Figure name={t('figure.ttft95')} term="llm_ttft_seconds" value={v.ttftP95} unit="seconds" href={linkTo('latency')} />
      <Figure name={t('figure.e2e99')} term="llm_e2e_seconds" value={v.e2eP99} unit="seconds" href={linkTo('latency')} />
      <Figure name={t('figure.tokens')} term="llm_tokens_total" value={v.tokenRate} unit="tokens/s" href={linkTo('tokens')} />
      <Figure name={t('figure.inFlight')} term="llm_inflight_requests" value={v.inFlight} unit="requests" />
      <Figure name={t('figure.waiting')} term="inferometer_admission_waiting" value={v.waiting} unit="requests" />
      <Figure name={t('figure.kv')} term="engine_kv_usage_ratio" value={v.kv} unit="ratio" tone={fullTone(v.kv)} none={t('figure.notMeasured')} />
      <Figure name={t('figure.gpu')} term="gpu_utilization_ratio" value={v.gpu} unit="ratio" none={t('figure.notMeasured')} />
    </section>
  );
}

function Gateway() {
  const asked = useAsk('status', status);
  const s = asked.value;
  if (!s) return null;
  return (
    <p class="gateway">
      <Badge tone={s.state === 'serving' ? 'good' : 'warn'}>{tMaybe(`state.${s.state}`, s.state)}</Badge>{' '}
      {t('overview.gateway', { version: s.version, uptime: span(s.uptime_s) })}
      <span>{t('overview.window', { length: span(nowLength(s.uptime_s)) })}</span>
      {s.upstreams.filter((u) => u.breaker !== 'closed').map((u) => <Badge key={u.name} tone="bad">{t('overview.breaker', { name: u.name })}</Badge>)}
      {asked.isStale && <Badge tone="warn">{t('state.stale')}</Badge>}
    </p>
  );
}

const columns = (): Column<Row>[] => [
  { key: 'model', name: t('label.model'), sort: (r) => r.model, cell: (r) => <a href={linkTo('latency', { model: r.model, upstream: r.upstream })}>{r.model}</a> },
  { key: 'upstream', name: t('label.upstream'), sort: (r) => r.upstream, cell: (r) => r.upstream },
  { key: 'rate', name: t('figure.requests'), isNumber: true, sort: (r) => r.requestRate, cell: (r) => show(r.requestRate, 'requests/s') },
  { key: 'failed', name: t('figure.failed'), isNumber: true, sort: (r) => r.failedRatio, cell: (r) => <span class={`tone-${failureTone(r.failedRatio)}`}>{show(r.failedRatio, 'ratio')}</span> },
  { key: 'ttft', name: 'TTFT p95', term: 'llm_ttft_seconds', isNumber: true, sort: (r) => r.ttftP95, cell: (r) => show(r.ttftP95, 'seconds') },
  { key: 'tpot', name: 'TPOT p95', term: 'llm_tpot_seconds', isNumber: true, sort: (r) => r.tpotP95, cell: (r) => show(r.tpotP95, 'seconds') },
  { key: 'e2e', name: 'E2E p95', term: 'llm_e2e_seconds', isNumber: true, sort: (r) => r.e2eP95, cell: (r) => show(r.e2eP95, 'seconds') },
  { key: 'tokens', name: t('figure.tokens'), isNumber: true, sort: (r) => r.tokenRate, cell: (r) => show(r.tokenRate, 'tokens/s') },
  { key: 'inflight', name: t('figure.inFlight'), isNumber: true, sort: (r) => r.inFlight, cell: (r) => show(r.inFlight, 'requests') },
];

function Models() {
  const scope = useScope();
  const asked = useAsk(`rows ${scopeKey(scope)}`, (signal) => overviewRows(scope, signal));
  return (
    <Panel title={t('overview.models')} of={asked} isEmpty={(rows) => rows.length === 0} empty={t('overview.noTraffic')} class="wide">
      {(rows) => <Table label={t('overview.models')} columns={columns()} rows={rows} rowKey={(r) => `${r.model} ${r.upstream}`} initial={{ key: 'rate', isDown: true }} />}
    </Panel>
  );
}

const CHART_HEIGHT = 110;

export function OverviewPage() {
  const scope = useScope();
  const key = scopeKey(scope);
  const waiting = { inFlight: t('waiting.inFlight'), gateway: t('waiting.gateway'), engine: t('waiting.engine') };
  const typeName = (l: Labels): string => tMaybe(`tokens.type.${l.type}`, l.type);
  return (
    <>
      <div class="page-head"><Gateway /><Scope /></div>
      <Figures />
      <div class="grid">
        <AlertList />
        <BudgetList />
        <Models />
      </div>
      <div class="grid thirds">
        <LinesPanel title={t('chart.e2e')} term="llm_e2e_seconds" unit="seconds" height={CHART_HEIGHT} askKey={`e2e ${key}`} load={(r, s) => quantileLines('llm_e2e_seconds', scope, r, s)} />
        <LinesPanel title={t('chart.requests')} term="llm_requests_total" unit="requests/s" isRate height={CHART_HEIGHT} askKey={`req ${key}`} load={(r, s) => rateLines('llm_requests_total', scope, ['outcome'], r, s)} />
        <LinesPanel title={t('chart.tokens')} term="llm_tokens_total" unit="tokens/s" isRate height={CHART_HEIGHT} askKey={`tok ${key}`} load={(r, s) => rateLines('llm_tokens_total', scope, ['type'], r, s, typeName)} />
        <LinesPanel title={t('chart.waiting')} term="inferometer_admission_waiting" unit="requests" height={CHART_HEIGHT} askKey={`wait ${key}`} load={(r, s) => waitingLines(scope, waiting, r, s)} />
        <LinesPanel title={t('chart.kv')} term="engine_kv_usage_ratio" unit="ratio" max={1} height={CHART_HEIGHT} askKey={`kv ${key}`} load={(r, s) => kvLines(scope, r, s)} empty={t('overview.noEngine')} />
        <LinesPanel title={t('chart.gpu')} term="gpu_utilization_ratio" unit="ratio" max={1} height={CHART_HEIGHT} askKey="gpu" load={gpuLines} empty={t('overview.noGpu')} />
      </div>
    </>
  );
}
