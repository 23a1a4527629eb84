// SPDX-License-Identifier: Apache-2.0
// The program below a small service manager (manager.py): options for Gateway.start.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BIN } from './process.mjs';

const MANAGER = join(dirname(fileURLToPath(import.meta.url)), 'manager.py');

/** flags: of the manager. */
export const managed = (...flags) => ({ command: 'python3', prefix: [MANAGER, ...flags, '--', BIN] });
