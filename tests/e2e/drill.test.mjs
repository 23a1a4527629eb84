// SPDX-License-Identifier: Apache-2.0
// From "something is slow" to one request: what is followed, filtered, sorted, sent to somebody.
import assert from 'node:assert/strict';
import { getJson } from '../integration/lib/http.mjs';
import testWithLimit from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { openBrowser, openPage, settled, shoot } from './lib/browser.mjs';
import { openScene, waitForHistory } from './lib/scene.mjs';
import { source } from './lib/source.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 90000 });

test('from the overview to one request’s waterfall, and back', async (t) => {
  const { gateway, base } = await openScene(t, { load: { models: ['m', 'n'] } });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  await go('overview?range=5m');
  await page.click('tbody a:text-is("n")');
  await settled(page);
  assert.match(page.url(), /#\/latency\?.*model=n/);
  assert.match(page.url(), /range=5m/, 'the time goes along');
  assert.equal(await page.locator('select').filter({ hasText: 'all' }).first().inputValue(), 'n');
  await page.locator('section', { hasText: 'Time to first token' }).locator('a:text("Slowest requests")').first().click();
  await settled(page);
  await page.waitForSelector('.condition:text("model = n")');
  const cells = await page.locator('tbody tr').first().locator('td').allTextContents();
  assert.equal(cells[1], 'n');
  await page.locator('tbody a').first().click();
  await page.waitForSelector('.waterfall');

  const id = (await page.textContent('.request-id')).trim();
  const row = await getJson(gateway.adminPort, `/api/v1/requests/${id}`);
  assert.equal(row.model, 'n');
  const stages = Object.keys(row).filter((k) => /^stage_/.test(k));
  const { en } = await source('words/en.ts');
  assert.deepEqual(await page.locator('.waterfall .bars').first().locator('.bar-name').allTextContents(), stages.map((k) => en[`part.${k.slice(6, -3)}`]));
  assert.equal(await page.locator('.ticks line').count(), row.timeline.length);
  assert.equal(await page.locator('.fields div', { hasText: 'client_request_id' }).count(), row.client_request_id ? 1 : 0);
  await page.click('button:text("Copy as curl")');
  assert.match(await page.textContent('.copy-text pre'), /curl -N .*\n.*\n.*Bearer KEY/);
  await shoot(page, 'request');
  await page.goBack();
  await page.waitForSelector('.condition:text("model = n")');
  assertQuiet();
});

test('requests by conditions, sorted, page by page, as the address says', async (t) => {
  const { gateway, base, load } = await openScene(t);
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitFor('more than a page', async () => (await gateway.recent()).length > 60, { timeoutMs: 20000 });
  load.stop();
  await waitFor('no open requests', async () => (await gateway.inflight()).length === 0);
  await waitFor('all rows', async () => (await getJson(gateway.adminPort, '/api/v1/requests?limit=1000')).requests.length === (await gateway.recent()).length);
  await go('requests?refresh=off');
  const first = await page.locator('tbody a').first().getAttribute('href');
  await page.click('button:text("next page")');
  await page.waitForFunction((href) => document.querySelector('tbody a')?.getAttribute('href') !== href, first);
  await page.click('button:text("First page")');
  await page.waitForFunction((href) => document.querySelector('tbody a')?.getAttribute('href') === href, first);

  await page.fill('input[list=fields]', 'labels.tenant');
  await page.fill('input[list=values]', 'acme');
  await page.click('button:text("Add a condition")');
  await page.waitForSelector('.condition:text("labels.tenant = acme")');
  await page.click('button[aria-label="Sort by TTFT"]');
  await page.waitForSelector('th[aria-sort=descending]:has-text("TTFT")');
  await settled(page);
  const url = page.url();
  const { requests } = await getJson(gateway.adminPort, '/api/v1/requests?labels.tenant=acme&order=-ttft_ms&limit=50');
  const shown = () => page.locator('tbody a').evaluateAll((all) => all.map((a) => a.getAttribute('href').match(/requests\/(\w+)/)[1]));
  await waitFor('rows as asked for', async () => JSON.stringify(await shown()) === JSON.stringify(requests.map((r) => r.request_id)));
  await page.goto('about:blank');
  await page.goto(url);
  await settled(page);
  assert.deepEqual(await shown(), requests.map((r) => r.request_id), 'the address is enough');
  await page.click('.condition button');
  await page.waitForFunction(() => !document.querySelector('.condition'));
  await go('requests/nobody');
  assert.match(await page.textContent('.state-empty'), /No such request is kept/);
  assert.equal(page.url().endsWith('#/requests/nobody'), true);
  await assert.rejects(async () => assertQuiet(), /404/, 'what is not there is a 404, which browsers tell of');
});

test('a time that is drawn over in one chart is that of all of them, and in the address', async (t) => {
  const { gateway, base } = await openScene(t);
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  await go('latency?range=5m');
  const box = await page.locator('.chart').nth(1).boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.6, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, y, { steps: 4 });
  await page.mouse.move(box.x + box.width * 0.8, y, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash) || /to=\d+/.test(location.hash));
  const { from, to } = Object.fromEntries(new URLSearchParams(page.url().split('?')[1]));
  const share = (Number(to) - Number(from)) / 300;
  assert.ok(share > 0.1 && share < 0.4, `a fifth of five minutes, or so: ${share}`);
  await page.click('button:text("Back to now")');
  await page.waitForFunction(() => !/from=/.test(location.hash));
  assertQuiet();
});
