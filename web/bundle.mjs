// SPDX-License-Identifier: Apache-2.0
/*
 * From src/ to the files that a browser gets: [{path, bytes}], in memory. Files under /assets/ have their content's
 * hash in their names; index.html is there once per language. The same sources give the same bytes.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export const top = dirname(fileURLToPath(import.meta.url));

/** The tags of src/api/language.h. */
const LANGUAGES = ['en', 'zh-CN'];

export const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** inputs: paths of all sources that went in. */
export async function bundle() {
  const result = await build({
    absWorkingDir: top,
    entryPoints: ['src/app.tsx'],
    outdir: 'out',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2021',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    charset: 'utf8',
    legalComments: 'none', // licences are a file of their own, whole
    loader: { '.svg': 'file' },
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    publicPath: '/assets',
    metafile: true,
    write: false,
  });
  const files = result.outputFiles.map((f) => ({ path: `/assets/${basename(f.path)}`, bytes: Buffer.from(f.contents) }));
  return { files: [...pages(files), ...files], inputs: Object.keys(result.metafile.inputs) };
}

function pages(files) {
  const entry = (extension) => files.find((f) => new RegExp(`^/assets/app-[^/]*\\${extension}$`).test(f.path)).path;
  const template = readFileSync(join(top, 'src/index.html'), 'utf8');
  return LANGUAGES.map((lang) => ({
    path: `/index.${lang}.html`,
    bytes: Buffer.from(template.replace(/\{\{(\w+)\}\}/g, (_, name) => ({ lang, style: entry('.css'), script: entry('.js') })[name])),
  }));
}
