// SPDX-License-Identifier: Apache-2.0
// A restart drops no connection: with sockets of a service manager (lib/manager.py plays one), and
// from process to process.
// @tsan
// @alone
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { managed } from './lib/manager.mjs';
import { BIN, Process, run, start, tempDir } from './lib/process.mjs';
import { assertOutcome } from './lib/records.mjs';
import test from './lib/test.mjs';
import { says, waitFor } from './lib/wait.mjs';

const SHORT = { 'ttft-ms': 2, 'itl-ms': 1, tokens: 5 };
const LONG = { 'ttft-ms': 5, 'itl-ms': 10, tokens: 60 };

/**
 * Short requests on connections of their own, on kept connections, and streams, one after the other,
 * until it is stopped.
 */
function load(gateway, { short = 4, streams = 4, kept = 0 } = {}) {
  const answers = [];
  const errors = [];
  let isOver = false;
  const agent = new http.Agent({ keepAlive: true });
  const client = async (json, switches, options = {}) => {
    while (!isOver)
      try {
        answers.push(await gateway.chat(json, { headers: sim(switches), ...options }));
      } catch (error) {
        errors.push(error);
      }
  };
  const clients = [
    ...Array.from({ length: short }, () => client({}, SHORT)),
    ...Array.from({ length: streams }, () => client({ stream: true }, LONG)),
    ...Array.from({ length: kept }, () => client({}, SHORT, { agent })),
  ];
  return {
    answers,
    more: (n) => {
      const wanted = answers.length + n;
      return waitFor(`${n} more answers`, () => answers.length >= wanted || errors.length > 0);
    },
    /** None was refused, reset or cut. */
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      agent.destroy();
      assert.deepEqual(errors, []);
      for (const a of answers) {
        assert.equal(a.status, 200);
        assert.ok(a.isComplete);
      }
      return answers;
    },
  };
}

/** Each answer has one whole line of the log, and there is nothing else in it. */
async function assertAllLogged(gateway, answers) {
  const ids = new Set(answers.map((a) => a.headers['x-request-id']));
  const records = await gateway.recordsWhere(() => true, ids.size);
  assert.equal(records.length, ids.size);
  assert.deepEqual(new Set(records.map((r) => r.request_id)), ids);
}

const times = (text, regexp) => text.match(new RegExp(regexp, 'g'))?.length ?? 0;

test('sockets of the service manager are used, the admin listener\'s by its name', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream,
    ...managed('--socket', '127.0.0.1:0', '--socket', '127.0.0.1:0=admin') });
  const opened = [...gateway.process.stderr.matchAll(/socket: 127\.0\.0\.1:(\d+)/g)].map((m) => Number(m[1]));
  assert.deepEqual([gateway.port, gateway.adminPort], opened);
  const answer = await gateway.chat({ stream: true }, { headers: sim(SHORT) });
  assert.ok(answer.isComplete);
  // The kernel's stamps are switched on for sockets that others opened, too.
  assert.equal((await gateway.recordOf(answer)).stamp_source, 'kernel');
});

for (const workers of [1, 2])
  test(`restarts on a service manager's sockets lose nothing, ${workers} worker(s)`, async (t) => {
    const upstream = await Sim.start(t);
    const gateway = await Gateway.start(t, { upstream, config: { workers },
      ...managed('--socket', '127.0.0.1:0', '--socket', '127.0.0.1:0=admin') });
    const running = load(gateway);
    await running.more(20);
    for (let restart = 1; restart <= 2; restart++) {
      gateway.process.signal('SIGUSR1');
      await waitFor('the next process', () => times(gateway.process.stdout, 'ready listen=') > restart,
        { timeoutMs: 10000 });
      await running.more(20);
    }
    await assertAllLogged(gateway, await running.stop());
  });

test('sockets that are for nothing are refused, with what to do', async (t) => {
  const { command, prefix } = managed();
  const serve = (flags, ...args) => run([...prefix.slice(0, 1), ...flags, '--', prefix.at(-1), 'serve',
    '--upstream', 'http://127.0.0.1:1', ...args], { command });
  const stranger = await serve(['--socket', '127.0.0.1:0', '--socket', '127.0.0.1:0'],
    '--listen', '127.0.0.1:8400', '--admin', '127.0.0.1:0');
  assert.equal(stranger.code, 1);
  assert.match(stranger.stderr, /socket at 127\.0\.0\.1:\d+ \(descriptor 3\) is none of "listen"\nhint: .*ListenStream/);
  const twice = await serve(['--socket', '127.0.0.1:0=admin', '--socket', '127.0.0.1:0=admin'],
    '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0');
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /two sockets/);
});

// --- from process to process ---

/** A gateway that hands over, and its address for those who come after it. */
async function setup(t, config = {}) {
  const upstream = await Sim.start(t);
  const dir = tempDir(t);
  const gateway = await Gateway.start(t,
    { upstream, config: { handover: join(dir, 'handover'), ...config } });
  return { upstream, gateway, path: join(dir, 'handover') };
}

const serve = (gateway, ...flags) => ['serve', '-c', gateway.configFile, ...flags];

/** The next process with the same configuration; gateway.process is then that one. */
async function succeed(t, gateway, ...flags) {
  const next = start(t, serve(gateway, ...flags));
  const [, listen, admin] = await next.printed(/ready listen=(\S+) admin=(\S+)\n/);
  assert.equal(listen, `127.0.0.1:${gateway.port}`);
  assert.equal(admin, `127.0.0.1:${gateway.adminPort}`);
  const former = gateway.process;
  gateway.process = next;
  return former;
}

for (const workers of [1, 2])
  test(`two restarts under load, ${workers} worker(s): nothing refused, reset, cut, or lost from the log`, async (t) => {
    const { gateway, path } = await setup(t, { workers, drain_timeout: '10s' });
    const running = load(gateway, { kept: 3 });
    await running.more(20);
    for (let restart = 0; restart < 2; restart++) {
      const former = await succeed(t, gateway);
      await running.more(20);
      assert.deepEqual(await former.exited, { code: 0, signal: null });
      await says(former, new RegExp(`process ${gateway.process.pid} serves now`));
      await running.more(20);
    }
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await assertAllLogged(gateway, await running.stop());
    assert.equal((await request(gateway.adminPort, '/readyz')).status, 200);
    await gateway.process.stop();
    assert.equal(existsSync(path), false);
  });

test('a process that fails on its way leaves the one that serves alone', async (t) => {
  const { gateway } = await setup(t, { workers: 2 });
  const running = load(gateway);
  await running.more(10);
  const failed = await run(serve(gateway, '--log', '/nowhere/at/all.jsonl'));
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /could not open request log/);
  await gateway.process.printed(/gave up, going on/, { from: 'stderr' });
  const other = await run(serve(gateway, '--set', 'workers=0')); // does not even ask
  assert.equal(other.code, 2);
  await running.more(10);
  assert.equal(gateway.process.exit, null);
  const former = await succeed(t, gateway); // and the next one may
  await running.more(10);
  assert.equal((await former.exited).code, 0);
  await assertAllLogged(gateway, await running.stop());
});

test('addresses that the next one does not want are refused, new ones opened', async (t) => {
  const kept = '127.0.0.1:0', dropped = '127.0.0.2:0', added = '127.0.0.3:0';
  const { gateway, path } = await setup(t, { listen: [kept, dropped] });
  const portAt = (p, host) => p.printed(new RegExp(`clients: http://${host}:(\\d+)`), { from: 'stderr' })
    .then((m) => Number(m[1]));
  const droppedPort = await portAt(gateway.process, '127.0.0.2');
  const long = gateway.chat({ stream: true }, { headers: sim(LONG) });
  await waitFor('the stream', async () => (await gateway.inflight()).some((r) => r.n_output_events > 0));
  gateway.writeConfig({ handover: path, listen: [kept, added] });
  const former = await succeed(t, gateway);
  assert.equal((await gateway.chat({}, { headers: sim(SHORT) })).status, 200);
  assert.equal((await request(await portAt(gateway.process, '127.0.0.3'), '/v1/models', { host: '127.0.0.3' })).status, 200);
  const refusal = (host, port) => new Promise((done) =>
    net.connect({ host, port }).once('error', (e) => done(e.code)).once('connect', function () {
      this.destroy();
      done('connected');
    }));
  await waitFor('the refusal', async () => (await refusal('127.0.0.2', droppedPort)) === 'ECONNREFUSED');
  assert.ok((await long).isComplete);
  assert.equal((await former.exited).code, 0);
});

test('a stream goes on in the former process until its drain time is over', async (t) => {
  const { gateway } = await setup(t, { drain_timeout: '700ms' });
  const id = newId();
  const long = gateway.chat({ stream: true },
    { headers: { 'x-request-id': id, ...sim({ 'ttft-ms': 5, 'itl-ms': 5, tokens: 1000000 }) } });
  await waitFor('the stream', async () => (await gateway.inflight()).some((r) => r.n_output_events > 0));
  const former = await succeed(t, gateway);
  assert.equal((await long).isComplete, false);
  assert.equal((await former.exited).code, 0);
  assertOutcome(await gateway.recordNamed(id), 'cut_by_gateway', 'drain');
});

function isStopped(pid) {
  return readdirSync(`/proc/${pid}/task`).every((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').match(/\) (.)/)[1] === 'T');
}

/**
 * The former process stands still when the next one begins to accept, which is held up until then by
 * its log, a pipe that nobody reads yet. Connections that arrive meanwhile wait in the queue, and the
 * kernel may have told of them only the one that stands still.
 */
async function whileFormerStands(t, gateway, goOn) {
  const fifo = join(gateway.dir, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const next = start(t, serve(gateway, '--log', fifo));
  await gateway.process.printed(/has got the listening sockets/, { from: 'stderr' });
  gateway.process.signal('SIGSTOP');
  await waitFor('all its threads to stand still', () => isStopped(gateway.process.pid));
  const answers = Array.from({ length: 40 }, (_, i) =>
    gateway.chat({ stream: i % 2 === 0 }, { headers: sim(SHORT) }));
  const reader = createReadStream(fifo).on('data', () => {});
  await next.printed(/ready listen=/);
  answers.push(...Array.from({ length: 40 }, () => gateway.chat({}, { headers: sim(SHORT) })));
  goOn();
  for (const a of await Promise.all(answers)) {
    assert.equal(a.status, 200);
    assert.ok(a.isComplete);
  }
  cleanup(t, () => reader.destroy());
  return next;
}

test('what waits in the queue when the former process stops is served', async (t) => {
  const { gateway } = await setup(t);
  await whileFormerStands(t, gateway, () => gateway.process.signal('SIGCONT'));
  assert.equal((await gateway.process.exited).code, 0);
});

test('what waits in the queue when the former process dies is served', async (t) => {
  const { gateway } = await setup(t, {});
  const mortal = new Process(BIN, serve(gateway)); // nobody asks how it ended
  cleanup(t, () => mortal.signal('SIGKILL'));
  await mortal.printed(/ready listen=/);
  await gateway.process.exited;
  gateway.process = mortal;
  const next = await whileFormerStands(t, gateway, () => mortal.signal('SIGKILL'));
  gateway.process = next;
});

test('others get nothing from the handover socket', async (t) => {
  const { gateway, path } = await setup(t);
  const ask = `import socket,sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
text, fds, _, _ = socket.recv_fds(s, 200, 20)
print(text.decode(), len(fds))
s.send(b"go away 7")
print(s.recv(10))`;
  const { stdout } = await run(['-c', ask, path], { command: 'python3' });
  assert.match(stdout, /^inferometer-handover 1 2 3 2\nb''\n$/);
  await gateway.process.printed(/gave up, going on/, { from: 'stderr' });
  assert.equal((await gateway.chat({}, { headers: sim(SHORT) })).status, 200);
});

test('the service manager is told which process serves now', async (t) => {
  const upstream = await Sim.start(t);
  const config = { handover: join(tempDir(t), 'handover') };
  const gateway = await Gateway.start(t, { upstream, config, ...managed() });
  const former = await succeed(t, gateway);
  await former.printed(new RegExp(`notify: MAINPID=${gateway.process.pid}\n`), { from: 'stderr' });
  assert.equal((await former.exited).code, 0);
  assert.doesNotMatch(former.stderr, /STOPPING/); // the service does not
});
