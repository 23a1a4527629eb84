// SPDX-License-Identifier: Apache-2.0
// Many clients at once, and what has to hold when they are gone.
import assert from 'node:assert/strict';
import { cleanup } from './cleanup.mjs';
import { chatRequest, Gateway, Sim, sim } from './daemon.mjs';
import { RawClient } from './http.mjs';
import { SLOW, timed, waitFor } from './wait.mjs';

export const KIB = 1024;
export const POST = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n';
export const BODY = JSON.stringify(chatRequest());
export const CHAT = `${POST}X-Sim-Ttft-Ms: 0\r\nX-Sim-Tokens: 1\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
export const MODELS = 'GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n';

export async function setup(t, config = {}, more = {}) {
  const upstream = await Sim.start(t);
  return { upstream, gateway: await Gateway.start(t, { upstream, config, ...more }) };
}

/** n connections, at most 200 of them being made at a time. */
export async function connectMany(t, port, n) {
  const clients = [];
  cleanup(t, () => clients.forEach((c) => c.close()));
  while (clients.length < n)
    clients.push(...await Promise.all(Array.from({ length: Math.min(200, n - clients.length) },
      () => RawClient.connect(port))));
  return clients;
}

export async function assertServes(gateway, withinMs = 1000) {
  const { value: answer, ms } = await timed(() =>
    gateway.chat({}, { headers: sim({ 'ttft-ms': 0, tokens: 1 }) }));
  assert.equal(answer.status, 200);
  assert.ok(ms < withinMs * SLOW, `another request took ${ms} ms`);
}

/** Nothing is open any more but idle connections to the engine. */
export async function waitQuiet(gateway) {
  await waitFor('no client and no exchange', async () => {
    const m = await gateway.metrics();
    return m.value('inferometer_connections_open', { side: 'client' }) === 0
      && m.value('inferometer_exchanges_open') === 0;
  }, { timeoutMs: 10000 });
  const m = await gateway.metrics();
  assert.equal(m.value('inferometer_internal_errors_total'), 0);
  assert.deepEqual(await gateway.inflight(), []);
}

/** A request whose head has that many bytes. */
export const headOf = (bytes) => {
  const start = 'GET /v1/models HTTP/1.1\r\nHost: x\r\nA: ';
  return `${start}${'a'.repeat(bytes - start.length - 4)}\r\n\r\n`;
};
