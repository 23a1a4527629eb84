// SPDX-License-Identifier: Apache-2.0
/** Choices of a part of the traffic; they stand in the address. */
import { useAsk } from '../data/ask';
import { dimensions } from '../data/scope';
import { t, tMaybe } from '../state/language';
import { setParams, useRoute } from '../state/route';

export function Scope() {
  const { params } = useRoute();
  const { value } = useAsk('dimensions', dimensions, { when: '' });
  const shown = (value ?? []).filter((d) => d.values.length > 1 || params[d.name]);
  return (
    <div class="scope" role="group" aria-label={t('scope.label')}>
      {shown.map(({ name, values }) => (
        <label key={name}>
          {tMaybe(`label.${name}`, name)}{' '}
          <select value={params[name] ?? ''} onChange={(e) => setParams({ [name]: e.currentTarget.value }, { isStep: true })}>
            <option value="">{t('scope.all')}</option>
            {(values.includes(params[name] ?? '') || !params[name] ? values : [params[name], ...values]).map((v) => <option key={v} value={v}>{v}</option>)}
          </select>
        </label>
      ))}
    </div>
  );
}
