// SPDX-License-Identifier: Apache-2.0
// A module of web/src that needs no browser, to be called here.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from '../../integration/lib/process.mjs';

const { build } = createRequire(join(ROOT, 'web/package.json'))('esbuild');

export async function source(path) {
  const { outputFiles } = await build({ entryPoints: [join(ROOT, 'web/src', path)], bundle: true, format: 'esm', write: false, charset: 'utf8' });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
