// SPDX-License-Identifier: Apache-2.0
/** What is left of each error budget, as bars. */
import type { Budget } from '../api/slo';
import { useBudgets } from '../data/slo';
import { show } from '../format/units';
import { t, tMaybe } from '../state/language';
import { linkTo } from '../state/route';
import { Bar } from './Bar';
import { Panel } from './Panel';
import type { Tone } from './Figure';

export const budgetTone = (left: number | null): Tone => (left === null ? 'plain' : left <= 0 ? 'bad' : left < 0.25 ? 'warn' : 'good');
export const objectiveName = (b: Budget): string => tMaybe(`objective.${b.objective}`, b.objective);

export function BudgetList() {
  const asked = useBudgets();
  return (
    <Panel title={t('slo.left')} term="error_budget" of={asked} isEmpty={(all) => all.length === 0} empty={t('slo.none')} aside={<a href={linkTo('slos')}>{t('action.all')}</a>}>
      {(all) => (
        <ul class="list">
          {all.map((b) => (
            <li key={`${b.slo} ${b.objective}`} class="budget">
              <a href={linkTo('slos', { show: `${b.slo}/${b.objective}` })}>{b.slo} · {objectiveName(b)}</a>
              <Bar value={b.left_ratio} tone={budgetTone(b.left_ratio)} label={`${b.slo} ${objectiveName(b)}`} />
              <b class={`tone-${budgetTone(b.left_ratio)}`}>{show(b.left_ratio, 'ratio')}</b>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
