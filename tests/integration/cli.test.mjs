// SPDX-License-Identifier: Apache-2.0
// The commands as their users meet them: help, mistakes, exit codes, and what they print.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gateway, Sim } from './lib/daemon.mjs';
import { freePort, getText, request } from './lib/http.mjs';
import { run, start, tempDir } from './lib/process.mjs';
import { quantile } from './lib/prometheus.mjs';
import { assertOutcome } from './lib/records.mjs';
import { DONE, textEvents, toolEvents, USAGE } from './lib/streams.mjs';
import test from './lib/test.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { SANITIZED, waitFor } from './lib/wait.mjs';

const COMMANDS = ['serve', 'reload', 'demo', 'config', 'key', 'sim', 'load', 'replay', 'query', 'promql',
  'docs'];

test('--help of everything', async () => {
  const main = await run(['--help']);
  assert.equal(main.code, 0);
  for (const command of COMMANDS) {
    assert.ok(main.stdout.includes(`\n  ${command} `), command);
    const { code, stdout, stderr } = await run([command, '--help']);
    assert.deepEqual([code, stderr], [0, ''], command);
    assert.match(stdout, new RegExp(`^usage: inferometer ${command}\\b`));
  }
  assert.match((await run(['--version'])).stdout, /^inferometer \d+\.\d+\.\d+\n$/);
});

const wrong = [
  { args: [], code: 2, out: /usage: inferometer COMMAND/ },
  { args: ['sevre'], code: 2, err: /there is no command "sevre"/ },
  { args: ['serve'], code: 2, err: /missing key "upstreams"[^]*--upstream URL/ },
  { args: ['serve', '--bogus'], code: 2, err: /unknown flag "--bogus"/ },
  { args: ['serve', '--upstreem', 'x'], code: 2, err: /did you mean --upstream/ },
  { args: ['serve', '--upstream', 'ftp://x'], code: 2, err: /https:/ },
  { args: ['serve', '--upstream', 'http://x', '--listen', 'here'], code: 2, err: /ADDR:PORT/ },
  { args: ['serve', '--upstream', 'http://x', '--set', 'timeouts.idel=1s'], code: 2,
    err: /unknown key "timeouts\.idel"[^]*did you mean "idle"/ },
  { args: ['serve', '-c', '/nowhere/x.yaml'], code: 2, err: /\/nowhere\/x\.yaml: could not open/ },
  { args: ['key'], code: 2, err: /add, list or revoke/ },
  { args: ['key', 'lsit'], code: 2, err: /did you mean "list"/ },
  { args: ['key', 'add'], code: 2, err: /--tenant is missing/ },
  { args: ['key', 'add', '--tenant', 'x', '--expires', '2020-01-01'], code: 2, err: /no time to come/ },
  { args: ['key', 'add', '--tenant', 'x', '--expires', '2099-02-30'], code: 2, err: /no time to come/ },
  { args: ['key', 'add', '--tenant', 'x', '--label', 'a'], code: 2, err: /has no "="/ },
  { args: ['key', 'add', '--tenant', 'x', '--class', 'fast'], code: 2, err: /neither interactive nor batch/ },
  { args: ['key', 'list', '--tenant', 'x'], code: 2, err: /unknown flag --tenant/ },
  { args: ['key', 'revoke', '--file', 'x'], code: 2, err: /which key/ },
  { args: ['sim', '--ttft', '3'], code: 2, err: /did you mean --ttft-ms/ },
  { args: ['sim', '--tokens', 'many'], code: 2, err: /takes a whole number.*"many"/ },
  { args: ['replay', 'x'], code: 2, err: /--dialect is missing/ },
  { args: ['replay', '--dialect', 'morse', 'x'], code: 2, err: /no dialect "morse"; known are .*openai-chat/ },
  { args: ['config', 'check'], code: 2, err: /needs the FILE/ },
  { args: ['config', 'chekc', 'x'], code: 2, err: /check and show/ },
  { args: ['load', '--rate', '5'], code: 2, err: /--url/ },
  { args: ['load', '--url', 'http://127.0.0.1:1', '--rate', '5'], code: 2, err: /path must end in/ },
  { args: ['promql'], code: 2, err: /the command is test/ },
  { args: ['promql', 'test'], code: 2, err: /needs the FILE/ },
  { args: ['promql', 'test', '--fast', 'x'], code: 2, err: /unknown flag/ },
  { args: ['alert', 'list', 'tier~P1'], code: 2, err: /"tier~P1": .*expected =, !=, =~ or !~[^]*write name=value/ },
  { args: ['alert', 'list', 'tier!P1'], code: 2, err: /"tier!P1": .*expected =, !=, =~ or !~/ },
  { args: ['alert', 'silences', 'ok', 'model=~('], code: 2, err: /"model=~\(": .*error parsing regexp/ },
  { args: ['alert', 'silence', 'tier~P1', '--for', '1h', '--comment', 'x'], code: 2, err: /"tier~P1": / },
  { args: ['demo', 'extra'], code: 2, err: /unexpected "extra"/ },
];

test('wrong usage: exit status 2, on standard error, with a hint', async () => {
  for (const { args, code, out, err } of wrong) {
    const r = await run(args);
    assert.equal(r.code, code, `${args.join(' ')}: ${r.stderr}`);
    if (out) assert.match(r.stdout, out);
    if (err) assert.match(r.stderr, err, args.join(' '));
  }
});

test('a port that is taken', async (t) => {
  const upstream = await Sim.start(t);
  const taken = `127.0.0.1:${upstream.port}`;
  const free = '127.0.0.1:0';
  for (const [listen, admin] of [[taken, free], [free, taken]]) {
    const { code, stderr } = await run(['serve', '--upstream', 'http://127.0.0.1:1', '--log', '',
      '--listen', listen, '--admin', admin]);
    assert.equal(code, 1);
    assert.ok(stderr.includes(`could not listen on ${taken}`), stderr);
    assert.match(stderr, /another program uses this port/);
  }
  const sim = await run(['sim', '--listen', taken]);
  assert.equal(sim.code, 1);
  assert.match(sim.stderr, /could not listen/);
});

test('config check: every mistake at once, with its place and a hint', async (t) => {
  const file = join(tempDir(t), 'x.yaml');
  writeFileSync(file, 'upstreams: [{name: a, url: "http://h:1"}]\nworkers: 2\nlog: {file: "", level: warn}\n');
  const good = await run(['config', 'check', file]);
  assert.deepEqual([good.code, good.stderr], [0, '']);
  assert.match(good.stdout, /: ok \(4 keys set\)/);

  writeFileSync(file, ['upstreams: ["ftp://h"]', 'worker: 2', 'timeouts:', '  idle: 5 parsecs', '  total: -1s',
    'metrics: {bounds: {llm_ttft_seconds: [2s, 1s]}}', ''].join('\n'));
  const bad = await run(['config', 'check', file]);
  assert.equal(bad.code, 1);
  assert.equal(bad.stdout, '');
  for (const [place, text] of [['1:', 'http://'], ['2:', 'did you mean "workers"'], ['4:', 'duration'],
    ['5:', 'timeouts.total'], ['6:', 'not larger than the bound before']]) {
    assert.ok(bad.stderr.includes(`${file}:${place}`), `${place} in ${bad.stderr}`);
    assert.match(bad.stderr, new RegExp(text));
  }
  assert.match(bad.stderr, /5 mistakes\n$/);

  writeFileSync(file, 'listen: [1\nworkers: {');
  const broken = await run(['config', 'check', file]);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /x\.yaml:\d+:\d+: /);
});

test('config check: files of rules and routes, too', async (t) => {
  const dir = tempDir(t);
  const path = (name) => join(dir, name);
  const write = (name, value) => writeFileSync(path(name), JSON.stringify(value));
  const rules = (expr) => ({ groups: [{ name: 'g', rules: [{ alert: 'A', expr }, { alert: 'B', expr }] }] });
  write('c.yaml', { upstreams: ['http://h:1'], rules: { files: [path('r.yml')] }, alerting: { file: path('a.yml') } });
  write('a.yml', { route: { receiver: 'x' }, receivers: [{ name: 'x', log_configs: [{}] }] });
  write('r.yml', rules('up == 0'));
  const check = () => run(['config', 'check', path('c.yaml')]);
  assert.deepEqual([(await check()).code, (await check()).stderr], [0, '']);

  write('r.yml', rules('up == (0'));
  const bad = await check();
  assert.deepEqual([bad.code, bad.stdout], [1, '']);
  assert.equal(bad.stderr.match(/r\.yml:1:\d+: expr: unclosed left parenthesis/g).length, 2);
  assert.match(bad.stderr, /r\.yml: 2 mistakes\n$/);

  write('r.yml', rules('up == 0'));
  write('a.yml', { route: { receiver: 'y' }, receivers: [{ name: 'x', log_configs: [{}] }] });
  assert.match((await check()).stderr, /a\.yml:1:\d+: there is no receiver "y"/);

  unlinkSync(path('a.yml'));
  const gone = await check();
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /could not read .*a\.yml: no such file/);
});

test('config show: what it prints is a configuration that says the same', async (t) => {
  const file = join(tempDir(t), 'x.yaml');
  writeFileSync(file, 'upstreams: ["http://h:1/v1"]\ntimeouts: {idle: 90s}\nlimits: {max_body: 1MiB}\n');
  const shown = await run(['config', 'show', file]);
  assert.equal(shown.code, 0);
  assert.match(shown.stdout, /idle: (90s|1m30s|1\.5m)\n/);
  writeFileSync(file, shown.stdout);
  assert.equal((await run(['config', 'show', file])).stdout, shown.stdout);
  assert.equal((await run(['config', 'check', '-'], { input: shown.stdout })).code, 0);
});

test('docs: the pages come from the tables', async () => {
  for (const [page, text] of [['config', 'timeouts.first_byte'], ['metrics', 'llm_ttft_seconds'],
    ['record', 'upstream_ttft_ms']]) {
    const { code, stdout } = await run(['docs', page]);
    assert.equal(code, 0);
    assert.ok(stdout.includes(text), page);
  }
  assert.equal((await run(['docs', 'poetry'])).code, 2);
});

test('replay of a recording: the same whatever the reads', async (t) => {
  const dir = tempDir(t);
  const file = join(dir, 'a.sse');
  const bytes = Buffer.from([...textEvents, USAGE, DONE].join(''));
  writeFileSync(file, bytes);
  const replay = async (...args) => {
    const { code, stdout, stderr } = await run(['replay', '--dialect', 'openai-chat', ...args]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const whole = await replay(file);
  assert.equal(whole.first_content, 1); // the role chunk is no content
  assert.equal(whole.events, 8);
  assert.equal(whole.content_events, 4);
  assert.deepEqual([whole.finish, whole.completion, whole.ended, whole.error], ['stop', 4, 'yes', 'no']);

  for (const size of [1, 7, 100]) {
    const reads = Array.from({ length: Math.ceil(bytes.length / size) },
      (_, i) => Math.min(size, bytes.length - i * size));
    writeFileSync(join(dir, 'a.reads'), `${reads.join('\n')}\n`);
    assert.deepEqual(await replay('--reads', join(dir, 'a.reads'), file), whole);
  }
  writeFileSync(join(dir, 'a.reads'), '5\n');
  const short = await run(['replay', '--dialect', 'openai-chat', '--reads', join(dir, 'a.reads'), file]);
  assert.notEqual(short.code, 0);
  assert.match(short.stderr, /a\.reads/);

  writeFileSync(file, [...toolEvents, DONE].join(''));
  const tools = await replay(file);
  assert.equal(tools.first_any, 0);
  assert.equal(tools.first_text, null);
  assert.ok(tools.first_tool_args > 0);

  const tooLarge = `data: ${'x'.repeat(4 * 1024 * 1024 + 1)}`; // whether something closes it or not
  for (const end of ['\n\n', '']) {
    writeFileSync(file, textEvents[1] + tooLarge + end);
    const lossy = await replay(file);
    assert.deepEqual([lossy.events, lossy.too_large_events], [2, 1]);
  }
});

test('load --json: parses, and its figures are those of the records', async (t) => {
  const upstream = await Sim.start(t, '--ttft-ms', '20', '--itl-ms', '3', '--tokens', '10');
  const gateway = await Gateway.start(t, { upstream });
  const { code, stdout, stderr } = await run(['load', '--url', `${gateway.url}/v1/chat/completions`,
    '--rate', '40', '--duration', '2s', '--arrivals', 'constant', '--json']);
  assert.equal(code, 0, stderr);
  const report = JSON.parse(stdout);
  const records = await gateway.recordsWhere(() => true, report.sent);

  assert.ok(report.ok > 60 && report.ok === report.sent && report.failed === 0, stdout);
  assert.equal(records.length, report.sent);
  for (const r of records) assertOutcome(r, 'ok');
  assert.equal(report.completion_tokens, records.reduce((n, r) => n + r.completion_tokens, 0));
  assert.equal(report.prompt_tokens, records.reduce((n, r) => n + r.prompt_tokens, 0));
  assert.equal(report.with_usage, report.ok);

  // The client's view has the way to the client in it, and what the client was late.
  const toleranceMs = SANITIZED ? 20 : 1.5;
  for (const [name, field] of [['ttft', 'ttft_ms'], ['e2e', 'e2e_ms'], ['tpot', 'tpot_ms']]) {
    const ours = quantile(records.map((r) => r[field]), 0.5);
    const theirs = report[`${name}_ns`].p50 / 1e6;
    assert.ok(Math.abs(theirs - ours) < toleranceMs, `${name}: load ${theirs} ms, gateway ${ours} ms`);
    console.log(`${name}, median: load ${theirs.toFixed(3)} ms, gateway ${ours.toFixed(3)} ms`);
  }
});

test('load tells failures, and leaves with 1', async (t) => {
  const upstream = await Sim.start(t, '--status', '503');
  const gateway = await Gateway.start(t, { upstream });
  const { code, stdout } = await run(['load', '--url', `${gateway.url}/v1/chat/completions`,
    '--concurrency', '2', '--requests', '6', '--json']);
  const report = JSON.parse(stdout);
  assert.equal(code, 1);
  assert.deepEqual([report.ok, report.failed], [0, 6]);
  const records = await gateway.recordsWhere((r) => r.outcome === 'http_error', 6);
  assert.ok(records.every((r) => r.status === 503));
});

/** Ids of the living processes whose parent is pid. */
function childrenOf(pid) {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name)
        && Number(/\) . (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))[1]) === pid;
    } catch {
      return false; // gone meanwhile
    }
  }).map(Number);
}

test('load takes an answer of which it lost an event for none', async (t) => {
  const event = (text) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
  const upstream = await startUpstream(t, async (x) => {
    await x.complete;
    x.stream().chunk(event('a')).chunk(event('b'.repeat(5 << 20))).chunk(event('c'))
      .chunk('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n').endChunks();
  });
  const { code, stdout } = await run(['load', '--url', `${upstream.url}/v1/chat/completions`,
    '--concurrency', '1', '--requests', '1', '--json']);
  const report = JSON.parse(stdout);
  assert.equal(code, 1);
  assert.equal(report.failed, 1);
  assert.deepEqual(report.errors, { bad_response: 1 });
});

test('demo: addresses, a table, a history, and nothing left behind', async (t) => {
  const kept = tempDir(t);
  const demo = start(t, ['demo', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
    { env: { ...process.env, TMPDIR: kept } });
  const [, gateway] = await demo.printed(/gateway\s+http:\/\/127\.0\.0\.1:(\d+)\/v1/);
  const [, admin] = await demo.printed(/metrics\s+http:\/\/127\.0\.0\.1:(\d+)\/metrics/);
  await demo.printed(/engine\s+http:\/\/127\.0\.0\.1:\d+ \(simulated\)/);
  const children = await waitFor('simulator and load', () => {
    const now = childrenOf(demo.pid);
    return now.length === 2 && now;
  });
  const page = await waitFor('traffic', async () => {
    const text = await getText(Number(admin), '/metrics');
    return /^llm_requests_total\{.*outcome="ok".*\} [1-9]/m.test(text) && text;
  });
  assert.ok(page.includes('llm_ttft_seconds_bucket'));
  const mine = await request(Number(gateway), '/v1/models');
  assert.equal(mine.status, 200);
  const before = demo.stdout.length;
  await waitFor('a table', () => /ttft/i.test(demo.stdout.slice(before)), { timeoutMs: 12000 });
  const [, url] = await demo.printed(/inferometer query --url (\S+)/);
  const asked = await run(['query', '--url', url, 'sum(llm_requests_total)']);
  assert.equal(asked.code, 0, asked.stderr);
  assert.match(asked.stdout, /\{\} +[1-9]/);
  assert.equal(readdirSync(kept).length, 1);

  const exit = await demo.stop('SIGINT');
  assert.deepEqual(exit, { code: 0, signal: null });
  for (const pid of children) assert.ok(!existsSync(`/proc/${pid}`), `child ${pid} is left`);
  assert.deepEqual(readdirSync(kept), []);
}, { limitMs: 30000 });

test('demo in front of an engine of one\'s own: no simulator, no load', async (t) => {
  const upstream = await Sim.start(t);
  const demo = start(t,
    ['demo', '--upstream', upstream.url, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']);
  const [, gateway] = await demo.printed(/gateway\s+http:\/\/127\.0\.0\.1:(\d+)\/v1/);
  assert.deepEqual(childrenOf(demo.pid), []);
  assert.equal((await request(Number(gateway), '/v1/models')).status, 200);
});

test('demo whose port is taken says so and leaves nothing behind', async (t) => {
  const upstream = await Sim.start(t);
  const { code, stderr } = await run(['demo', '--listen', `127.0.0.1:${upstream.port}`, '--admin',
    `127.0.0.1:${await freePort()}`]);
  assert.equal(code, 1);
  assert.match(stderr, /could not listen/);
});
