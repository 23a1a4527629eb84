// SPDX-License-Identifier: Apache-2.0
// Something goes wrong: which stage, since when, told as an alert, silenced, noted.
import assert from 'node:assert/strict';
import { getJson } from '../integration/lib/http.mjs';
import test from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { openBrowser, openPage, settled, shoot } from './lib/browser.mjs';
import { openScene, waitForHistory } from './lib/scene.mjs';

test('an engine that becomes slow is seen on the latency page and as an alert, and people act on it', async (t) => {
  const { gateway, base, load } = await openScene(t);
  const { page, go, assertQuiet } = await openPage(t, await openBrowser(), base);
  await waitForHistory(gateway, 9); // what is usual takes that many points
  await go('latency?range=1m');
  assert.match(await page.textContent('.verdict'), /as usual/);
  const since = Date.now();
  load.switches = { ...load.switches, 'ttft-ms': 500 };

  await page.waitForSelector('nav .count', { timeout: 15000 });
  const firing = Date.now() - since;
  assert.ok(firing < 12000, `told after ${firing} ms`);
  await waitFor('the verdict', async () => {
    await Promise.all([page.waitForResponse(/query_range/), page.click('button[aria-label="Refresh now"]')]);
    return /Time to first token.* left its usual p95/.test(await page.textContent('.verdict'));
  }, { timeoutMs: 25000 });
  assert.doesNotMatch(await page.textContent('.verdict'), /TPOT/, 'the other stages are not blamed');
  await shoot(page, 'fault');

  await page.click('nav a:has-text("Alerts")');
  await settled(page);
  const alert = page.locator('.alert', { hasText: 'first tokens of m are slow' });
  assert.match(await alert.textContent(), /P1.*firing/);
  await alert.locator('button:text("Silence")').click();
  await alert.locator('label:has-text("Your name") input').fill('ann');
  await alert.locator('label:has-text("Why") input').fill('known <b>fault</b>');
  await alert.locator('button:text("Make the silence")').click();
  await page.waitForSelector('section[aria-label=Silences] li:has-text("known <b>fault</b>")');
  const [silence] = await getJson(gateway.adminPort, '/api/v2/silences');
  assert.equal(silence.createdBy, 'ann');
  await page.click('button:text("End it")');
  await page.waitForSelector('section[aria-label=Silences]:has-text("No silences")');

  await page.locator('td a:text-is("FirstTokenSlow")').click();
  await settled(page);
  assert.match(await page.textContent('pre'), /llm_ttft_seconds_sum.* > 0\.2/);
  assert.match(await page.getAttribute('section[aria-label="The expression’s value against its threshold"] .chart', 'aria-label'), /m \d+/);
  await shoot(page, 'alert');

  await page.click('nav a:text("Incidents")');
  await page.locator('tbody a').first().click();
  await page.waitForSelector('section[aria-label=Notes]');
  await page.locator('label:has-text("Your name") input').fill('ann');
  await page.fill('textarea', 'the engine is <slow>');
  await page.click('button:text("Add the note")');
  await page.waitForSelector('section[aria-label=Notes] li:has-text("the engine is <slow>")');
  await page.click('button:text("I see to it")');
  await page.waitForSelector('.badge:text("Seen to by ann")');
  await shoot(page, 'incident');
  assertQuiet();
}, { limitMs: 120000 });
