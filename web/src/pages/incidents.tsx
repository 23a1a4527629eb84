// SPDX-License-Identifier: Apache-2.0
/** What went wrong, kept longer than the samples; one incident with its alerts, curves and notes. */
import { incidents, type IncidentSummary } from '../api/incidents';
import { useAsk } from '../data/ask';
import { fullTime, toSeconds } from '../format/time';
import { show, span } from '../format/units';
import { Badge, Tier } from '../parts/Badge';
import { IncidentView } from '../parts/IncidentView';
import { Panel } from '../parts/Panel';
import { Table, type Column } from '../parts/Table';
import { t, tMaybe } from '../state/language';
import { linkTo } from '../state/route';

export const lengthOf = (i: { started_at: string; ended_at: string | null }): number =>
  (toSeconds(i.ended_at) ?? Date.now() / 1000) - toSeconds(i.started_at)!;

const columns = (): Column<IncidentSummary>[] => [
  { key: 'started', name: t('incident.started'), sort: (i) => i.started_at, cell: (i) => <a href={linkTo('incidents', {}, i.id)}>{fullTime(toSeconds(i.started_at)!)}</a> },
  { key: 'tier', name: t('alerts.tier'), sort: (i) => i.tier, cell: (i) => <Tier tier={i.tier} /> },
  { key: 'state', name: t('incident.state'), sort: (i) => i.state, cell: (i) => <Badge tone={i.state === 'closed' ? 'plain' : 'bad'}>{tMaybe(`incident.state.${i.state}`, i.state)}</Badge> },
  { key: 'alerts', name: t('incident.alerts'), cell: (i) => <>{i.alerts.join(', ')} {i.is_noise && <Badge tone="plain">{t('incident.isNoise')}</Badge>}</> },
  { key: 'length', name: t('incident.length'), isNumber: true, sort: lengthOf, cell: (i) => span(lengthOf(i)) },
  { key: 'fired', name: t('incident.fired'), isNumber: true, sort: (i) => i.times_fired, cell: (i) => show(i.times_fired, 'count') },
  { key: 'notes', name: t('incident.notes'), isNumber: true, sort: (i) => i.notes, cell: (i) => show(i.notes, 'count') },
];

function List() {
  const asked = useAsk('incidents', incidents, { topics: ['incidents'] });
  return (
    <Panel title={t('incident.list')} of={asked} isEmpty={(all) => all.length === 0} empty={t('incident.none')}>
      {(all) => <Table label={t('incident.list')} columns={columns()} rows={all} rowKey={(i) => i.id} />}
    </Panel>
  );
}

export function IncidentsPage({ id }: { id: string | null }) {
  return id === null ? <List /> : <IncidentView key={id} id={id} />;
}
