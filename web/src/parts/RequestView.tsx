// SPDX-License-Identifier: Apache-2.0
/** One request: where its time went, what it was, all its fields. */
import { AskError } from '../api/http';
import { requestById, type RequestRow } from '../api/requests';
import { useAsk } from '../data/ask';
import { curl } from '../data/waterfall';
import { fullTime, toSeconds } from '../format/time';
import { show, type Unit } from '../format/units';
import { t } from '../state/language';
import { linkTo } from '../state/route';
import { Badge } from './Badge';
import { Copy } from './Copy';
import { Figure } from './Figure';
import { PanelHead } from './Panel';
import { Empty, Failed, Loading } from './States';
import { Term } from './Term';
import { WaterfallView } from './WaterfallView';

const SECONDS_AROUND = 300;

function shown(field: string, value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.join(', ') || '–';
  if (typeof value === 'object') return Object.entries(value).map(([k, v]) => `${k}=${v}`).join(', ');
  const unit: Unit | null = field.endsWith('_ms') ? 'ms' : field.endsWith('_tokens') ? 'tokens' : field.endsWith('_bytes') ? 'bytes' : null;
  return typeof value === 'number' && unit ? show(value, unit) : String(value);
}

function Fields({ row }: { row: RequestRow }) {
  const all = Object.entries(row).filter(([k]) => k !== 'timeline');
  return (
    <section class="panel" aria-label={t('requests.all')}>
      <PanelHead title={t('requests.all')} />
      <dl class="fields">
        {all.map(([k, v]) => <div key={k}><dt><Term of={k}>{k}</Term></dt><dd>{shown(k, v)}</dd></div>)}
      </dl>
    </section>
  );
}

function Head({ row }: { row: RequestRow }) {
  const at = toSeconds(row.started_at)!;
  const around = { from: String(Math.floor(at - SECONDS_AROUND)), to: String(Math.ceil(at + SECONDS_AROUND)), range: '' };
  return (
    <>
      <p class="gateway">
        <Badge tone={row.outcome === 'ok' ? 'good' : 'bad'}>{row.outcome}{row.outcome_reason ? ` · ${row.outcome_reason}` : ''}</Badge>
        {row.flags.map((f) => <Badge key={f} tone="plain">{f}</Badge>)}
        <span>{fullTime(at)} · {row.model} · {row.upstream} · {row.method} {row.endpoint}</span>
        {Object.entries(row.labels ?? {}).map(([k, v]) => <Badge key={k} tone="plain">{k}={v}</Badge>)}
        <a href={linkTo('latency', { ...around, model: row.model, upstream: row.upstream })}>{t('incident.latency')}</a>
        <a href={linkTo('requests', { ...around, model: row.model, order: '-e2e_ms' })}>{t('requests.similar')}</a>
        <Copy text={curl(row, 'http://GATEWAY')} name={t('requests.curl')} note={t('requests.curlNote')} />
      </p>
      <section class="figures" aria-label={t('requests.id')}>
        <Figure name="TTFT" term="ttft_ms" value={row.ttft_ms} unit="ms" />
        <Figure name="TPOT" term="tpot_ms" value={row.tpot_ms ?? null} unit="ms" />
        <Figure name="E2E" term="e2e_ms" value={row.e2e_ms} unit="ms" />
        <Figure name={t('requests.total')} term="total_ms" value={row.total_ms} unit="ms" />
        <Figure name={t('requests.prompt')} term="prompt_tokens" value={row.prompt_tokens} unit="tokens" />
        <Figure name={t('requests.cached')} term="cached_tokens" value={row.cached_tokens ?? null} unit="tokens" />
        <Figure name={t('requests.completion')} term="completion_tokens" value={row.completion_tokens} unit="tokens" />
        <Figure name={t('requests.attempts')} term="n_attempts" value={row.n_attempts} unit="count" tone={row.n_attempts > 1 ? 'warn' : 'plain'} />
      </section>
    </>
  );
}

export function RequestView({ id }: { id: string }) {
  const asked = useAsk(`request ${id}`, (signal) => requestById(id, signal), { when: '' });
  const back = <p><a href={linkTo('requests')}>← {t('requests.back')}</a></p>;
  if (asked.isLoading) return <Loading />;
  if (!asked.value) {
    const isGone = asked.error instanceof AskError && asked.error.status === 404;
    return <>{back}{isGone ? <Empty>{t('requests.gone')}</Empty> : <Failed error={asked.error!} again={asked.again} />}</>;
  }
  return (
    <>
      {back}
      <h2 class="request-id">{asked.value.request_id}</h2>
      <Head row={asked.value} />
      <WaterfallView row={asked.value} />
      <Fields row={asked.value} />
    </>
  );
}
