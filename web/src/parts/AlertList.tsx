// SPDX-License-Identifier: Apache-2.0
/** What fires and what may fire soon, in a few lines. */
import { useAlerts } from '../data/alerts';
import { toSeconds, shortTime } from '../format/time';
import { t } from '../state/language';
import { linkTo } from '../state/route';
import { Badge, Tier } from './Badge';
import { Panel } from './Panel';

const MOST = 4;

export function AlertList() {
  const asked = useAlerts();
  return (
    <Panel title={t('alerts.now')} of={asked} isEmpty={(a) => a.length === 0} empty={t('alerts.none')} aside={<a href={linkTo('alerts')}>{t('action.all')}</a>}>
      {(alerts) => (
        <ul class="list">
          {alerts.slice(0, MOST).map((a) => (
            <li key={JSON.stringify(a.labels)} class="line" title={a.annotations.summary}>
              <Tier tier={a.labels.tier} /> {a.state === 'pending' && <Badge tone="plain">{t('alerts.pending')}</Badge>}{' '}
              <small>{t('alerts.since', { time: shortTime(toSeconds(a.activeAt)!) })}</small>{' '}
              <a href={linkTo('alerts', { show: a.labels.alertname })}>{a.annotations.summary ?? a.labels.alertname}</a>
            </li>
          ))}
          {alerts.length > MOST && <li><a href={linkTo('alerts')}>{t('action.more', { n: alerts.length - MOST })}</a></li>}
        </ul>
      )}
    </Panel>
  );
}
