// SPDX-License-Identifier: Apache-2.0
// Queries in PromQL over the series that are there: those that hands wrote, and as many random ones as
// wanted. A query: { text, when, root?: { fn, args } }; theirs: the text for Prometheus, if another.
//
// What Prometheus 2.42 and we answer differently (promql_causes.mjs) is asked for at the root of a query
// only, where the difference can be told from an error: topk and bottomk, stddev and stdvar of what may
// be NaN, dates of what may be NaN, atan2, comparisons of vectors that are matched, predict_linear of a
// window that is pinned. rate and increase are in no subquery, so that they can be asked for again.

/** Numbers in [0, 1) that a seed fixes (mulberry32). */
export function rng(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let x = Math.imul(a ^ (a >>> 15), a | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

const COUNTER = /_(total|count|bucket)$/;
const JUMPS = ['ceil', 'floor', 'round', 'sgn'];
const MATH = ['abs', 'exp', 'sqrt', 'ln', 'log2', 'log10', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh',
  'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'deg', 'rad',
  'timestamp', 'sort', 'sort_desc', 'absent'];
const DATES = ['minute', 'hour', 'day_of_week', 'day_of_month', 'day_of_year', 'days_in_month', 'month',
  'year'];
const COUNTERS_ONLY = ['rate', 'increase'];
const STEPS_OVER_TIME = ['irate', 'resets', 'changes'];
const OVER_TIME = ['delta', 'idelta', 'deriv', 'sum_over_time',
  'avg_over_time', 'min_over_time', 'max_over_time', 'count_over_time', 'stddev_over_time',
  'stdvar_over_time', 'last_over_time', 'present_over_time', 'absent_over_time'];
const ARITHMETIC = ['+', '-', '*', '/', '^']; // and atan2, at the root
const COMPARISON = ['%', '==', '!=', '>', '<', '>=', '<=', '== bool', '!= bool', '> bool', '< bool',
  '>= bool', '<= bool'];
const FILTERS = ['==', '!=', '>', '<', '>=', '<='];
const SETS = ['and', 'or', 'unless'];
const AGGREGATIONS = ['sum', 'avg', 'min', 'max', 'count', 'group'];
const RANGES = ['1s', '2s', '3s', '5s', '10s', '20s', '30s', '1m', '2500ms', '1m30s'];
// Of subqueries. No step in a window is a case of its own, of those that hands wrote.
const WINDOWS = ['2s:1s', '3s:700ms', '5s:500ms', '10s:2s', '10s:5s', '20s:700ms', '30s:1s', '1m:', '1m30s:5s'];

export class Queries {
  /** series, moments: as of history_dump.mjs; from, to: ms, the time that has data. */
  constructor({ series, moments, from, to }, seed) {
    this.random = rng(seed);
    this.moments = moments.map((m) => m.t);
    this.from = from;
    this.to = to;
    this.depthOfSubqueries = 0;
    this.byName = new Map();
    for (const { labels, samples } of series) {
      const { __name__: name, ...rest } = labels;
      if (samples.some((s) => 'h' in s)) continue; // by hand only
      if (!this.byName.has(name)) this.byName.set(name, []);
      this.byName.get(name).push(rest);
    }
    this.names = this.#choose();
    this.counters = this.names.filter((n) => COUNTER.test(n));
  }

  /** Names with some series each, and not too many of those with one. */
  #choose() {
    const all = [...this.byName].sort(([a], [b]) => (a < b ? -1 : 1));
    const many = all.filter(([n, s]) => s.length > 1 && !n.endsWith('_bucket'));
    const buckets = all.filter(([n]) => n.endsWith('_bucket')).sort(() => this.random() - 0.5);
    const one = all.filter(([, s]) => s.length === 1).sort(() => this.random() - 0.5);
    return [...many, ...buckets.slice(0, 3), ...one.slice(0, 5)].map(([n]) => n);
  }

  #int(n) {
    return Math.floor(this.random() * n);
  }

  #of(list) {
    return list[this.#int(list.length)];
  }

  #chance(p) {
    return this.random() < p;
  }

  #labels(name) {
    return Object.keys(this.#of(this.byName.get(name)));
  }

  #matcher(name) {
    const labels = this.#of(this.byName.get(name));
    const key = this.#chance(0.1) ? 'nowhere' : this.#of(Object.keys(labels));
    const value = labels[key] ?? '';
    const quoted = (s) => JSON.stringify(s);
    const escaped = value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    return `${key}${this.#of([
      `=${quoted(value)}`, `!=${quoted(value)}`, `=~${quoted(`${escaped}|other`)}`,
      `=~${quoted(`${escaped.slice(0, 2).replace(/\\$/, '')}.*`)}`, '=~".+"', '=~".*"', '=""', '!=""',
      `!~${quoted(`.*${escaped.slice(-1)}`)}`, `!~${quoted(`(${escaped})`)}`, '=~"[a-m].*"',
    ])}`;
  }

  #selector(names = this.names) {
    const name = this.#of(names);
    const matchers = Array.from({ length: this.#of([0, 0, 1, 1, 2]) }, () => this.#matcher(name));
    if (this.#chance(0.1)) return `{${[`__name__="${name}"`, ...matchers].join(',')}}`;
    return matchers.length > 0 ? `${name}{${matchers.join(',')}}` : name;
  }

  #seconds(t) {
    return (t / 1000).toFixed(3);
  }

  /** Offsets do not reach what was appended after the copy was made. */
  #shift(isPinned = true) {
    if (this.#chance(0.75)) return '';
    if (!isPinned) return this.#of([' offset 3s', ' offset -2s']);
    const at = this.#of([this.#seconds(this.#time()), 'start()', 'end()']);
    return this.#of([' offset 3s', ' offset 10s', ' offset -4s', ' offset 1m', ` @ ${at}`,
      ` @ ${at} offset 2s`, ' offset 1500ms']);
  }

  #subquery(depth, isPinned) {
    this.depthOfSubqueries++;
    const inner = this.#vector(depth - 1);
    this.depthOfSubqueries--;
    return `(${inner})[${this.#of(WINDOWS)}]${this.#shift(isPinned)}`;
  }

  #range(depth, isPinned) {
    if (depth > 0 && this.#chance(0.25)) return this.#subquery(depth, isPinned);
    return `${this.#selector()}[${this.#of(RANGES)}]${this.#shift(isPinned)}`;
  }

  #counterRange() {
    return `${this.#selector(this.counters)}[${this.#of(RANGES)}]${this.#shift()}`;
  }

  #ofCounters() {
    return this.depthOfSubqueries > 0 ? 'irate' : this.#of(COUNTERS_ONLY);
  }

  #scalar() {
    return this.#of(['1', '2', '0.5', '-3', '10', '0', '1e3', 'pi()', 'NaN', 'Inf',
      `scalar(${this.#of(AGGREGATIONS)}(${this.#selector()}))`, '(time() % 60)', '-1', '0x1f']);
  }

  /** Whole numbers, or what is as it was stored: no sum of fractions, whose last digit depends on the
   * order. Everything that jumps is asked of these only. */
  #exact() {
    const name = this.#of(this.counters);
    const selector = this.#selector();
    return this.#of([
      () => `${selector}${this.#shift()}`,
      () => `${this.#of(['sum', 'min', 'max', 'count'])} ${this.#grouping(name)} (${name})`,
      () => `${this.#of(['min', 'max', 'last', 'count'])}_over_time(${selector}[${this.#of(RANGES)}]${this.#shift()})`,
    ])();
  }

  #grouping(name) {
    const labels = [...new Set([this.#of(['model', 'upstream', 'outcome']), ...this.#labels(name)])]
      .filter(() => this.#chance(0.4));
    return `${this.#of(['by', 'without'])} (${labels.join(', ')})`;
  }

  #aggregation(depth) {
    const name = this.#of(this.names);
    const grouping = this.#chance(0.7) ? ` ${this.#grouping(name)}` : '';
    const inner = this.#vector(depth - 1);
    const finite = this.#chance(0.5) ? this.#selector() : `avg_over_time(${this.#counterRange()})`;
    return this.#of([
      ...AGGREGATIONS.map((op) => `${op}${grouping}(${inner})`),
      `quantile${grouping}(${this.#of(['0', '0.5', '0.9', '1', '-1', '2'])}, ${inner})`,
      `stddev${grouping}(${finite})`, `stdvar${grouping}(${finite})`,
      `count_values${grouping}("v", ${this.#selector()})`,
      `count(topk(3, ${inner}))`, `max(topk${grouping}(2, ${finite}))`, `min(bottomk(2, ${finite}))`,
    ]);
  }

  #matching() {
    const labels = ['model', 'upstream', 'outcome', 'stream', 'le', 'endpoint'].filter(() => this.#chance(0.4));
    const group = this.#of(['', '', '', ' group_left', ' group_right', ' group_left (upstream)']);
    return `${this.#of(['on', 'ignoring'])} (${labels.join(', ')})${group}`;
  }

  /** A pair of vectors that often match. */
  #pair(depth) {
    const name = this.#of(this.names);
    return this.#of([
      () => [this.#vector(depth - 1), this.#vector(depth - 1)],
      () => [name, `${name} offset 2s`],
      () => [name, `sum by (model, upstream) (${name})`],
      () => [`sum by (model) (${name})`, `sum by (model) (${this.#selector()})`],
      () => [`avg by (upstream) (${name})`, name],
    ])();
  }

  #binary(depth) {
    const [a, b] = this.#pair(depth);
    const name = this.#of(this.counters);
    const other = this.#of([`${name} offset 2s`, `on (model, upstream) group_left sum by (model, upstream) (${name})`,
      `on () group_left count(${name})`]);
    const op = this.#of(ARITHMETIC);
    const jump = this.#of(COMPARISON);
    return this.#of([
      () => `(${this.#exact()} ${jump} ${this.#of(['1', '2', '5', '0.5', '0', '-3', 'NaN', 'Inf'])})`,
      () => `(${this.#exact()} ${jump.replace(/^[=!<>]+$/, '$& bool')} ${this.#matching()} ${this.#exact()})`,
      () => `(${name} ${jump} ${other})`,
      () => `(${a} ${op} ${this.#scalar()})`,
      () => `(${this.#scalar()} ${op} ${a})`,
      () => `(${a} ${op} ${b})`,
      () => `(${a} ${op} ${this.#matching()} ${b})`,
      () => `(${a} ${op} on (model, upstream) group_left ${b})`,
      () => `(${a} ${this.#of(SETS)} ${b})`,
      () => `(${a} ${this.#of(SETS)} ${this.#of(['on', 'ignoring'])} (model, upstream) ${b})`,
      () => `-(${a})`,
    ])();
  }

  #call(depth) {
    const inner = this.#vector(depth - 1);
    const q = this.#of(['0.5', '0.9', '0.99', '0', '1', '-0.1', '1.1', 'NaN']);
    const between = this.#of(['0.473', '0.917', '0.9871']); // at no bound of a bucket
    const bucket = this.#of(this.names.filter((n) => n.endsWith('_bucket')));
    return this.#of([
      `${this.#of(MATH)}(${inner})`, `${this.#of(MATH)}(${inner})`,
      `${this.#of(DATES)}(timestamp(${this.#selector()}))`,
      `${this.#ofCounters()}(${this.#counterRange()})`,
      `${this.#ofCounters()}(${this.#counterRange()})`,
      ...Array.from({ length: 5 }, () => `${this.#of(OVER_TIME)}(${this.#range(depth)})`),
      `quantile_over_time(${q}, ${this.#range(depth)})`,
      `predict_linear(${this.#range(depth, false)}, ${this.#of(['0', '10', '-5'])})`,
      `clamp(${inner}, ${this.#of(['-5, 20', '3, 1', '0, 100'])})`, `clamp_min(${inner}, 2)`,
      `clamp_max(${inner}, 2)`, `round(${this.#exact()}, ${this.#of(['5', '0.1'])})`,
      `${this.#of(JUMPS)}(${this.#exact()})`,
      `${this.#of(STEPS_OVER_TIME)}(${this.#selector()}[${this.#of(RANGES)}]${this.#shift()})`,
      `${this.#of(STEPS_OVER_TIME)}((${this.#exact()})[${this.#of(WINDOWS)}]${this.#shift()})`,
      `vector(${this.#scalar()})`, `vector(scalar(${inner}))`,
      `histogram_quantile(${q}, ${bucket})`,
      `histogram_quantile(${between}, sum by (le) (${this.#ofCounters()}(${bucket}[${this.#of(RANGES)}])))`,
      `label_replace(${inner}, "k", "x$1", "${this.#of(['model', 'upstream', 'nowhere'])}", "(.*)")`,
      `label_replace(${inner}, "model", "$2", "upstream", "(.)(.*)")`,
      `label_join(${inner}, "k", "-", "model", "upstream")`,
    ]);
  }

  #vector(depth) {
    if (depth <= 0 || this.#chance(0.15)) return `${this.#selector()}${this.#shift()}`;
    return this.#of([() => this.#aggregation(depth), () => this.#aggregation(depth),
      () => this.#binary(depth), () => this.#call(depth), () => this.#call(depth)])();
  }

  /** Those whose answer another version may give differently. */
  #special() {
    const inner = this.#vector(1);
    const grouping = this.#chance(0.5) ? ` ${this.#grouping(this.#of(this.names))}` : '';
    return this.#of([
      () => ({ fn: this.#of(['topk', 'bottomk']), grouping, k: this.#of(['1', '2', '5', '0']), args: [inner] }),
      () => ({ fn: this.#of(['stddev', 'stdvar']), grouping, args: [inner] }),
      () => ({ fn: this.#of(DATES), args: [inner] }),
      () => ({ fn: this.#of(COUNTERS_ONLY), args: [`(${this.#exact()})[${this.#of(WINDOWS)}]${this.#shift()}`] }),
      () => ({ fn: 'compare', args: [this.#exact(), this.#of(FILTERS), this.#matching(), this.#exact()] }),
      () => ({ fn: 'predict_linear', args: [this.#range(0)], last: ', 10' }),
      () => ({ fn: 'atan2', args: this.#of([[inner, this.#scalar()], [this.#scalar(), inner], this.#pair(1)]) }),
      () => ({ fn: this.#of(COUNTERS_ONLY), args: [this.#range(0)] }),
    ])();
  }

  /** Any, or one at which ranges and steps of subqueries end on a sample exactly. */
  #time() {
    const any = Math.floor(this.from + this.random() * (this.to - this.from));
    return this.#of([
      () => any,
      () => any - any % 1000,
      () => this.#of(this.moments) + this.#of([0, 1000, 2000, 3000, 5000, 10000]),
    ])();
  }

  /** In the time that has data; at times before it, or in the minutes after it. */
  #when() {
    const at = this.#of([0, 0, 0, 0, 0, 0, 0, 0, -4000, 70000, 180000]);
    if (this.#chance(0.55)) return { time: this.#seconds(this.#time() + at) };
    const start = this.#time() - 1000 * this.#int(8);
    const step = this.#of([1, 2, 5, 0.7, 0.25, 13]);
    const end = Math.min(start + step * 1000 * this.#int(40), this.to + 60000);
    return { start: this.#seconds(start), end: this.#seconds(Math.max(start, end)), step };
  }

  next() {
    const when = this.#when();
    if (this.#chance(0.12)) {
      const root = this.#special();
      const k = root.k === undefined ? '' : `${root.k}, `;
      if (root.fn === 'compare') return { text: root.args.join(' '), when, root };
      if (root.fn === 'atan2') return { text: root.args.join(' atan2 '), when, root };
      return { text: `${root.fn}${root.grouping ?? ''} (${k}${root.args[0]}${root.last ?? ''})`, when, root };
    }
    if (!('step' in when) && this.#chance(0.06)) return { text: this.#range(1), when };
    return { text: this.#vector(3), when };
  }

  /** Whether the ends of ranges and of the lookback belong to them. */
  static atTheEnds(moment) {
    const queries = [];
    for (const more of [-1, 0, 1])
      for (const [text, back] of [['llm_requests_total', 300000], ['count_over_time(llm_requests_total[3s])', 3000],
        ['llm_requests_total[2s]', 2000], ['count_over_time(vector(1)[5s:1s])', -moment % 1000], ['sum(llm_requests_total offset -1s)', -1000]])
        queries.push({ text, when: { time: ((moment + back + more) / 1000).toFixed(3) } });
    return queries;
  }

  /** What hands wrote; at every time in times. */
  static written(series, times) {
    const native = [...new Set(series.filter((s) => s.samples.some((x) => 'h' in x))
      .map((s) => s.labels.__name__))];
    const out = [];
    for (const time of times) {
      const when = { time: (time / 1000).toFixed(3) };
      const range = { start: ((time - 15000) / 1000).toFixed(3), end: when.time, step: 1 };
      for (const text of WRITTEN) out.push({ text, when }, { text, when: range });
      for (const text of INSTANT) out.push({ text, when });
      for (const [text, theirs] of RENAMED) out.push({ text, theirs, when });
      for (const name of native.slice(0, 6))
        for (const text of NATIVE) {
          const [, fn, arg] = /(rate|increase)\(([^)]*)\)/.exec(text) ?? [];
          const root = fn && { fn, args: [arg.replaceAll('NAME', name)] };
          out.push({ text: text.replaceAll('NAME', name), when, root });
        }
      out.push({ text: '(llm_requests_total @ end())[700ms:1m]', when, root: { fn: '@', args: [] } });
      const bad = 'label_replace(llm_requests_total, "bad-name", "x", "model", "(.*)")';
      out.push({ text: bad, when, root: { fn: 'label_replace', args: [] } });
      for (const q of [0.01, 0.3, 0.9, 1])
        out.push({
          text: `histogram_quantile(${q}, sum (llm_e2e_seconds))`, when,
          root: { fn: 'histogram_quantile', args: ['sum (llm_e2e_seconds)'] },
        });
    }
    return out;
  }
}

const WRITTEN = [
  'sum(rate(llm_requests_total[5s]))',
  'sum by (model, outcome) (increase(llm_requests_total[10s]))',
  'histogram_quantile(0.99, sum by (le, model) (rate(llm_ttft_seconds_bucket[10s])))',
  'histogram_quantile(0.5, sum without (upstream) (increase(llm_e2e_seconds_bucket[20s])))',
  'sum(rate(llm_ttft_seconds_sum[10s])) / sum(rate(llm_ttft_seconds_count[10s]))',
  'sum by (upstream) (rate(llm_requests_total{outcome!="ok"}[10s])) / ignoring (outcome) '
    + 'sum by (upstream) (rate(llm_requests_total[10s]))',
  'max_over_time(sum(llm_inflight_requests)[10s:1s])',
  'avg_over_time(irate(llm_requests_total[3s])[10s:1s])',
  'llm_requests_total * on (model) group_left (version) inferometer_build_info',
  'llm_requests_total * on (instance) group_left (version) inferometer_build_info',
  'count by (__name__) ({__name__=~"llm_.*_total"})',
  'sum by (__name__, model) ({__name__=~"llm_(tokens|requests)_total"})',
  'absent(llm_requests_total{model="none such"})',
  'absent(llm_requests_total)',
  'llm_requests_total > 5 and llm_requests_total < 50',
  'llm_requests_total unless on (model) llm_requests_total{outcome="error"}',
  'llm_requests_total == bool ignoring (outcome) llm_requests_total',
  'vector(1) or llm_requests_total',
  'time() - timestamp(llm_requests_total)',
  'sum(llm_tokens_total) by (kind) offset -3s',
  'changes(llm_inflight_requests[30s])',
  'resets(llm_requests_total[1m])',
  'predict_linear(llm_tokens_total[10s], 60) > 0',
  '1 + 2 * 3 ^ 2 ^ 0.5 % 7', '-1 ^ 2', '1 / 0', '0 / 0', 'scalar(llm_requests_total)',
  'sum(llm_requests_total) / 0', 'minute()', 'month(vector(1136239445))', 'day_of_week(vector(-1))',
  'days_in_month(vector(1709164800))', 'year(vector(4102444800))',
  'label_replace(llm_requests_total, "m", "$1", "model", "(.).*")',
  'label_join(llm_requests_total, "j", "/", "model", "upstream", "none")',
  'sum_over_time(llm_inflight_requests[10s]) / count_over_time(llm_inflight_requests[10s])',
  'llm_requests_total + on () llm_requests_total', 'llm_requests_total + ignoring (outcome) llm_requests_total',
  'count_values("n", llm_requests_total)', 'group(llm_requests_total) by (model)',
  'quantile(0.5, llm_requests_total)', 'rate(llm_requests_total[5s] @ end())',
  'sum(increase(llm_requests_total[20s] @ start() offset -2s))',
  'sgn(delta(llm_inflight_requests[5s]))', 'round(sum(llm_requests_total) / 8, 0.5)',
  'llm_requests_total{model=~"("}', 'sum(', 'nosuch(1)', 'rate(llm_requests_total)', 'foo{}[', '{}',
  'label_replace(llm_requests_total, "model", "", "model", ".*")', 'topk(1, llm_requests_total) + nosuch',
];
const INSTANT = [
  'llm_requests_total[5s]', 'llm_requests_total{model="m-small"}[20s] offset 3s',
  'sum(llm_requests_total)[10s:2s]', '(llm_requests_total > 3)[10s:700ms]', '"text"', '1', 'time()',
  'sort(llm_requests_total)', 'sort_desc(sum by (model) (llm_requests_total))',
  'sum_over_time(irate(llm_requests_total[2s])[10s:500ms] @ end() offset 1s)',
  'max_over_time(deriv(llm_tokens_total[3s])[10s:1s])',
];
const RENAMED = [
  ['double_exponential_smoothing(llm_requests_total[10s], 0.5, 0.5)',
    'holt_winters(llm_requests_total[10s], 0.5, 0.5)'],
  ['double_exponential_smoothing(llm_inflight_requests[20s], 0.1, 0.9)',
    'holt_winters(llm_inflight_requests[20s], 0.1, 0.9)'],
];
// 2.42 has no *_over_time of histograms but count and present, and does not limit their rate at zero:
// windows are inside the series' time, and the limited ones are told by promql_causes.mjs.
const NATIVE = [
  'NAME', 'sum(NAME)', 'sum by (model) (NAME)', 'NAME[5s]', 'histogram_count(NAME)', 'histogram_sum(NAME)',
  'rate(NAME[3s])', 'increase(NAME[10s])', 'histogram_count(rate(NAME[3s]))',
  'sum by (upstream) (histogram_sum(NAME))', 'histogram_fraction(-Inf, +Inf, sum(NAME))',
  'count(NAME)', 'group by (model) (NAME)', 'count_over_time(NAME[7s])',
  'present_over_time(NAME[3s])', 'timestamp(NAME)', 'absent(NAME)', 'NAME and NAME', 'NAME unless on () NAME',
];
