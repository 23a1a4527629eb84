// SPDX-License-Identifier: Apache-2.0
// A gateway that asks for a token: who gets in, what they may do, and when it is over.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from '../integration/lib/http.mjs';
import { tempDir } from '../integration/lib/process.mjs';
import testWithLimit from '../integration/lib/test.mjs';
import { waitFor } from '../integration/lib/wait.mjs';
import { faultsOf, openBrowser, openPage, settled } from './lib/browser.mjs';
import { openScene } from './lib/scene.mjs';

const test = (name, fn) => testWithLimit(name, fn, { limitMs: 60000 });
const WRITE = 'w'.repeat(32), READ = 'r'.repeat(32), OTHER = 'o'.repeat(32);
const WHERE = '#/alerts?range=5m';
const ALWAYS = {
  groups: [{ name: 'scene', interval: '1s', rules: [{ alert: 'Always', expr: 'vector(1)', labels: { tier: 'P1' }, annotations: { summary: 'something is wrong' } }] }],
};

async function setup(t, lang) {
  const dir = tempDir(t);
  const files = { token_file: join(dir, 'write'), read_token_file: join(dir, 'read') };
  writeFileSync(files.token_file, WRITE);
  writeFileSync(files.read_token_file, READ);
  const scene = await openScene(t, { load: null, rules: ALWAYS, config: { admin: { listen: '127.0.0.1:0', ...files } } });
  const view = await openPage(t, await openBrowser(), scene.base, { lang, expected: /\b40[13]\b|api\/v1\/events/ });
  const showToken = async (token) => {
    await view.page.fill('#token', token);
    await view.page.click('form button');
  };
  return { ...scene, ...view, files, showToken };
}

test('a token for looking: everything is seen, nothing is offered to be changed', async (t) => {
  const { base, page, showToken, assertQuiet } = await setup(t, 'en');
  await page.goto(`${base}/${WHERE}`);
  await page.waitForURL(/\/login\?next=/);
  assert.deepEqual(await faultsOf(page), []);
  await showToken('x'.repeat(32));
  await page.waitForSelector('#message:text("no token of this gateway")');
  await showToken(READ);
  await page.waitForURL((url) => url.hash === WHERE); // an address that was sent to somebody
  await page.waitForSelector('.alert:has-text("something is wrong")');
  assert.match(await page.getAttribute('header .badge:text("read-only")', 'title'), /need one for changing/);
  assert.equal(await page.locator('button:text("Silence")').count(), 0);
  await page.click('nav a:text("Incidents")');
  await page.locator('tbody a').first().click();
  assert.match(await page.textContent('section[aria-label=Notes]'), /need one for changing/);
  assert.equal(await page.locator('textarea').count(), 0);
  assert.doesNotMatch(await page.evaluate(() => document.cookie), /session/, 'scripts do not see it');
  const status = await page.evaluate(async () => {
    const { csrf } = await (await fetch('/api/v1/session')).json();
    return (await fetch('/api/v2/silences', { method: 'POST', headers: { 'X-Inferometer-CSRF': csrf }, body: '{}' })).status;
  });
  assert.equal(status, 403);
  assertQuiet();
});

test('a token for changing, until the reader leaves, and until the session is over', async (t) => {
  const { gateway, base, page, showToken, files, assertQuiet } = await setup(t, 'zh-CN');
  await page.goto(`${base}/${WHERE}`);
  await page.waitForSelector('label:text("令牌")');
  await showToken(WRITE);
  const alert = page.locator('.alert', { hasText: 'something is wrong' });
  await alert.locator('button:text("静默")').click();
  await page.locator('form.act input').first().fill('安');
  await page.locator('form.act input').nth(1).fill('已知问题');
  const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/api/v2/silences'));
  await page.click('form.act button[type=submit]');
  const { 'x-inferometer-csrf': csrf } = (await sent).headers();
  assert.match(csrf, /^[0-9a-f]{64}$/);
  await page.waitForSelector('section[aria-label="静默"] li:has-text("已知问题")');
  const withoutSecret = await page.evaluate(async () => (await fetch('/api/v2/silences', { method: 'POST', body: '{}' })).status);
  assert.equal(withoutSecret, 403, 'the cookie alone changes nothing');

  await page.click('button:text("退出登录")');
  await page.waitForURL(/\/login/);
  await page.goto(`${base}/${WHERE}`);
  await page.waitForURL(/\/login\?next=/);
  await showToken(WRITE);
  await alert.waitFor();

  writeFileSync(files.token_file, OTHER); // as good as its end
  gateway.process.signal('SIGHUP');
  const isTaken = async () => (await request(gateway.adminPort, '/api/v1/status', { headers: { authorization: `Bearer ${OTHER}` } })).status === 200;
  await waitFor('the other token', isTaken);
  await page.click('button[aria-label="立即刷新"]');
  await page.waitForURL(/\/login\?next=/);
  await showToken(OTHER);
  await page.waitForURL((url) => url.hash === WHERE);
  await settled(page);
  await alert.waitFor();
  assertQuiet();
});
