// SPDX-License-Identifier: Apache-2.0
// The browser itself, for tests and measurements.
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text'] });

/** Nothing loads any more, and every chart is drawn. */
export async function settled(page) {
  await page.waitForSelector('main h1');
  await page.waitForFunction(() => !document.querySelector('.state-loading') && [...document.querySelectorAll('.chart')].every((c) => c.dataset.drawn));
}
