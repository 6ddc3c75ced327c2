// Python's libraries, unmodified, where Python and its registry are at hand: one call, then two, through each protocol that they speak.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { play } from './agents.js';
import { noted } from './results.js';
import { start } from './wield.js';

const here = dirname(fileURLToPath(import.meta.url));

// The versions, which are those that go together, and the protocols that libraries.py speaks with each.
const libraries = {
  anthropic: ['2.14.0', 'Messages', 'tool_runner'],
  'google-genai': ['3.6.1', 'generateContent'],
  instructor: ['1.17.0', 'chat completions'],
  'langchain-anthropic': ['1.7.10', 'Messages'],
  'langchain-openai': ['1.7.4', 'chat completions', 'responses'],
  litellm: ['1.110.2', 'chat completions', 'Messages', 'Ollama'],
  ollama: ['0.6.3', 'Ollama'],
  'openai-agents': ['0.24.0', 'chat completions', 'responses'],
  'pydantic-ai-slim': ['2.38.0', 'chat completions', 'responses'],
  smolagents: ['1.26.0', 'chat completions'],
};
const openai = '3.3.0';
const uv = '0.13.9'; // pip takes minutes to find out what goes together

/** A Python that has them, or the reason why there is none. WIELD_LIBRARIES names one that is there. */
async function python() {
  if (process.env.WIELD_LIBRARIES) return { path: process.env.WIELD_LIBRARIES };
  const dir = mkdtempSync(join(tmpdir(), 'wield-python-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'bin', 'python');
  const wanted = Object.entries(libraries).map(([name, [version]]) => `${name === 'smolagents' ? 'smolagents[openai]' : name === 'pydantic-ai-slim' ? 'pydantic-ai-slim[openai]' : name}==${version}`);
  const exec = (command, args) => promisify(execFile)(command, args, { timeout: 300_000, env: { ...process.env, UV_CACHE_DIR: join(dir, 'cache') } });
  try {
    await exec('python3', ['-m', 'venv', dir]);
    await exec(path, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `uv==${uv}`]);
    await exec(join(dir, 'bin', 'uv'), ['pip', 'install', '--quiet', '--python', path, `openai==${openai}`, ...wanted]);
  } catch (err) {
    return { reason: String(err.stderr || err.message).trim().split('\n').at(-1) };
  }
  return { path };
}

const cases = Object.entries(libraries).flatMap(([client, [version, ...protocols]]) => protocols.flatMap((how) => [false, true].map((stream) => (
  { kind: 'library', client: `Python's ${client}`, version, how, stream, what: 'one call, then two' }))));

test('Python’s libraries', { timeout: 900_000 }, async (t) => {
  const { path, reason } = await python();
  if (!path) {
    t.skip(`Python's libraries cannot be installed here: ${reason}`);
    for (const row of cases) await noted(row, () => 'skipped');
    return;
  }
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(here, 'clients.scenario.yaml')]);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'clients']);
  const { code, output } = await play(t, path, ['-W', 'ignore', join(here, 'libraries.py'), server.url], { cwd: here, limit: 400_000, env: { PYTHONDONTWRITEBYTECODE: '1' } });
  assert.equal(code, 0, output);
  const said = output.split('\n').filter((line) => line.startsWith('{"client"')).map((line) => JSON.parse(line));
  for (const row of cases) {
    await t.test(`${row.client}, ${row.how}, ${row.stream ? 'streamed' : 'whole'}`, () => noted(row, () => {
      const found = said.find(({ client, how, stream }) => `Python's ${client}` === row.client && how === row.how && stream === row.stream);
      assert.ok(found, `it did not run:\n${output}`);
      assert.ok(!found.fault, found.fault ?? '');
    }));
  }
  assert.equal(said.length, cases.length);
});
