// SPDX-License-Identifier: Apache-2.0
/** One incident. */
import { useMemo } from 'preact/hooks';
import { incident, markdownOf, type Incident, type IncidentCurve } from '../api/incidents';
import { AskError } from '../api/http';
import { LineChart } from '../charts/LineChart';
import type { Mark } from '../charts/lines';
import { useAsk } from '../data/ask';
import { incidentPicture, timesOf } from '../data/incidents';
import { dayClock, fullTime, toSeconds } from '../format/time';
import { span } from '../format/units';
import { t, tMaybe } from '../state/language';
import { linkTo } from '../state/route';
import { Badge, Tier } from './Badge';
import { IncidentActs } from './IncidentActs';
import { PanelHead } from './Panel';
import { Empty, Failed, Loading } from './States';

function Alerts({ i }: { i: Incident }) {
  return (
    <section class="panel" aria-label={t('incident.alerts')}>
      <PanelHead title={t('incident.alerts')} />
      <ul class="list">
        {i.alerts.map((a, k) => (
          <li key={k}>
            <Tier tier={a.tier} /> <a href={linkTo('alerts', { show: a.name })}>{a.name}</a>{' '}
            {a.is_firing && <Badge tone="bad">{t('alerts.firing')}</Badge>} {a.is_noise && <Badge tone="plain">{t('incident.isNoise')}</Badge>}{' '}
            {a.annotations.summary}{' '}
            <small>{dayClock(toSeconds(a.started_at)!)}{a.ended_at ? ` – ${dayClock(toSeconds(a.ended_at)!)}` : ''}</small>
            {a.requests.length > 0 && <p><small>{t('incident.requests')}:</small> {a.requests.map((r) => <><a key={r} href={linkTo('requests', {}, r)}>{r.slice(0, 8)}</a> </>)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Curve({ curve, marks }: { curve: IncidentCurve; marks: Mark[] }) {
  const picture = useMemo(() => incidentPicture(curve, marks), [curve]);
  const title = tMaybe(`curve.${curve.name}`, curve.title);
  return (
    <section class="panel" aria-label={title}>
      <PanelHead title={title} aside={curve.series_left_out ? t('incident.leftOut', { n: curve.series_left_out }) : undefined} />
      <LineChart title={title} picture={picture} height={150} />
    </section>
  );
}

const CURVES_AFTER_S = 660; // ten minutes behind its end, and until the last part is taken

const areCurvesDue = (i: Incident): boolean => i.ended_at !== null && Date.now() / 1000 - toSeconds(i.ended_at)! > CURVES_AFTER_S;

function lastedWords(i: Incident): string {
  const lasted = (toSeconds(i.ended_at) ?? Date.now() / 1000) - toSeconds(i.started_at)!;
  return t(i.ended_at ? 'incident.took' : 'incident.soFar', { length: span(lasted) });
}

function Body({ i, again }: { i: Incident; again: () => void }) {
  const { from, to } = timesOf(i);
  const curves = i.curves.filter((c) => c.series?.some((s) => s.values.some((v) => v !== null)));
  const marks: Mark[] = [{ at: toSeconds(i.started_at)!, text: t('incident.started') }];
  return (
    <>
      <p class="gateway">
        <Tier tier={i.tier} /> <Badge tone={i.state === 'closed' ? 'plain' : 'bad'}>{tMaybe(`incident.state.${i.state}`, i.state)}</Badge>
        <span>{fullTime(toSeconds(i.started_at)!)} · {lastedWords(i)}</span>
        {i.acknowledged_by && <Badge tone="good">{t('incident.acked', { name: i.acknowledged_by })}</Badge>}
        <a href={linkTo('latency', { from, to, range: '' })}>{t('incident.latency')}</a>
        <a href={markdownOf(i.id)} download={`${i.id}.md`}>{t('incident.markdown')}</a>
      </p>
      <div class="stack"><Alerts i={i} /><IncidentActs i={i} again={again} /></div>
      <h2 class="section">{t('incident.curves')}</h2>
      {curves.length === 0 ? <Empty>{t(areCurvesDue(i) ? 'incident.noCurves' : 'incident.curvesLater')}</Empty> : <div class="grid">{curves.map((c) => <Curve key={c.name} curve={c} marks={marks} />)}</div>}
    </>
  );
}

export function IncidentView({ id }: { id: string }) {
  const asked = useAsk(`incident ${id}`, (signal) => incident(id, signal), { topics: ['incidents'] });
  const isGone = asked.error instanceof AskError && asked.error.status === 404;
  return (
    <>
      <p><a href={linkTo('incidents')}>← {t('incident.back')}</a></p>
      {asked.isLoading ? <Loading /> : asked.value ? <Body i={asked.value} again={asked.again} /> : isGone ? <Empty>{t('incident.gone')}</Empty> : <Failed error={asked.error!} again={asked.again} />}
    </>
  );
}
