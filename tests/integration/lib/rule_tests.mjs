// SPDX-License-Identifier: Apache-2.0
// Unit tests of rules that pass and fail: [name, passes in promtool 2.42, text, why ours says otherwise].
// They use RULES.
// promtool evaluates groups that group_eval_order does not name in any order, so what reads each other is one.
export const RULES = `groups:
- name: up
  interval: 1h
  rules:
  - record: job:up:sum
    expr: sum by (job) (up)
  - record: job:up:twice
    expr: job:up:sum * 2
    labels: {kind: 'twice', gone: ''}
  - alert: Down
    expr: job:up:sum == 0
    for: 2m
    labels: {tier: P1, long: 'of {{ $labels.job }}'}
    annotations:
      summary: '{{ $labels.job }} has {{ $value }} of {{ with query "count(up)" }}{{ . | first | value }}{{ end }}'
      site: '{{ $externalLabels.site }} {{ $externalURL }}'
      empty: ''
  - alert: Kept
    expr: up > 5
    keep_firing_for: 3m
  - alert: Missing
    expr: absent(none)
- name: limited
  limit: 1
  rules:
  - alert: Limited
    expr: many > 0
- name: last
  rules:
  - record: before
    expr: after
- name: first
  rules:
  - record: after
    expr: time()
`;

const HEAD = 'rule_files: [rules.yml]\n';
const UP = '  - {series: \'up{job="a"}\', values: "1 1 0x20"}\n';
const test = (series, rest, head = '') => `${HEAD}${head}tests:\n- interval: 1m\n${series ? `  input_series:\n${series}` : ''}${rest}`;
const alerts = (name, at, expected, series = UP, head = '') => test(series,
  `  alert_rule_test:\n  - {eval_time: ${at}, alertname: ${name}, exp_alerts: ${expected}}\n`, head);
const expr = (query, at, expected, series = UP, head = '') => test(series,
  `  promql_expr_test:\n  - expr: '${query}'\n    eval_time: ${at}\n    exp_samples: ${expected}\n`, head);
const value = (v, labels = '{}') => `[{labels: '${labels}', value: ${v}}]`;
const series = (values) => `  - {series: x, values: '${values}'}\n`;

const DOWN = '{exp_labels: {job: a, tier: P1, long: of a}, exp_annotations: {summary: a has 0 of 1, site: " ", empty: ""}}';
const OPEN = 'ranges are open on the left, as in Prometheus 3';

export const ruleTests = [
  ['nothing', true, ''],
  ['no tests', true, HEAD],
  ['pending', true, alerts('Down', '3m', '[]')],
  ['firing', true, alerts('Down', '4m', `[${DOWN}]`)],
  ['firing, with a name of its own', true, alerts('Down', '4m', `[${DOWN.replace('{job', '{alertname: X, job')}]`)],
  ['between two evaluations', true, alerts('Down', '3m59s', '[]')],
  ['firing, and not expected', false, alerts('Down', '4m', '[]')],
  ['pending, and expected', false, alerts('Down', '3m', `[${DOWN}]`)],
  ['a label that differs', false, alerts('Down', '4m', `[${DOWN.replace('P1', 'P2')}]`)],
  ['an annotation that differs', false, alerts('Down', '4m', `[${DOWN.replace('has 0', 'has 1')}]`)],
  ['an empty annotation that is left out', false, alerts('Down', '4m', `[${DOWN.replace(', empty: ""', '')}]`)],
  ['an empty label', false, alerts('Down', '4m', `[${DOWN.replace('{job', '{none: "", job')}]`)],
  ['an alert too many', false, alerts('Down', '4m', `[${DOWN}, ${DOWN}]`)],
  ['an expected alert that is null', false, alerts('Down', '4m', '[null]')],
  ['kept firing', true, alerts('Kept', '4m', '[{}]', series('1').replace('series: x', 'series: up') .replace("'1'", "'1 9 1x9'"))],
  ['no more kept firing', true, alerts('Kept', '6m', '[]', series('1').replace('series: x', 'series: up').replace("'1'", "'1 9 1x9'"))],
  ['without input', true, alerts('Missing', '0s', '[{}]', '')],
  ['an alert that no rule has', true, alerts('Nobody', '4m', '[]')],
  ['no name of an alert', false, test(UP, '  alert_rule_test: [{eval_time: 4m}]\n')],
  ['more than the limit', false, alerts('Limited', '1m', '[]', "  - {series: 'many{a=\"1\"}', values: '1x5'}\n  - {series: 'many{a=\"2\"}', values: '1x5'}\n")],
  ['external labels', true, alerts('Down', '4m', `[${DOWN.replace('" "', '"s http://u"')}]`)
    .concat('  external_labels: {site: s}\n  external_url: http://u\n')],

  ['a recorded series', true, expr('job:up:sum', '1m', value(1, 'job:up:sum{job="a"}'))],
  ['the rule after it', true, expr('job:up:twice', '1m', value(2, 'job:up:twice{job="a",kind="twice"}'))],
  ['ALERTS', true, expr('ALERTS{alertstate="pending"}', '3m', value(1, 'ALERTS{alertname="Down",alertstate="pending",job="a",long="of a",tier="P1"}'))],
  ['ALERTS_FOR_STATE', true, expr('ALERTS_FOR_STATE', '5m', '[{labels: \'ALERTS_FOR_STATE{alertname="Down",job="a",long="of a",tier="P1"}\', value: 120}, {labels: \'ALERTS_FOR_STATE{alertname="Missing"}\', value: 0}]')],
  ['stale markers', true, expr('job:up:sum', '3m', '[]', "  - {series: 'up{job=\"a\"}', values: '1 1 stale'}\n")],
  ['no order of groups', true, expr('count(after)', '1m', value(1))],
  ['an order of groups', true, expr('after - on () before', '1m', value(0), UP, 'group_eval_order: [first, last]\n')],
  ['another order of groups', true, expr('after - on () before', '1m', value(60), UP, 'group_eval_order: [last, first]\n')],
  ['a group twice in the order', false, expr('after', '1m', '[]', UP, 'group_eval_order: [last, first, last]\n')],
  ['a value that differs', false, expr('sum(up)', '1m', value(2))],
  ['labels that differ', false, expr('sum(up)', '1m', value(1, '{a="b"}'))],
  ['a sample too few', false, expr('sum(up)', '1m', '[]')],
  ['a sample too many', false, expr('none', '1m', value(1))],
  ['a scalar', true, expr('1 + 1', '1m', value(2))],
  ['a scalar, with empty labels', true, expr('1 + 1', '1m', value(2, ''))],
  ['no labels', true, expr('1 + 1', '1m', '[{value: 2}]')],
  ['a matrix', false, expr('up[5m]', '1m', value(1))],
  ['a string', false, expr('"a"', '1m', '[]')],
  ['the last bit', false, expr('0.1 + 0.2', '1m', value(0.3))],
  ['NaN', false, expr('0 / 0', '1m', value('.nan'))],
  ['infinity', true, expr('1 / 0', '1m', value('.inf'))],
  ['NaN without a dot', false, expr('0 / 0', '1m', value('NaN'))],
  ['a value in quotes', false, expr('1 + 1', '1m', value('"2"'))],
  ['a hexadecimal value', true, expr('16 + 0', '1m', value('0x10'))],
  ['a value with an exponent', true, expr('1000 + 0', '1m', value('1e+3'))],
  ['an evaluation that fails', false, expr('up * on () up', '1m', '[]', UP.concat(UP.replace('"a"', '"b"')))],
  ['a subquery', true, expr('count_over_time(vector(1)[10m:])', '10m', value(11), ''), OPEN],
  ['the step of a subquery', true, expr('count_over_time(vector(1)[10m:])', '10m', value(41), '', 'evaluation_interval: 15s\n'), OPEN],
  ['what is later', true, expr('count_over_time(x[10m] offset -11m)', '1m', '[]', series('1x20'))],

  ['a step up', true, expr('x', '4m', value(8, 'x'), series('0+2x10'))],
  ['a step down', true, expr('x', '4m', value(-3, 'x'), series('5-2x10'))],
  ['a constant', true, expr('x', '4m', value(7, 'x'), series('7x10'))],
  ['gaps', true, expr('x', '4m', value(9, 'x'), series('1 _x3 9'))],
  ['stale', true, expr('x', '2m', '[]', series('1 2 stale'))],
  ['fractions and exponents', true, expr('x', '2m', value(-1500, 'x'), series('.5 1. -1.5e3'))],
  ['NaN and Inf among values', true, expr('x', '1m', value('-.inf', 'x'), series('NaN -Inf'))],
  ['two blanks', true, expr('x', '1m', value(2, 'x'), series('1  2'))],
  ['a series twice', true, expr('x', '0', value(2, 'x'), series('1').concat(series('2')))],
  ['another interval', true, expr('x', '1m', value(2, 'x'), series('0 1 2')).replace('interval: 1m', 'interval: 30s')],
  ['no interval', false, expr('x', '1m', value(2, 'x'), series('1 2')).replace('interval: 1m', 'name: a'), 'Prometheus 3 takes evaluation_interval'],
  ['values that are none', false, expr('x', '1m', '[]', series('1 a'))],
  ['a series that is none', false, expr('x', '1m', '[]', series('1').replace('series: x', "series: 'x{'"))],

  ['an unknown key', false, `${HEAD}test: []\n`],
  ['an unknown key of a test', false, `${HEAD}tests: [{promql_test: []}]\n`],
  ['a duration without a unit', false, `${HEAD}evaluation_interval: 15\n`],
  ['an expression that ends too early', false, expr('sum(', '1m', '[]')],
  ['labels that are none', false, expr('1 + 1', '1m', value(2, 'a{'))],
  ['a pattern', true, expr('job:up:sum', '1m', value(1, 'job:up:sum{job="a"}')).replace('rules.yml', '"r*s.yml"')],
  ['a pattern without a file', true, 'rule_files: [none*.yml]\ntests: [{}]\n'],
  ['a rule file that is none', false, 'rule_files: [bad.yml]\ntests: [{}]\n'],
  ['a rule file that is none, and no tests', true, 'rule_files: [bad.yml]\n', 'rule files are read in any case'],
  ['fuzzy_compare', false, expr('0.1 + 0.2', '1m', value(0.3), '', 'fuzzy_compare: true\n'), 'Prometheus 3 has it'],
  ['start_timestamp', false, expr('time()', '1m', value(160), '').concat('  start_timestamp: 100\n'), 'Prometheus 3 has it'],
  ['a rule that writes what the input has', false, expr('up', '1m', '[]', UP.concat("  - {series: 'job:up:sum{job=\"a\"}', values: '5x5'}\n"))],
];
