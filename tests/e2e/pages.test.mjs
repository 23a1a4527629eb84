// SPDX-License-Identifier: Apache-2.0
// Every page under live load: it has data, its numbers are the API's, it can be read by everybody.
import assert from 'node:assert/strict';
import { getJson } from '../integration/lib/http.mjs';
import testWithLimit from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { faultsOf, inked, openBrowser, openPage, settled, shoot } from './lib/browser.mjs';
import { openScene, waitForHistory } from './lib/scene.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 90000 });

/** charts: at least so many, each with something drawn. */
const PAGES = [
  { path: 'overview', en: 'Overview', zh: '总览', charts: 4 },
  { path: 'latency', en: 'Latency', zh: '延迟', charts: 6 },
  { path: 'tokens', en: 'Tokens and cost', zh: '令牌与成本', charts: 5 },
  { path: 'requests', en: 'Requests', zh: '请求', charts: 0 },
  { path: 'alerts', en: 'Alerts', zh: '告警', charts: 0 },
  { path: 'incidents', en: 'Incidents', zh: '事故', charts: 0 },
  { path: 'slos', en: 'SLOs', zh: 'SLO', charts: 1 },
  { path: 'pipeline', en: 'Pipeline', zh: '采集链路', charts: 3 },
];
const INK = 10; // dots: of a short line

test('every page, in both languages and colours, wide and narrow', async (t) => {
  const { gateway, base } = await openScene(t);
  const browser = await openBrowser(t);
  await waitForHistory(gateway);
  for (const [lang, dark, width] of [['en', false, 1280], ['zh-CN', true, 390]]) {
    const view = await openPage(t, browser, base, { lang, dark, width });
    for (const { path, en, zh, charts } of PAGES) {
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
      assert.deepEqual(await faultsOf(page), [], what);
      await shoot(page, `${path}-${lang}-${width}`);
    }
    view.assertQuiet();
  }
});

test('numbers are those of the API', async (t) => {
  const { gateway, base, load } = await openScene(t);
  const browser = await openBrowser(t);
  await waitForHistory(gateway);
  load.stop();
  await waitFor('the last requests', async () => (await gateway.inflight()).length === 0);
  const { page, go, assertQuiet } = await openPage(t, browser, base);
  const answers = new Map();
  page.on('response', async (r) => {
    const query = new URL(r.url()).searchParams.get('query');
    if (query && r.ok()) answers.set(query, (await r.json()).data.result);
  });
  await go('overview?refresh=off');
  const figure = (name) => page.locator('.figure').filter({ has: page.getByText(name, { exact: true }) }).locator('.figure-value').textContent();
  const valueOf = (pattern) => waitFor(String(pattern), () => Number([...answers].find(([q]) => pattern.test(q))?.[1][0].value[1]));
  const tokens = await valueOf(/^sum \(rate\(llm_tokens_total\{type="completion"\}\[5m\]\)\)$/);
  assert.equal(await figure('Output tokens'), `${Number(tokens.toPrecision(3))} tok/s`);
  const ttft = await valueOf(/^histogram_quantile\(0\.95, sum \(rate\(llm_ttft_seconds\{\}\[5m\]\)\)\)$/);
  assert.equal(await figure('TTFT p95'), `${Number((ttft * 1000).toPrecision(3))} ms`);
  assert.equal(await figure('Failed'), '0 %');

  await go('pipeline?refresh=off');
  await waitFor('the figures of the status', async () => {
    await page.click('button[aria-label="Refresh now"]');
    const { history } = await getJson(gateway.adminPort, '/api/v1/status');
    return await figure('Requests kept since the start') === `${history.rows_written.toLocaleString('en-US')} req`
      && await figure('Series') === history.series.toLocaleString('en-US');
  });

  await go('requests?refresh=off&order=-ttft_ms');
  const { requests } = await getJson(gateway.adminPort, '/api/v1/requests?order=-ttft_ms&limit=50');
  const links = await page.locator('tbody a').evaluateAll((all) => all.map((a) => a.getAttribute('href').match(/requests\/(\w+)/)[1]));
  assert.deepEqual(links, requests.map((r) => r.request_id));
  assertQuiet();
});

test('figures tell what they mean, and what they cost', async (t) => {
  const prices = [{ model: 'm*', prompt: 1e6, completion: 2e6 }]; // a token costs 1 and 2
  const { gateway, base } = await openScene(t, { config: { cost: { currency: 'EUR', prices } } });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(t), base);
  await waitForHistory(gateway);
  const { data } = await getJson(gateway.adminPort, '/api/v1/definitions');
  const textOf = (name) => data.find((d) => d.name === name).en;
  await go('overview');
  await page.hover('.term-name:text-is("TTFT p95")');
  assert.equal(await page.textContent('[role=tooltip]:text-matches("first")'), textOf('llm_ttft_seconds'));
  await page.keyboard.press('Escape');
  const terms = new Set();
  for (const { path } of PAGES) {
    await go(`${path}?range=1m`);
    for (const name of await page.locator('.term').evaluateAll((all) => all.map((e) => e.dataset.name))) terms.add(name);
  }
  assert.deepEqual([...terms].filter((name) => !data.some((d) => d.name === name)), [], 'every name has its definition');
  await go('tokens?range=1m');
  assert.match(await page.locator('tbody td').last().textContent(), /^[\d.]+ EUR$/);
  assertQuiet();
});

test('a language that was chosen stays, and so do colours', async (t) => {
  const { base } = await openScene(t, { load: null });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(t), base);
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
  const { page, go } = await openPage(t, await openBrowser(t), base);
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
