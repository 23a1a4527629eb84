// SPDX-License-Identifier: Apache-2.0
// The browser of bench/pages: what views ask of the gateway, when they are there, and a page that stays open.
//
//   node bench/pages_browser.mjs record BASE < VIEWS     a line of JSON for each line of VIEWS, an address behind #/
//   node bench/pages_browser.mjs hold BASE VIEW          "open" once it is there; when standard input ends, how much it asked
//
// Times are in ms from the navigation. A view is there when nothing loads and its charts are drawn.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { launch, settled } from '../tests/e2e/lib/chromium.mjs';

const QUIET_MS = 300; // no question for so long: there are no more
const PATIENCE_MS = 30000;
const [what, base, held] = process.argv.slice(2);

const isQuestion = (url) => url.startsWith(`${base}/api/`) && !url.startsWith(`${base}/api/v1/events`);

/** Follows what a page asks. */
class Questions {
  constructor(page) {
    Object.assign(this, { all: [], open: new Set(), changed: performance.now() });
    page.on('request', (r) => isQuestion(r.url()) && this.begun(r));
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => this.ended(r));
  }

  begun(request) {
    this.open.add(request);
    this.changed = performance.now();
    this.all.push(request.url().slice(base.length));
  }

  ended(request) {
    if (this.open.delete(request)) this.changed = performance.now();
  }

  async over() {
    while (this.open.size > 0 || performance.now() - this.changed < QUIET_MS) await new Promise((go) => { setTimeout(go, 20); });
  }
}

async function open(browser, view) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const questions = new Questions(page);
  await page.goto(`${base}/#/${view}`);
  await settled(page).catch(async (e) => {
    throw new Error(`${view}: ${await page.locator('main').innerText()}`, { cause: e });
  });
  const settledMs = await page.evaluate(() => performance.now());
  return { context, page, questions, settledMs };
}

async function record(browser, view) {
  const { context, page, questions, settledMs } = await open(browser, view);
  await questions.over();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null);
  const errors = await page.locator('.state-error').allTextContents();
  await context.close();
  return { view, calls: questions.all, settled_ms: settledMs, paint_ms: paint, errors };
}

const browser = await launch();
if (what === 'record') {
  for await (const view of createInterface({ input: process.stdin })) console.log(JSON.stringify(await record(browser, view)));
} else {
  const { questions } = await open(browser, held);
  const n = questions.all.length;
  console.log('open');
  process.stdin.resume();
  await once(process.stdin, 'end');
  console.log(questions.all.length - n);
}
await browser.close();
