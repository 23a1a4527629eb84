// SPDX-License-Identifier: Apache-2.0
// Every page under live load, in both languages and colours, wide and narrow: it has data, everybody can read it.
import assert from 'node:assert/strict';
import testWithLimit from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { faultsOf, inked, openBrowser, openPage, settled, shoot } from './lib/browser.mjs';
import { PAGES } from './lib/pages.mjs';
import { openScene, waitForHistory } from './lib/scene.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 90000 });
const INK = 10; // dots: of a short line

async function look(view, { path, en, zh, charts }, lang, width) {
  await view.go(`${path}?range=1m`);
  const { page } = view;
  const what = `${path} ${lang}`;
  assert.equal(await page.textContent('h1'), lang === 'en' ? en : zh, what);
  assert.equal(await page.getAttribute('html', 'lang'), lang);
  assert.equal(await page.getAttribute('nav a[aria-current=page]', 'href').then((h) => h.split('?')[0]), `#/${path}`);
  const ink = await waitFor(`charts of ${what}`, async () => {
    const all = await inked(page, '.chart');
    return all.length >= charts && all.every((n) => n > INK) && [all];
  });
  assert.ok(ink[0].length >= charts, what);
  assert.deepEqual(await page.locator('.state-error').allTextContents(), [], what);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than the screen`);
  assert.deepEqual(await page.locator('.figure').evaluateAll((all) => all.filter((f) => f.scrollWidth > f.clientWidth).map((f) => f.textContent)), [], what);
  assert.deepEqual(await faultsOf(page), [], what);
  await shoot(page, `${path}-${lang}-${width}`);
}

test('every page, in both languages and colours, wide and narrow', async (t) => {
  const { gateway, base } = await openScene(t);
  const browser = await openBrowser();
  await waitForHistory(gateway);
  await Promise.all([['en', false, 1280], ['zh-CN', true, 390]].map(async ([lang, dark, width]) => {
    const view = await openPage(t, browser, base, { lang, dark, width });
    for (const row of PAGES) await look(view, row, lang, width);
    view.assertQuiet();
  }));
});

test('the overview is one screen', async (t) => {
  const { gateway, base } = await openScene(t, { load: { models: ['m', 'n'] } });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  await go('overview?range=1m');
  assert.equal(await page.locator('main tbody tr').count(), 2);
  assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) <= 900, 'of 1280 by 900');
  assertQuiet();
});

test('a language that was chosen stays, and so do colours', async (t) => {
  const { base } = await openScene(t, { load: null });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await go('overview');
  await page.click('button:text("中文")');
  assert.equal(await page.textContent('h1'), '总览');
  await page.click('button[aria-label^="配色"]');
  await page.click('button[aria-label^="配色"]');
  await page.reload();
  await settled(page);
  assert.equal(await page.textContent('h1'), '总览');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  assertQuiet();
});

test('any page by keyboard alone', async (t) => {
  const { base } = await openScene(t, { load: null });
  const { page, go } = await openPage(t, await openBrowser(), base);
  await go('overview');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press('Shift+Tab');
    if (await page.evaluate(() => document.activeElement.textContent === 'Pipeline')) break;
  }
  await page.keyboard.press('Enter');
  await page.waitForSelector('h1:text("Pipeline")');
});
