// SPDX-License-Identifier: Apache-2.0
/*
 * node build.mjs OUT.c: writes every file of the result, gzipped, into one C source: the table
 * of src/api/web_bundle.h. The same sources give the same bytes.
 *
 * The bundle may take MAX_BYTES altogether, compressed; more is an error.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundle, top, TYPES } from './bundle.mjs';

const MAX_BYTES = 600_000;
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Licences of the packages that are in the bundle. */
function licenses(inputs) {
  const packages = new Set(inputs.map((path) => /(?:^|\/)(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const texts = [...packages].sort().map((dir) => {
    const { name, version } = JSON.parse(readFileSync(join(top, dir, 'package.json'), 'utf8'));
    const found = readdirSync(join(top, dir), { withFileTypes: true }).filter((f) => f.isFile() && /^(licen[cs]e|notice)/i.test(f.name)).map((f) => f.name).sort();
    if (found.length === 0) throw new Error(`${dir} has no licence file`);
    return `${name} ${version}\n\n${found.map((f) => readFileSync(join(top, dir, f), 'utf8').trim()).join('\n\n')}\n`;
  });
  const bytes = Buffer.from(texts.join(`\n${'-'.repeat(80)}\n\n`));
  return { path: `/assets/licenses-${hash(bytes).slice(0, 8)}.txt`, bytes };
}

function row({ path, bytes }, number) {
  const zipped = gzipSync(bytes, { level: 9 });
  zipped[9] = 255; // the system, which zlib fills in
  const type = TYPES[extname(path)];
  if (!type) throw new Error(`${path}: what type is that?`);
  const digits = [...zipped].map((b) => `\\${b.toString(8).padStart(3, '0')}`);
  const lines = [];
  for (let i = 0; i < digits.length; i += 30) lines.push(`    "${digits.slice(i, i + 30).join('')}"`);
  return {
    size: zipped.length,
    data: `static const char file_${number}[] =\n${lines.join('\n')};\n`,
    text: `    {"${path}", "${type}", "\\"${hash(bytes).slice(0, 16)}\\"", file_${number}, ${zipped.length}},\n`,
  };
}

const out = process.argv[2];
if (!out || !existsSync(join(top, 'node_modules/esbuild'))) {
  console.error('usage: node build.mjs OUT.c, after npm ci');
  process.exit(2);
}
const { files, inputs } = await bundle();
const rows = [...files, licenses(inputs)].map(row);
const total = rows.reduce((sum, r) => sum + r.size, 0);
if (total > MAX_BYTES) {
  console.error(`the bundle takes ${total} bytes, compressed; at most ${MAX_BYTES} are allowed`);
  process.exit(1);
}
mkdirSync(dirname(out), { recursive: true });
writeFileSync(
  out,
  `#include "api/web_bundle.h"\n\n${rows.map((r) => r.data).join('')}\nconst struct web_file web_bundle[] = {\n` +
    `${rows.map((r) => r.text).join('')}};\nconst size_t web_bundle_n = ${rows.length};\n`,
);
