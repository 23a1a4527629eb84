// SPDX-License-Identifier: Apache-2.0
/** What fires, every rule with its expression against its threshold, silences. */
import { endSilence, type Alert } from '../api/alerts';
import { useMayChange } from '../api/session';
import { ownLabels, scopeOfAlert, useAlerts } from '../data/alerts';
import { firedLines, ruleCurves, unitOf, useRules, useSilences, type GroupedRule } from '../data/rules';
import { shortTime, toSeconds } from '../format/time';
import { show } from '../format/units';
import { Badge, Tier } from '../parts/Badge';
import { Choice } from '../parts/Choice';
import { LinesPanel } from '../parts/Lines';
import { Panel, PanelHead } from '../parts/Panel';
import { SilenceForm } from '../parts/SilenceForm';
import { Table, type Column } from '../parts/Table';
import { t, tMaybe } from '../state/language';
import { linkTo, setParams, useRoute } from '../state/route';
import { useState } from 'preact/hooks';

const toneOf = { firing: 'bad', pending: 'warn', inactive: 'good', unknown: 'plain' } as const;

function AlertItem({ a }: { a: Alert }) {
  const [isSilencing, setSilencing] = useState(false);
  const mayChange = useMayChange();
  return (
    <li class="alert">
      <p>
        <Tier tier={a.labels.tier} /> <Badge tone={toneOf[a.state]}>{t(`alerts.${a.state}`)}</Badge>{' '}
        <b>{a.annotations.summary ?? a.labels.alertname}</b> <small>{t('alerts.since', { time: shortTime(toSeconds(a.activeAt)!) })}</small>
      </p>
      {a.annotations.description && <p>{a.annotations.description}</p>}
      <p class="panel-aside">
        <a href={linkTo('alerts', { show: a.labels.alertname })}>{a.labels.alertname}</a>
        {ownLabels(a.labels).map(([k, v]) => <Badge key={k} tone="plain">{k}={v}</Badge>)}
        <a href={linkTo('latency', scopeOfAlert(a.labels))}>{t('alerts.latency')}</a>
        {mayChange && <button type="button" onClick={() => setSilencing(!isSilencing)}>{t('alerts.silence')}</button>}
      </p>
      {isSilencing && <SilenceForm labels={a.labels} onDone={() => setSilencing(false)} />}
    </li>
  );
}

function Active() {
  const asked = useAlerts();
  return (
    <Panel title={t('alerts.now')} of={asked} isEmpty={(all) => all.length === 0} empty={t('alerts.none')} class="wide">
      {(all) => <ul class="list">{all.map((a) => <AlertItem key={JSON.stringify(a.labels)} a={a} />)}</ul>}
    </Panel>
  );
}

function RuleView({ rule }: { rule: GroupedRule }) {
  return (
    <section class="panel" aria-label={rule.name}>
      <PanelHead title={rule.name} aside={<><Badge tone={toneOf[rule.state]}>{tMaybe(`alerts.${rule.state}`, rule.state)}</Badge><Tier tier={rule.labels.tier} /><span>{t('alerts.for')} {show(rule.duration, 'seconds')}</span><a href={linkTo('alerts')}>{t('action.close')}</a></>} />
      <pre>{rule.query}</pre>
      {rule.health === 'err' && <p class="state-error">{rule.lastError}</p>}
      <p><small>{rule.annotations.runbook_url && `${t('alerts.runbook')}: ${rule.annotations.runbook_url} · `}{rule.group} · {rule.file}</small></p>
      <LinesPanel title={t('alerts.curve')} unit={unitOf(rule.query)} askKey={`rule ${rule.group} ${rule.name} ${rule.query}`} load={(r, s) => ruleCurves(rule, t('alerts.threshold'), r, s)} empty={t('alerts.noCurve')} />
      <LinesPanel title={t('alerts.history')} unit="count" max={1} height={70} askKey={`fired ${rule.name}`} load={(r, s) => firedLines(rule.name, r, s)} empty={t('alerts.none')} />
    </section>
  );
}

/** What tells rules of one name apart. */
const ofRule = (r: GroupedRule): string => Object.entries(r.labels).filter(([k]) => k !== 'tier').map(([k, v]) => `${k}=${v}`).join(' ');

function Rules() {
  const { params } = useRoute();
  const asked = useRules();
  const [filter, setFilter] = useState('');
  const columns: Column<GroupedRule>[] = [
    { key: 'state', name: t('alerts.state'), sort: (r) => r.state, cell: (r) => <Badge tone={toneOf[r.state]}>{tMaybe(`alerts.${r.state}`, r.state)}</Badge> },
    { key: 'name', name: t('alerts.rule'), sort: (r) => r.name, cell: (r) => <><a href={linkTo('alerts', { show: r.name })}>{r.name}</a><small class="beside">{ofRule(r)}</small></> },
    { key: 'tier', name: t('alerts.tier'), sort: (r) => r.labels.tier ?? '', cell: (r) => <Tier tier={r.labels.tier} /> },
    { key: 'for', name: t('alerts.for'), isNumber: true, sort: (r) => r.duration, cell: (r) => show(r.duration, 'seconds') },
    { key: 'group', name: t('alerts.group'), isMinor: true, sort: (r) => r.group, cell: (r) => r.group },
    { key: 'health', name: t('alerts.evaluated'), isMinor: true, sort: (r) => r.health, cell: (r) => (r.health === 'err' ? <Badge tone="bad" title={r.lastError}>{tMaybe(`rule.health.${r.health}`, r.health)}</Badge> : tMaybe(`rule.health.${r.health}`, r.health)) },
  ];
  const labels = (r: GroupedRule): string => Object.values(r.labels).join(' ');
  return (
    <>
      {params.show && asked.value?.filter((r) => r.name === params.show).map((r, i) => <RuleView key={`${i} ${r.query}`} rule={r} />)}
      <Panel title={t('alerts.rules')} of={asked} isEmpty={(all) => all.length === 0} empty={t('alerts.noRules')} class="wide"
        aside={<Choice label={t('alerts.filter')} value={filter} none={t('alerts.allRules')} options={[['active', t('alerts.onlyActive')]]} onChoose={setFilter} />}>
        {(all) => <Table label={t('alerts.rules')} columns={columns} rows={all.filter((r) => !filter || r.state !== 'inactive')} rowKey={(r, i) => `${r.name} ${labels(r)} ${i}`} />}
      </Panel>
    </>
  );
}

function Silences() {
  const asked = useSilences();
  const mayChange = useMayChange();
  const end = async (id: string) => {
    await endSilence(id);
    asked.again();
  };
  return (
    <Panel title={t('alerts.silences')} of={asked} isEmpty={(all) => all.length === 0} empty={t('alerts.noSilences')} class="wide">
      {(all) => (
        <ul class="list">
          {all.map((s) => (
            <li key={s.id}>
              {s.matchers.map((m) => <Badge key={m.name} tone="plain">{`${m.name}${m.isEqual ? '=' : '!='}${m.isRegex ? '~' : ''}${m.value}`}</Badge>)}{' '}
              {s.comment} <small>{t('alerts.by')} {s.createdBy}, {t('alerts.until')} {shortTime(toSeconds(s.endsAt)!)}</small>{' '}
              {mayChange && <button type="button" onClick={() => void end(s.id)}>{t('alerts.endSilence')}</button>}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export function AlertsPage() {
  const { params } = useRoute();
  return (
    <div class="stack" key={params.show ?? ''} data-show={params.show} onKeyDown={(e) => e.key === 'Escape' && params.show && setParams({ show: '' })}>
      {!params.show && <Active />}
      {!params.show && <Silences />}
      <Rules />
    </div>
  );
}
