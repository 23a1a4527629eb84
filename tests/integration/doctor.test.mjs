// SPDX-License-Identifier: Apache-2.0
// inferometer doctor against broken set-ups: the true cause comes first. And sound ones, where
// nothing does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Authority, noOpenssl } from './lib/certs.mjs';
import { cleanup } from './lib/cleanup.mjs';
import { Gateway, Sim } from './lib/daemon.mjs';
import { examine } from './lib/examined.mjs';
import { startForwardProxy } from './lib/forward_proxy.mjs';
import { freePort, request } from './lib/http.mjs';
import { noNamespaces } from './lib/namespaces.mjs';
import { noNginx, startNginx } from './lib/nginx.mjs';
import { events, PAGE, startEngine, text } from './lib/sick_engine.mjs';
import test from './lib/test.mjs';

const KEY = 'sk-canary-0123456789abcdef'; // secret
const ANTHROPIC = 'sk-ant-api03-0123456789abcdefghijklmnop';
const TAIL = ANTHROPIC.slice(-20);

/** An engine, and the variables of somebody who uses it rightly. */
async function openai(t, options, env = {}) {
  const engine = await startEngine(t, options);
  return { env: { OPENAI_BASE_URL: `${engine.url}/v1`, ...env }, engine };
}
const withKey = (key) => (t) => openai(t, { key: KEY }, { OPENAI_API_KEY: key });
const withStatus = (status, fields = {}, body = '{"detail":"x"}') => (t) => openai(t, {
  answer: (req, res) => {
    if (req.url === '/metrics') return false;
    res.writeHead(status, { 'Content-Type': 'application/json', ...fields });
    res.end(body);
    return true;
  },
});
const withUrl = (change) => async (t) => {
  const { engine } = await openai(t);
  return { env: { OPENAI_BASE_URL: change(engine) } };
};
const withSim = (...flags) => async (t) => {
  const sim = await Sim.start(t, ...flags);
  return { args: [`${sim.url}/v1`] };
};
/** The simulator's batching engine with a fault; behind: our gateway in front of it. */
const withFault = (name, x, { behind = false } = {}) => async (t) => {
  const sim = await Sim.start(t, '--engine', 'vllm-0.13');
  const { status } = await request(sim.port, '/sim/faults', { json: { [name]: x } });
  assert.equal(status, 200);
  const port = behind ? (await Gateway.start(t, { upstream: sim })).port : sim.port;
  return { args: [`http://127.0.0.1:${port}/v1`, '--model', 'simulated'] };
};
const withStream = (list, fields = {}) => (t) => openai(t, {
  chat: (req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', ...fields });
    res.end(list.map(text).join(''));
  },
});
const withPage = (metrics, more = {}) => (t) => openai(t, { metrics, ...more });
const withFiles = (files) => () => files;
const PAGE_HTML = '<!DOCTYPE html><html><body>hello</body></html>';
const HTML = { 'Content-Type': 'text/html' };
const CODEX = 'model_provider = "mine"\n[model_providers.mine]\nname = "Mine"\n'
  + 'base_url = "http://127.0.0.1:1/v1"\nenv_key = "NOT_SET_ANYWHERE"\n';
const BUCKETS = `${PAGE}# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1"} 10
vllm:time_to_first_token_seconds_bucket{le="1.0"} 90
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 100
vllm:time_to_first_token_seconds_sum 200
vllm:time_to_first_token_seconds_count 100
`;
// All that llama.cpp tells but requests_deferred.
const LLAMACPP = ['n_busy_slots_per_decode', 'n_decode_total', 'n_tokens_max', 'predicted_tokens_seconds',
  'prompt_seconds_total', 'prompt_tokens_seconds', 'prompt_tokens_total', 'requests_processing',
  'tokens_predicted_seconds_total', 'tokens_predicted_total'].map((name) => `llamacpp:${name} 1\n`).join('');
const rule = (expr, more = '') => `groups:\n- name: g\n  interval: 30s\n  rules:\n`
  + `  - alert: A\n    expr: ${expr}\n${more}`;
const withRules = (content) => () => ({ args: ['--rules', 'r.yml'], here: { 'r.yml': content } });

const authority = (t) => {
  const ca = new Authority(t);
  return { ca, args: ['--ca', ca.ca] };
};

/** Takes everything and says nothing, or one word. */
async function startMute(t, word) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {}).resume();
    if (word !== undefined) socket.once('data', () => socket.end(word));
  });
  const sockets = new Set();
  server.on('connection', (s) => sockets.add(s));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(t, () => {
    for (const s of sockets) s.destroy();
    return new Promise((done) => server.close(done));
  });
  return server.address().port;
}

/** name, the cause, its verdict, how it came to be; skip. */
const broken = [
  // the base URL
  ['a URL without a scheme', 'url_scheme', 'FAIL', withUrl((e) => `127.0.0.1:${e.port}/v1`)],
  ['a URL in quotation marks', 'url_quotes', 'FAIL', withUrl((e) => `"${e.url}/v1"`)],
  ['a URL with a line end', 'url_stray_space', 'FAIL', withUrl((e) => `${e.url}/v1\r`)],
  ['a URL with a port that is none', 'url_bad', 'FAIL', withUrl((e) => `http://127.0.0.1:${e.port}x/v1`)],
  ['a key in the URL\'s variable', 'url_is_key', 'FAIL', withUrl(() => KEY)],
  ['a URL with a character that nobody sees', 'url_stray_space', 'FAIL', withUrl((e) => `${e.url}/v1\u200b`)],
  ['/v1 twice', 'url_doubled_v1', 'FAIL', withUrl((e) => `${e.url}/v1/v1`)],
  ['no /v1', 'url_without_v1', 'FAIL', withUrl((e) => e.url)],
  ['a path that is none, without /v1', 'http_404', 'FAIL', withUrl((e) => `${e.url}/elsewhere`)],
  ['an endpoint as the base URL', 'url_endpoint', 'FAIL', withUrl((e) => `${e.url}/v1/chat/completions`)],
  ['a query', 'url_query', 'WARN', withUrl((e) => `${e.url}/v1?api-version=1`)],
  ['a slash at the end', 'url_trailing_slash', 'WARN', withUrl((e) => `${e.url}/v1/`)],
  ['an address to listen on', 'url_listen_address', 'WARN', withUrl((e) => `http://0.0.0.0:${e.port}/v1`)],
  ['/v1 for Anthropic\'s clients', 'url_with_extra_v1', 'FAIL', async (t) => {
    const engine = await startEngine(t);
    return { env: { ANTHROPIC_BASE_URL: `${engine.url}/v1`, ANTHROPIC_AUTH_TOKEN: KEY } };
  }],
  ['two base URLs', 'base_urls_differ', 'WARN', (t) => openai(t, {}, { OPENAI_API_BASE: 'http://other.test/v1' })],
  // keys
  ['a key in quotation marks', 'key_quotes', 'FAIL', withKey(`"${KEY}"`)],
  ['a key with a line end', 'key_newline', 'FAIL', withKey(`${KEY}\n`)],
  ['a key with a blank', 'key_stray_space', 'FAIL', withKey(`${KEY.slice(0, 9)} ${KEY.slice(9)}`)],
  ['a key with a character that nobody sees', 'key_stray_space', 'FAIL', withKey(`${KEY}\u200b`)],
  ['a key with its scheme', 'key_with_bearer', 'FAIL', withKey(`Bearer ${KEY}`)],
  ['a variable\'s name as the key', 'key_unexpanded', 'FAIL', withKey('${OPENAI_API_KEY}')],
  ['a placeholder', 'key_placeholder', 'FAIL', withKey('your-api-key')],
  ['a key of another vendor', 'key_of_other_vendor', 'FAIL', withKey(ANTHROPIC)],
  ['a wrong key where no models are listed', 'http_401', 'FAIL', async (t) => {
    const { env } = await openai(t, { key: KEY, answer: (req, res) => req.url === '/v1/models'
      && (res.writeHead(404), !!res.end('{}')) }, { OPENAI_API_KEY: 'sk-other' });
    return { env, args: ['--model', 'm'] };
  }],
  ['a wrong key', 'http_401', 'FAIL', withKey('sk-other')],
  ['no key', 'key_none', 'FAIL', (t) => openai(t, { key: KEY })],
  ['a variable that is not set', 'key_unset', 'FAIL', async (t) => {
    const { env } = await openai(t, { key: KEY });
    return { env, args: ['--key-env', 'NOT_SET_ANYWHERE'] };
  }],
  ['Anthropic\'s key and token', 'key_and_token', 'WARN', withFiles(
    { env: { ANTHROPIC_API_KEY: ANTHROPIC, ANTHROPIC_AUTH_TOKEN: 'other-token-1234' } })],
  ['a login\'s token and a key', 'oauth_and_key', 'WARN', withFiles(
    { env: { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-x', ANTHROPIC_API_KEY: ANTHROPIC } })],
  ['two keys for Gemini', 'keys_differ', 'WARN', withFiles({ env: { GEMINI_API_KEY: 'AIzaA', GOOGLE_API_KEY: 'AIzaB' } })],
  ['a URL as the key', 'key_is_url', 'FAIL', withKey('https://api.example.test/v1')],
  ['an OpenAI key for Anthropic', 'key_of_other_vendor', 'WARN', withFiles(
    { env: { ANTHROPIC_API_KEY: 'sk-proj-0123456789abcdef' } })],
  ['a login\'s token as an API key', 'key_is_login_token', 'WARN', withFiles(
    { env: { ANTHROPIC_API_KEY: 'sk-ant-oat01-0123456789abcdef' } })],
  ['a base URL that Bedrock makes void', 'base_url_unused', 'WARN', async (t) => {
    const engine = await startEngine(t);
    return { env: { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_BASE_URL: engine.url } };
  }],
  // settings of tools
  ['settings that go before the shell', 'settings_override', 'WARN', withFiles({
    env: { ANTHROPIC_AUTH_TOKEN: 'token-of-the-shell' },
    home: { '.claude/settings.json': { env: { ANTHROPIC_AUTH_TOKEN: 'token-of-the-file' } } } })],
  ['a token in settings, a key in the shell', 'key_and_token', 'WARN', withFiles({
    env: { ANTHROPIC_API_KEY: ANTHROPIC },
    here: { '.claude/settings.local.json': { env: { ANTHROPIC_AUTH_TOKEN: 'token-of-the-file' } } } })],
  ['settings with a comma too many in the wrong place', 'settings_broken', 'WARN', withFiles({
    home: { '.claude/settings.json': '{"env": {,}}' } })],
  ['a login and a key', 'login_overrides_key', 'WARN', withFiles({
    env: { ANTHROPIC_API_KEY: ANTHROPIC },
    home: { '.claude.json': { oauthAccount: { accountUuid: 'u' } } } })],
  ['a key that was refused once', 'key_rejected_before', 'WARN', withFiles({
    env: { ANTHROPIC_API_KEY: ANTHROPIC },
    home: { '.claude.json': { customApiKeyResponses: { approved: [], rejected: [TAIL] } } } })],
  ['a login for another server', 'login_to_other_server', 'WARN', withFiles({
    home: { '.claude/.credentials.json': { claudeAiOauth: { accessToken: 'x' } },
      '.claude/settings.json': { env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:8000' } } } })],
  ['a helper and a key', 'helper_and_key', 'WARN', withFiles({
    env: { ANTHROPIC_API_KEY: ANTHROPIC }, home: { '.claude/settings.json': { apiKeyHelper: '/bin/true' } } })],
  ['Codex with a login and a key', 'login_overrides_key', 'WARN', withFiles({
    env: { OPENAI_API_KEY: KEY },
    home: { '.codex/auth.json': { OPENAI_API_KEY: null, tokens: { access_token: 'x' } } } })],
  ['Codex with a variable that is not set', 'settings_variable_unset', 'WARN', withFiles({
    home: { '.codex/config.toml': CODEX } })],
  ['opencode with a variable that is not set', 'settings_variable_unset', 'WARN', withFiles({
    home: { '.config/opencode/opencode.json':
      { provider: { mine: { options: { baseURL: 'http://127.0.0.1:1/v1', apiKey: '{env:NOT_SET_ANYWHERE}' } } } } } })],
  ['aider with /v1 twice', 'url_doubled_v1', 'WARN', withFiles({
    here: { '.aider.conf.yml': 'openai-api-base: http://127.0.0.1:1/v1/v1\n' } })],
  ['a .env that says something else', 'settings_differ', 'WARN', withFiles({
    env: { OPENAI_API_KEY: KEY }, here: { '.env': 'export OPENAI_API_KEY="sk-of-the-file"\n' } })],
  // proxies
  ['a proxy for this machine', 'proxy_for_loopback', 'WARN', (t) => openai(t, {}, { http_proxy: 'http://proxy.test:3128' })],
  ['two spellings of a proxy', 'proxy_variables_differ', 'WARN', (t) => openai(t, {},
    { https_proxy: 'http://a.test:1', HTTPS_PROXY: 'http://b.test:1', no_proxy: '127.0.0.1' })],
  ['an exception with a scheme', 'no_proxy_entry', 'WARN', (t) => openai(t, {}, { no_proxy: 'http://a.test, 127.0.0.1' })],
  ['a SOCKS proxy', 'proxy_unusable', 'FAIL', withFiles(
    { args: ['http://engine.test/v1'], env: { http_proxy: 'socks5://127.0.0.1:1080' } })],
  ['a proxy that is down', 'proxy_down', 'FAIL', async () => (
    { args: ['http://engine.test/v1'], env: { http_proxy: `http://127.0.0.1:${await freePort()}` } })],
  ['a proxy that wants a login', 'proxy_login', 'FAIL', async (t) => {
    const proxy = await startForwardProxy(t, { to: 1, credentials: 'u:p' });
    return { args: ['http://engine.test/v1'], env: { http_proxy: `http://127.0.0.1:${proxy.port}` } };
  }],
  ['a proxy that wants a login for TLS', 'proxy_login', 'FAIL', async (t) => {
    const proxy = await startForwardProxy(t, { to: 1, credentials: 'u:p' });
    return { args: ['https://engine.test/v1'], env: { https_proxy: `http://127.0.0.1:${proxy.port}` } };
  }],
  ['a proxy that does not want to', 'proxy_refused', 'FAIL', async (t) => {
    const server = http.createServer().on('connect', (req, socket) => socket.end('HTTP/1.1 403 No\r\n\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanup(t, () => server.close());
    return { args: ['https://engine.test/v1'], env: { https_proxy: `http://127.0.0.1:${server.address().port}` } };
  }],
  ['a proxy in upper case', 'proxy_upper_case_only', 'FAIL', withFiles(
    { args: ['http://127.0.0.1.nip.invalid/v1'], env: { HTTP_PROXY: 'http://127.0.0.1:1' } })],
  ['a page of the proxy', 'proxy_refused', 'FAIL', withStatus(503, { ...HTML, 'X-Squid-Error': 'ERR_DNS_FAIL 0' }, PAGE_HTML)],
  // the network
  ['a name that is none', /^dns_/, 'FAIL', withFiles({ args: ['http://no-such-name.invalid/v1'] })],
  ['a name server that fails', 'dns_trouble', 'FAIL', withFiles({ args: ['http://engine.test/v1'], names: { dns: 'failing' } }), noNamespaces],
  ['a name server that says nothing', 'dns_trouble', 'FAIL', withFiles({ args: ['http://engine.test/v1'], names: { dns: 'silent' } }), noNamespaces],
  ['an engine on the second of two addresses', 'tcp_some_addresses', 'WARN', async (t) => {
    const engine = await startEngine(t, { host: '127.0.0.2' });
    return { args: [`http://engine.test:${engine.port}/v1`],
      names: { hosts: '127.0.0.1 engine.test;127.0.0.2 engine.test' } };
  }, noNamespaces],
  ['a certificate that ends in a week', 'tls_expires_soon', 'WARN', async (t) => {
    const { ca, args } = authority(t);
    const engine = await startEngine(t, { tls: ca.issueBetween('srv', -83, 7) });
    return { args: [`${engine.url}/v1`, ...args] };
  }, noOpenssl],
  ['many odd keys, and nobody listens', 'tcp_refused', 'FAIL', async () => ({ args: [`http://127.0.0.1:${await freePort()}/v1`],
    here: { '.env': Array.from({ length: 150 }, (_, i) => `V${i}_API_KEY="'x y'"\n`).join('') } })],
  ['nobody listens', 'tcp_refused', 'FAIL', async () => ({ args: [`http://127.0.0.1:${await freePort()}/v1`] })],
  ['https for a port without TLS', 'tls_plain_server', 'FAIL', withUrl((e) => `https://127.0.0.1:${e.port}/v1`)],
  ['http for a port with TLS', 'http_to_tls_port', 'FAIL', async (t) => {
    const engine = await startEngine(t, { tls: authority(t).ca.issue('srv') });
    return { args: [`http://127.0.0.1:${engine.port}/v1`] };
  }, noOpenssl],
  ['a certificate that has expired', 'tls_expired', 'FAIL', async (t) => {
    const { ca, args } = authority(t);
    const engine = await startEngine(t, { tls: ca.issue('srv', undefined, 'old', -1) });
    return { args: [`${engine.url}/v1`, ...args] };
  }, noOpenssl],
  ['a certificate out of its time because of a clock', 'clock_skew', 'FAIL', async (t) => {
    const { ca, args } = authority(t);
    const engine = await startEngine(t, { tls: ca.issue('srv', undefined, 'old', -1),
      fields: { Date: new Date(Date.now() - 3 * 86400e3).toUTCString() } });
    return { args: [`${engine.url}/v1`, ...args] };
  }, noOpenssl],
  ['a certificate for another name', 'tls_wrong_name', 'FAIL', async (t) => {
    const { ca, args } = authority(t);
    const engine = await startEngine(t, { tls: ca.issue('srv', 'DNS:elsewhere.test') });
    return { args: [`${engine.url}/v1`, ...args] };
  }, noOpenssl],
  ['an issuer that nobody knows', 'tls_unknown_issuer', 'FAIL', async (t) => {
    const engine = await startEngine(t, { tls: authority(t).ca.issue('srv') });
    return { args: [`${engine.url}/v1`] };
  }, noOpenssl],
  ['a server that does not answer', 'http_silent', 'FAIL', async (t) => ({ args: [`http://127.0.0.1:${await startMute(t)}/v1`] })],
  ['a clock that is an hour off', 'clock_skew', 'WARN', (t) => openai(t,
    { fields: { Date: new Date(Date.now() - 3600e3).toUTCString() } })],
  // answers
  ['a login in front of the API', 'http_401_in_front', 'FAIL', withStatus(401, { 'WWW-Authenticate': 'Basic realm="x"' })],
  ['a key that may not', 'http_403', 'FAIL', async (t) => {
    const { env } = await withStatus(403)(t);
    return { env: { ...env, OPENAI_API_KEY: KEY } };
  }],
  ['a firewall', 'http_403_wall', 'FAIL', withStatus(403, { ...HTML, Server: 'cloudflare' }, PAGE_HTML)],
  ['another path', 'http_404', 'FAIL', withStatus(404)],
  ['another method', 'http_405', 'FAIL', withStatus(405)],
  ['a redirect', 'http_redirect', 'FAIL', withStatus(307, { Location: 'https://elsewhere.test/v1/models?token=x' })],
  ['a file server', 'http_501', 'FAIL', withStatus(501, { Server: 'SimpleHTTP/0.6' })],
  ['a web page', 'http_page', 'FAIL', withStatus(200, HTML, PAGE_HTML)],
  ['no quota', 'http_429', 'WARN', withStatus(429)],
  ['a model that is being loaded', 'http_503', 'FAIL', withStatus(503, {}, '{"error":{"message":"Loading model"}}')],
  ['a gateway that waits in vain', 'http_504', 'FAIL', withStatus(504)],
  ['our gateway, and no engine behind it', 'http_502', 'FAIL', async (t) => {
    const g = await Gateway.start(t, { upstream: { url: `http://127.0.0.1:${await freePort()}` } });
    return { args: [`http://127.0.0.1:${g.port}/v1`] };
  }],
  ['a mistake of the server', 'http_5xx', 'FAIL', withStatus(500)],
  ['an engine that fails', 'http_5xx', 'FAIL', withFault('errors', 1)],
  ['an engine that starts', 'http_503', 'FAIL', withFault('cold_start', 60)],
  ['requests that nobody likes', 'http_400', 'FAIL', withStatus(400)],
  ['no credit', 'http_402', 'FAIL', withStatus(402)],
  ['an error that says 200', 'http_error_in_200', 'FAIL', async (t) => {
    const { env } = await withStatus(200, {}, '{"error":{"message":"x","type":"new_api_error"}}')(t);
    return { env: { ...env, OPENAI_API_KEY: KEY } };
  }],
  ['a hang-up', 'http_not', 'FAIL', async (t) => ({ args: [`http://127.0.0.1:${await startMute(t, '')}/v1`] })],
  ['an answer that is no HTTP', 'http_not', 'FAIL', async (t) => ({ args: [`http://127.0.0.1:${await startMute(t, 'SSH-2.0-x\r\n')}/v1`] })],
  ['a list that is none', 'models_unreadable', 'WARN', async (t) => {
    const { env } = await openai(t, { answer: (req, res) => req.url === '/v1/models' && !!res.end('{"models": []}') });
    return { env, args: ['--model', 'm'] };
  }],
  ['no model', 'models_none', 'FAIL', (t) => openai(t, { models: [] })],
  ['a model by half of its name', 'model_unknown', 'FAIL', async (t) => {
    const { env } = await openai(t, { models: ['org/Model-7B'] });
    return { env, args: ['--model', 'model-7b'] };
  }],
  ['an unknown model where no models are listed', 'model_unknown', 'FAIL', async (t) => {
    const { env } = await openai(t, { hasList: false });
    return { env, args: ['--model', 'other'] };
  }],
  // streams
  ['a stream that begins and goes no further', 'http_silent', 'FAIL', (t) => openai(t, { chat: (req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    res.write(text(events(1)[0]));
  } })],
  ['a whole answer in place of a stream', 'stream_ignored', 'FAIL', (t) => openai(t, { chat: (req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ choices: [{ message: { content: 'x' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } }));
  } })],
  ['an error inside of a stream', 'stream_error', 'FAIL', withSim('--error-after', '0')],
  ['a stream that is cut', 'stream_cut', 'FAIL', withSim('--cut-after', '0', '--cut', 'end')],
  ['a stream of something else', 'stream_bad_json', 'FAIL', withStream(['hello', '[DONE]'])],
  ['events without choices', 'stream_no_choices', 'FAIL', withStream([{ text: 'x' }, '[DONE]'])],
  ['a stream of another type', 'stream_content_type', 'WARN', withStream(events(1), { 'Content-Type': 'text/plain' })],
  ['no output', 'stream_no_output', 'WARN', withStream(events(0))],
  ['no [DONE]', 'stream_no_done', 'WARN', withStream(events(1, { done: false }))],
  ['the verdict of a content filter', 'stream_content_filter', 'WARN', (t) => openai(t, { events: { filter: true } })],
  ['no usage', 'usage_missing', 'WARN', withSim('--usage', 'never')],
  ['usage refused', 'usage_refused', 'WARN', withSim('--refuse-stream-options', 'on')],
  ['usage that cannot be', 'usage_wrong', 'WARN', withStream([...events(1, { usage: false, done: false }),
    { choices: [], usage: { prompt_tokens: -1, completion_tokens: 0 } }, '[DONE]'])],
  // on the way
  ['a buffer', 'stream_buffered', 'FAIL', (t) => openai(t, { holds: true, fields: { Server: 'nginx' } })],
  ['a buffer of a real nginx', 'stream_buffered', 'FAIL', async (t) => {
    const engine = await startEngine(t, { gapMs: 8 });
    const nginx = await startNginx(t, engine, ['proxy_buffers 8 64k', 'proxy_buffer_size 64k',
      'proxy_busy_buffers_size 128k']);
    return { env: { OPENAI_BASE_URL: `${nginx.url}/v1` } };
  }, noNginx],
  ['a buffer of a kilobyte', 'stream_buffered_in_parts', 'FAIL', (t) => openai(t, { holds: 1024, gapMs: 10 })],
  ['a buffer that the simulator plays', 'stream_buffered', 'FAIL', withFault('proxy_buffering', 65536)],
  ['the same, behind our gateway', 'stream_buffered', 'FAIL', withFault('proxy_buffering', 65536, { behind: true })],
  ['compression that holds back', 'gzip_holds_back', 'WARN', (t) => openai(t, { holds: 'gzip' })],
  ['compression that nobody asked for', 'gzip_unasked', 'WARN', withSim('--gzip', 'on')],
  // metrics
  ['SGLang without its flag', 'metrics_off', 'WARN', withPage(null, { owner: 'sglang' })],
  ['metrics that are kept back', 'metrics_hidden', 'WARN', withPage(null)],
  ['JSON at /metrics', 'metrics_no_page', 'WARN', withPage('{"a": 1}')],
  ['metrics of nobody', 'metrics_unknown', 'WARN', withPage('# TYPE some_total counter\nsome_total 1\n')],
  ['vLLM with --disable-log-stats', 'metrics_log_stats_off', 'WARN', withPage(
    '# TYPE python_info gauge\npython_info{version="3.12"} 1\n# TYPE process_open_fds gauge\nprocess_open_fds 7\n'
    + '# TYPE http_requests_total counter\nhttp_requests_total{handler="/v1/models",method="GET",status="2xx"} 1\n')],
  ['a metric that is dropped on the way', 'metrics_signals_missing', 'WARN', withPage(LLAMACPP, { owner: 'llamacpp' })],
  ['llama.cpp without its flag', 'metrics_off', 'WARN', withPage(null, { owner: 'llamacpp' })],
  ['a line that cannot be read', 'metrics_unreadable_lines', 'WARN', withPage(`${PAGE}x{a=b} 1\n`)],
  ['buckets that end too early', 'buckets_too_small', 'WARN', withPage(BUCKETS)],
  // rules
  ['`for` shorter than the interval', 'for_shorter_than_interval', 'WARN', withRules(
    rule('llm_inflight_requests > 1', '    for: 10s\n'))],
  ['a metric that no version has', 'unknown_metric', 'WARN', withRules(
    rule('vllm:gpu_cache_usage_ratio > 0.9', '    for: 5m\n'))],
  ['a metric of ours with a letter wrong', 'unknown_metric', 'WARN', withRules(
    rule('rate(llm_tfft_seconds_count[5m]) > 9', '    for: 5m\n'))],
  ['a metric of ours with a letter wrong, and an alert of that name', 'unknown_metric', 'WARN', withRules(
    rule('llm_tfft_seconds > 9', '    for: 5m\n').replace('alert: A', 'alert: llm_tfft_seconds'))],
  ['a range without two samples', 'range_shorter_than_two_samples', 'WARN', withRules(
    rule('rate(llm_ttft_seconds_count[15s]) > 9', '    for: 5m\n'))],
  ['a mistake in a rule file', 'rules_mistake', 'FAIL', withRules(rule('rate(x'))],
  ['a mistake in the configuration', 'config_mistake', 'FAIL', withFiles(
    { args: ['--config', 'c.yaml'], here: { 'c.yaml': 'upstream: 1\n' } })],
];

for (const [name, cause, verdict, setUp, skip] of broken) {
  test(`broken: ${name}`, async (t) => {
    const { code, report, stdout } = await examine(t, await setUp(t));
    const told = `${report.cause}: ${report.summary}\n${JSON.stringify(report.results.filter((r) => r.result !== 'OK'), null, 1)}`;
    if (cause instanceof RegExp) assert.match(report.cause ?? '', cause, told);
    else assert.equal(report.cause, cause, told);
    assert.equal(report.verdict, verdict, told);
    assert.equal(code, verdict === 'FAIL' ? 1 : 0);
    assert.doesNotMatch(stdout, /canary-0123|0123456789abcdef/, 'no key is shown');
    const main = report.results.find((r) => r.result === verdict);
    assert.ok(main.remedy?.length > 10, told);
    // One cause is one FAIL: what it explains is a SKIP.
    assert.ok(report.results.filter((r) => r.result === 'FAIL').length <= 1, told);
  }, { skip, limitMs: 40000 });
}

const sound = [
  ['nothing set, nothing asked', () => ({})],
  ['an engine', (t) => openai(t)],
  ['an engine by its address alone', async (t) => ({ args: [(await startEngine(t)).url] })],
  ['an engine with a key', (t) => openai(t, { key: KEY }, { OPENAI_API_KEY: KEY })],
  ['an engine that wants max_completion_tokens', (t) => openai(t, { refusesMaxTokens: true })],
  ['an engine without a list of models', async (t) => {
    const { env } = await openai(t, { hasList: false });
    return { env, args: ['--model', 'm'] };
  }],
  ['Ollama, which has no metrics', (t) => openai(t, { owner: 'library', metrics: null })],
  ['an engine that is very quick', (t) => openai(t, { gapMs: 0 })],
  ['Anthropic\'s API', async (t) => {
    const engine = await startEngine(t, { key: KEY });
    return { env: { ANTHROPIC_BASE_URL: engine.url, ANTHROPIC_AUTH_TOKEN: KEY } };
  }],
  ['Anthropic\'s API by --api', async (t) => {
    const engine = await startEngine(t, { key: KEY });
    return { args: [`${engine.url}/v1`, '--api', 'anthropic', '--key-env', 'MINE'], env: { MINE: KEY } };
  }],
  ['an API without /v1', async (t) => {
    const engine = await startEngine(t, { base: '' });
    return { env: { OPENAI_BASE_URL: engine.url } };
  }],
  ['TLS', async (t) => {
    const { ca, args } = authority(t);
    const engine = await startEngine(t, { tls: ca.issue('srv') });
    return { args: [`${engine.url}/v1`, ...args] };
  }, noOpenssl],
  ...['vllm-0.6', 'vllm-0.8', 'vllm-0.10', 'vllm-0.13', 'sglang-0.5.7'].map((name) => [`the simulator as ${name}`,
    async (t) => ({ args: [`${(await Sim.start(t, '--engine', name)).url}/v1`] })]),
  ['the simulator behind our gateway', async (t) => {
    const g = await Gateway.start(t, { upstream: await Sim.start(t, '--engine', 'vllm-0.13') });
    return { args: [`http://127.0.0.1:${g.port}/v1`] };
  }],
  ['our gateway', async (t) => {
    const engine = await startEngine(t);
    const g = await Gateway.start(t, { upstream: engine });
    return { args: [`http://127.0.0.1:${g.port}/v1`] };
  }],
  ['a proxy', async (t) => {
    const engine = await startEngine(t);
    const proxy = await startForwardProxy(t, { to: engine.port, credentials: 'u:p' });
    const url = `http://u:p@127.0.0.1:${proxy.port}`;
    return { args: ['http://engine.test/v1'], env: { http_proxy: url, HTTP_PROXY: url } };
  }],
  ['a proxy, and this machine excepted', (t) => openai(t, {}, { http_proxy: 'http://proxy.test:3128', no_proxy: 'localhost,127.0.0.1' })],
  ['a key of many a vendor', () => ({ env: { ANTHROPIC_API_KEY: ANTHROPIC, OPENAI_API_KEY: 'sk-proj-1234567890' } })],
  ['Claude Code set up in its file', () => ({ home: { '.claude/settings.json':
    { env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:8000', ANTHROPIC_AUTH_TOKEN: 'a-token-1234' } } } })],
  ['Claude Code with a key that was taken', () => ({ env: { ANTHROPIC_API_KEY: ANTHROPIC },
    home: { '.claude.json': { oauthAccount: { accountUuid: 'u' }, customApiKeyResponses: { approved: [TAIL] } } } })],
  ['Codex set up for its own server', () => ({ env: { NOT_SET_ANYWHERE: KEY, OPENAI_API_KEY: KEY },
    home: { '.codex/config.toml': CODEX, '.codex/auth.json': { tokens: { access_token: 'x' } } } })],
  ['a certificate that is made for days', async (t) => {
    const { ca, args } = authority(t);
    const engine = await startEngine(t, { tls: ca.issueBetween('srv', -6, 7) });
    return { args: [`${engine.url}/v1`, ...args] };
  }, noOpenssl],
  ['a .env with a key in PEM', () => ({ env: { OPENAI_API_KEY: KEY },
    here: { '.env': `PEM="-----BEGIN\nabc/+==\n-----END"\nOPENAI_API_KEY=${KEY}\n` } })],
  ['a .env that says the same', () => ({ env: { OPENAI_API_KEY: KEY }, here: { '.env': `OPENAI_API_KEY=${KEY}\n` } })],
  ['rules and configuration', () => ({ args: ['--config', 'c.yaml', '--rules', 'r.yml'], here: {
    'c.yaml': 'upstreams:\n- url: http://127.0.0.1:8000\nrules:\n  files: [more.yml]\n',
    'more.yml': rule('llm_inflight_requests > 1', '    for: 2m\n'),
    'r.yml': rule('rate(vllm:num_preemptions_total[5m]) > 1', '    for: 2m\n') } })],
];

for (const [name, setUp, skip] of sound) {
  test(`sound: ${name}`, async (t) => {
    const { code, report } = await examine(t, await setUp(t));
    const odd = report.results.filter((r) => r.result === 'FAIL' || r.result === 'WARN');
    assert.deepEqual(odd, []);
    assert.deepEqual([code, report.verdict, report.cause], [0, 'OK', null]);
  }, { skip, limitMs: 40000 });
}

test('a key of a known vendor goes to no stranger', async (t) => {
  const engine = await startEngine(t);
  const proxy = await startForwardProxy(t, { to: engine.port });
  const env = { OPENAI_API_KEY: 'sk-proj-0123456789abcdef', http_proxy: `http://127.0.0.1:${proxy.port}` };
  await examine(t, { args: ['http://engine.test/v1'], env });
  assert.ok(proxy.fields.length > 0);
  assert.ok(proxy.fields.every((f) => !f.authorization));
  await examine(t, { args: ['http://engine.test/v1', '--key-env', 'OPENAI_API_KEY'], env });
  assert.ok(proxy.fields.some((f) => f.authorization));
});

test('results of one kind are limited, and counted', async (t) => {
  const { report } = await examine(t, { here: { '.env': Array.from({ length: 30 }, (_, i) => `V${i}_API_KEY="'x y'"\n`).join('') } });
  const found = report.results.filter((r) => r.step === 'settings');
  assert.equal(found.length, 24);
  assert.match(found[23].text, /; 6 more are left out$/);
});

test('an IPv6 address is shown with its brackets', async (t) => {
  const engine = await startEngine(t, { host: '::1' });
  const { report } = await examine(t, { env: { OPENAI_BASE_URL: engine.url } });
  assert.equal(report.cause, 'url_without_v1');
  assert.match(report.results.find((r) => r.cause === 'url_without_v1').remedy, /: http:\/\/\[::1\]:\d+\/v1$/);
});

test('a table: the main cause, what follows from it, no secrets', async (t) => {
  const { env } = await openai(t, { key: KEY }, { OPENAI_API_KEY: `'${KEY}'` });
  const { code, stdout } = await examine(t, { env }, { isTable: true });
  assert.equal(code, 1);
  assert.match(stdout, /^FAIL: API key: OPENAI_API_KEY \('sk-\.\.\. \(28 characters\)\) has quotation marks in its value\n {2}take the/);
  assert.match(stdout, /\nSKIP {2}API +\/v1\/models: status 401, error invalid_api_key; explained by "API key"\n/);
  assert.match(stdout, /\nSKIP {2}models +needs "API key"\n/);
  assert.doesNotMatch(stdout, /canary/);
});

test('wrong usage', async (t) => {
  for (const args of [['--nonsense'], ['a', 'b'], ['--api', 'x'], ['--timeout', 'x'], ['--timeout', '0s']]) {
    const { run } = await import('./lib/process.mjs');
    const { code, stderr } = await run(['doctor', ...args]);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, /^inferometer doctor: /);
  }
  await delay(0);
  t.diagnostic('exit status 2');
});
