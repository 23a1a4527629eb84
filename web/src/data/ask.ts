// SPDX-License-Identifier: Apache-2.0
/**
 * Data of a view: loading until the first answer; then the answer, replaced by the next one. When a later question
 * fails, the old answer stays and is stale, with the error beside it.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { TOPICS, type Topic } from '../api/events';
import { currentRange, rangeKey, useRange, type Range } from '../state/range';
import { useMoment, useTopic, useWishes } from '../state/refresh';
import { useRoute } from '../state/route';

export interface Asked<T> {
  value: T | null;
  error: Error | null;
  isLoading: boolean; // nothing to show yet
  isStale: boolean; // what is shown is older than the last question
  again: () => void;
}

export type Load<T> = (signal: AbortSignal) => Promise<T>;

interface State<T> {
  key: string;
  value: T | null;
  error: Error | null;
}

interface Options {
  topics?: readonly Topic[]; // asked again when the gateway tells that one of them changed
  when?: string | number; // asked again when this is another one, instead of at every refresh
}

function useBumps(topics: readonly Topic[]): string {
  return TOPICS.map((topic) => [topic, useTopic(topic)] as const).filter(([topic]) => topics.includes(topic)).map(([, n]) => n).join();
}

/**
 * key: what the answer depends on, beside time; another key forgets the answer before and gives its question up. A
 * refresh that comes while a question is under way waits for its end: slow answers are late, not given up for ever.
 */
export function useAsk<T>(key: string, load: Load<T>, { topics = [], when }: Options = {}): Asked<T> {
  const moment = useMoment();
  const trigger = `${when ?? moment},${useWishes()},${useBumps(topics)}`;
  const [state, setState] = useState<State<T>>({ key, value: null, error: null });
  const latest = useRef(load);
  latest.current = load;
  const run = useRef<() => void>(() => {});
  const last = useRef('');

  useEffect(() => {
    const aborter = new AbortController();
    let isRunning = false;
    let isWanted = false;
    const isOver = () => aborter.signal.aborted;
    run.current = () => {
      isWanted = isRunning;
      if (isRunning || isOver()) return;
      isRunning = true;
      latest.current(aborter.signal).then(
        (value) => isOver() || setState({ key, value, error: null }),
        (error) => isOver() || setState((old) => ({ key, value: old.key === key ? old.value : null, error })),
      ).finally(() => {
        isRunning = false;
        if (isWanted) run.current();
      });
    };
    last.current = trigger;
    run.current();
    return () => aborter.abort();
  }, [key]);

  useEffect(() => {
    if (last.current === trigger) return;
    last.current = trigger;
    run.current();
  }, [trigger]);

  const isOurs = state.key === key;
  const value = isOurs ? state.value : null;
  const error = isOurs ? state.error : null;
  return { value, error, isLoading: value === null && error === null, isStale: value !== null && error !== null,
    again: () => run.current() };
}

/** No more often than points come: twice in a step. */
const STEPS_PER_QUESTION = 0.5;

/** Of the time that the page looks at; a part of the past is asked for once. */
export function useAskRange<T>(key: string, load: (range: Range, signal: AbortSignal) => Promise<T>): Asked<T> {
  const { params } = useRoute();
  const { step, isLive } = useRange();
  const when = isLive ? Math.floor(useMoment() / Math.max(1, step * STEPS_PER_QUESTION)) : '';
  return useAsk(`${key} ${rangeKey(params)}`, (signal) => load(currentRange(), signal), { when });
}
