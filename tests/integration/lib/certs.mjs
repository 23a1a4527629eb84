// SPDX-License-Identifier: Apache-2.0
// Certificates of a test's own, made by the openssl command.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './process.mjs';

/** Why tests that need it are skipped, or false. */
export const noOpenssl = spawnSync('openssl', ['version']).status === 0
  ? false : 'the openssl command is not installed';

export class Authority {
  /** An issuer whose certificate is in the file `ca`. */
  constructor(t, name = 'ca') {
    this.dir = tempDir(t);
    this.ca = join(this.dir, 'ca.pem');
    this.openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
      '-days', '2', '-subj', `/CN=${name}`, '-keyout', join(this.dir, 'ca.key'), '-out', this.ca);
  }

  openssl(...args) {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }

  /** { cert, key }: files of a certificate for these names ("DNS:a,IP:127.0.0.1"), from now on for
   * so many days; those of -1 expired yesterday. */
  issue(name, names = 'DNS:localhost,IP:127.0.0.1', file = name, days = 1) {
    const at = (suffix) => join(this.dir, file + suffix);
    writeFileSync(at('.ext'), `subjectAltName=${names}\n`);
    this.openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
      '-subj', `/CN=${name}`, '-keyout', at('.key'), '-out', at('.csr'));
    this.openssl('x509', '-req', '-in', at('.csr'), '-CA', this.ca, '-CAkey',
      join(this.dir, 'ca.key'), '-CAcreateserial', '-days', `${days}`, '-extfile', at('.ext'),
      '-out', at('.pem'));
    return { cert: at('.pem'), key: at('.key') };
  }

  get text() {
    return readFileSync(this.ca);
  }
}
