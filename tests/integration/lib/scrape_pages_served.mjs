// SPDX-License-Identifier: Apache-2.0
// Pages for collect.test.mjs, and the jobs that scrape them: one for each thing that a scrape has to get right.
import { gzipSync } from 'node:zlib';

const TEXT = 'text/plain; version=0.0.4';
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** path: (request) => [status, headers, body]. */
export const PAGES = {
  '/plain': () => [200, { 'content-type': TEXT }, '# TYPE a counter\na{x="1"} 5\na{x="2",e=""} 6\nb NaN\nc +Inf\nd 1e-7\n'],
  '/labels': () => [200, { 'content-type': TEXT },
    'a{job="mine",instance="i"} 1\nb{job="",instance=""} 2\nc{exported_job="x",job="y"} 3\nd{zone="page"} 4\n'],
  '/gzip': () => [200, { 'content-type': TEXT, 'content-encoding': 'gzip' }, gzipSync('gz 1\n')],
  '/open': (q) => [200, { 'content-type': OPENMETRICS },
    `# TYPE o counter\no_total{accepts="${q.headers.accept.startsWith('application/openmetrics-text')}"} 3 # {t="1"} 1 1\n# EOF\n`],
  '/moved': () => [302, { location: '/plain' }, ''],
  '/secret': (q) => (q.headers.authorization === `Basic ${Buffer.from('u:p').toString('base64')}`
    ? [200, { 'content-type': TEXT }, 'let_in 1\n'] : [401, {}, 'no\n']),
  '/token': (q) => (q.headers.authorization === 'Bearer t0ken' ? [200, { 'content-type': TEXT }, 'let_in 2\n'] : [401, {}, 'no\n']),
  '/query': (q) => [200, { 'content-type': TEXT }, `query{q=${JSON.stringify(new URL(q.url, 'http://x').search)}} 1\n`],
  '/broken': () => [200, { 'content-type': TEXT }, '<html>\n<p>no\n'],
  '/cut': () => [200, { 'content-type': OPENMETRICS }, 'a 1\n'],
  '/error': () => [503, {}, 'a 1\n'],
  '/many': () => [200, { 'content-type': TEXT }, Array.from({ length: 20 }, (_, i) => `many{i="${i}"} ${i}\n`).join('')],
  '/time': () => [200, { 'content-type': TEXT }, `at{} 1 ${Date.now() - 3000}\n`],
  '/empty': () => [200, { 'content-type': TEXT }, ''],
};

/** Jobs; address: host:port that serves them. dir: has targets.yml. */
export function jobs(address, dir) {
  const on = (path, more = {}) => ({
    job_name: Object.keys(more).length ? `${path.slice(1)} ${JSON.stringify(more).slice(0, 40)}` : path.slice(1),
    metrics_path: path, static_configs: [{ targets: [address], labels: { zone: 'eu' } }], ...more,
  });
  return [
    ...Object.keys(PAGES).map((path) => on(path)),
    on('/labels', { honor_labels: true }),
    on('/time', { honor_timestamps: false }),
    on('/moved', { follow_redirects: false }),
    on('/secret', { basic_auth: { username: 'u', password: 'p' } }),
    on('/token', { authorization: { credentials: 't0ken' } }),
    on('/token', { bearer_token: 'wrong' }),
    on('/query', { params: { b: ['2', '3 4'], a: ['ü&='] } }),
    on('/query', {
      job_name: 'param', params: { target: ['x', 'y'] },
      relabel_configs: [{ source_labels: ['__address__'], target_label: '__param_target' }, { target_label: '__param_new', replacement: 'n' }],
    }),
    on('/many', { sample_limit: 20 }), on('/many', { sample_limit: 19 }), on('/many', { body_size_limit: '100B' }),
    on('/many', { label_limit: 5 }), on('/many', { label_limit: 3 }), on('/many', { label_name_length_limit: 7 }),
    on('/many', { label_value_length_limit: 10 }), on('/many', { target_limit: 1 }),
    on('/many', {
      job_name: 'two', target_limit: 1,
      static_configs: [{ targets: [address, address.replace('127.0.0.1', 'localhost')] }],
    }),
    on('/many', {
      job_name: 'relabelled',
      metric_relabel_configs: [
        { source_labels: ['i'], regex: '1.', action: 'drop' }, { source_labels: ['i'], regex: '(.)', target_label: 'digit' },
        { regex: 'i', action: 'labeldrop' }, { source_labels: ['digit'], target_label: '__name__', regex: '([2-4])', replacement: 'few_$1' },
      ],
    }),
    on('/plain', { job_name: 'nameless', metric_relabel_configs: [{ regex: '__name__', action: 'labeldrop' }] }),
    {
      job_name: 'moved by relabelling', static_configs: [{ targets: ['a', 'b:1', 'c'] }],
      relabel_configs: [
        { source_labels: ['__address__'], regex: 'c', action: 'drop' },
        { source_labels: ['__address__'], target_label: 'instance' },
        { target_label: '__address__', replacement: address },
        { source_labels: ['instance'], regex: 'b:1', target_label: '__metrics_path__', replacement: '/labels' },
        { source_labels: ['__metrics_path__'], regex: '/metrics', target_label: '__metrics_path__', replacement: '/plain' },
      ],
    },
    { job_name: 'nobody', static_configs: [{ targets: ['127.0.0.1:1'] }] },
    {
      job_name: 'files', file_sd_configs: [{ files: [`${dir}/*.yml`] }],
      relabel_configs: [{ source_labels: ['__meta_filepath'], regex: '.*/(.*)', target_label: 'file' }],
    },
    on('/plain', { job_name: 'slash', metrics_path: 'plain' }),
  ];
}

export const TARGETS = (address) =>
  `- targets: ['${address}']\n  labels: {__metrics_path__: /plain, own: x, job: other}\n- targets: ['${address}']\n  labels: {__metrics_path__: /labels}\n`;
