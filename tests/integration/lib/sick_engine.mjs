// SPDX-License-Identifier: Apache-2.0
// A small engine that can be ill in many ways: what stands at each path, and how it streams.
import http from 'node:http';
import https from 'node:https';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './cleanup.mjs';

export const PAGE = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 1
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
`;

const chunk = (delta, more = {}) => ({ id: 'c', object: 'chat.completion.chunk', model: 'm',
  choices: [{ index: 0, delta, finish_reason: null }], ...more });

/** The events of an answer of n tokens, as objects; the last one is "[DONE]". */
export function events(n, { role = true, filter = false, usage = true, done = true } = {}) {
  const list = [];
  if (filter) list.push({ id: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
  if (role) list.push(chunk({ role: 'assistant', content: '' }));
  for (let i = 0; i < n; i++) list.push(chunk({ content: `${i} ` }));
  list.push({ ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'length' }] });
  if (usage) {
    list.push({ id: 'c', choices: [],
      usage: { prompt_tokens: 12, completion_tokens: n, total_tokens: 12 + n } });
  }
  if (done) list.push('[DONE]');
  return list;
}

export const text = (e) => `data: ${typeof e === 'string' ? e : JSON.stringify(e)}\n\n`;

const anthropicEvents = (n) => [
  ['message_start', { message: { id: 'm', role: 'assistant', model: 'm', content: [],
    usage: { input_tokens: 12, output_tokens: 1 } } }],
  ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
  ...Array.from({ length: n }, (_, i) => ['content_block_delta',
    { index: 0, delta: { type: 'text_delta', text: `${i} ` } }]),
  ['content_block_stop', { index: 0 }],
  ['message_delta', { delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: n } }],
  ['message_stop', {}],
].map(([type, more]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);

async function stream(req, res, ask, o) {
  const all = req.url.endsWith('/messages') ? anthropicEvents(ask.max_tokens)
    : events(ask.max_tokens ?? ask.max_completion_tokens, { ...o.events,
      usage: (o.events?.usage ?? true) && ask.stream_options?.include_usage === true }).map(text);
  const isHeld = o.holds === true || (o.holds === 'gzip' && /gzip/.test(req.headers['accept-encoding']));
  const fields = { 'Content-Type': 'text/event-stream', ...o.streamFields };
  if (isHeld) {
    await delay(all.length * o.gapMs);
    const body = Buffer.from(all.join(''));
    const isGzip = o.holds === 'gzip';
    res.writeHead(200, { ...fields, ...(isGzip ? { 'Content-Encoding': 'gzip' } : {}) });
    res.end(isGzip ? gzipSync(body) : body);
    return;
  }
  res.writeHead(200, fields);
  let rest = '';
  for (const e of all) {
    await delay(o.gapMs);
    rest += e;
    const n = typeof o.holds === 'number' ? rest.length - (rest.length % o.holds) : rest.length;
    if (n > 0) res.write(rest.slice(0, n));
    rest = rest.slice(n);
  }
  res.end(rest);
}

function chat(req, res, body, o) {
  const ask = JSON.parse(body);
  const known = o.models.includes(ask.model);
  if (!known) {
    res.writeHead(404, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ error: { message: 'there is no such model', code: 'model_not_found' } }));
  } else if (o.refusesMaxTokens && 'max_tokens' in ask) {
    res.writeHead(400, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ error: { message: "use 'max_completion_tokens' instead" } }));
  } else if (o.chat) {
    o.chat(req, res, ask);
  } else {
    stream(req, res, ask, o).catch(() => res.destroy());
  }
}

const send = (res, status, body, fields = {}) => {
  res.writeHead(status, { 'Content-Type': 'application/json', ...fields });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
};

function answer(req, res, body, o) {
  const given = req.headers.authorization ?? req.headers['x-api-key'];
  if (o.answer?.(req, res)) return;
  if (req.url === '/metrics' && o.metrics !== null) {
    send(res, 200, o.metrics, { 'Content-Type': 'text/plain; version=0.0.4' });
  } else if (!req.url.startsWith(`${o.base}/`)) {
    send(res, 404, { detail: 'Not Found' });
  } else if (o.key && given !== `Bearer ${o.key}` && given !== o.key) {
    send(res, 401, { error: { message: 'no', code: 'invalid_api_key' } });
  } else if (req.url === `${o.base}/models` && o.hasList) {
    send(res, 200, { object: 'list', data: o.models.map((id) => ({ id, owned_by: o.owner })) });
  } else if (req.method === 'POST' && /\/(chat\/completions|messages)$/.test(req.url)) {
    chat(req, res, body, o);
  } else {
    send(res, 404, { detail: 'Not Found' });
  }
}

/**
 * base: where the API is. key: wanted. models, owner: of the list. metrics: the page, null: none.
 * events: as above. holds: all of a stream at its end, or 'gzip': for clients that take it; a
 * number: until so many bytes are there.
 * fields: of every answer. answer(req, res): true where it has answered itself. chat(req, res, ask):
 * in place of the stream. tls: { cert, key }. host: the address to listen on.
 */
export async function startEngine(t, options = {}) {
  const o = { base: '/v1', models: ['m'], owner: 'vllm', metrics: PAGE, gapMs: 5, hasList: true, host: '127.0.0.1',
    ...options };
  const handler = (req, res) => {
    const parts = [];
    for (const [name, value] of Object.entries(o.fields ?? {})) res.setHeader(name, value);
    req.on('data', (part) => parts.push(part));
    req.on('end', () => answer(req, res, Buffer.concat(parts).toString(), o));
    engine.requests.push({ method: req.method, url: req.url, headers: req.headers });
  };
  const engine = { requests: [] };
  const server = o.tls
    ? https.createServer({ cert: readFileSync(o.tls.cert), key: readFileSync(o.tls.key) }, handler)
    : http.createServer(handler);
  server.listen(0, o.host);
  await once(server, 'listening');
  cleanup(t, () => {
    server.closeAllConnections?.();
    return new Promise((done) => server.close(done));
  });
  engine.port = server.address().port;
  engine.url = `${o.tls ? 'https' : 'http'}://${o.host.includes(':') ? `[${o.host}]` : o.host}:${engine.port}`;
  return engine;
}
