// SPDX-License-Identifier: Apache-2.0
// Rules for relabel.test.mjs: those that have a meaning, and any. Names have no digits, so that what labelmap makes of
// them is a name again.
import { Random } from './random.mjs';

export const LABEL_SETS = [
  { a: 'xfooy', b: 'foo', c: 'bar' }, { a: 'Foo', b: 'FOO' }, { a: '12', b: 'x12y', c: '12' }, { a: 'k;v', b: 'one-two-three' },
  { b: 'ünïcode ÄÖ', c: 'b' }, { a: '$1', b: '${1}', c: 'foo' }, { a: 'foo', zone_x: 'eu', zone_y: 'us' }, { c: 'a b"c\\d' },
];

const SOURCES = ['a', 'b', 'c', 'missing', 'zone_x'];
const REGEXES = ['(.*)', 'x(.*)y', '(\\d+)', 'foo|bar', '.+', '', '(.*);(.*)', '[a-z]+', '(?i)FOO', '(.)(.*)', '(?P<n>.*)-.*', '.*o(.)',
  'x?(\\w+?)y?', '[^;]*', '(a)|(b)|(.*)', '\\p{Lu}.*', '^foo$', 'fo{2}', '(?:f|b)(o|a).'];
const REPLACEMENTS = ['$1', '${1}', '$2-$1', 'const', '', '$$', '$1x', '${1}x', '$n', '${n}', '$0', 'a$', '${', '$10', '${1}${2}', 'ü'];
const TARGETS = ['a', 'b', 'new', '${1}', 't_$1', '$2', 'a${1}_z', '__tmp', 'Z'];
const NAME_REGEXES = ['zone_(.+)', 'a|b', '(zone_.*)', '(z)one_(.)', 'nothing', '[abc]'];
const NAME_REPLACEMENTS = ['$1', 'mapped_${1}', 'copy', '${1}_$2x'];
const SEPARATORS = [';', '', '-', ', ', '$1'];
const ACTIONS = ['replace', 'keep', 'drop', 'keepequal', 'dropequal', 'hashmod', 'labelmap', 'labeldrop', 'labelkeep', 'lowercase',
  'uppercase'];

export class RuleMaker {
  constructor(seed) {
    this.random = new Random(seed);
  }

  /** Some of the keys, each with a chance of one half. */
  maybe(keys) {
    return Object.fromEntries(Object.entries(keys).filter(() => this.random.oneIn(2)));
  }

  sources() {
    return this.random.some(1, 3, () => this.random.pick(SOURCES));
  }

  matching() {
    return this.maybe({ regex: this.random.pick(REGEXES), separator: this.random.pick(SEPARATORS) });
  }

  replace() {
    const { random } = this;
    return {
      ...this.maybe({ action: random.pick(['replace', 'Replace']), source_labels: this.sources(),
        replacement: random.pick(REPLACEMENTS) }),
      ...this.matching(), target_label: random.pick(TARGETS),
    };
  }

  /** A rule that has an effect, often enough. */
  rule() {
    const { random } = this;
    const target = random.pick(['a', 'b', 'new', '__tmp']);
    const source_labels = this.sources();
    return random.pick([
      () => this.replace(), () => this.replace(), () => this.replace(),
      () => ({ action: 'keep', source_labels, regex: '.*[a-z].*' }),
      () => ({ action: random.pick(['keep', 'drop']), source_labels, ...this.matching(), regex: random.pick(REGEXES) }),
      () => ({ action: random.pick(['keepequal', 'dropequal']), source_labels: [random.pick(SOURCES)], target_label: target }),
      () => ({ action: 'hashmod', source_labels, modulus: 1 + random.below(1000), target_label: target,
        ...this.maybe({ separator: random.pick(SEPARATORS) }) }),
      () => ({ action: 'labelmap', regex: random.pick(NAME_REGEXES.slice(0, 4)), replacement: 'mapped_$1' }),
      () => ({ action: 'labelmap', regex: random.pick(NAME_REGEXES), replacement: random.pick(['copy', 'mapped_${1}']) }),
      () => ({ action: 'labeldrop', regex: random.pick(NAME_REGEXES) }),
      () => ({ action: 'labelkeep', regex: `__.*|job|instance|${random.pick(NAME_REGEXES)}` }),
      () => ({ action: random.pick(['lowercase', 'UPPERCASE']), source_labels, target_label: target }),
    ])();
  }

  rules() {
    return this.random.some(1, 4, () => this.rule());
  }

  /** Any keys with any values. */
  anyRule() {
    const { random } = this;
    return {
      action: random.pick([...ACTIONS, 'LabelMap', 'label_map', 'nothing']),
      ...this.maybe({
        source_labels: random.pick([['a'], ['a', 'b'], ['a-b'], ['']]), separator: random.pick(SEPARATORS),
        regex: random.pick([...REGEXES, '(', 'a**', '(?=x)']), target_label: random.pick(['a', 'new', 'a-b', '1a', '']),
        replacement: random.pick([...REPLACEMENTS, ...NAME_REPLACEMENTS]), modulus: random.pick([0, 8]),
      }),
    };
  }
}
