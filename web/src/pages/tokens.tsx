// SPDX-License-Identifier: Apache-2.0
/** Tokens with the requests beside them: more requests or heavier ones; what the cache saves; what it costs. */
import { prices } from '../api/prices';
import type { Labels } from '../api/prom';
import { useAsk, useAskRange } from '../data/ask';
import { quantileLines, rateLines } from '../data/curves';
import { scopeKey, useScope } from '../data/scope';
import { change, costOf, gpuLines, hitLines, totals, type Total } from '../data/tokens';
import { show } from '../format/units';
import { LinesPanel } from '../parts/Lines';
import { Panel } from '../parts/Panel';
import { Scope } from '../parts/Scope';
import { Table, type Column } from '../parts/Table';
import { t, tMaybe } from '../state/language';
import { linkTo } from '../state/route';

function Verdict() {
  const scope = useScope();
  const { value } = useAskRange(`change ${scopeKey(scope)}`, (r, s) => change(scope, r, s));
  if (!value || value.requests === null) return null;
  return <p class="verdict verdict-plain">{t('tokens.verdict', { requests: show(value.requests, 'x'), weight: show(value.weight, 'x') })}</p>;
}

function Totals() {
  const scope = useScope();
  const { value: priced } = useAsk('prices', prices, { when: '' });
  const cost = (x: Total): number | null => (priced ? costOf(x, priced) : null);
  const asked = useAskRange(`totals ${scopeKey(scope)}`, (r, s) => totals(scope, r, s));
  const number = (key: 'prompt' | 'completion' | 'cached' | 'reasoning'): Column<Total> =>
    ({ key, name: t(`tokens.type.${key}`), isNumber: true, sort: (x) => x[key], cell: (x) => show(Math.round(x[key]), 'tokens') });
  const columns: Column<Total>[] = [
    { key: 'model', name: t('label.model'), sort: (x) => x.model, cell: (x) => <a href={linkTo('requests', { model: x.model, upstream: x.upstream, order: '-prompt_tokens' })}>{x.model}</a> },
    { key: 'upstream', name: t('label.upstream'), sort: (x) => x.upstream, cell: (x) => x.upstream },
    { key: 'requests', name: t('tokens.requests'), isNumber: true, sort: (x) => x.requests, cell: (x) => show(Math.round(x.requests), 'requests') },
    number('prompt'), number('cached'), number('completion'), number('reasoning'),
    { key: 'cost', name: t('tokens.cost'), term: 'cost', isNumber: true, sort: cost, cell: (x) => (cost(x) === null ? <small>{t('tokens.noPrice')}</small> : `${show(cost(x), 'money')} ${priced!.currency}`) },
  ];
  return (
    <Panel title={t('tokens.byModel')} term="llm_tokens_total" of={asked} isEmpty={(all) => all.length === 0} class="wide">
      {(all) => <Table label={t('tokens.byModel')} columns={columns} rows={all} rowKey={(x) => `${x.model} ${x.upstream}`} initial={{ key: 'prompt', isDown: true }} />}
    </Panel>
  );
}

export function TokensPage() {
  const scope = useScope();
  const key = scopeKey(scope);
  const typeName = (l: Labels): string => tMaybe(`tokens.type.${l.type}`, l.type);
  const distribution = (metric: string, title: string) =>
    <LinesPanel title={title} term={metric} unit="tokens" height={140} askKey={`${metric} ${key}`} load={(r, s) => quantileLines(metric, scope, r, s)} empty={metric === 'llm_cached_tokens' ? t('tokens.noCache') : undefined} />;
  return (
    <>
      <div class="scopes"><Scope /></div>
      <Verdict />
      <div class="grid">
        <LinesPanel title={t('tokens.total')} term="llm_tokens_total" unit="tokens/s" isRate askKey={`types ${key}`} load={(r, s) => rateLines('llm_tokens_total', scope, ['type'], r, s, typeName)} />
        <LinesPanel title={t('tokens.requests')} term="llm_requests_total" unit="requests/s" isRate askKey={`requests ${key}`} load={(r, s) => rateLines('llm_requests_total', scope, ['model'], r, s)} />
      </div>
      <div class="grid thirds">
        {distribution('llm_prompt_tokens', t('tokens.prompt'))}
        {distribution('llm_completion_tokens', t('tokens.completion'))}
        {distribution('llm_cached_tokens', t('tokens.cached'))}
      </div>
      <div class="grid">
        <LinesPanel title={t('tokens.hit')} term="cache_hit_ratio" unit="ratio" max={1} height={140} askKey={`hit ${key}`} load={(r, s) => hitLines(scope, r, s)} empty={t('tokens.noCache')} />
        <LinesPanel title={t('tokens.gpu')} term="tokens_per_gpu_second" unit="tokens/s" isRate height={140} askKey={`gpu ${key}`} load={(r, s) => gpuLines(scope, r, s)} empty={t('tokens.noGpu')} />
        <Totals />
      </div>
    </>
  );
}
