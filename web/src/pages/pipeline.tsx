// SPDX-License-Identifier: Apache-2.0
/** Whether what the other pages show can be believed: what is scraped, recognised, missing, dropped, kept. */
import { collected, type Source, type Target } from '../api/collected';
import { status, type Status } from '../api/status';
import { useAsk, type Asked } from '../data/ask';
import { clockOffset, coverageLines, memoryLines, overheadLines, ruleLines, scrapeLines } from '../data/pipeline';
import { clock } from '../format/time';
import { show } from '../format/units';
import { Badge } from '../parts/Badge';
import { Figure, Value, type Tone } from '../parts/Figure';
import { LinesPanel } from '../parts/Lines';
import { Panel } from '../parts/Panel';
import { Failed, Loading } from '../parts/States';
import { Table, type Column } from '../parts/Table';
import { t, tMaybe } from '../state/language';

const healthTone = (h: string): Tone => (h === 'up' || h === 'working' ? 'good' : h === 'down' ? 'bad' : 'plain');
const Health = ({ of }: { of: string }) => <Badge tone={healthTone(of)}>{tMaybe(`health.${of}`, of)}</Badge>;

function Names({ names, title }: { names: string[]; title: string }) {
  if (names.length === 0) return <>0</>;
  return <details><summary aria-label={`${title}: ${names.length}`}>{names.length}</summary>{names.join(', ')}</details>;
}

const engineOf = (x: Target): string => (x.engines ?? []).map((e) => `${e.title} ${e.edition ?? ''} ${e.since}–${e.until}`).join(', ');
const nameOf = (x: Target): string => x.labels.upstream ?? x.labels.instance ?? x.url;

const targetColumns = (): Column<Target>[] => [
  { key: 'target', name: t('pipeline.target'), sort: nameOf, cell: (x) => <><b>{nameOf(x)}</b> <small>{x.url}</small></> },
  { key: 'job', name: t('pipeline.job'), sort: (x) => x.job, cell: (x) => x.job },
  { key: 'health', name: t('pipeline.health'), term: 'up', sort: (x) => x.health, cell: (x) => <Health of={x.health} /> },
  { key: 'reason', name: t('pipeline.reason'), cell: (x) => x.words ?? x.fault ?? '–' },
  { key: 'engine', name: t('pipeline.engine'), sort: engineOf, cell: (x) => engineOf(x) || '–' },
  { key: 'signals', name: t('pipeline.signals'), isNumber: true, sort: (x) => x.signals?.length ?? 0, cell: (x) => <Names title={t('pipeline.signals')} names={(x.signals ?? []).map((s) => s.signal)} /> },
  { key: 'missing', name: t('pipeline.missing'), isNumber: true, sort: (x) => x.missing?.length ?? 0, cell: (x) => <Names title={t('pipeline.missing')} names={(x.missing ?? []).map((m) => `${m.signal}${m.words ? ` (${m.words})` : ''}`)} /> },
  { key: 'took', name: t('pipeline.took'), term: 'scrape_duration_seconds', isNumber: true, sort: (x) => x.took_s, cell: (x) => show(x.took_s, 'seconds') },
  { key: 'age', name: t('pipeline.age'), isNumber: true, sort: (x) => x.last_ms, cell: (x) => (x.last_ms ? clock(x.last_ms / 1000) : '–') },
];

const sourceColumns = (): Column<Source>[] => [
  { key: 'source', name: t('pipeline.source'), cell: (x) => x.name + (x.cluster ? ` ${x.cluster}` : '') },
  { key: 'state', name: t('pipeline.health'), cell: (x) => <Health of={x.state} /> },
  { key: 'samples', name: t('pipeline.samples'), isNumber: true, cell: (x) => show(x.n_samples, 'count') },
  { key: 'reason', name: t('pipeline.reason'), cell: (x) => x.words ?? '–' },
];

function Scraped() {
  const asked = useAsk('collected', collected, { topics: ['targets'] });
  return (
    <>
      <Panel title={t('pipeline.targets')} of={asked} isEmpty={(c) => c.targets.length === 0} empty={t('pipeline.noTargets')} class="wide">
        {(c) => <Table label={t('pipeline.targets')} columns={targetColumns()} rows={c.targets} rowKey={(x) => `${x.job} ${x.url}`} initial={{ key: 'health', isDown: false }} />}
      </Panel>
      <Panel title={t('pipeline.sources')} of={asked} isEmpty={(c) => c.sources.length === 0} empty={t('pipeline.noSources')}>
        {(c) => <Table label={t('pipeline.sources')} columns={sourceColumns()} rows={c.sources} rowKey={(x) => `${x.name} ${x.cluster}`} />}
      </Panel>
    </>
  );
}

function Drops({ asked }: { asked: Asked<Status> }) {
  const columns: Column<{ cause: string; n: number }>[] = [
    { key: 'cause', name: t('pipeline.cause'), sort: (d) => d.cause, cell: (d) => d.cause },
    { key: 'n', name: t('pipeline.count'), isNumber: true, sort: (d) => d.n, cell: (d) => <span class={d.n > 0 ? 'tone-bad' : ''}>{show(d.n, 'count')}</span> },
  ];
  return (
    <Panel title={t('pipeline.drops')} term="drops" of={asked} isEmpty={(s) => s.drops.every((d) => d.n === 0)} empty={t('pipeline.noDrops')}>
      {(s) => <Table label={t('pipeline.drops')} columns={columns} rows={s.drops} rowKey={(d) => d.cause} initial={{ key: 'n', isDown: true }} />}
    </Panel>
  );
}

function Kept({ s }: { s: Status }) {
  const offset = useAsk('clock', clockOffset);
  const h = s.history;
  return (
    <section class="figures fives" aria-label={t('pipeline.store')}>
      {h ? (
        <>
          <div class="figure"><span class="figure-name">{t('pipeline.history')}</span><Value text={tMaybe(`health.${h.state}`, h.state)} tone={h.state === 'failing' ? 'bad' : 'plain'} />{h.error && <small>{h.error}</small>}</div>
          <Figure name={t('pipeline.series')} term="inferometer_series" value={h.series} unit="count" />
          <Figure name={t('pipeline.seriesDisk')} value={h.series_disk_bytes} unit="bytes" />
          <Figure name={t('pipeline.rows')} term="inferometer_store_rows_total" value={h.rows_written} unit="requests" />
          <Figure name={t('pipeline.rowsDisk')} term="inferometer_store_rows_disk_bytes" value={h.rows_disk_bytes} unit="bytes" />
          <Figure name={t('pipeline.rowsWaiting')} term="inferometer_store_rows_queued" value={h.rows_waiting} unit="requests" />
          <Figure name={t('pipeline.rowsLost')} value={h.rows_lost} unit="requests" tone={h.rows_lost > 0 ? 'bad' : 'plain'} />
        </>
      ) : <p class="state">{t('pipeline.noHistory')}</p>}
      {s.rules && <Figure name={t('pipeline.rules')} value={s.rules.rules} unit="count" />}
      {s.rules && <Figure name={t('pipeline.rulesFailed')} value={s.rules.evaluations_failed} unit="count" tone={s.rules.evaluations_failed > 0 ? 'bad' : 'plain'} />}
      <Figure name={t('pipeline.clock')} term="clock_offset_seconds" value={offset.value} unit="seconds" none={t('figure.notMeasured')} />
    </section>
  );
}

export function PipelinePage() {
  const asked = useAsk('status', status, { topics: ['targets'] });
  const words = { ttft: t('pipeline.ttftCoverage'), usage: t('pipeline.usageCoverage') };
  return (
    <>
      {asked.isLoading ? <Loading /> : asked.value ? <Kept s={asked.value} /> : <Failed error={asked.error!} again={asked.again} />}
      <div class="grid">
        <Scraped />
        <Drops asked={asked} />
      </div>
      <div class="grid thirds">
        <LinesPanel title={t('pipeline.coverage')} term="coverage_ttft" unit="ratio" max={1} height={140} askKey="coverage" load={(r, s) => coverageLines(r, s, words)} />
        <LinesPanel title={t('pipeline.overhead')} term="inferometer_overhead_seconds" unit="seconds" height={140} askKey="overhead" load={overheadLines} />
        <LinesPanel title={t('pipeline.scrapes')} term="scrape_duration_seconds" unit="seconds" height={140} askKey="scrapes" load={scrapeLines} empty={t('pipeline.noScrapes')} />
      </div>
      <div class="grid">
        <LinesPanel title={t('pipeline.memory')} term="inferometer_memory_resident_bytes" unit="bytes" height={140} askKey="memory" load={memoryLines} />
        <LinesPanel title={t('pipeline.cpu')} term="inferometer_rule_tick_microseconds" unit="seconds" height={140} askKey="ticks" load={ruleLines} />
      </div>
    </>
  );
}
