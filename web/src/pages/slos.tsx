// SPDX-License-Identifier: Apache-2.0
/** Objectives: what is left of their budgets, how fast it goes, and who spends it. */
import type { Budget } from '../api/slo';
import { useAsk, type Asked } from '../data/ask';
import { businessLabels } from '../data/scope';
import { budgetLines, burnLines, burnRates, familyOf, useBudgets, worst, worstBy, type Failures } from '../data/slo';
import { NONE, show } from '../format/units';
import { Bar } from '../parts/Bar';
import { budgetTone, objectiveName } from '../parts/BudgetList';
import { LinesPanel } from '../parts/Lines';
import { Panel } from '../parts/Panel';
import { Table, type Column } from '../parts/Table';
import { t, tMaybe } from '../state/language';
import { linkTo, setParams, useRoute } from '../state/route';

/** Never 100 % where one was bad. */
const percent = (ratio: number | null): string => (ratio === null ? NONE : `${Math.floor(ratio * 1e5) / 1e3} %`);
const keyOf = (b: Budget): string => `${b.slo}/${b.objective}`;

function Objectives({ all, chosen }: { all: Budget[]; chosen: string }) {
  const burns = useAsk(`burns ${all.map(keyOf).join()}`, (signal) => burnRates(all, signal));
  const burnOf = (b: Budget): number | null => burns.value?.get(`${b.slo} ${b.objective}`) ?? null;
  const columns: Column<Budget>[] = [
    { key: 'slo', name: t('slo.slo'), sort: keyOf, cell: (b) => b.slo },
    { key: 'objective', name: t('slo.objective'), sort: (b) => b.objective, cell: (b) => <button type="button" class="pick" aria-pressed={keyOf(b) === chosen} onClick={() => setParams({ show: keyOf(b) }, { isStep: true })}>{objectiveName(b)}</button> },
    { key: 'left', name: t('slo.budget'), term: 'error_budget', isNumber: true, sort: (b) => b.left_ratio, cell: (b) => <span class="budget-cell"><Bar value={b.left_ratio} tone={budgetTone(b.left_ratio)} label={objectiveName(b)} /><b class={`tone-${budgetTone(b.left_ratio)}`}>{show(b.left_ratio, 'ratio')}</b></span> },
    { key: 'burn', name: t('slo.burn'), term: 'burn_rate', isNumber: true, sort: burnOf, cell: (b) => <span class={`tone-${(burnOf(b) ?? 0) > 6 ? 'bad' : (burnOf(b) ?? 0) > 1 ? 'warn' : 'plain'}`}>{show(burnOf(b), 'x')}</span> },
    { key: 'good', name: t('slo.good'), term: 'llm_slo_good_total', isNumber: true, sort: (b) => b.good_ratio, cell: (b) => percent(b.good_ratio) },
    { key: 'target', name: t('slo.target'), isNumber: true, isMinor: true, sort: (b) => b.target, cell: (b) => `${+(b.target * 100).toFixed(4)} %` },
    { key: 'bad', name: t('slo.bad'), isNumber: true, isMinor: true, sort: (b) => b.window_bad, cell: (b) => show(Math.round(b.window_bad), 'requests') },
    { key: 'requests', name: t('slo.requests'), term: 'llm_slo_total', isNumber: true, isMinor: true, sort: (b) => b.window_requests, cell: (b) => show(Math.round(b.window_requests), 'requests') },
    { key: 'window', name: t('slo.window'), isNumber: true, isMinor: true, sort: (b) => b.window_s, cell: (b) => show(b.window_s, 'seconds') },
  ];
  return <Table label={t('slo.objectives')} columns={columns} rows={all} rowKey={keyOf} initial={{ key: 'left', isDown: false }} />;
}

interface SpendersProps {
  title: string;
  term?: string;
  what: string;
  href: (name: string) => string;
  asked: Asked<Failures[]>;
  order?: 'bad' | 'share';
}

function Spenders({ title, term, what, href, asked, order = 'bad' }: SpendersProps) {
  const columns: Column<Failures>[] = [
    { key: 'name', name: what, sort: (r) => r.name, cell: (r) => <a href={href(r.name)}>{r.name}</a> },
    { key: 'bad', name: t('slo.bad'), isNumber: true, sort: (r) => r.bad, cell: (r) => show(Math.round(r.bad), 'requests') },
    { key: 'total', name: t('slo.requests'), isNumber: true, sort: (r) => r.total, cell: (r) => show(Math.round(r.total), 'requests') },
    { key: 'share', name: t('slo.share'), isNumber: true, sort: (r) => r.bad / r.total, cell: (r) => show(r.bad / r.total, 'ratio') },
  ];
  return (
    <Panel title={title} term={term} of={asked} isEmpty={(rows) => rows.length === 0} empty={t('slo.noRequests')}>
      {(rows) => <Table label={title} columns={columns} rows={rows} rowKey={(r) => r.name} initial={{ key: order, isDown: true }} />}
    </Panel>
  );
}

function Worst({ b }: { b: Budget }) {
  const asked = useAsk(`worst ${keyOf(b)}`, (signal) => worst(b, signal));
  return <Spenders title={t('slo.worst')} what={`${t('label.model')} · ${t('label.upstream')}`} href={(name) => linkTo('latency', { model: name.split(' · ')[0] })} asked={asked} />;
}

function WorstBy({ b, label }: { b: Budget; label: string }) {
  const asked = useAsk(`worst by ${keyOf(b)} ${label}`, (signal) => worstBy(b, label, signal));
  const what = tMaybe(`label.${label}`, label);
  const family = familyOf(b);
  const limit = b.threshold_s ?? 0;
  const title = family ? t('slo.slowBy', { objective: objectiveName(b), threshold: show(limit, 'seconds'), label: what }) : t('slo.failedBy', { label: what });
  const conditions: Record<string, string> = family ? { where: `${family.field}>=${limit * 1000}`, order: `-${family.field}` } : { outcome: '!ok' };
  return <Spenders title={title} term={family?.metric} what={what} href={(name) => linkTo('requests', { [label]: name, ...conditions })} asked={asked} order="share" />;
}

function BusinessLabels({ b }: { b: Budget }) {
  const { value } = useAsk('business labels', businessLabels, { when: '' });
  return <>{value?.map((label) => <WorstBy key={label} b={b} label={label} />)}</>;
}

function Details({ b }: { b: Budget }) {
  const name = `${b.slo} · ${objectiveName(b)}`;
  return (
    <div class="grid pairs">
      <LinesPanel title={`${t('slo.burnDown')}: ${name}`} term="error_budget" unit="ratio" max={1} height={140} askKey={`budget ${keyOf(b)}`} load={(r, s) => budgetLines(b, objectiveName(b), r, s)} />
      <LinesPanel title={`${t('slo.burnRates')}: ${name}`} term="burn_rate" unit="x" height={140} empty={t('slo.noBurn')} askKey={`burn ${keyOf(b)}`} load={async (r, s) => ({ lines: await burnLines(b, r, s), threshold: { value: 1, text: '1×' } })} />
      <Worst b={b} />
      <BusinessLabels b={b} />
    </div>
  );
}

export function SlosPage() {
  const { params } = useRoute();
  const asked = useBudgets();
  return (
    <>
      <Panel title={t('slo.objectives')} of={asked} isEmpty={(all) => all.length === 0} empty={t('slo.none')}>
        {(all) => <Objectives all={all} chosen={params.show ?? keyOf(all[0])} />}
      </Panel>
      {asked.value?.filter((b, i) => (params.show ? keyOf(b) === params.show : i === 0)).map((b) => <Details key={keyOf(b)} b={b} />)}
    </>
  );
}
