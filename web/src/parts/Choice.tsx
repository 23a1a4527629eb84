// SPDX-License-Identifier: Apache-2.0
/** A labelled list to choose from. none: words for no choice. */
export interface ChoiceProps {
  label: string;
  value: string;
  options: (readonly [value: string, name: string])[];
  none?: string;
  onChoose: (value: string) => void;
}

export function Choice({ label, value, options, none, onChoose }: ChoiceProps) {
  return (
    <label class="choice">
      {label}{' '}
      <select value={value} onChange={(e) => onChoose(e.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map(([v, name]) => <option key={v} value={v}>{name}</option>)}
      </select>
    </label>
  );
}
