// SPDX-License-Identifier: Apache-2.0
// Templates that both sides run: over the labels of an alert, over values of many sizes, and random ones.
import { rng } from './promql_queries.mjs';

/** Two samples, as a query gives them. */
export const TWO = 'label_replace(vector(2), "host", "b", "", "") or label_replace(vector(0.25), "host", "a", "", "")';
export const NONE = 'vector(1) > 2';

const q = (expr) => `query ${JSON.stringify(expr)}`;

/** Run for one alert with LABELS; $value is 1234.5. */
export const LABELS = {
  job: 'api', instance: 'web-1.example.com:9100', ip: '10.1.2.3:80', six: '[2001:db8::1]:80', bare_six: '2001:db8::1',
  path: '/v1/chat completions?x=1&y=<2>', umlaut: 'ärger ÖL дом Σίσυφος', quote: 'it\'s "so" \\ `here`',
  title: 'aa bb CC o\'neil a.b c:d e,f 1st foo_bar x--y foo-bar d..e', line: 'a\nb\tc', percent: '100% of %d',
};

export const OF_LABELS = [
  '{{ $labels.job }} {{ .Labels.job }} [{{ $labels.missing }}]',
  '{{ $labels }}', '{{ . }}', '{{ $externalLabels.cluster }} {{ $externalURL }} {{ .ExternalURL }}',
  '{{ $value }} {{ .Value }} {{ $.Value }}', '{{ externalURL }} {{ pathPrefix }}',
  // Actions, white space, literals.
  'a  {{- 1 -}}  b', 'a {{/* no */}} b {{- /* no */ -}} c', '{{ 0x1F }} {{ 017 }} {{ 1_000 }} {{ 0b11 }} {{ 0o17 }}',
  '{{ 1.5 }} {{ 1e3 }} {{ .5 }} {{ 0x1p4 }} {{ 1e21 }} {{ 1e20 }} {{ 123456789.0 }} {{ 1e-5 }} {{ 0.0001 }}',
  "{{ 'a' }} {{ '\\n' }} {{ 'ä' }}", '{{ "a\\tb\\x41\\u00e4\\"" }}{{ `raw\\n` }}', '{{ true }} {{ printf "%v" nil }}',
  // Control.
  '{{ if .Value }}y{{ else }}n{{ end }}', '{{ if $labels.no }}a{{ else if eq $labels.job "api" }}b{{ else }}c{{ end }}',
  '{{ with $labels.job }}{{ . | toUpper }}{{ end }}', '{{ with "" }}y{{ else }}{{ .Value }}{{ end }}',
  '{{ range $k, $v := $labels }}{{ $k }}={{ $v | len }} {{ end }}', '{{ range $labels }}{{ len . }} {{ end }}',
  '{{ range $i, $e := args 1 "b" 2.5 }}{{ $i }}={{ $e }} {{ end }}',
  '{{ range $k, $v := args 0 1 2 3 4 5 6 7 8 9 10 11 }}{{ $k }} {{ end }}',
  '{{ range $i, $e := args 1 2 3 }}{{ if eq $e 2 }}{{ continue }}{{ end }}{{ $e }}{{ end }}',
  '{{ range args 1 2 3 }}{{ if eq . 2 }}{{ break }}{{ end }}{{ . }}{{ end }}',
  '{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}',
  '{{ define "x" }}<{{ .arg0 }} {{ .arg1 }} {{ .arg2 }}>{{ end }}{{ template "x" (args 1 "2") }}',
  '{{ define "x" }}[{{ . }}]{{ end }}{{ template "x" }}', '{{ block "b" .Value }}v={{ . }}{{ end }}',
  '{{ define "r" }}{{ if . }}{{ . }}{{ template "r" (slice . 1) }}{{ end }}{{ end }}{{ template "r" "abc" }}',
  // Queries.
  `{{ range ${q(TWO)} }}{{ .Labels.host }}={{ .Value }};{{ end }}`,
  `{{ range ${q(TWO)} | sortByLabel "host" }}{{ .Labels.host }}={{ . | value }};{{ end }}`,
  `{{ with ${q(TWO)} }}{{ . | first | value | humanize }} {{ . | first | label "host" }}{{ end }}`,
  `{{ (${q(TWO)} | first).Value }} {{ (${q(TWO)} | first).Labels.host }} {{ ${q(TWO)} | len }}`,
  `{{ index (${q(TWO)}) 1 | value }} {{ len (slice (${q(TWO)}) 1) }}`, `{{ ${q(TWO)} | first }}`,
  `{{ range ${q(NONE)} }}x{{ else }}nothing{{ end }}`, `{{ ${q(NONE)} | first }}`,
  `{{ ${q(TWO)} | first | strvalue }}`, `{{ if ${q(NONE)} }}y{{ else }}n{{ end }}`,
  '{{ with $x := args 1 }}{{ $x.arg0 }}{{ $x.arg9 }}{{ end }}',
  // Functions of texts.
  ...['job', 'umlaut', 'title', 'quote'].flatMap((l) => [`{{ $labels.${l} | toUpper }}`, `{{ $labels.${l} | toLower }}`]),
  '{{ title "aa bb CC" }} {{ $labels.umlaut | title }} {{ title "foo_bar x--y foo-bar 1 e,f" }}',
  ...Object.keys(LABELS).map((l) => `{{ html $labels.${l} }}|{{ js $labels.${l} }}|{{ urlquery $labels.${l} }}`),
  ...Object.keys(LABELS).map((l) => `{{ printf "%q|%#q|%x|% X|%5s|%-30s|%.3s|%30s" ${`$labels.${l} `.repeat(8)} }}`),
  ...['instance', 'ip', 'six', 'bare_six', 'job', 'path'].map((l) => `{{ $labels.${l} | stripPort }}|{{ $labels.${l} | stripDomain }}`),
  ...['a:b:c', '[::1]', '[::1]:', ':80', 'a.b.c:', '[a]:b:80', '1.2.3.4', '01.2.3.4', '1.2.3', '[x.y]:80', 'a]:80', '', '[]:1',
    'host.dom:http', '[fe80::1%eth0]:80'].map((s) => `{{ "${s}" | stripPort }}|{{ "${s}" | stripDomain }}`),
  '{{ reReplaceAll "(.*):(\\\\d+)" "$2-$1" $labels.instance }}', '{{ reReplaceAll "a*" "x" "baac" }}',
  '{{ reReplaceAll "(?P<x>b)" "<${x}>$x1$$" "abcb" }}', '{{ reReplaceAll "^" ">" "a\\nb" }}',
  '{{ reReplaceAll "$" "<" "a\\n" }}', '{{ reReplaceAll "." "-" "a\\nä" }}', '{{ reReplaceAll "x*" "-" "äb" }}',
  '{{ reReplaceAll "(?i)A|b" "[$0]" "abAB" }}', '{{ reReplaceAll "b" "" "abc" }}', '{{ reReplaceAll "(" "" "abc" }}',
  '{{ match "a+" "baab" }} {{ match "^a" "ba" }} {{ match "a.b" "a\\nb" }} {{ match "" "" }}', '{{ match "(" "" }}',
  '{{ graphLink "up{job=\\"a b\\"}" }} {{ tableLink "sum(x) + 1" }}', '{{ safeHtml "<b>" }}',
  '{{ html "a\\x00" }}', '{{ js "\\u00a0\\u0085\\u200b\\u2028\\ufeffä日\\U0001f600\\x7f\\x00" }}',
  '{{ printf "%q %+q" "\\u00a0\\u0085\\u200b\\u2028\\ufeffä日\\U0001f600\\u00ad\\u3000\\ue000\\xff" "ä\\xffé" }}',
  "{{ printf \"%q %q %q %q %#U %#U\" '\\u00a0' '日' '\\u200b' '\\u0085' '\\u00a0' '日' }}",
  '{{ define "x" }}{{ .Foo }}{{ end }}{{ template "x" . }}', '{{ printf "%.3G %.5g" 123456.0 $value }}',
  '{{ urlquery "a b" 1 2 "ü&/~-._" }}', '{{ html 1 "<" 2.5 true }}',
  // Builtins.
  '{{ and 1 0 2 }} {{ and 1 "" }}. {{ or 0 "" "x" }} {{ or 0 "" }}. {{ not 0 }} {{ not "x" }}',
  '{{ and false (index $labels 5) }} {{ or 1 (index $labels 5) }}', '{{ 1 | and 2 }} {{ 0 | or 3 }}',
  '{{ len "äb" }} {{ len $labels }} {{ index $labels "job" }} [{{ index $labels "no" }}] {{ index "abc" 1 }}',
  '{{ slice "abcdef" 1 3 }} {{ slice "abc" 1 }} {{ slice "abc" }}', '{{ slice "abc" 2 1 }}', '{{ index "abc" 3 }}',
  '{{ index "abc" -1 }}', '{{ index $labels 1 }}', '{{ len 3 }}', '{{ index 3 1 }}', '{{ slice 3 }}', '{{ call 3 }}',
  '{{ eq 1 1 }} {{ eq 1 2 3 1 }} {{ eq "a" "a" }} {{ ne 1 2 }} {{ eq true false }} {{ eq 1.0 1.0 }} {{ ne "a" "b" }}',
  '{{ lt 1 2 }} {{ le 2 2 }} {{ gt 1.5 1.0 }} {{ ge "b" "a" }} {{ lt "a" "b" }}', '{{ eq $value 1234.5 }}',
  '{{ gt $value 5 }}', '{{ eq 1 "1" }}', '{{ lt true false }}', '{{ eq $labels $labels }}', '{{ eq $value nil }}',
  '{{ print 1 2 "a" "b" 3 4 }}|{{ print }}|{{ println "a" 1 }}|{{ print nil }}|{{ print 1.0 true }}',
  // printf.
  '{{ printf "%d|%5d|%-5d|%05d|%+d|% d|%x|%X|%#x|%o|%#o|%O|%b|%c|%q|%U|%#b" 65 65 65 65 65 65 650 650 650 65 65 65 65 65 65 65 5 }}',
  '{{ printf "%d|%5d|%-5d|%05d|%x|%.3d|%8.3d|%08.3d|%+.3d|%.0d|%5.0d" -65 -65 -65 -65 -650 -65 -65 -65 65 0 0 }}',
  '{{ printf "%t|%v|%5t|%-7t|%q" true false true false true }}', '{{ printf "%v %s %d" $labels $labels $labels }}',
  '{{ printf "%d %s" "a" 1 }} {{ printf "%f %t" 1 2 }} {{ printf "%s %d" 1.5 2.5 }} {{ printf "%z %!" 1 }}',
  '{{ printf "%d" }} {{ printf "%d %d" 1 }} {{ printf "x" 1 "a" 2.5 nil }} {{ printf "%" }} {{ printf "%5" 1 }}',
  '{{ printf "%[2]d %[1]d" 1 2 }} {{ printf "%[3]d" 1 }} {{ printf "%[x]d" 1 }} {{ printf "%[1]d %d %[1]d" 1 2 }}',
  '{{ printf "%*d|%-*d|%.*f|%*s" 5 1 5 1 2 1.2345 3 "a" }} {{ printf "%*d" "a" 1 }} {{ printf "%.*f" -1 1.5 }}',
  '{{ printf "%[2]*[1]d|%[3].2f" 1 5 2.5 }} {{ printf "%[1" 1 }} {{ printf "%[]d" 1 }} {{ printf "%[1]5d" 1 }}',
  '{{ printf "%v %d %s" nil nil nil }} {{ printf "%%|%5%|%-5%" }} {{ printf "%+v" $labels.job }} {{ printf "%ä" 1 }}',
  '{{ printf $labels.percent 1 }} {{ printf "%s" $labels.percent }} {{ printf "%5v|%-5v|%05v|%+v|% v" 1 2 3 4 5 }}',
  '{{ printf "%06s|%-06s|%6q|%x" "abc" "abc" "a" "" }} {{ printf "%c%c%c" 9731 65 1114112 }} {{ printf "%#v %#v" "a" 1 }}',
  '{{ printf "%.2s|%.0s|%5.1s|%.10s" "äöü" "abc" "äöü" "a" }} {{ printf "%q" "a\\x00\\n\\u00e4\\x7f\\xff" }}',
  `{{ printf "%+v" (${q(TWO)} | first).Labels }}`, '{{ printf "%v" (args 1 "b") }} {{ args }} {{ args 1.5 nil }}',
  // Durations, moments.
  ...['1h', '1h30m', '1d', '5m', '100ms', '1w', '1y', '0', '1m1h', 'x', '', '1', '5', '1.5h', '1h1h', '106751991167300y',
    '300y', '1y1w1d1h1m1s1ms', ' 1h', '--1h'].map((s) => `{{ parseDuration "${s}" }}`),
  ...['2006-01-02T15:04:05Z07:00', 'Mon Jan _2 15:04:05 MST 2006', 'Monday, 02-Jan-06 3:4:5PM -0700', '01/2 03:04:05.000 .999 06 pm 002',
    'January Janet Jan. Monty 2 20 1 11 __2 _2006 -07:00:00 -07 Z0700', '15h .0 ,00 .9999999 .05', 'x', '']
    .flatMap((f) => ['1435065584.128', '0', '-1.5', '951782400'].map((v) => `{{ (${v} | toTime).Format "${f}" }}`)),
  '{{ (1435065584.128 | toTime).Unix }} {{ (1435065584.128 | toTime).UnixMilli }} {{ (-1.5 | toTime).Unix }}',
  '{{ $t := toTime 100 }}{{ humanize 3.0 }} {{ $t.Format "2006" }} {{ $t }} {{ $t.String }}', '{{ (toTime -2.3e9).Format "06 2006" }}',
  '{{ with 1435065584.128 | toTime }}{{ .Year }} {{ .YearDay }} {{ .Day }} {{ .Hour }} {{ .Minute }} {{ .Second }} {{ .Nanosecond }}{{ end }}',
  '{{ $t := toTime 100 }}{{ $u := toTime 160.5 }}{{ $u.Sub $t }} {{ $t.Before $u }} {{ $t.After $u }} {{ $t.Equal $t }} {{ ($u.Sub $t).Minutes }}',
  '{{ toTime 1.5 }} {{ printf "%s %v" (toTime 1.5) (toTime 2) }} {{ (toTime 1).UTC.String }}', '{{ toTime 1e300 }}', '{{ toTime "x" }}',
  ...['0.001', '60.5', '3661', '-90', '0.0015', '1e-6', '90061.001', '9e9', '0']
    .map((v) => `{{ (toTime ${v}).Sub (toTime 0) }}`),
  '{{ (toTime 1).Format }}', '{{ (toTime 1).Format 1 }}', '{{ (toTime 1).Foo }}',
  // What fails.
  '{{ .Labels.job.x }}', '{{ .Value 1 }}', '{{ toUpper 1 }}', '{{ toUpper $value }}', '{{ humanize "one" }}', '{{ humanize $labels }}',
  '{{ humanize nil }}', '{{ first 1 }}', '{{ label 1 2 }}', '{{ range $value }}{{ end }}', '{{ range true }}{{ end }}',
  '{{ query "a b" }}', '{{ humanize true }}', '{{ $labels.job.a.b }}', '{{ 1 | printf "%d %d" 2 }}', '{{ printf 1 }}',
];

/** Values of alerts, as expressions of the query language. */
export const VALUES = [
  '0', '-0', '1', '-1', '0.5', '-0.25', '1e-3', '1.2345e-5', '-7e-10', '5e-324', '1e-30', '59.99', '60', '60.1', '899.99', '999.95',
  '999.99', '1000', '1023', '1024', '1025', '1234.5', '3600', '86399', '86400', '90061.5', '-183845', '1234567', '-1234567', '1e6',
  '123456789', '1048576', '1e9', '1435065584.128', '1.5e12', '9223372036', '9223372037', '1e15', '123456789012345680', '9.3e18', '1e20',
  '1e21', '1e24', '1.5e27', '1e100', '1.7e308', 'Inf', '-Inf', 'NaN', '0.1', '0.30000000000000004', '2.5', '3.5', '-2.5', '0.00001', '0.0001',
];

const numeric = (f) => [`{{ $value | ${f} }}`, `{{ printf "%v" $value | ${f} }}`];

/** Run for each of VALUES. */
export const OF_VALUES = [
  '{{ $value }}', ...['humanize', 'humanize1024', 'humanizeDuration', 'humanizePercentage', 'humanizeTimestamp', 'toTime'].flatMap(numeric),
  '{{ printf "%v|%g|%e|%f|%G|%E|%F" $value $value $value $value $value $value $value }}',
  '{{ printf "%.0f|%.2f|%.3g|%.1e|%.10g|%.0g|%.0e|%.G" $value $value $value $value $value $value $value $value }}',
  '{{ printf "%10.2f|%-12.3g|%012.1f|%+.2f|% .2f|%+g|%012g|%-012g|%+012.1e|% 09.1f" '
    + `${'$value '.repeat(10)} }}`,
  '{{ printf "%d|%s|%q|%t|%5d|%c|%x|%X|%b|%#v|%#g|%#.3f|%#.0f|%#e|%#x|%.3x" $value $value $value $value $value $value $value $value $value $value $value $value $value $value $value }}',
  '{{ if $value }}y{{ else }}n{{ end }} {{ not $value }} {{ and $value "x" }} {{ or $value "x" }}',
  '{{ eq $value 1.0 }} {{ ne $value 1.0 }} {{ lt $value 1.0 }} {{ le $value 1.0 }} {{ gt $value 1.0 }} {{ ge $value 1.0 }}',
  '{{ $value | html }} {{ $value | urlquery }} {{ print $value $value }} {{ printf "%s" (print $value) }}',
];

/** Arguments by kind, and the verbs that both sides know for it. */
const ARGUMENTS = [
  { texts: ['0', '1', '-1', '65', '-1234567', '8364', '9223372036854775807', "'x'"], verbs: 'vvddbcoOqxXUstfz', flags: '+-# 0' },
  { texts: ['0.0', '1.0', '-1.5', '1234.5678', '1e-7', '-2.5e20', '1e100', '0.1', '99999.5', '123456789.0', '$value'], verbs: 'vvffFeEgGgsdqtczxXb', flags: '+-# 0' },
  { texts: ['""', '"a"', '"äöü"', '"a\\n\\"`"', '$labels.path', '$labels.umlaut'], verbs: 'vssqqxXdtfcz', flags: '+-# 0' },
  { texts: ['true', 'false', 'nil'], verbs: 'vtvtsdq', flags: '+-# 0' },
];
const LAYOUT = ['2006', '06', '01', '1', 'Jan', 'January', '02', '2', '_2', '002', '__2', '15', '03', '3', '04', '4', '05', '5', 'PM', 'pm', 'Mon',
  'Monday', 'MST', '-0700', '-07:00', '-07', 'Z07:00', 'Z0700', '.000', '.999', ',00', '.9', '.000000000', ' ', '-', ':', 'T', 'x', '_', '0', '7'];
const PATTERNS = ['a', 'b', 'ä', '.', 'a*', 'b+', 'x?', '(a|b)', '^', '$', '\\\\b', '[^a]', '(?:ab)+', '(a)(b)?', 'a??', '\\\\s'];
const HUMAN = ['humanize', 'humanize1024', 'humanizeDuration', 'humanizePercentage', 'humanizeTimestamp'];

/** n random templates that a seed fixes. */
export function randomTexts(n, seed) {
  const random = rng(seed);
  const below = (k) => Math.floor(random() * k);
  const one = (list) => list[below(list.length)];
  const some = (list, max, separator = '') => Array.from({ length: below(max) + 1 }, () => one(list)).join(separator);

  function verb() {
    const kind = one(ARGUMENTS);
    const rune = one(kind.verbs);
    const isRaw = rune === 'q' && kind.texts[0] === '""'; // # there asks which characters can be printed
    const flags = random() < 0.5 ? some(kind.flags, 2) : '';
    const width = random() < 0.4 ? `${below(30)}` : '';
    const precision = random() < 0.4 ? `.${random() < 0.9 ? below(9) : ''}` : '';
    return { format: `%${isRaw ? flags.replace(/[+#]/g, '') : flags}${width}${precision}${rune}`, argument: one(kind.texts) };
  }
  function format() {
    const verbs = Array.from({ length: below(3) + 1 }, verb);
    const all = verbs.map((v) => v.format).join('|');
    return `{{ printf "${all}" ${verbs.slice(random() < 0.1 ? 1 : 0).map((v) => v.argument).join(' ')} }}`;
  }
  const number = () => `${random() < 0.3 ? '-' : ''}${(random() * 10 ** (below(40) - 15)).toExponential(below(17))}`;
  const human = () => `{{ ${number()} | ${one(HUMAN)} }}`;
  const layout = () => `{{ (${below(4e9)}.${below(1000)} | toTime).Format "${some(LAYOUT, 8)}" }}`;
  const replace = () => `{{ reReplaceAll "${some(PATTERNS, 3)}" "<$0${one(['', '$1', '${2}', '$x', '$$'])}>" "${some([...'abä ab\n'.replace('\n', '')], 9)}" }}`;
  const host = () => `{{ "${some([...'a.:[]1:.'], 9)}" | ${one(['stripPort', 'stripDomain'])} }}`;
  const duration = () => `{{ parseDuration "${some(['1', '5', '07', 'y', 'w', 'd', 'h', 'm', 's', 'ms'], 5)}" }}`;
  /** Statements in a scope: the variables that are known; in how many ranges. */
  function value(scope, depth = 0) {
    const leaf = () => one(['1', '0', '"a"', '""', '2.5', 'true', 'false', '$value', '.', '`x y`', '$labels.job', '$labels.no', ...scope]);
    if (depth > 2 || random() < 0.4) return leaf();
    const inner = () => value(scope, depth + 1);
    return one([() => `(and ${inner()} ${inner()})`, () => `(or ${inner()} ${inner()} ${inner()})`, () => `(not ${inner()})`,
      () => `(print ${inner()} ${inner()})`, () => `(${inner()} | printf "%v%q" ${inner()})`, () => `(len (print ${inner()}))`,
      () => `(args ${inner()} ${inner()})`, () => `(args ${inner()} 1).arg0`, () => `(eq (print ${inner()}) "1" "a")`,
      () => `(index (args ${inner()} ${inner()}) "arg1")`])();
  }
  const brace = (text) => `${random() < 0.2 ? ' {{- ' : '{{ '}${text}${random() < 0.2 ? ' -}} \n' : ' }}'}`;
  function branch(word, scope, nRanges, depth) {
    const name = `$v${below(4)}`;
    const isSetting = random() < 0.3;
    const isRange = word === 'range';
    const from = isRange ? `args ${value(scope)} ${value(scope)} 3` : value(scope);
    const names = isRange && random() < 0.5 ? ['$k', name] : [name];
    const inside = isSetting ? [...scope, ...names] : scope;
    const body = program(inside, nRanges + (isRange ? 1 : 0), depth + 1);
    const more = word === 'if' && random() < 0.5
      ? `${brace(`else if ${value(inside)}`)}${program(inside, nRanges, depth + 1)}` : '';
    const last = random() < 0.5 ? `${brace('else')}${program(inside, nRanges, depth + 1)}` : '';
    return `${brace(`${word} ${isSetting ? `${names.join(', ')} := ` : ''}${from}`)}${body}${more}${last}${brace('end')}`;
  }
  function program(known, nRanges = 0, depth = 0) {
    const scope = [...known];
    let text = '';
    for (let i = below(depth > 2 ? 2 : 4) + 1; i > 0; i--) {
      const choice = random();
      if (choice < 0.3) text += brace(value(scope).replace(/^\((.*)\)$/, (all, inner) => (/\)[^(]*\(/.test(inner) ? all : inner)));
      else if (choice < 0.45) {
        const name = `$v${below(4)}`;
        text += brace(`${name} := ${value(scope)}`);
        scope.push(name);
      } else if (choice < 0.55 && scope.length > 0) text += brace(`${one(scope)} = ${value(scope)}`);
      else if (choice < 0.6 && nRanges > 0) text += brace(one(['break', 'continue']));
      else if (choice < 0.9 && depth < 4) text += branch(one(['if', 'with', 'range']), scope, nRanges, depth);
      else text += one([' ', 'x', '\n', ' y ']);
    }
    return text;
  }
  const whole = () => program([]);
  return Array.from({ length: n }, () => one([format, format, format, human, layout, replace, host, duration, whole, whole, whole, whole])());
}
