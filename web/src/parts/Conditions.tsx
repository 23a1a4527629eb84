// SPDX-License-Identifier: Apache-2.0
/** Conditions on requests: shown, removed, added. They stand in the address. */
import { useState } from 'preact/hooks';
import { conditionsOf, FIELDS, formatConditions, OUTCOMES, SIGNS, type Condition, type Sign } from '../data/requests';
import { t } from '../state/language';
import { setParams, useRoute } from '../state/route';

/** Conditions that came as parameters of their own become part of ?where=, so that there is one place. */
function write(params: Readonly<Record<string, string>>, all: Condition[]): void {
  const gone = Object.fromEntries(Object.keys(params).filter((k) => !['range', 'from', 'to', 'refresh', 'order'].includes(k)).map((k) => [k, '']));
  setParams({ ...gone, where: formatConditions(all) }, { isStep: true });
}

function Adder({ onAdd }: { onAdd: (c: Condition) => void }) {
  const [field, setField] = useState('model');
  const [sign, setSign] = useState<Sign>('=');
  const [value, setValue] = useState('');
  const add = (e: Event) => {
    e.preventDefault();
    onAdd({ field, sign, value: value.trim() });
    setValue('');
  };
  return (
    <form class="adder" aria-label={t('requests.add')} onSubmit={add}>
      <input list="fields" aria-label={t('requests.field')} value={field} onInput={(e) => setField(e.currentTarget.value)} />
      <datalist id="fields">{FIELDS.map((f) => <option key={f} value={f} />)}</datalist>
      <select aria-label={t('requests.sign')} value={sign} onChange={(e) => setSign(e.currentTarget.value as Sign)}>
        {SIGNS.map((s) => <option key={s} value={s}>{s}</option>)}
      </select>
      <input list="values" aria-label={t('requests.value')} value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      <datalist id="values">{field === 'outcome' && OUTCOMES.map((o) => <option key={o} value={o} />)}</datalist>
      <button type="submit">{t('requests.add')}</button>
    </form>
  );
}

export function Conditions() {
  const { params } = useRoute();
  const all = conditionsOf(params);
  return (
    <>
      {all.map((c, i) => {
        const text = `${c.field} ${c.sign} ${c.value || '–'}`;
        return (
          <span class="condition" key={text}>
            {text}
            <button type="button" class="quiet" aria-label={t('requests.remove', { condition: text })} onClick={() => write(params, all.filter((_, k) => k !== i))}>×</button>
          </span>
        );
      })}
      <Adder onAdd={(c) => write(params, [...all, c])} />
    </>
  );
}
