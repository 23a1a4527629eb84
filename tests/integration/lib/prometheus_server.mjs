// SPDX-License-Identifier: Apache-2.0
// A real Prometheus for one test, on a port and in a directory of its own.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, getText } from './http.mjs';
import { start, tempDir } from './process.mjs';

const has = (command) => spawnSync(command, ['--version']).status === 0;

/** What the option skip of a test wants: false, or why it is skipped. */
export const missing = (command) => (has(command) ? false : `${command} is not installed`);

/**
 * targets: ports to scrape under the job "gateway", every interval. flags: more command line. rules: the
 * contents of a rule file. externalLabels: what is known everywhere. scrapeConfigs: what is scraped instead.
 */
export async function startPrometheus(t, {
  targets = [], interval = '200ms', flags = [], rules, externalLabels = {}, scrapeConfigs,
} = {}) {
  const dir = tempDir(t);
  const port = await freePort();
  const config = {
    global: {
      scrape_interval: interval, scrape_timeout: interval,
      evaluation_interval: rules && interval,
      external_labels: externalLabels,
    },
    scrape_configs: scrapeConfigs ?? [{
      job_name: 'gateway',
      static_configs: [{ targets: targets.map((target) => `127.0.0.1:${target}`) }],
    }],
  };
  if (rules) {
    config.rule_files = [join(dir, 'rules.yml')];
    writeFileSync(join(dir, 'rules.yml'), JSON.stringify(rules));
  }
  writeFileSync(join(dir, 'prometheus.yml'), JSON.stringify(config));
  const server = start(t, [
    `--config.file=${join(dir, 'prometheus.yml')}`, `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`, ...flags,
  ], { command: 'prometheus' });
  await server.printed(/Server is ready to receive web requests/, { from: 'stderr' });
  const query = async (expression) => {
    const path = `/api/v1/query?query=${encodeURIComponent(expression)}`;
    return JSON.parse(await getText(port, path)).data.result;
  };
  const scalar = async (expression) => {
    const [first] = await query(expression);
    return first && Number(first.value[1]);
  };
  return { port, query, scalar, process: server };
}
