// SPDX-License-Identifier: Apache-2.0
// /api/v1/events: a page hears of what has changed, and of nothing else.
import assert from 'node:assert/strict';
import http from 'node:http';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, Sim } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

/** The events of a stream as they come: [{ event, data }]; closed when the gateway ends it. */
function listen(t, port) {
  const stream = { events: [], isOver: false, text: '' };
  const req = http.get({ host: '127.0.0.1', port, path: '/api/v1/events', agent: false }, (res) => {
    stream.type = res.headers['content-type'];
    res.on('data', (part) => {
      const whole = (stream.text + part).split('\n\n');
      stream.text = whole.pop();
      stream.events.push(...whole.map((one) => {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(one);
        return { event, data: JSON.parse(data) };
      }));
    });
    res.on('close', () => (stream.isOver = true));
  });
  req.on('error', () => (stream.isOver = true));
  cleanup(t, () => req.destroy());
  stream.next = (what, matches) => waitFor(what, () => stream.events.find(matches));
  return stream;
}

test('requests, reloads, silences: each is told', async (t) => {
  const upstream = await Sim.start(t);
  const config = { data_dir: tempDir(t) };
  const gateway = await Gateway.start(t, { upstream, config });
  const stream = listen(t, gateway.adminPort);
  const { data: first } = await stream.next('the state', (e) => e.event === 'state');
  assert.equal(stream.type, 'text/event-stream');
  assert.equal(first.requests, 0);

  assert.equal((await gateway.chat({})).status, 200);
  await stream.next('a request', (e) => e.event === 'changed' && e.data.requests === 1);

  assert.equal(await gateway.reload(config), 'taken');
  await stream.next('a reload', (e) => e.data.config === first.config + 1);

  const now = Date.now();
  const before = await waitFor('alerts', async () =>
    (await request(gateway.adminPort, '/api/v2/status')).status === 200 && stream.events.at(-1).data);
  const silence = await request(gateway.adminPort, '/api/v2/silences', { json: {
    matchers: [{ name: 'alertname', value: 'x', isRegex: false, isEqual: true }],
    startsAt: new Date(now).toISOString(), endsAt: new Date(now + 60000).toISOString(),
    createdBy: 'test', comment: 'test',
  } });
  assert.equal(silence.status, 200, silence.body.toString());
  await stream.next('a silence', (e) => e.data.alerts !== before.alerts);
});

test('the end of the gateway is the end of the stream', async (t) => {
  const gateway = await Gateway.start(t, { upstream: { url: 'http://127.0.0.1:9' } });
  const stream = listen(t, gateway.adminPort);
  const { data } = await stream.next('the state', (e) => e.event === 'state');
  gateway.process.signal('SIGTERM');
  await gateway.process.exited;
  await waitFor('its end', () => stream.isOver);
  await gateway.begin();
  const again = listen(t, gateway.adminPort);
  const { data: other } = await again.next('the state', (e) => e.event === 'state');
  assert.notEqual(other.process, data.process);
});
