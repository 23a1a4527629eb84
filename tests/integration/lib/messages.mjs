// SPDX-License-Identifier: Apache-2.0
// The Anthropic client library pointed at some port, and streams for it with fixed bytes.
import Anthropic from '@anthropic-ai/sdk';

export function anthropic(port, options = {}) {
  return new Anthropic({
    apiKey: 'sk-ant-test',
    baseURL: `http://127.0.0.1:${port}`,
    maxRetries: 0,
    timeout: 60000,
    ...options,
  });
}

export const messagesRequest = (more = {}) => ({
  model: 'claude-x', max_tokens: 1000, messages: [{ role: 'user', content: 'say something' }], ...more,
});

/** One event; padded with white space as Anthropic does it. */
export const event = (type, members = {}, padding = '') =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members }).slice(0, -1)}${padding}}\n\n`;

const start = (index, content_block) => event('content_block_start', { index, content_block });
const delta = (index, type, value) =>
  event('content_block_delta', { index, delta: { type, ...value } }, ' '.repeat(index + 3));
const stop = (index) => event('content_block_stop', { index });

export const BEGIN = event('message_start', {
  message: {
    id: 'msg_fixed', type: 'message', role: 'assistant', model: 'claude-x', content: [],
    stop_reason: null, stop_sequence: null,
    usage: { input_tokens: 7, cache_creation_input_tokens: 5, cache_read_input_tokens: 30, output_tokens: 2 },
  },
});
export const PING = event('ping');
export const END = event('message_stop');
export const ERROR = event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
export const ending = (stop_reason, usage) =>
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage });

export const textBlock = (index, ...parts) => [
  start(index, { type: 'text', text: '' }),
  ...parts.map((text) => delta(index, 'text_delta', { text })),
  stop(index),
];

export const thinkingBlock = (index, ...parts) => [
  start(index, { type: 'thinking', thinking: '', signature: '' }),
  ...parts.map((thinking) => delta(index, 'thinking_delta', { thinking })),
  delta(index, 'signature_delta', { signature: 'EqQBCkYIBRgC' }),
  stop(index),
];

export const toolBlock = (index, name, ...parts) => [
  start(index, { type: 'tool_use', id: `toolu_${index}`, name, input: {} }),
  delta(index, 'input_json_delta', { partial_json: '' }),
  ...parts.map((partial_json) => delta(index, 'input_json_delta', { partial_json })),
  stop(index),
];
