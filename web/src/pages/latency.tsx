// SPDX-License-Identifier: Apache-2.0
/** Where the time goes, and since when: stages above one another on one time axis. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { HeatMap } from '../charts/HeatMap';
import { LineChart } from '../charts/LineChart';
import { ScatterChart } from '../charts/ScatterChart';
import type { Mark } from '../charts/lines';
import { useAsk, useAskRange, type Asked } from '../data/ask';
import { BANDS, batchClouds, heat, heatRange, LATENCY_QUANTILES, stagePicture, STAGES, stageShares, type StagePicture, type StageRow, type View } from '../data/latency';
import { dimensions, scopeKey, useScope } from '../data/scope';
import { clock } from '../format/time';
import { show } from '../format/units';
import { Choice } from '../parts/Choice';
import { LinesPanel } from '../parts/Lines';
import { Panel } from '../parts/Panel';
import { Scope } from '../parts/Scope';
import { t, tMaybe } from '../state/language';
import type { Range } from '../state/range';
import { linkTo, setParams, useRoute } from '../state/route';

const EARLIER = ['1h', '1d', '7d'];

interface Seen extends StagePicture {
  range: Range;
}

function useView(): View {
  const { params } = useRoute();
  return { scope: useScope(), split: params.split ?? '', q: params.q in LATENCY_QUANTILES ? params.q : 'p95', earlier: params.cmp ?? '' };
}

function useStage(stage: StageRow, view: View): Asked<Seen> {
  return useAskRange(`${stage.key} ${JSON.stringify(view)}`, async (range, signal) => ({ ...(await stagePicture(stage, view, range, signal)), range }));
}

function Controls({ view }: { view: View }) {
  const { value } = useAsk('dimensions', dimensions, { when: '' });
  const splits = [...(value ?? []).map((d) => d.name), ...BANDS];
  const set = (name: string) => (v: string) => setParams({ [name]: v }, { isStep: true });
  return (
    <div class="scope" role="group" aria-label={t('latency.view')}>
      <Choice label={t('latency.split')} value={view.split} none={t('latency.noSplit')} options={splits.map((s) => [s, tMaybe(`label.${s}`, s)])} onChoose={set('split')} />
      <Choice label={t('latency.quantile')} value={view.q} options={Object.keys(LATENCY_QUANTILES).map((q) => [q, q])} onChoose={set('q')} />
      <Choice label={t('latency.compare')} value={view.earlier} none={t('latency.noCompare')} options={EARLIER.map((e) => [e, t('latency.earlier', { length: e })])} onChoose={set('cmp')} />
    </div>
  );
}

const stageName = (s: StageRow): string => t(`stage.${s.key}`);
const partName = (stage: string): string => tMaybe(`part.${stage}`, stage);

/** Which stage left what is usual first: the answer that people come for. */
function Departures({ all }: { all: { stage: StageRow; asked: Asked<Seen> }[] }) {
  if (all.some(({ asked }) => asked.isLoading)) return null;
  const left = all.flatMap(({ stage, asked }) => (asked.value?.departure ? [{ stage, d: asked.value.departure }] : [])).sort((a, b) => a.d.at - b.d.at);
  if (left.length === 0) return <p class="verdict verdict-good" role="status">{t('latency.usual')}</p>;
  return (
    <div class="verdict verdict-bad" role="status">
      <ol>{left.map(({ stage, d }) => (
        <li key={stage.key}>{t('latency.left', { stage: stageName(stage), time: clock(d.at), usual: show(d.usual, 'seconds'), value: show(d.value, 'seconds') })}</li>
      ))}</ol>
    </div>
  );
}

function StageChart({ stage, seen, marks }: { stage: StageRow; seen: Seen; marks: Mark[] }) {
  const { lines, range } = seen;
  const key = JSON.stringify(marks);
  const picture = useMemo(() => ({ lines, unit: 'seconds' as const, start: range.start, end: range.end, step: range.step, marks }), [seen, key]);
  return <LineChart title={stageName(stage)} picture={picture} height={120} />;
}

function Heat({ metric, title, aside }: { metric: string; title: string; aside: ComponentChildren }) {
  const scope = useScope();
  const asked = useAskRange(`heat ${metric} ${scopeKey(scope)}`, async (r, signal) => {
    const range = heatRange(r);
    return { curves: await heat(metric, scope, range, signal), range };
  });
  return (
    <Panel title={title} term={metric} of={asked} aside={aside} isEmpty={(h) => h.curves.every((c) => c.points.every((p) => p.buckets.length === 0))}>
      {({ curves, range }) => <HeatMap title={title} curves={curves} unit="seconds" range={range} height={250} />}
    </Panel>
  );
}

function Batch() {
  const scope = useScope();
  const asked = useAskRange(`batch ${scopeKey(scope)}`, (range, signal) => batchClouds(scope, range, signal));
  return (
    <Panel title={t('latency.batch')} term="batch_size" of={asked} isEmpty={(c) => c.length === 0}>
      {(clouds) => <ScatterChart title={t('latency.batch')} clouds={clouds} x={{ name: t('figure.inFlight'), unit: 'count' }} y={{ name: 'TPOT p50', unit: 'seconds' }} />}
    </Panel>
  );
}

export function LatencyPage() {
  const view = useView();
  const all = STAGES.map((stage) => ({ stage, asked: useStage(stage, view) }));
  const marks = (own: StageRow): Mark[] => all.flatMap(({ stage, asked }) =>
    (asked.value?.departure && stage === own ? [{ at: asked.value.departure.at, text: t('latency.mark') }] : []));
  const [heatOf, setHeat] = useState('llm_ttft_seconds');
  const heatStage = STAGES.find((s) => s.metric === heatOf)!;
  return (
    <>
      <div class="scopes"><Scope /><Controls view={view} /></div>
      <Departures all={all} />
      <div class="stack">
        {all.map(({ stage, asked }) => (
          <Panel key={stage.key} title={stageName(stage)} term={stage.metric} of={asked} isEmpty={(s) => s.lines.length === 0} empty={BANDS.includes(view.split) && stage.key !== 'ttft' ? t('latency.noBand') : undefined}
            aside={<a href={linkTo('requests', { order: stage.key === 'tpot' ? '-tpot_ms' : `-${stage.key}_ms` })}>{t('latency.slowest')}</a>}>
            {(seen) => <StageChart stage={stage} seen={seen} marks={marks(stage)} />}
          </Panel>
        ))}
        <LinesPanel title={t('latency.shares')} term="inferometer_stage_seconds" unit="seconds" askKey="shares" load={(r, s) => stageShares(r, s, partName)} height={150} />
      </div>
      <div class="grid">
        <Heat key={heatOf} metric={heatOf} title={t('latency.heat', { stage: stageName(heatStage) })}
          aside={<Choice label={t('latency.heatOf')} value={heatOf} options={STAGES.map((s) => [s.metric, t(`stage.short.${s.key}`)])} onChoose={setHeat} />} />
        <Batch />
      </div>
    </>
  );
}
