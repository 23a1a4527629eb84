// SPDX-License-Identifier: Apache-2.0
// inferometer doctor in a world of its own: home, working directory and variables made up.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BIN, run, tempDir } from './process.mjs';

const OWN_NAMES = fileURLToPath(new URL('own_names.py', import.meta.url));

// What a machine that runs the tests may have set.
const UNSET = Object.fromEntries([
  'OPENAI_BASE_URL', 'OPENAI_API_BASE', 'OPENAI_API_KEY', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GOOGLE_API_KEY', 'GEMINI_API_KEY', 'GROQ_API_KEY', 'OPENROUTER_API_KEY',
  'XAI_API_KEY', 'AZURE_OPENAI_ENDPOINT', 'OLLAMA_API_BASE', 'http_proxy', 'HTTP_PROXY', 'https_proxy',
  'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY',
].map((name) => [name, '']));

function write(dir, files = {}) {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** A command that runs the program with these names: { hosts: "ADDRESS NAME;..." } or { dns: 'failing' }. */
function withNames(dir, { hosts, dns }) {
  return { command: 'unshare',
    before: [hosts ? '-rm' : '-rmn', 'python3', OWN_NAMES, hosts ? 'hosts' : 'dns', dir, hosts ?? dns, BIN] };
}

/** { args, env, home, here, names }: home and here are files by name, names is of withNames (for tests that
 * skip where noNamespaces). Resolves to { code, report, dir }. */
export async function examine(t, { args = [], env = {}, home, here, names }, { isTable = false } = {}) {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'home'));
  mkdirSync(join(dir, 'here'));
  write(join(dir, 'home'), home);
  write(join(dir, 'here'), here);
  const { command, before = [] } = names ? withNames(dir, names) : {};
  const { code, stdout, stderr } = await run(
    [...before, 'doctor', ...args, '--timeout', '3s', ...(isTable ? [] : ['--json'])],
    { command, cwd: join(dir, 'here'), env: { ...UNSET, HOME: join(dir, 'home'), ...env }, timeoutMs: 60000 });
  return { code, stderr, stdout, report: isTable ? null : JSON.parse(stdout) };
}
