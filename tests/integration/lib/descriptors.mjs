// SPDX-License-Identifier: Apache-2.0
// What a process holds, from /proc.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Its open descriptors by what they are: { 'socket': 3, '/dev/null': 1, ... }. */
export function descriptors(pid) {
  const found = {};
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    let what;
    try {
      what = readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/:\[\d+\]$/, '');
    } catch {
      continue; // closed meanwhile
    }
    found[what] = (found[what] ?? 0) + 1;
  }
  return found;
}

/** The number that the next one would get. */
export function lowestFree(pid) {
  const used = new Set(readdirSync(`/proc/${pid}/fd`));
  for (let n = 0; ; n++) if (!used.has(String(n))) return n;
}

/** Bytes of memory in RAM. */
export const residentBytes = (pid) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

const TICKS_PER_S = 100; // USER_HZ is 100 on every Linux that node runs on

/** Seconds of CPU time used so far, by all of its threads. */
export function cpuSeconds(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}
