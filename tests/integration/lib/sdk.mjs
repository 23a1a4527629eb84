// SPDX-License-Identifier: Apache-2.0
// The real client library, pointed at some port.
import OpenAI from 'openai';

export function sdk(port, options = {}) {
  return new OpenAI({
    apiKey: 'sk-test',
    baseURL: `http://127.0.0.1:${port}/v1`,
    maxRetries: 0,
    timeout: 60000,
    ...options,
  });
}

/** What a client makes of a stream: text by choice, tool calls, finish reasons, usage. */
export async function collect(stream) {
  const told = { text: [], tools: [], finish: [], usage: [], n_chunks: 0 };
  for await (const chunk of stream) {
    told.n_chunks++;
    if (chunk.usage) told.usage.push(chunk.usage);
    for (const { index, delta, finish_reason } of chunk.choices) {
      if (delta.content) told.text[index] = (told.text[index] ?? '') + delta.content;
      if (finish_reason) told.finish[index] = finish_reason;
      for (const call of delta.tool_calls ?? []) {
        const at = (told.tools[call.index] ??= { name: '', arguments: '' });
        at.name += call.function?.name ?? '';
        at.arguments += call.function?.arguments ?? '';
      }
    }
  }
  return told;
}
