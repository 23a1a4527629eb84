// SPDX-License-Identifier: Apache-2.0
// A restart drops no connection: with sockets of a service manager (lib/manager.py plays one).
// @tsan
import assert from 'node:assert/strict';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { managed } from './lib/manager.mjs';
import { run } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

const SHORT = { 'ttft-ms': 2, 'itl-ms': 1, tokens: 5 };
const LONG = { 'ttft-ms': 5, 'itl-ms': 10, tokens: 60 };

/** Short requests on connections of their own and streams, one after the other, until it is stopped. */
function load(gateway, { short = 4, streams = 4 } = {}) {
  const answers = [];
  const errors = [];
  let isOver = false;
  const client = async (json, switches) => {
    while (!isOver)
      try {
        answers.push(await gateway.chat(json, { headers: sim(switches) }));
      } catch (error) {
        errors.push(error);
      }
  };
  const clients = [
    ...Array.from({ length: short }, () => client({}, SHORT)),
    ...Array.from({ length: streams }, () => client({ stream: true }, LONG)),
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
