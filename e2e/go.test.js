// The Go SDKs, unmodified, where Go and its module proxy are at hand: one call, then two, through each protocol that they speak.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

// The versions, which are those of go/go.mod, and the protocols that go/main.go.txt speaks with each. Its name keeps the
// tools of the main module away from it.
const libraries = {
  'openai-go': ['3.99.0', 'chat completions', 'responses'],
  'anthropic-sdk-go': ['1.84.0', 'Messages'],
};

/** The program that has them, or the reason why there is none. WIELD_GO_CLIENTS names one that is there. */
async function built() {
  if (process.env.WIELD_GO_CLIENTS) return { path: process.env.WIELD_GO_CLIENTS };
  const dir = mkdtempSync(join(tmpdir(), 'wield-go-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, process.platform === 'win32' ? 'clients.exe' : 'clients');
  for (const [from, to] of [['go.mod', 'go.mod'], ['go.sum', 'go.sum'], ['main.go.txt', 'main.go']]) copyFileSync(join(here, 'go', from), join(dir, to));
  try {
    await promisify(execFile)('go', ['build', '-o', path, '.'], { cwd: dir, timeout: 480_000 });
  } catch (err) {
    return { reason: String(err.stderr || err.message).trim().split('\n').at(-1) };
  }
  return { path };
}

const cases = Object.entries(libraries).flatMap(([client, [version, ...protocols]]) => protocols.flatMap((how) => [false, true].map((stream) => (
  { kind: 'library', client: `Go's ${client}`, version, how, stream, what: 'one call, then two' }))));

test('Go’s libraries', { timeout: 600_000 }, async (t) => {
  const modules = readFileSync(join(here, 'go', 'go.mod'), 'utf8');
  for (const [name, [version]] of Object.entries(libraries)) assert.match(modules, new RegExp(`/${name}(/v\\d+)? v${version}\\n`), `go.mod has another ${name}`);
  const { path, reason } = await built();
  if (!path) {
    t.skip(`Go's libraries cannot be built here: ${reason}`);
    for (const row of cases) await noted(row, () => 'skipped');
    return;
  }
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(here, 'clients.scenario.yaml')]);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'clients']);
  const { code, output } = await play(t, path, [server.url], { cwd: here, limit: 120_000 });
  assert.equal(code, 0, output);
  const said = output.split('\n').filter((line) => line.startsWith('{"client"')).map((line) => JSON.parse(line));
  for (const row of cases) {
    await t.test(`${row.client}, ${row.how}, ${row.stream ? 'streamed' : 'whole'}`, () => noted(row, () => {
      const found = said.find(({ client, how, stream }) => `Go's ${client}` === row.client && how === row.how && stream === row.stream);
      assert.ok(found, `it did not run:\n${output}`);
      assert.ok(!found.fault, found.fault ?? '');
    }));
  }
  assert.equal(said.length, cases.length);
});
