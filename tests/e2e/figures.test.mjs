// SPDX-License-Identifier: Apache-2.0
// Numbers are the API's, and tell what they mean and cost.
import assert from 'node:assert/strict';
import { getJson } from '../integration/lib/http.mjs';
import testWithLimit from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { openBrowser, openPage } from './lib/browser.mjs';
import { PAGES } from './lib/pages.mjs';
import { openScene, waitForHistory } from './lib/scene.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 90000 });

test('numbers are those of the API', async (t) => {
  const { gateway, base, load } = await openScene(t);
  const browser = await openBrowser();
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
  const tokens = await valueOf(/^sum \(rate\(llm_tokens_total\{type="completion"\}\[\d+s\]\)\)$/);
  assert.equal(await figure('Output tokens'), `${Number(tokens.toPrecision(3))} tok/s`);
  const ttft = await valueOf(/^histogram_quantile\(0\.95, sum \(rate\(llm_ttft_seconds\{\}\[\d+s\]\)\)\)$/);
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

test('whose requests miss an objective on latency', async (t) => {
  const slos = [{ name: 'chat', preset: 'chat', match: { model: 'm*' }, objectives: { ttft: { threshold: '500ms', target: '99%' } } }];
  const { gateway, base } = await openScene(t, { config: { slos }, load: { ofTenant: { globex: { 'ttft-ms': 1000 } } } });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  await go('slos?show=chat/ttft&refresh=off');
  const panel = page.locator('section[aria-label="By Tenant: first token beyond 500 ms, last hour"]');
  await panel.locator('tbody tr').nth(1).waitFor();
  const cells = await panel.locator('tbody tr').evaluateAll((rows) => rows.map((r) => [r.cells[0].textContent, r.cells[3].textContent]));
  assert.deepEqual(cells.map(([name]) => name), ['globex', 'acme']);
  assert.equal(cells[0][1], '100 %');
  assert.ok(parseFloat(cells[1][1]) < 20, cells[1][1]); // a busy machine may be slow with some
  await panel.locator('a:text("globex")').click();
  await page.waitForSelector('.condition:text("ttft_ms >= 500")');
  await page.locator('tbody tr td:nth-child(4):text("globex")').first().waitFor();
  assertQuiet();
});

test('figures tell what they mean, and what they cost', async (t) => {
  const prices = [{ model: 'm*', prompt: 1e6, completion: 2e6 }]; // a token costs 1 and 2
  const { gateway, base } = await openScene(t, { config: { cost: { currency: 'EUR', prices } } });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
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
