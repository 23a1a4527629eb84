// SPDX-License-Identifier: Apache-2.0
// Nothing to show yet, nothing kept, no answer, a late one, an error; and texts that are meant to harm.
import assert from 'node:assert/strict';
import { getJson } from '../integration/lib/http.mjs';
import testWithLimit from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { openBrowser, openPage, settled } from './lib/browser.mjs';
import { openScene, waitForHistory } from './lib/scene.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 60000 });

test('a gateway without requests, and one that keeps nothing', async (t) => {
  const browser = await openBrowser();
  const { base } = await openScene(t, { load: null });
  const { page, go, assertQuiet } = await openPage(t, browser, base);
  await go('overview');
  assert.match(await page.textContent('main'), /No requests in the last five minutes/);
  for (const path of ['latency', 'tokens', 'requests', 'alerts', 'incidents', 'slos', 'pipeline']) {
    await go(path);
    assert.equal(await page.locator('.state-error').count(), 0, path);
    for (const text of await page.locator('.panel').allTextContents()) assert.ok(text.length > 15, `${path} has a blank panel: ${text}`);
  }
  assertQuiet();

  const bare = await openScene(t, { load: null, config: { data_dir: '', rules: {}, slos: [] } });
  const other = await openPage(t, browser, bare.base, { expected: /503/ });
  await other.go('overview');
  assert.match(await other.page.textContent('main'), /keeps no history \(data_dir\)/);
  await other.go('pipeline');
  assert.match(await other.page.textContent('main'), /Nothing is kept/);
});

test('no answer, a late answer, an error: told, and over once there is an answer again', async (t) => {
  const { gateway, base } = await openScene(t);
  const { page, go } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  const api = /\/api\/v1\/(query|slo)/;
  await page.route(api, (r) => r.fulfill({ status: 500, contentType: 'application/json', body: '{"status":"error","error":"the disk is <gone>"}' }));
  await go('overview?range=5m&refresh=off');
  const panel = page.locator('section[aria-label="Whole request (E2E)"]');
  assert.match(await panel.textContent(), /could not answer.*the disk is <gone>/);
  await page.unroute(api);
  await panel.locator('button:text("Try again")').click();
  await panel.locator('.chart').waitFor();

  await page.route(api, (r) => r.abort());
  await page.click('button[aria-label="Refresh now"]');
  await panel.locator('.badge:text("old")').waitFor();
  assert.equal(await panel.locator('.chart').count(), 1, 'what was there stays');
  await go('tokens?range=5m&refresh=off');
  assert.match(await page.locator('.panel .state-error').first().textContent(), /does not answer/);
  await page.unroute(api);

  let release;
  const held = new Promise((done) => (release = done));
  await page.route(api, async (r) => (await held, r.continue()));
  await page.evaluate(() => (location.hash = '#/latency?range=5m&refresh=off'));
  await page.waitForSelector('.panel .state-loading');
  release();
  await settled(page);
  await page.waitForSelector('.chart');
});

test('a gateway that goes away and comes back', async (t) => {
  const { gateway, base } = await openScene(t);
  const { page, go } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  await go('overview?range=5m&refresh=off');
  await gateway.process.stop();
  await page.click('button[aria-label="Refresh now"]');
  await page.waitForSelector('.badge:text("old: no answer")');
});

test('names and texts that are meant to harm are texts', async (t) => {
  const hostile = '<img src=x onerror=alert(1)>';
  const { gateway, base } = await openScene(t, { load: { models: [hostile, '"><script>alert(2)</script>'], headers: { 'x-tenant': "'><svg onload=alert(3)>", 'x-request-id': 'javascript:alert(4)' } } });
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway);
  for (const path of ['overview', 'latency', 'latency?split=tenant', 'tokens', 'requests', `requests?model=${encodeURIComponent(hostile)}`, `latency?model=${encodeURIComponent(hostile)}&${encodeURIComponent('<b>')}=1`, 'alerts', 'slos', 'pipeline', encodeURIComponent(hostile)]) {
    await go(path);
    assert.equal(await page.locator('main img, main script, main svg[onload]').count(), 0, path);
  }
  await go('requests');
  const text = await page.textContent('tbody');
  assert.ok(text.includes(hostile) && text.includes("'><svg onload=alert(3)>"), text.slice(0, 300));
  const { requests } = await getJson(gateway.adminPort, '/api/v1/requests?limit=1');
  await go(`requests/${requests[0].request_id}`);
  await page.waitForSelector('.waterfall');
  await waitFor('nothing has run', async () => (await page.locator('main img, main script').count()) === 0);
  assertQuiet();
});
