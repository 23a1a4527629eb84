// SPDX-License-Identifier: Apache-2.0
// The pictures of README.md: SCREENSHOTS=docs/images makes them, otherwise nothing happens here.
import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from '../integration/lib/cleanup.mjs';
import { Gateway, Sim } from '../integration/lib/daemon.mjs';
import { getJson, request } from '../integration/lib/http.mjs';
import { ROOT, start, tempDir } from '../integration/lib/process.mjs';
import test from '../integration/lib/test.mjs';
import { openBrowser, openPage, settled } from './lib/browser.mjs';
import { smaller } from './lib/png.mjs';

const DIR = process.env.SCREENSHOTS && resolve(ROOT, process.env.SCREENSHOTS);
const MAX_BYTES = 150_000;
const USUAL_S = 90, SLOW_S = 30;

/** What a small team has: one engine with its GPUs, two tenants, an SLO. */
async function openTeam(t) {
  const engine = await Sim.start(t, '--engine', 'vllm-0.13', '--gpu-metrics', 'page', '--model', 'qwen3-8b', '--engine-times', 'vllm', '--kv-tokens', '8000');
  const gateway = await Gateway.start(t, {
    upstream: engine,
    config: {
      upstreams: [{ name: 'vllm-1', url: engine.url }], data_dir: join(tempDir(t), 'data'), history: { interval: '1s' }, scrape: { interval: '2s' },
      timeline: { every: 1 }, labels: [{ name: 'tenant', from: ['header:X-Tenant'] }], slos: [{ name: 'chat', preset: 'chat' }],
    },
  });
  for (const [tenant, rate, tokens] of [['acme', 2, 60], ['globex', 1, 30]]) {
    const load = start(t, ['load', '--url', `${gateway.url}/v1/chat/completions`, '--model', 'qwen3-8b', '--rate', `${rate}`, '--duration', '10m', '--prompt-tokens', '300', '--max-tokens', `${tokens}`, '--header', `X-Tenant: ${tenant}`]);
    cleanup(t, () => load.kill());
  }
  return { engine, gateway, base: `http://127.0.0.1:${gateway.adminPort}` };
}

async function picture(page, name, height) {
  const path = join(DIR, `${name}.png`);
  await page.mouse.move(0, 0);
  writeFileSync(path, smaller(await page.screenshot({ clip: { x: 0, y: 0, width: 1280, height } })));
  assert.ok(statSync(path).size <= MAX_BYTES, `${path} has ${statSync(path).size} bytes`);
}

test('pictures for README', async (t) => {
  const { engine, gateway, base } = await openTeam(t);
  await delay(USUAL_S * 1000);
  await request(engine.port, '/sim/faults', { json: { added_latency: 4 } });
  await delay(SLOW_S * 1000);
  const browser = await openBrowser();
  mkdirSync(DIR, { recursive: true });
  const { requests } = await getJson(gateway.adminPort, '/api/v1/requests?outcome=ok&ttft_ms%3E=4000&order=-time&limit=1');
  for (const [lang, suffix] of [['en', ''], ['zh-CN', '.zh-CN']]) {
    const { page, go } = await openPage(t, browser, base, { lang });
    for (const [name, path, height] of [['overview', 'overview', 900], ['latency', 'latency', 860], ['request', `requests/${requests[0].request_id}`, 660]]) {
      await go(`${path}?range=3m`);
      await settled(page);
      await picture(page, `${name}${suffix}`, height);
    }
  }
}, { limitMs: 300000, skip: !DIR && 'SCREENSHOTS=DIR makes them' });
