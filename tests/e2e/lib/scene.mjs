// SPDX-License-Identifier: Apache-2.0
// A gateway with history, rules that are quick, and requests that come all the time.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanup } from '../../integration/lib/cleanup.mjs';
import { Gateway, Sim, sim } from '../../integration/lib/daemon.mjs';
import { getJson } from '../../integration/lib/http.mjs';
import { tempDir } from '../../integration/lib/process.mjs';
import { waitFor } from '../../integration/lib/wait.mjs';

const EVERY_MS = 40;

/** Fires when first tokens of the last seconds were slow, one second after. */
const RULES = {
  groups: [{
    name: 'scene', interval: '1s',
    rules: [{
      alert: 'FirstTokenSlow',
      expr: 'sum by (model) (rate(llm_ttft_seconds_sum[5s])) / sum by (model) (rate(llm_ttft_seconds_count[5s])) > 0.2',
      for: '1s', labels: { tier: 'P1' },
      annotations: { summary: 'first tokens of {{ $labels.model }} are slow', description: 'mean {{ $value | humanizeDuration }}' },
    }],
  }],
};

/** Requests at a steady rate, whatever the answers do. headers can be changed while it goes. ofTenant: switches of one tenant's. */
export class Load {
  constructor(t, gateway, { models = ['m'], headers = {}, ofTenant = {} } = {}) {
    Object.assign(this, { switches: { 'ttft-ms': 20, 'itl-ms': 2, tokens: 8 }, sent: 0 });
    const tenants = ['acme', 'globex'];
    const timer = setInterval(() => {
      const n = this.sent++;
      const tenant = tenants[n % 2];
      gateway.chat({ model: models[n % models.length], stream: n % 5 !== 4 },
        { headers: { 'x-tenant': tenant, ...headers, ...sim({ ...this.switches, ...ofTenant[tenant] }) } }).catch(() => {});
    }, EVERY_MS);
    this.stop = () => clearInterval(timer);
    cleanup(t, this.stop);
  }
}

export async function openScene(t, { config = {}, load = {}, rules = RULES } = {}) {
  const upstream = await Sim.start(t);
  const dir = tempDir(t);
  const file = join(dir, 'rules.yml');
  writeFileSync(file, JSON.stringify(rules));
  const gateway = await Gateway.start(t, {
    upstream,
    config: {
      data_dir: join(dir, 'data'), history: { interval: '1s' }, rules: { files: [file], interval: '1s' }, models: ['m', 'n'], timeline: { every: 1 },
      labels: [{ name: 'tenant', from: ['header:X-Tenant'] }], slos: [{ name: 'chat', preset: 'chat' }], ...config,
    },
  });
  const base = `http://127.0.0.1:${gateway.adminPort}`;
  return { upstream, gateway, base, load: load && new Load(t, gateway, load) };
}

/** Until the history has so many points of requests. */
export async function waitForHistory(gateway, seconds = 4) {
  await waitFor('some history', async () => {
    const { data } = await getJson(gateway.adminPort, `/api/v1/query?query=${encodeURIComponent('count_over_time(sum(llm_requests_total > 5)[1m:1s])')}`);
    return Number(data.result[0]?.value[1] ?? 0) >= seconds;
  }, { timeoutMs: 20000 });
}
