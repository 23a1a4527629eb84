// SPDX-License-Identifier: Apache-2.0
// A terminal of a certain size, in which a command runs: what its screen shows, and keys.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { cleanup } from './cleanup.mjs';
import { tempDir } from './process.mjs';
import { waitFor } from './wait.mjs';

/** What the option skip of a test wants. */
export const NO_TMUX = spawnSync('tmux', ['-V']).status === 0 ? false : 'tmux is not installed';

export class Terminal {
  /** args: of the program. It runs in a shell, which is there again when it ends. */
  static start(t, width, height, command, args, env = {}) {
    const terminal = new Terminal();
    terminal.socket = join(tempDir(t), 'tmux');
    const words = [command, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    terminal.tmux(['-f', '/dev/null', 'new-session', '-d', '-x', `${width}`, '-y', `${height}`, '/bin/sh'],
      { LC_ALL: 'C.UTF-8', PS1: '$ ', ...env });
    cleanup(t, () => terminal.tmux(['kill-server']));
    terminal.type(`${words}; echo left with $?\n`);
    return terminal;
  }

  tmux(args, env = {}) {
    return execFileSync('tmux', ['-S', this.socket, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });
  }

  /** Characters as they are. */
  type(text) {
    this.tmux(['send-keys', '-l', text]);
  }

  /** A key by tmux's name for it. */
  press(key) {
    this.tmux(['send-keys', key]);
  }

  /** Its lines, without blanks at their ends. */
  lines() {
    return this.tmux(['capture-pane', '-p']).split('\n').slice(0, -1);
  }

  /** The screen, once it shows what matches. */
  async shows(pattern, options = {}) {
    let text = '';
    try {
      return await waitFor(`${pattern} on the screen`, () => {
        text = this.lines().join('\n');
        return pattern.test(text) && text;
      }, { timeoutMs: 8000, ...options });
    } catch (error) {
      error.message += `:\n${text}`;
      throw error;
    }
  }
}
