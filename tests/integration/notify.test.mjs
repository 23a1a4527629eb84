// SPDX-License-Identifier: Apache-2.0
// What a service manager is told (lib/manager.py plays one), in which order.
// @tsan
import assert from 'node:assert/strict';
import { Gateway, Sim, sim } from './lib/daemon.mjs';
import { managed } from './lib/manager.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

test('serving, reloading, stopping: told as it happens', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { drain_delay: '0' }, ...managed() });
  await gateway.process.printed(/notify: READY=1\nnotify: STATUS=clients: 127[^]*admin: 127/, { from: 'stderr' });
  assert.doesNotMatch(gateway.process.stderr, /RELOADING|STOPPING|WATCHDOG/);
  gateway.writeConfig({ drain_delay: '1s' });
  gateway.process.signal('SIGHUP');
  await gateway.process.printed(/RELOADING=1\nnotify: MONOTONIC_USEC=\d+\n[^]*notify: READY=1/, { from: 'stderr' });
  gateway.writeConfig({ wurkers: 1 }); // a refused one ends with READY, too
  gateway.process.signal('SIGHUP');
  await gateway.process.printed(/RELOADING=1[^]*READY=1[^]*RELOADING=1\n[^]*READY=1/, { from: 'stderr' });
  gateway.process.signal('SIGTERM');
  await gateway.process.printed(/notify: STOPPING=1/, { from: 'stderr' });
  assert.equal(gateway.process.exit, null); // told before the end
  assert.equal((await gateway.chat({}, { headers: sim({ 'ttft-ms': 1, tokens: 1 }) })).status, 200);
  assert.equal((await gateway.process.exited).code, 0);
});

test('the watchdog is fed, also while it drains', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { workers: 2, drain_delay: '500ms' },
    ...managed('--watchdog-ms', '100') });
  const n = () => gateway.process.stderr.split('notify: WATCHDOG=1').length - 1;
  await waitFor('signs of life', () => n() >= 4);
  gateway.process.signal('SIGTERM');
  await gateway.process.printed(/notify: STOPPING=1/, { from: 'stderr' });
  const before = n();
  await waitFor('more of them', () => n() >= before + 3);
  assert.equal(gateway.process.exit, null);
  assert.equal((await gateway.process.exited).code, 0);
});
