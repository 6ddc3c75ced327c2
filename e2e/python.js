// Installs packages of Python, each in an environment of its own.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { lastLine } from './agents.js';

const exec = promisify(execFile);

const uv = '0.13.9'; // pip takes minutes to find out what goes together

/** A Python that has packages, or the reason why there is none. */
export async function pythonWith(...requirements) {
  const dir = mkdtempSync(join(tmpdir(), 'wield-python-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'bin', 'python');
  try {
    await exec('python3', ['-m', 'venv', dir], { timeout: 300_000 });
    assert.ok(existsSync(path));
    const pip = (...wanted) => exec(path, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...wanted], { timeout: 300_000 });
    await pip(`uv==${uv}`);
    await exec(join(dir, 'bin', 'uv'), ['pip', 'install', '--quiet', '--python', path, ...requirements], {
      timeout: 300_000, env: { ...process.env, UV_CACHE_DIR: join(dir, 'cache') },
    }).catch(() => pip(...requirements)); // it does not know pip's settings
  } catch (err) {
    return { reason: lastLine(err) };
  }
  return { path };
}
