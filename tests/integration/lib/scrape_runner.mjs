// SPDX-License-Identifier: Apache-2.0
// Our side of scrape.test.mjs and relabel.test.mjs: scrape_run, built beside the program from scrape_run.c.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BIN, run } from './process.mjs';

const RUNNER = join(dirname(BIN), 'tests/scrape_run');

/** What the option skip of a test wants. */
export const missingRunner = () => (existsSync(RUNNER) ? false : `${RUNNER} is not built`);

const field = ([word, text]) => {
  const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text);
  return Buffer.concat([Buffer.from(`${word} ${bytes.length}\n`), bytes, Buffer.from('\n')]);
};

/** Lines of answers to fields [[word, text], ...], parsed. */
async function ask(fields) {
  const { code, stdout, stderr } = await run([], {
    command: RUNNER, input: Buffer.concat(fields.map(field)), timeoutMs: 60000,
  });
  assert.equal(code, 0, stderr);
  return stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
}

/** pages: [{ text, isOpenMetrics }]. Of each { families, mistakes, advice }. */
export const readPages = (pages) =>
  ask(pages.map(({ text, isOpenMetrics }) => [isOpenMetrics ? 'openmetrics' : 'page', text]));

const KEYS = [['action', 'action'], ['separator', 'separator'], ['regex', 'regex'], ['target_label', 'target'],
  ['replacement', 'replacement'], ['modulus', 'modulus']];

function ruleFields(rule) {
  const fields = (rule.source_labels ?? []).map((name) => ['source', name]);
  for (const [key, word] of KEYS)
    if (rule[key] !== undefined) fields.push([word, String(rule[key])]);
  return [...fields, ['rule', '']];
}

/** What is wrong with each rule, or null. */
export const checkRules = (rules) => ask(rules.flatMap((rule) => [['clear', ''], ...ruleFields(rule)]));

/** work: [{ rules, labels }]. Of each its labels, or null: dropped. */
export async function relabelAll(work) {
  const fields = work.flatMap(({ rules, labels }) => [
    ['clear', ''], ...rules.flatMap(ruleFields),
    ...Object.entries(labels).flatMap(([name, value]) => [['name', name], ['value', value]]),
    ['relabel', ''],
  ]);
  const lines = await ask(fields);
  let at = 0;
  return work.map(({ rules }) => {
    for (const rule of rules) assert.equal(lines[at++], null, JSON.stringify(rule));
    return lines[at++];
  });
}
