// SPDX-License-Identifier: Apache-2.0
// The text exposition as a value, with the questions that tests have.

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

const toNumber = (text) => (text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text));

function labelsOf(text = '') {
  const labels = {};
  for (const [, name, value] of text.matchAll(LABEL))
    labels[name] = value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
  return labels;
}

export class Exposition {
  constructor(samples, types) {
    this.samples = samples;
    this.types = types; // family -> type
  }

  select(name, labels = {}) {
    return this.samples.filter((s) => s.name === name &&
      Object.entries(labels).every(([k, v]) => s.labels[k] === v));
  }

  /** Sum over all matching series; undefined when there is none. */
  value(name, labels) {
    const found = this.select(name, labels);
    return found.length > 0 ? found.reduce((sum, s) => sum + s.value, 0) : undefined;
  }

  /** Upper bounds of a histogram, ascending. */
  bounds(family, labels) {
    const all = this.select(`${family}_bucket`, labels).map((s) => toNumber(s.labels.le));
    return [...new Set(all)].sort((a, b) => a - b);
  }
}

export function parseExposition(text) {
  const samples = [];
  const types = {};
  for (const line of text.split('\n')) {
    if (line.startsWith('# TYPE ')) {
      const [, , family, type] = line.split(' ');
      types[family] = type;
    } else if (line !== '' && !line.startsWith('#')) {
      const match = LINE.exec(line);
      if (!match) throw new Error(`not a sample: ${line}`);
      samples.push({ name: match[1], labels: labelsOf(match[2]), value: toNumber(match[3]) });
    }
  }
  return new Exposition(samples, types);
}

/** The value below which a share q of the sorted values lies: exact, no interpolation. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}
