// SPDX-License-Identifier: Apache-2.0
// The gateway and the simulated engine, started for one test on ports of their own.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getJson, getText, request } from './http.mjs';
import { parseExposition } from './prometheus.mjs';
import { start, tempDir } from './process.mjs';
import { waitFor } from './wait.mjs';

const portOf = (address) => Number(address.slice(address.lastIndexOf(':') + 1));

export class Sim {
  static async start(t, ...flags) {
    const sim = new Sim();
    sim.process = start(t, ['sim', ...flags]);
    const [, address] = await sim.process.printed(/listening on (\S+)\n/);
    sim.port = portOf(address);
    const isTls = flags.includes('--tls-cert');
    sim.url = address.startsWith('unix:') ? address : `${isTls ? 'https' : 'http'}://${address}`;
    return sim;
  }

  /** What was really sent for that X-Request-Id. It is there once the answer is over. */
  truth(id) {
    return waitFor(`the truth about ${id}`, async () => {
      const answer = await request(this.port, `/sim/truth?id=${id}`);
      return answer.status === 200 && JSON.parse(answer.body);
    });
  }

  async lastTruths(n) {
    return (await getJson(this.port, `/sim/truth?last=${n}`)).requests;
  }
}

export class Gateway {
  /**
   * upstream: what has a url. config: sections and keys as in a configuration file. flags: more
   * command line. log: a path instead of a file in the test's directory. command and prefix: what
   * runs the program instead. The rest is of start().
   */
  static async start(t, { upstream, config = {}, flags = [], log, prefix = [], ...options }) {
    const g = new Gateway();
    g.dir = tempDir(t);
    g.logFile = log ?? join(g.dir, 'requests.jsonl');
    g.configFile = join(g.dir, 'inferometer.yaml');
    g.base = {
      listen: ['127.0.0.1:0'],
      upstreams: [{ name: 'up', url: upstream.url, metrics: 'none' }], // a scripted upstream gets what the test sends
      admin: { listen: '127.0.0.1:0' },
      workers: 1,
      probe: { interval: '0s' }, // likewise
      gpu: { source: 'none' }, host: { metrics: false }, // the shipped alerts tell of machines, too
    };
    g.writeConfig(config);
    const args = ['serve', '-c', g.configFile, ...flags];
    g.begin = async () => {
      g.process = start(t, [...prefix, ...args], options);
      const [, listen, admin] = await g.process.printed(/ready listen=(\S+) admin=(\S+)\n/,
        { from: log === '-' ? 'stderr' : 'stdout' });
      g.port = portOf(listen);
      g.adminPort = portOf(admin);
      g.url = `http://${listen}`;
    };
    await g.begin();
    return g;
  }

  /** Ends it by that signal and begins anew, on other ports. */
  async restart(signal = 'SIGTERM') {
    if (signal === 'SIGKILL') await this.process.kill();
    else this.process.signal(signal);
    await this.process.exited;
    await this.begin();
  }

  /** JSON is YAML. */
  writeConfig(config) {
    const log = { file: this.logFile, ...config.log };
    writeFileSync(this.configFile, JSON.stringify({ ...this.base, ...config, log }, null, 2));
  }

  /** Writes the configuration, asks for a reload and waits until it was tried: true = it holds. */
  async reload(config) {
    const tries = async () => {
      const m = await this.metrics();
      return [m.value('inferometer_config_reloads_total'),
        m.value('inferometer_config_reload_failures_total')];
    };
    const before = await tries();
    this.writeConfig(config);
    this.process.signal('SIGHUP');
    return waitFor('a reload', async () => {
      const now = await tries();
      if (now[0] > before[0]) return 'taken';
      return now[1] > before[1] && 'refused';
    });
  }

  chat(json, options = {}) {
    return request(this.port, '/v1/chat/completions', { json: chatRequest(json), ...options });
  }

  /** Whole lines of the request log. */
  records(file = this.logFile) {
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
  }

  /** The n records that match, once they are there. */
  async recordsWhere(matches, n, options) {
    return waitFor(`${n} records`, () => {
      const found = this.records().filter(matches);
      return found.length >= n && found;
    }, options);
  }

  async record(matches = () => true, options) {
    return (await this.recordsWhere(matches, 1, options))[0];
  }

  /** The record of the exchange with this answer. */
  recordOf(answer, options) {
    const id = answer.headers['x-request-id'];
    return this.record((r) => r.request_id === id, options);
  }

  /** The record of the request that the client named so. */
  recordNamed(id, options) {
    return this.record((r) => r.client_request_id === id, options);
  }

  async metrics() {
    return parseExposition(await getText(this.adminPort, '/metrics'));
  }

  async inflight() {
    return (await getJson(this.adminPort, '/api/v1/inflight')).requests;
  }

  /** Bytes of request bodies on their way to the engine, so far. */
  async bytesUpstream() {
    return (await this.metrics()).value('inferometer_bytes_total', { side: 'upstream', direction: 'out' });
  }

  async recent() {
    return (await getJson(this.adminPort, '/api/v1/requests/recent?limit=1000')).requests;
  }
}

export function chatRequest(more = {}) {
  return { model: 'm', messages: [{ role: 'user', content: 'say something' }], ...more };
}

/** X-Sim-* fields from names in the simulator's own spelling. */
export function sim(switches) {
  return Object.fromEntries(
    Object.entries(switches).map(([name, value]) => [`x-sim-${name}`, String(value)]));
}

let ids = 0;
/** A request id that no other test uses. */
export const newId = (what = 'r') => `${what}-${process.pid}-${++ids}`;
