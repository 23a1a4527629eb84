// SPDX-License-Identifier: Apache-2.0
// A simulator that is far away: in a network of its own, behind a link that holds each packet back.
// A proxy would not do: the kernel measures the way to the proxy.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { BIN, start, tempDir } from './process.mjs';

const SCRIPT = fileURLToPath(new URL('slow_link.py', import.meta.url));
const INSIDE = ['-rn', 'python3', SCRIPT];

/** Why tests that need it are skipped, or false. */
export const noSlowLink = spawnSync('unshare', [...INSIDE, '--check']).status === 0
  ? false : 'no network namespaces with a tun device here';

/** One request through a gateway to a simulator behind the link: { status, record, tcp_s }. */
export async function behindSlowLink(t, { delayMs, json }) {
  const p = start(t, [...INSIDE, BIN, tempDir(t), String(delayMs), JSON.stringify(json)], { command: 'unshare' });
  const [, told] = await p.printed(/^told (.*)\n/m, { timeoutMs: 30000 });
  await p.exited;
  return JSON.parse(told);
}
