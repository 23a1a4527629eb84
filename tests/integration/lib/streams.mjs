// SPDX-License-Identifier: Apache-2.0
// Recorded-looking event streams with fixed bytes.

const event = (data, eol = '\n') => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}${eol}${eol}`;

const chunk = (choices, more = {}) => ({
  id: 'chatcmpl-fixed', object: 'chat.completion.chunk', created: 1700000000, model: 'm', choices, ...more,
});
const choice = (delta, finish_reason = null) => [{ index: 0, delta, finish_reason }];

export const USAGE = event(chunk([], {
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
}));
export const DONE = event('[DONE]');

export const textEvents = [
  event(chunk(choice({ role: 'assistant', content: '' }))),
  ...['Grüße', ' aus', ' dem', ' Wald 🌲'].map((content) => event(chunk(choice({ content })))),
  event(chunk(choice({}, 'stop'))),
];

export const toolEvents = [
  event(chunk(choice({
    role: 'assistant', content: null,
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'lookup', arguments: '' } }],
  }))),
  ...['{"city":', '"Bern"}'].map((part) =>
    event(chunk(choice({ tool_calls: [{ index: 0, function: { arguments: part } }] })))),
  event(chunk(choice({}, 'tool_calls'))),
];

/** Everything the grammar allows: CR LF, comments, fields without space, several data lines. */
export const oddEvents = [
  '\ufeff: hello\r\n\r\n',
  event(chunk(choice({ role: 'assistant' })), '\r\n'),
  ': keep-alive\n\n',
  'event: message\nid: 7\nretry: 10\ndata:{"id":"x","object":"chat.completion.chunk",\ndata:"choices":'
    + '[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n',
  event(chunk(choice({ content: 'b' })), '\r'),
  event(chunk(choice({ content: 'c' }, 'stop')), '\r\n'),
];

/** The bytes of text in pieces of n bytes, whatever they cut through. */
export function pieces(text, n) {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / n) }, (_, i) => bytes.subarray(i * n, i * n + n));
}

export { chunk, choice, event };
