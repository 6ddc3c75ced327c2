// The Go SDKs, unmodified, where Go and its module proxy are at hand.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lastLine } from './agents.js';
import { takeLibraries } from './libraries.js';

const sources = join(dirname(fileURLToPath(import.meta.url)), 'go');

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
  for (const name of ['go.mod', 'go.sum', 'main.go.txt']) copyFileSync(join(sources, name), join(dir, name.replace('.txt', '')));
  try {
    await promisify(execFile)('go', ['build', '-o', path, '.'], { cwd: dir, timeout: 480_000 });
  } catch (err) {
    return { reason: lastLine(err) };
  }
  return { path };
}

test('Go’s libraries', { timeout: 600_000 }, async (t) => {
  const modules = readFileSync(join(sources, 'go.mod'), 'utf8');
  for (const [name, [version]] of Object.entries(libraries)) {
    assert.match(modules, new RegExp(`/${name}(/v\\d+)? v${version}\\n`), `go.mod has another ${name}`);
  }
  await takeLibraries(t, 'Go', libraries, await built(), [], { limit: 120_000 });
});
