// SPDX-License-Identifier: Apache-2.0
// Dashboards against the types of @grafana/schema: the compiler finds members that Grafana does not know, and values of
// another type. Enumerations stand for their values here, since JSON has no others.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from './process.mjs';

const OPTIONS = {
  timeseries: ['timeseries', 'TimeSeriesPanelCfg', 'Options'],
  stat: ['stat', 'StatPanelCfg', 'Options'],
  heatmap: ['heatmap', 'HeatmapPanelCfg', 'Options'],
  bargauge: ['bargauge', 'BarGaugePanelCfg', 'Options'],
};

const HEAD = `
import type { Dashboard, Panel, RowPanel, GraphFieldConfig } from '@grafana/schema';
type Json<T> = T extends string ? \`\${T}\` : T extends number ? T | (\`\${T}\` extends \`\${infer N extends number}\` ? N : never)
  : T extends (infer E)[] ? Json<E>[] : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Some<T> = { [K in keyof T]?: T[K] extends object | undefined ? Some<T[K]> : T[K] };
`;

/** boards: { name: object }. dir: where the program may be written. Returns what the compiler complains of. */
export function complaints(boards, dir) {
  const require = createRequire(import.meta.url);
  const ts = require('typescript');
  const types = Object.keys(OPTIONS).map((type) => {
    const [path, file, name] = OPTIONS[type];
    return `import type { ${name} as ${type}Options } from '@grafana/schema/dist/esm/raw/composable/${path}/panelcfg/x/${file}_types.gen';`;
  });
  const lines = [HEAD, ...types];
  for (const [name, board] of Object.entries(boards)) {
    const id = name.replaceAll(/\W/g, '_');
    // What a mark of alerts asks is the data source's own, as targets of panels are.
    const marks = board.annotations.list.map(({ expr, step, titleFormat, textFormat, ...mark }) => mark);
    lines.push(`export const ${id}: Json<Some<Dashboard>> = ${JSON.stringify({ ...board, panels: [], annotations: { list: marks } })};`);
    board.panels.forEach((panel, i) => {
      const { type, options, fieldConfig } = panel;
      const is = type === 'row' ? 'RowPanel' : 'Panel';
      const custom = fieldConfig?.defaults.custom;
      const bare = type === 'row' ? panel : { ...panel, options: {}, targets: [],
        fieldConfig: { ...fieldConfig, defaults: { ...fieldConfig.defaults, custom: {} } } };
      lines.push(`export const ${id}_${i}: Json<Some<${is}>> = ${JSON.stringify(bare)};`);
      if (options) lines.push(`export const ${id}_${i}_o: Json<Some<${type}Options>> = ${JSON.stringify(options)};`);
      if (custom) lines.push(`export const ${id}_${i}_c: Json<Some<GraphFieldConfig>> = ${JSON.stringify(custom)};`);
    });
  }
  const source = join(dir, 'boards.ts');
  writeFileSync(source, lines.join('\n'));
  const host = ts.createCompilerHost({});
  const program = ts.createProgram([source], {
    noEmit: true, strict: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2020,
    module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler ?? ts.ModuleResolutionKind.NodeJs,
    baseUrl: join(ROOT, 'tests/integration/node_modules'), paths: { '*': ['*'] }, lib: ['lib.es2020.d.ts'],
  }, host);
  return ts.getPreEmitDiagnostics(program).map((d) => {
    const at = d.file && d.start !== undefined ? d.file.getLineAndCharacterOfPosition(d.start) : undefined;
    const text = ts.flattenDiagnosticMessageText(d.messageText, '\n');
    return `${text}${at && d.file.fileName === source ? `\n  in ${lines.join('\n').split('\n')[at.line].slice(0, 120)}` : ''}`;
  });
}
