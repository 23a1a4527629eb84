// SPDX-License-Identifier: Apache-2.0
/** A table whose rows can be sorted by a column, here or by the server. On a narrow screen it scrolls by itself. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../state/language';
import { Term } from './Term';

export interface Column<R> {
  key: string;
  name: string;
  term?: string;
  cell: (row: R) => ComponentChildren;
  sort?: (row: R) => number | string | null; // sorted here by that
  isNumber?: boolean;
  isMinor?: boolean; // not shown on a narrow screen
}
export interface Order {
  key: string;
  isDown: boolean;
}
interface Props<R> {
  label: string;
  columns: Column<R>[];
  rows: R[];
  rowKey: (row: R, i: number) => string;
  initial?: Order;
  /** Sorted elsewhere: what it is by, and what to call; keys are those that it can sort by. */
  remote?: { order: Order; keys: string[]; onOrder: (o: Order) => void };
}

const classOf = <R,>(c: Column<R>): string => `${c.isNumber ? 'number' : ''} ${c.isMinor ? 'minor' : ''}`.trim();

function compare(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

function sorted<R>(rows: R[], columns: Column<R>[], order: Order | undefined): R[] {
  const by = columns.find((c) => c.key === order?.key)?.sort;
  return by ? [...rows].sort((a, b) => compare(by(a), by(b)) * (order!.isDown ? -1 : 1)) : rows;
}

export function Table<R>({ label, columns, rows, rowKey, initial, remote }: Props<R>) {
  const [own, setOwn] = useState(initial);
  const order = remote ? remote.order : own;
  const canSort = (c: Column<R>) => (remote ? remote.keys.includes(c.key) : c.sort !== undefined);
  const choose = (c: Column<R>) => {
    const next = { key: c.key, isDown: order?.key === c.key ? !order.isDown : Boolean(c.isNumber) };
    if (remote) remote.onOrder(next);
    else setOwn(next);
  };
  const head = (c: Column<R>) => (c.term ? <Term of={c.term}>{c.name}</Term> : c.name);
  return (
    <div class="table-box" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.key} scope="col" class={classOf(c)} aria-sort={order?.key === c.key ? (order.isDown ? 'descending' : 'ascending') : undefined}>
                {head(c)}
                {canSort(c) && (
                  <button type="button" class="sort" aria-label={t('table.sort', { name: c.name })} onClick={() => choose(c)}>
                    {order?.key === c.key ? (order.isDown ? '▼' : '▲') : '↕'}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(remote ? rows : sorted(rows, columns, order)).map((row, i) => (
            <tr key={rowKey(row, i)}>
              {columns.map((c) => <td key={c.key} class={classOf(c)}>{c.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
