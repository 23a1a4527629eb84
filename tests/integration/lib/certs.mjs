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

  /** As issue(), of other times: days from now on, negative ones in the past. */
  issueBetween(name, fromDays, untilDays, names = 'DNS:localhost,IP:127.0.0.1') {
    const { cert, key } = this.issue(name, names);
    const at = (file) => join(this.dir, file);
    const moment = (days) => new Date(Date.now() + days * 86400e3).toISOString().replace(/[-:T]|\.\d+/g, '');
    writeFileSync(at('index.txt'), '');
    writeFileSync(at('ca.cnf'), `[ca]\ndefault_ca=own\n[own]\ndatabase=${at('index.txt')}\nrand_serial=yes\n`
      + `new_certs_dir=${this.dir}\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n`);
    this.openssl('ca', '-batch', '-notext', '-config', at('ca.cnf'), '-cert', this.ca, '-keyfile', at('ca.key'),
      '-in', at(`${name}.csr`), '-extfile', at(`${name}.ext`), '-startdate', moment(fromDays),
      '-enddate', moment(untilDays), '-out', cert);
    return { cert, key };
  }

  get text() {
    return readFileSync(this.ca);
  }
}
