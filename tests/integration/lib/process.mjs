// SPDX-License-Identifier: Apache-2.0
// Starts the program under test and ends it again. Every process that a test starts is ended by that
// test, by its own id, and has to leave with the status that was expected and without a sanitizer's
// report: that is checked at the end of every test, whatever else it is about.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanup } from './cleanup.mjs';
import { within } from './wait.mjs';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const BIN = resolve(ROOT, process.env.INFEROMETER_BIN ?? 'build/release/inferometer');

const REPORT = /ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|ASSERT|internal error:/;

/** A directory of the test's own, gone after it. */
export function tempDir(t) {
  const dir = mkdtempSync(join(tmpdir(), 'inferometer-it-'));
  cleanup(t, () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export class Process {
  constructor(command, args, { env = {}, cwd, stdin = 'ignore' } = {}) {
    this.args = args;
    this.stdout = '';
    this.stderr = '';
    this.exit = null; // { code, signal } once it is over
    this.child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: [stdin, 'pipe', 'pipe'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (s) => (this.stdout += s));
    this.child.stderr.setEncoding('utf8').on('data', (s) => (this.stderr += s));
    this.exited = new Promise((done, fail) => {
      this.child.on('error', fail);
      this.child.on('close', (code, signal) => done((this.exit = { code, signal })));
    });
    this.exited.catch(() => {}); // told by whoever waits for something
  }

  get pid() {
    return this.child.pid;
  }

  get name() {
    return `inferometer ${this.args[0] ?? ''}`;
  }

  /** The match of regexp in what was printed, as soon as it is there. */
  async printed(regexp, { from = 'stdout', timeoutMs = 10000 } = {}) {
    const seen = () => this[from].match(regexp);
    const arrival = new Promise((done, fail) => {
      const look = () => seen() && done();
      this.child[from].on('data', look);
      this.exited.then(() => (seen() ? done() : fail(this.ended(regexp))), fail);
      look();
    });
    await within(`${regexp} from ${this.name}`, arrival, { timeoutMs });
    return seen();
  }

  ended(regexp) {
    const { code, signal } = this.exit;
    return new Error(`${this.name} ended (${signal ?? code}) before ${regexp}:\n${this.stderr}`);
  }

  signal(name) {
    this.child.kill(name);
  }

  /** Ends it as an operator would; kills it only when it does not obey, which is an error. */
  async stop(signal = 'SIGTERM', { timeoutMs = 10000 } = {}) {
    if (!this.exit) this.signal(signal);
    try {
      await within(`the end of ${this.name}`, this.exited, { timeoutMs });
    } catch (error) {
      this.child.kill('SIGKILL');
      await this.exited;
      throw error;
    }
    return this.exit;
  }

  /** Ends it in a way that it cannot help. */
  async kill() {
    this.killedBy = 'SIGKILL';
    this.child.kill('SIGKILL');
    await this.exited;
  }

  assertClean(code = 0) {
    const report = `${this.name} left with ${JSON.stringify(this.exit)}:\n${this.stderr.slice(-8000)}`;
    assert.doesNotMatch(this.stderr, REPORT, report);
    if (this.exit.signal !== this.killedBy) assert.equal(this.exit.code, code, report);
  }
}

/**
 * A long-running command of the program. After the test it is stopped and has to leave cleanly, with
 * the status exitCode. command: another executable.
 */
export function start(t, args, { command = BIN, exitCode = 0, ...options } = {}) {
  const p = new Process(command, args, options);
  cleanup(t, async () => {
    // Twice: a gateway waits for what a failed test left open, and is told not to.
    if (!p.exit) p.signal('SIGTERM');
    await Promise.race([p.exited, delay(300)]);
    await p.stop('SIGTERM');
    p.assertClean(exitCode);
  });
  return p;
}

/** Runs a command of the program to its end: { code, stdout, stderr }. */
export async function run(args, { input, timeoutMs = 20000, ...options } = {}) {
  const p = new Process(options.command ?? BIN, args, {
    ...options,
    stdin: input === undefined ? 'ignore' : 'pipe',
  });
  if (input !== undefined) {
    p.child.stdin.on('error', () => {}); // it need not read all of it
    p.child.stdin.end(input);
  }
  const { code, signal } = await within(`the end of ${args.join(' ')}`, p.exited, { timeoutMs })
    .finally(() => p.exit ?? p.child.kill('SIGKILL'));
  assert.doesNotMatch(p.stderr, REPORT, p.stderr);
  return { code, signal, stdout: p.stdout, stderr: p.stderr };
}
