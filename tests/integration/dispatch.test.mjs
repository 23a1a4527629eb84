// SPDX-License-Identifier: Apache-2.0
// Routes, groups, repetitions, ends, silences and inhibition: the same file and the same alerts
// through Debian's Alertmanager, in real time, and through ours, in no time.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { generator, randomEvents, randomLabels, randomTree } from './lib/alert_scenarios.mjs';
import { startAlertmanager, webhookSink } from './lib/alertmanager.mjs';
import { BIN, run, tempDir } from './lib/process.mjs';
import { missing } from './lib/prometheus_server.mjs';
import test from './lib/test.mjs';

const PLAY = join(dirname(BIN), 'tests/alert_play');
const SEED = Number(process.env.SEED ?? 1);

async function playOk(args, input) {
  const { code, stdout, stderr } = await run(args, { command: PLAY, input });
  assert.equal(code, 0, stderr);
  return stdout;
}

const pairs = (labels) => Object.entries(labels).map(([name, value]) => `${name}=${value}`);

// --- which receivers ---

const LABEL_SETS = 30;

test('label sets take the routes that amtool says', async (t) => {
  const dir = tempDir(t);
  let n = 0;
  for (let tree = 0; tree < 12; tree += 1) {
    const g = generator(SEED * 1000 + tree);
    const file = join(dir, `${tree}.yml`);
    writeFileSync(file, JSON.stringify(randomTree(g)));
    const sets = Array.from({ length: LABEL_SETS }, () => randomLabels(g));
    const ours = await playOk(['routes', file], sets.map((set) => `${pairs(set).join(' ')}\n`).join(''));
    const told = ours.trimEnd().split('\n');
    for (let i = 0; i < sets.length; i += 4) {
      const some = sets.slice(i, i + 4);
      const answers = await Promise.all(some.map((set) => run(
        ['config', 'routes', 'test', `--config.file=${file}`, ...pairs(set)], { command: 'amtool' })));
      answers.forEach(({ code, stdout, stderr }, k) => {
        assert.equal(code, 0, stderr);
        assert.equal(told[i + k], stdout.trim(), `${file} ${JSON.stringify(some[k])}`);
        n += 1;
      });
    }
  }
  assert.ok(n >= 300);
  t.diagnostic(`${n} label sets`);
}, { skip: missing('amtool'), limitMs: 120000 });

// --- who is told what, and when ---

// Alerts come at even seconds, and each is looked at 1.3 s behind one: nothing happens at once.
const WAITS = { group_wait: '1s300ms', group_interval: '2s', repeat_interval: '5s' };
// Where alerts do not end. (Alertmanager 0.25 goes on with a group that is empty, 0.34 and ours begin a
// new one; with the intervals above that comes to the same.)
const SLOWER = { receiver: 'b', group_wait: '3s300ms', group_interval: '4s' };
const SCENARIOS = 8;
const BEHIND_MS = 7000; // how long to wait behind the last event
const NEAR_MS = 900; // less than half of the step between two looks

const hook = (port, name, more = {}) => ({ url: `http://127.0.0.1:${port}/${name}`, ...more });

function configs(port) {
  const receivers = [
    { name: 'a', webhook_configs: [hook(port, 'a/0')] },
    { name: 'b', webhook_configs: [hook(port, 'b/0'), hook(port, 'b/1', { send_resolved: false })] },
    { name: 'none' },
  ];
  const root = { receiver: 'a', ...WAITS };
  return [
    { options: {}, config: { route: { ...root, group_by: ['sc', 'g'] }, receivers } },
    {
      options: {},
      config: {
        route: {
          ...root,
          group_by: ['sc'],
          routes: [
            { matchers: ['s="0"'], receiver: 'b', group_by: ['...'], continue: true },
            { matchers: ['s=~"0|1"', 'extra=x'], receiver: 'b', group_by: ['sc', 's'] },
            { match_re: { s: '1.*' }, receiver: 'none' },
          ],
        },
        receivers,
      },
    },
    {
      options: { silences: true },
      config: {
        route: {
          ...root,
          group_by: ['sc', 'g'],
          routes: [{ matchers: ['s="1"'], receiver: 'b' }, { matchers: ['target=1', 's=2'], ...SLOWER }],
        },
        inhibit_rules: [{
          source_matchers: ['s="0"', 'target=""'], target_matchers: ['target="1"'], equal: ['sc', 'g', 'extra'],
        }],
        receivers,
      },
    },
    {
      options: { silences: true },
      config: {
        route: {
          ...root,
          group_by: ['sc', 'alertname'],
          routes: [
            { matchers: ['s="1"'], mute_time_intervals: ['ever'], continue: true },
            { matchers: ['s="1"'], active_time_intervals: ['never'], receiver: 'b', continue: true },
            { matchers: ['s!="2"'], active_time_intervals: ['ever'], mute_time_intervals: ['never'], receiver: 'b' },
          ],
        },
        time_intervals: [
          { name: 'ever', time_intervals: [{ years: ['2000:2999'], location: 'Asia/Shanghai' }] },
          { name: 'never', time_intervals: [{ years: ['1999'] }] },
        ],
        receivers,
      },
    },
  ];
}

const iso = (ms) => new Date(ms).toISOString();

const silence = (event, atMs) => ({
  matchers: [{ name: 'alertname', value: event.silence, isRegex: false, isEqual: true }],
  startsAt: iso(atMs), endsAt: iso(atMs + event.for * 1000), createdBy: 'test', comment: 'test',
});

function script(events, beginMs) {
  const lines = [];
  const endMs = beginMs + Math.max(...events.map((event) => event.at)) * 1000 + BEHIND_MS;
  for (const event of [...events].sort((x, y) => x.at - y.at)) {
    const atMs = beginMs + event.at * 1000;
    lines.push(`at ${atMs}`);
    if (event.silence) lines.push(`silence ${JSON.stringify(silence(event, atMs))}`);
    else if (event.end) lines.push(`end ${pairs(event.end).join(' ')}`);
    else lines.push(`hold ${event.holds * 1000}`, `fire ${pairs(event.fire).join(' ')}`);
  }
  return `${lines.join('\n')}\nat ${endMs}\n`;
}

async function playEvents(file, events, beginMs) {
  const out = await playOk(['play', file, `${beginMs}`], script(events, beginMs));
  return out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

async function feed(alertmanager, events, beginMs) {
  const moments = [...new Set(events.map((event) => event.at))].sort((x, y) => x - y);
  for (const at of moments) {
    const atMs = beginMs + at * 1000;
    await delay(Math.max(0, atMs - Date.now()));
    const now = events.filter((event) => event.at === at);
    await Promise.all(now.filter((event) => event.silence)
      .map((event) => alertmanager.post('silences', silence(event, Math.max(atMs, Date.now() + 1)))));
    await alertmanager.post('alerts', now.filter((event) => !event.silence).map((event) => ({
      labels: event.fire ?? event.end,
      annotations: { summary: 'text' },
      ...(event.fire ? { startsAt: iso(atMs), endsAt: iso(atMs + event.holds * 1000) } : { endsAt: iso(atMs) }),
    })));
  }
}

const canonical = (labels) => JSON.stringify(Object.entries(labels).sort(([x], [y]) => (x < y ? -1 : 1)));

const fromWebhook = ({ at, path, body }) => ({
  at,
  where: path.slice(1),
  key: body.groupKey,
  group: canonical(body.groupLabels),
  common: canonical(body.commonLabels),
  alerts: body.alerts.map((a) => `${a.status === 'firing' ? '+' : '-'}${a.fingerprint}`).sort().join(' '),
});

const fromPlay = (m) => ({
  at: m.at,
  where: `${m.receiver}/${m.index}`,
  key: m.key,
  group: canonical(m.group),
  common: canonical(m.common),
  alerts: [...m.alerts].sort().join(' '),
});

function byChannel(messages) {
  const channels = new Map();
  for (const m of messages) {
    const name = `${m.where} ${m.key}`;
    channels.set(name, [...(channels.get(name) ?? []), m]);
  }
  return channels;
}

function compare(theirs, ours, beginMs) {
  const ourChannels = byChannel(ours);
  const theirChannels = byChannel(theirs);
  const show = (list) => (list ?? []).map((m) => `${m.at - beginMs} ${m.alerts} ${m.group} ${m.common}`);
  for (const name of new Set([...ourChannels.keys(), ...theirChannels.keys()])) {
    const x = theirChannels.get(name) ?? [];
    const y = ourChannels.get(name) ?? [];
    const what = `${name}\nAlertmanager:\n${show(x).join('\n')}\nours:\n${show(y).join('\n')}`;
    assert.equal(x.length, y.length, what);
    x.forEach((m, i) => {
      assert.equal(`${m.alerts} ${m.group} ${m.common}`, `${y[i].alerts} ${y[i].group} ${y[i].common}`, what);
      assert.ok(Math.abs(m.at - y[i].at) < NEAR_MS, what);
    });
  }
}

test('receivers are told the same, in the same order, at the same time', async (t) => {
  const sinks = await Promise.all([0, 1, 2, 3].map(() => webhookSink(t)));
  const counts = await Promise.all(sinks.map(async (sink, i) => {
    const { config, options } = configs(sink.port)[i];
    const dir = tempDir(t);
    const file = join(dir, 'routes.yml');
    writeFileSync(file, JSON.stringify(config));
    const g = generator(SEED * 77 + i);
    const events = Array.from({ length: SCENARIOS }, (_, n) => randomEvents(g, n, options)).flat();
    const alertmanager = await startAlertmanager(t, config);
    const beginMs = Math.ceil(Date.now() / 1000 + 0.5) * 1000;
    await feed(alertmanager, events, beginMs);
    const endMs = beginMs + Math.max(...events.map((event) => event.at)) * 1000 + BEHIND_MS;
    await delay(Math.max(0, endMs - Date.now()));
    const theirs = sink.received.filter(({ at }) => at < endMs).map(fromWebhook);
    const ours = (await playEvents(file, events, beginMs)).map(fromPlay);
    compare(theirs, ours, beginMs);
    assert.ok(ours.length > 20);
    return [events.length, ours.length];
  }));
  t.diagnostic(`${counts.map(([events, messages]) => `${events} events, ${messages} messages`).join('; ')}`);
}, { skip: missing('prometheus-alertmanager'), limitMs: 120000 });
