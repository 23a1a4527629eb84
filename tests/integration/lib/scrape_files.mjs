// SPDX-License-Identifier: Apache-2.0
// Scrape files for collect.test.mjs: made of parts that are right or wrong each, and a table of files where we and
// promtool 2.42 differ, with the reason.
import { Random } from './random.mjs';

/** Values of each key of a job: what both take, and what both refuse. */
const KEYS = {
  scrape_interval: [['5s', '1m', '1m30s', '0s', '250ms', '1h'], ['5', '1.5s', '-1s', 'x', '1s1m', '', [], '5 s']],
  scrape_timeout: [['1s', '200ms', '0s'], ['9h', '1', 's']],
  metrics_path: [['/m', 'm', '/a?b', ''], [['/a'], { a: 'b' }]],
  scheme: [['http', 'https'], [[]]],
  honor_labels: [[true, false], ['maybe', [], 3]],
  honor_timestamps: [[true, false], ['x']],
  follow_redirects: [[true, false], ['x']],
  enable_http2: [[true, false], []],
  params: [[{ a: ['b', 'c'] }, {}, { a: [] }, { 'match[]': ['{a="b"}'] }], [{ a: 'b' }, ['a'], 'a']],
  sample_limit: [[0, 10, 100000], [-1, 'x', [1]]],
  label_limit: [[0, 30], [-3]],
  label_name_length_limit: [[200], ['x']],
  label_value_length_limit: [[200], ['x']],
  target_limit: [[10], [-1]],
  body_size_limit: [['10MB', '512KB', '1GiB', '0B', '7B'], ['x', '10XB', [], '-1MB']],
  proxy_url: [['http://proxy:3128', 'https://p'], [[]]],
  basic_auth: [
    [{ username: 'u', password: 'p' }, { username: 'u' }, { username: 'u', password_file: '/nowhere' }, {}],
    [{ username: 'u', password: 'p', password_file: '/f' }, { user: 'u' }, 'u', ['u']],
  ],
  authorization: [
    [{ credentials: 'x' }, { type: 'Token', credentials: 'x' }, { credentials_file: '/nowhere' }, { type: 'Bearer' }],
    [{ type: 'Basic', credentials: 'x' }, { credentials: 'x', credentials_file: '/f' }, { token: 'x' }],
  ],
  tls_config: [
    [{ insecure_skip_verify: true }, { server_name: 's' }, { min_version: 'TLS12' }, {}],
    [{ insecure: true }, { insecure_skip_verify: 'x' }, { min_version: 'TLS9' }, { cert_file: '/c' }, { key_file: '/k' }],
  ],
  static_configs: [
    [[], [{ targets: ['a:1', 'b'] }], [{ targets: ['a:1'], labels: { x: 'y', __meta_a: 'b' } }], [{ labels: { a: 'b' } }], [{ targets: [] }]],
    [[{ targets: ['http://a'] }], [{ targets: 'a' }], [{ target: ['a'] }], [null], { targets: ['a'] }, [{ targets: ['a'], labels: { 'a-b': 'c' } }],
      [{ targets: ['a/b'] }], [{ targets: [['a']] }]],
  ],
  file_sd_configs: [
    [[{ files: ['a.yml'] }], [{ files: ['d/*.json', '/x.yaml'], refresh_interval: '1m' }], []],
    [[{ files: [] }], [{}], [{ files: ['a.txt'] }], [{ files: ['*/a.yml'] }], [{ files: ['a*b*.yml'] }], [{ file: ['a.yml'] }], [{ files: ['a.yml'],
      refresh_interval: 'x' }], [{ files: ['yml'] }]],
  ],
  dns_sd_configs: [
    [[{ names: ['a'] }], [{ names: ['a', 'b'], type: 'A', port: 80 }], [{ names: ['a'], type: 'aaaa', port: 1, refresh_interval: '5s' }],
      [{ names: ['a'], type: 'MX', port: 25 }]],
    [[{ names: [] }], [{}], [{ names: ['a'], type: 'A' }], [{ names: ['a'], type: 'TXT', port: 1 }], [{ name: ['a'] }], [{ names: 'a' }]],
  ],
  relabel_configs: [
    [[], [{ action: 'keep', source_labels: ['a'], regex: 'x' }], [{ target_label: 'a', replacement: 'b' }],
      [{ action: 'hashmod', source_labels: ['a'], modulus: 8, target_label: 'b' }]],
    [[{}], [{ action: 'keeps' }], [{ action: 'hashmod', target_label: 'a' }], [{ action: 'keep', regex: '(' }], [null], [{ source_label: ['a'] }],
      { action: 'keep' }, [{ target_label: 'a-b' }], [{ source_labels: ['a-b'], target_label: 'x' }], [{ source_labels: 'a', target_label: 'x' }]],
  ],
  nothing: [[], ['x']],
  kubernetes_sd_config: [[], [[]]],
};
KEYS.metric_relabel_configs = KEYS.relabel_configs;

const GLOBALS = [
  [{}, { scrape_interval: '15s' }, { scrape_interval: '15s', scrape_timeout: '10s', evaluation_interval: '1m' }, { external_labels: { a: 'b' } }],
  [{ scrape_interval: 'x' }, { scrape_interval: '5s', scrape_timeout: '6s' }, { interval: '5s' }, []],
];

/** Keys that cannot be there together are a mistake of their own. */
const AUTHS = ['basic_auth', 'authorization'];

export class ScrapeFileMaker {
  constructor(seed) {
    this.random = new Random(seed);
  }

  value([good, bad], mayBeBad) {
    const isBad = bad.length > 0 && (good.length === 0 || (mayBeBad && this.random.oneIn(25)));
    return { isBad, value: this.random.pick(isBad ? bad : good) };
  }

  job(name) {
    const { random } = this;
    const job = random.oneIn(40) ? {} : { job_name: random.oneIn(30) ? '' : random.oneIn(40) ? 'j0' : name };
    let isGood = Boolean(job.job_name);
    for (const [key, values] of Object.entries(KEYS)) {
      if (!random.oneIn(values[0].length > 0 ? 4 : 150)) continue;
      const { isBad, value } = this.value(values, true);
      job[key] = value;
      isGood &&= !isBad;
    }
    isGood &&= AUTHS.filter((key) => job[key]).length < 2;
    return { job, isGood };
  }

  /** { text }: JSON, which is YAML. */
  file() {
    const { random } = this;
    const file = {};
    if (random.oneIn(2)) file.global = this.value(GLOBALS, true).value;
    file.scrape_configs = random.some(1, 3, (i) => this.job(`j${i}`).job);
    if (random.oneIn(60)) file.scrape_config = [];
    if (random.oneIn(60)) file.scrape_configs.push(null);
    return { what: JSON.stringify(file), text: JSON.stringify(file) };
  }
}

const job = (more) => `scrape_configs:\n- job_name: a\n${more}`;

/** us, promtool: whether they take it. */
export const DIFFERENT = [
  { us: true, promtool: false, text: job('  sample_limit: 1\n  keep_dropped_targets: 5\n'), why: 'a key that newer versions have' },
  { us: true, promtool: false, text: job('  body_size_limit: 100\n'), why: 'a size without a unit is one of bytes' },
  { us: false, promtool: true, text: job('  scheme: ftp\n'), why: 'no scrape could succeed' },
  { us: false, promtool: true, text: job('  http_sd_configs: [{url: "http://a/b"}]\n'), why: 'not supported' },
  { us: false, promtool: true, text: job('  oauth2: {client_id: x, client_secret: y, token_url: "http://a"}\n'), why: 'not supported' },
  { us: false, promtool: true, text: job('  scrape_timeout: 9s\n  scrape_interval: 10s\n  proxy_url: proxy\n'), why: 'no URL of a proxy' },
];
