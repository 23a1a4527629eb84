// SPDX-License-Identifier: Apache-2.0
// The status page of the admin listener: its JSON, its lines, and the page's own script.
import assert from 'node:assert/strict';
import vm from 'node:vm';
import { Gateway, newId, Sim, sim } from './lib/daemon.mjs';
import { getJson, getText, request } from './lib/http.mjs';
import { tempDir } from './lib/process.mjs';
import test from './lib/test.mjs';
import { waitFor } from './lib/wait.mjs';

test('what runs, what is under way, what the last reload said', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { workers: 2, drain_delay: '1h' } });
  const status = () => getJson(gateway.adminPort, '/api/v1/status');
  const before = await status();
  assert.equal(before.state, 'serving');
  assert.equal(before.pid, gateway.process.pid);
  assert.equal(before.config_file, gateway.configFile);
  assert.equal(before.workers, 2);
  assert.equal(before.last_reload, null);
  assert.deepEqual(before.listeners, [
    { address: `127.0.0.1:${gateway.port}`, for: 'clients', tls: false },
    { address: `127.0.0.1:${gateway.adminPort}`, for: 'admin', tls: false },
  ]);
  assert.ok(before.drops.some((d) => d.cause === 'log_queue' && d.n === 0));
  const { name, url, in_flight, breaker } = before.upstreams[0];
  assert.deepEqual({ name, url, in_flight, breaker },
    { name: 'up', url: upstream.url, in_flight: 0, breaker: 'closed' });

  const aborter = new AbortController();
  const open = gateway.chat({ stream: true }, { signal: aborter.signal,
    headers: { 'x-request-id': newId(), ...sim({ 'ttft-ms': 5, 'itl-ms': 5, tokens: 1000000 }) } });
  await waitFor('the request', async () => (await status()).upstreams[0].in_flight === 1);
  assert.equal((await status()).in_flight, 1);
  aborter.abort();
  await open.catch(() => {});
  await waitFor('its end', async () => (await status()).upstreams[0].in_flight === 0);

  assert.equal(await gateway.reload({ workers: 2, drain_delay: '59m' }), 'taken');
  assert.deepEqual((await status()).last_reload.changed, ['drain_delay']);
  assert.equal(await gateway.reload({ workers: 3 }), 'refused');
  const { last_reload } = await status();
  assert.equal(last_reload.status, 'refused');
  assert.deepEqual(last_reload.needs_restart, ['workers']);
  assert.ok(Math.abs(Date.parse(last_reload.at) - Date.now()) < 60000);
  assert.match(await getText(gateway.adminPort, '/'), /^state +serving$[^]*^ {2}result +refused$[^]*^ {4}workers$/m);

  gateway.process.signal('SIGTERM');
  await waitFor('the drain', async () => (await status()).state === 'draining');
});

/** As much of a document as the page's script uses. */
function fakeDocument(texts) {
  const element = (name) => ({
    name, children: [], textContent: '',
    append(...c) { this.children.push(...c); },
    replaceChildren(...c) { this.children = c; },
  });
  const known = new Map();
  const find = (id) => {
    if (!known.has(id)) known.set(id, { ...element(id), textContent: texts[id] ?? '' });
    return known.get(id);
  };
  return { createElement: element, getElementById: find, querySelector: find };
}

const flat = (node) => (typeof node === 'string' ? node : node.textContent + node.children.map(flat).join(' '));

/** Keys of objects at any depth, each once. */
const keysOf = (value) => [...new Set(value && typeof value === 'object'
  ? [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(keysOf)] : [])];

test('every key of the status has words in both languages', async (t) => {
  const upstream = await Sim.start(t);
  const gateway = await Gateway.start(t, { upstream, config: { data_dir: tempDir(t) } });
  const status = await waitFor('all that runs', async () => {
    const s = await getJson(gateway.adminPort, '/api/v1/status');
    return s.alerts && s.incidents ? s : null;
  });
  for (const language of ['en', 'zh-CN']) {
    const { body } = await request(gateway.adminPort, '/status', { headers: { accept: 'text/html', 'accept-language': language } });
    const words = JSON.parse(body.toString().match(/<script type="application\/json" id="words">(.*?)<\/script>/s)[1]);
    assert.deepEqual(keysOf(status).filter((key) => !words[key]), [], language);
  }
});

for (const [language, words] of [['en', ['in flight', 'listeners', 'serving']], ['zh-CN', ['进行中', '监听地址', '服务中']]])
  test(`the page fills itself, ${language}`, async (t) => {
    const upstream = await Sim.start(t);
    const gateway = await Gateway.start(t, { upstream });
    const { headers, body } = await request(gateway.adminPort, '/status',
      { headers: { accept: 'text/html', 'accept-language': `${language};q=0.9,fr` } });
    assert.match(headers['content-type'], /^text\/html/);
    const page = body.toString();
    assert.ok(page.includes(`<html lang="${language}">`));
    const texts = Object.fromEntries([...page.matchAll(/<script type="application\/json" id="(\w+)">(.*?)<\/script>/gs)]
      .map((m) => [m[1], m[2]]));
    assert.doesNotMatch(headers['content-security-policy'], /unsafe/);
    const markup = page.replace(/(<script type="application\/json"[^>]*>).*?<\/script>/gs, '$1</script>');
    assert.doesNotMatch(markup, /<script>|<style|style=|\son\w+=/); // what its policy would not run
    const script = await getText(gateway.adminPort, page.match(/<script src="(.*)">/)[1]);
    assert.match(await getText(gateway.adminPort, page.match(/stylesheet" href="(.*)">/)[1]), /border-collapse/);
    const document = fakeDocument(texts);
    let refresh;
    const fetched = [];
    vm.runInNewContext(script, { document, setInterval: (fn) => (refresh = fn),
      fetch: async (path) => {
        fetched.push(path);
        return { ok: fetched.length === 1, json: () => getJson(gateway.adminPort, path) };
      } });
    const shown = () => flat(document.querySelector('main'));
    for (const word of [...words.slice(0, 2), `127.0.0.1:${gateway.port}`, upstream.url, '/metrics'])
      assert.ok(shown().includes(word), `${word} in ${shown()}`);
    assert.ok(document.getElementById('state').textContent.endsWith(words[2]));
    await refresh();
    assert.deepEqual(fetched, ['/api/v1/status']);
    assert.equal(document.getElementById('stale').textContent, '');
    await refresh(); // no answer: says so
    assert.notEqual(document.getElementById('stale').textContent, '');
  });
