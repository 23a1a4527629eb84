// SPDX-License-Identifier: Apache-2.0
// Pages for scrape.test.mjs: made-up ones, the same spoilt, and single lines whose verdicts are known.
import { Random } from './random.mjs';

const NAMES = ['a', 'up_x', 'vllm:num_requests_running', 'http_requests', 'lag_sum', 'a_bucket', 'a_count', 'x:y:z', '_u'];
const LABELS = ['le', 'model_name', 'engine', 'a', '_b', 'Z9', 'quantile'];
const TEXTS = ['x', '0.5', 'meta-llama/Llama-3.1-8B', '\\\\', '\\"', '\\n', '{', '}', ',', '=', '#', ' ', 'ü', '漢', '\\d', '+Inf',
  'a text of more than sixteen bytes'];
const VALUES = ['NaN', '+Inf', '-Inf', 'nan', 'inf', '0', '1.', '.5', '1e-400', '9223372036854775794', '1E+06', '-0',
  '0.1', '8.969000', '1.67837e+06', '-1.0', '1.7537953269352946e+09', '0.30000000000000004', '123456789012345678901234567890',
  '5e-324', '1.7976931348623157e308', '9007199254740993', '0.000001234567890123456789'];

/** One page; nowMs: times of samples are within the minute before. */
export class PageMaker {
  constructor(seed, nowMs) {
    this.random = new Random(seed);
    this.nowMs = nowMs;
  }

  text() {
    return this.random.some(0, 5, () => this.random.pick(TEXTS)).join('');
  }

  labels(n) {
    const from = this.random.below(LABELS.length);
    return Array.from({ length: n }, (_, i) => `${LABELS[(from + i) % LABELS.length]}="${this.text()}"`).join(',');
  }

  value() {
    const { random } = this;
    return random.oneIn(2) ? random.pick(VALUES) : String((random.next() - 0.2) * 10 ** random.below(20));
  }

  sample(i, isOpenMetrics) {
    const { random } = this;
    // A label of its own, so that no series is there twice.
    const labels = [`i="${i}"`, this.labels(random.below(4))].filter(Boolean).join(',');
    const comma = !isOpenMetrics && random.oneIn(6) ? ',' : '';
    const ms = this.nowMs - random.below(60000);
    const time = random.oneIn(6) ? ` ${isOpenMetrics ? ms / 1000 : ms}` : '';
    const name = random.pick(NAMES) + (isOpenMetrics && random.oneIn(3) ? '_total' : '');
    const exemplar = isOpenMetrics && /_(total|bucket)$/.test(name) && random.oneIn(3) ? ` # {${this.labels(1)}} ${random.pick(VALUES)}` : '';
    return `${name}{${labels}${comma}} ${this.value()}${time}${exemplar}`;
  }

  comment(isOpenMetrics) {
    const { random } = this;
    const name = random.pick(NAMES);
    if (random.oneIn(2)) return `# HELP ${name} ${this.text()}`;
    return `# TYPE ${name} ${random.pick(['counter', 'gauge', 'histogram', 'summary', isOpenMetrics ? 'info' : 'untyped'])}`;
  }

  page(isOpenMetrics) {
    const lines = this.random.some(4, 14, (i) =>
      (this.random.oneIn(4) ? this.comment(isOpenMetrics) : this.sample(i, isOpenMetrics)));
    return `${lines.join('\n')}\n${isOpenMetrics ? '# EOF\n' : ''}`;
  }

  /** Some bytes changed, taken out or put in. */
  spoil(text) {
    const { random } = this;
    let bytes = Buffer.from(text);
    for (let n = 1 + random.below(4); n > 0; n--) {
      const at = random.below(bytes.length);
      const c = Buffer.from([random.pick([...Buffer.from('\n"\\{},= #\t1ae.+-_x'), 0xc3])]);
      const [drop, put] = random.pick([[1, [c]], [1, []], [0, [c]]]);
      bytes = Buffer.concat([bytes.subarray(0, at), ...put, bytes.subarray(at + drop)]);
    }
    return bytes;
  }
}

/*
 * Lines, and who takes a page of it: ours (o), Prometheus 2.42 (p), promtool (t). Where they are not of one mind
 * the reason is in our README.md.
 */
const LINES = [
  ['opt', 'a 1'], ['opt', 'a{b="c"} 1'], ['opt', 'a{b="c",} 1'], ['opt', 'a{ b = "c" , } 1'], ['opt', 'a{} 1'], ['op', 'a \t 1 \t'],
  ['opt', 'a{b="c"}1'], ['opt', 'a NaN'], ['opt', 'a +Inf'], ['opt', 'a -inf'], ['opt', 'a Infinity'], ['opt', 'a .5'], ['opt', 'a 5.'],
  ['opt', 'a 1e-400'], ['opt', 'a{b="ü漢"} 1'], ['opt', '# HELP a'], ['opt', '# HELP a x\\ny'], ['opt', '# TYPE a gauge\na 1'],
  ['opt', '# TYPE a untyped\na 1'], ['opt', '# HELP'], ['op', '#HELP a-b'], ['opt', '# EOF'], ['opt', '# UNIT a s'], ['opt', '\n\na 1'],
  ['', 'a'], ['', 'a x'], ['', 'a 1 x'], ['', 'a 1 1.5'], ['', 'a 1 2 3'], ['', '1a 1'], ['', 'a-b 1'], ['', '{a="b"} 1'],
  ['', 'a{b} 1'], ['', 'a{b=c} 1'], ['', 'a{b="c" 1'], ['', 'a{b="c} 1'], ['', 'a{,} 1'], ['', 'a{b="c",,} 1'], ['', 'a{b:c="d"} 1'],
  ['', 'a{b="c\xff"} 1'], ['', 'a{b="c",b="d"} 1'], ['', 'a{__name__="b"} 1'], ['', 'a 0x10'], ['', 'a 1_000'], ['', 'a 1e400'],
  ['', 'a +NaN'], ['', 'a 0x1p3'], ['', 'a infinit'], ['', 'a 1 # {} 1'], ['', '# TYPE a wrong'], ['t', '# TYPE a'], ['', '# HELP 1a x'],
  ['', '<html><body>404</body></html>'], ['', '{"error": "not found"}'], ['', '"a" 1'],
  ['ot', ' a 1'], ['ot', 'a 1 -5'], ['op', 'a{b="\\d"} 1'], ['o', 'a 1\r'], ['p', 'a{b="c" d="e"} 1'], ['p', 'a{b="c\nd"} 1'],
  ['p', '# HELP a-b x'],
];

/** A page of each of them; one is no UTF-8. */
export const linePages = () => LINES.map(([verdicts, line]) => ({
  what: JSON.stringify(line), verdicts, text: Buffer.from(`${line}\n`, line.includes('\xff') ? 'latin1' : 'utf8'),
}));
