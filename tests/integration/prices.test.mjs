// SPDX-License-Identifier: Apache-2.0
// /api/v1/prices: what tokens cost, as the configuration tells.
import assert from 'node:assert/strict';
import { Gateway } from './lib/daemon.mjs';
import { getJson } from './lib/http.mjs';
import { run } from './lib/process.mjs';
import test from './lib/test.mjs';

const upstream = { url: 'http://127.0.0.1:9' };

test('prices, the most particular first; a reload changes them', async (t) => {
  const gateway = await Gateway.start(t, { upstream });
  const prices = () => getJson(gateway.adminPort, '/api/v1/prices');
  assert.deepEqual(await prices(), { currency: 'USD', tokens: 1000000, models: [] });
  const cost = { currency: 'CNY', prices: [
    { model: '*', prompt: 1, completion: 2 },
    { model: 'qwen*', prompt: 0.4, cached: 0.1, completion: 1.2 },
    { model: 'qwen3-32b*', prompt: 3, cached: 0, completion: 4 },
    { model: 'm', prompt: 5, cached: 'prompt', completion: 6.25 },
  ] };
  assert.equal(await gateway.reload({ cost }), 'taken');
  assert.deepEqual(await prices(), { currency: 'CNY', tokens: 1000000, models: [
    { model: 'm', prompt: 5, cached: 5, completion: 6.25 },
    { model: 'qwen3-32b*', prompt: 3, cached: 0, completion: 4 },
    { model: 'qwen*', prompt: 0.4, cached: 0.1, completion: 1.2 },
    { model: '*', prompt: 1, cached: 1, completion: 2 },
  ] });
});

test('what is no price', async () => {
  for (const [cost, says] of [
    ['[{model: m, prompt: -1, completion: 1}]', /"prompt": "-1" is no price/],
    ['[{model: m, prompt: nan, completion: 1}]', /"prompt": "nan" is no price/],
    ['[{model: m, prompt: 1e400, completion: 1}]', /"prompt": "1e400" is no price/],
    ['[{model: m, prompt: 1e10, completion: 1}]', /"prompt": "1e10" is no price/],
    ['[{model: m, prompt: prompt, completion: 1}]', /"prompt": "prompt" is no price/],
    ['[{model: m, prompt: 1, cached: -0.1, completion: 1}]', /"cached": "-0.1" is no price/],
    ['[{model: "", prompt: 1, completion: 1}]', /"model" is empty/],
    ['[{model: m, prompt: 1}]', /a price without "completion"/],
    ['[{model: m, prompt: 1, completion: 1}, {model: m, prompt: 1, completion: 1}]', /m/],
  ]) {
    const r = await run(['serve', '--upstream', upstream.url, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0',
      '--set', `cost.prices=${cost}`]);
    assert.equal(r.code, 2, r.stderr);
    assert.match(r.stderr, says);
  }
});
