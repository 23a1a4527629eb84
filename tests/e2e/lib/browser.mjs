// SPDX-License-Identifier: Apache-2.0
// A page of the gateway in Chromium. What the page says on its console, or throws, fails the test.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after } from 'node:test';
import { cleanup } from '../../integration/lib/cleanup.mjs';
import { ROOT } from '../../integration/lib/process.mjs';
import { launch, settled } from './chromium.mjs';

export { settled };

const SHOTS = join(ROOT, 'build/screenshots');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TIMEOUT_MS = 10000;

let browser = null;
after(async () => (await browser)?.close());

/** One for all tests of a file; each has pages of its own in it, which know nothing of the others'. */
export function openBrowser() {
  browser ??= launch();
  return browser;
}

/** A page of its own at that base URL. expected: of messages on the console that belong to the test. */
export async function openPage(t, browser, base, { lang = 'en', width = 1280, height = 900, dark = false, expected = null } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, locale: lang, colorScheme: dark ? 'dark' : 'light' });
  cleanup(t, () => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const said = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && said.push(`${m.type()}: ${m.text()} ${m.location().url}`));
  page.on('pageerror', (e) => said.push(`thrown: ${e.stack}`));
  page.on('dialog', (d) => (said.push(`dialog: ${d.message()}`), d.dismiss()));
  page.on('request', (r) => r.url().startsWith(base) || r.url().startsWith('data:') || said.push(`asked of others: ${r.url()}`));
  const assertQuiet = () => assert.deepEqual(said.filter((s) => !expected?.test(s)), []);
  return { page, said, assertQuiet, go: (hash) => go(page, base, hash) };
}

async function go(page, base, hash) {
  await page.goto(`${base}/#/${hash}`);
  await settled(page);
}

/** Serious faults that axe finds, as lines. */
export async function faultsOf(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
}

/** Kept in build/screenshots. */
export async function shoot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

/** Coloured dots of each chart: data; axes and their labels are grey. */
export function inked(page, selector) {
  return page.$$eval(`${selector} canvas`, (all) => all.map((canvas) => {
    const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 100 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 50) n++;
    return n;
  }));
}
