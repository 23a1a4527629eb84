// SPDX-License-Identifier: Apache-2.0
// Whether a test may have mounts and a network of its own.
import { spawnSync } from 'node:child_process';

/** Why tests that need it are skipped, or false. */
export const noNamespaces = spawnSync('unshare', ['-rmn', 'true']).status === 0
  ? false : 'no namespaces of users, mounts and networks here';
