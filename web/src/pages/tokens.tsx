// SPDX-License-Identifier: Apache-2.0
/** Tokens with the requests beside them: more requests or heavier ones; what the cache saves; what it costs. */
import { useAskRange } from '../data/ask';
import { quantileLines, rateLines } from '../data/curves';
import { scopeKey, useScope } from '../data/scope';
import { change, costOf, gpuLines, hitLines, totals, type Price, type Total } from '../data/tokens';
import { show } from '../format/units';
import { LinesPanel } from '../parts/Lines';
import { Panel } from '../parts/Panel';
import { Scope } from '../parts/Scope';
import { Table, type Column } from '../parts/Table';
import { t } from '../state/language';
import { setPrices, usePrices } from '../state/prices';
import { linkTo } from '../state/route';

const PRICED: (keyof Price)[] = ['prompt', 'cached', 'completion'];
const FREE: Price = { prompt: 0, completion: 0, cached: 0 };

function Verdict() {
  const scope = useScope();
  const { value } = useAskRange(`change ${scopeKey(scope)}`, (r, s) => change(scope, r, s));
  if (!value || value.requests === null) return null;
  return <p class="verdict verdict-plain">{t('tokens.verdict', { requests: show(value.requests, 'x'), weight: show(value.weight, 'x') })}</p>;
}

function PriceEditor({ models }: { models: string[] }) {
  const prices = usePrices();
  const set = (model: string, type: keyof Price, text: string) => setPrices({ ...prices, [model]: { ...FREE, ...prices[model], [type]: Math.max(0, Number(text) || 0) } });
  return (
    <details>
      <summary>{t('tokens.prices')}</summary>
      <div class="prices">
        {models.map((model) => PRICED.map((type) => (
          <label key={`${model} ${type}`}>
            {t('tokens.price', { model, type: t(`tokens.type.${type}`) })}{' '}
            <input type="number" min="0" step="any" value={prices[model]?.[type] ?? ''} onChange={(e) => set(model, type, e.currentTarget.value)} />
          </label>
        )))}
      </div>
    </details>
  );
}

function Totals() {
  const scope = useScope();
  const prices = usePrices();
  const asked = useAskRange(`totals ${scopeKey(scope)}`, (r, s) => totals(scope, r, s));
  const number = (key: 'prompt' | 'completion' | 'cached' | 'reasoning'): Column<Total> =>
    ({ key, name: t(`tokens.type.${key}`), isNumber: true, sort: (x) => x[key], cell: (x) => show(Math.round(x[key]), 'tokens') });
  const columns: Column<Total>[] = [
    { key: 'model', name: t('label.model'), sort: (x) => x.model, cell: (x) => <a href={linkTo('requests', { model: x.model, upstream: x.upstream, order: '-prompt_tokens' })}>{x.model}</a> },
    { key: 'upstream', name: t('label.upstream'), sort: (x) => x.upstream, cell: (x) => x.upstream },
    { key: 'requests', name: t('tokens.requests'), isNumber: true, sort: (x) => x.requests, cell: (x) => show(Math.round(x.requests), 'requests') },
    number('prompt'), number('cached'), number('completion'), number('reasoning'),
    { key: 'cost', name: t('tokens.cost'), isNumber: true, sort: (x) => costOf(x, prices), cell: (x) => (costOf(x, prices) === null ? <small>{t('tokens.noPrice')}</small> : show(costOf(x, prices), 'money')) },
  ];
  return (
    <Panel title={t('tokens.byModel')} term="llm_tokens_total" of={asked} isEmpty={(all) => all.length === 0} class="wide">
      {(all) => (
        <>
          <Table label={t('tokens.byModel')} columns={columns} rows={all} rowKey={(x) => `${x.model} ${x.upstream}`} initial={{ key: 'prompt', isDown: true }} />
          <PriceEditor models={[...new Set(all.map((x) => x.model))]} />
        </>
      )}
    </Panel>
  );
}

export function TokensPage() {
  const scope = useScope();
  const key = scopeKey(scope);
  const distribution = (metric: string, title: string) =>
    <LinesPanel title={title} term={metric} unit="tokens" askKey={`${metric} ${key}`} load={(r, s) => quantileLines(metric, scope, r, s)} empty={metric === 'llm_cached_tokens' ? t('tokens.noCache') : undefined} />;
  return (
    <>
      <Scope />
      <Verdict />
      <div class="grid">
        <LinesPanel title={t('tokens.total')} term="llm_tokens_total" unit="tokens/s" askKey={`types ${key}`} load={(r, s) => rateLines('llm_tokens_total', scope, ['type'], r, s)} />
        <LinesPanel title={t('tokens.requests')} term="llm_requests_total" unit="requests/s" askKey={`requests ${key}`} load={(r, s) => rateLines('llm_requests_total', scope, ['model'], r, s)} />
        {distribution('llm_prompt_tokens', t('tokens.prompt'))}
        {distribution('llm_completion_tokens', t('tokens.completion'))}
        {distribution('llm_cached_tokens', t('tokens.cached'))}
        <LinesPanel title={t('tokens.hit')} term="cached_tokens" unit="ratio" max={1} askKey={`hit ${key}`} load={(r, s) => hitLines(scope, r, s)} empty={t('tokens.noCache')} />
        <LinesPanel title={t('tokens.gpu')} term="gpu_utilization_ratio" unit="tokens/s" askKey={`gpu ${key}`} load={(r, s) => gpuLines(scope, r, s)} empty={t('tokens.noGpu')} />
        <Totals />
      </div>
    </>
  );
}
