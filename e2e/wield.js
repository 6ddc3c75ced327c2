// Starts and stops the program under test.

import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import process from 'node:process';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const limit = 60_000;

let built;

/** The directory of the sources. */
export const sources = process.env.WIELD_SRC || root;

/** Builds the program from the sources in a directory and returns its path. */
export function build(from) {
  const dir = mkdtempSync(join(tmpdir(), 'wield-e2e-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'wield');
  execFileSync('go', ['build', '-o', path, './cmd/wield'], { cwd: from, stdio: 'inherit' });
  return path;
}

/** The path of the program: WIELD_BIN, or one built from this checkout into a temporary directory. */
export function program() {
  return process.env.WIELD_BIN || (built ??= build(sources));
}

/** A new empty directory that is removed at the end of test t. */
export function directory(t) {
  const dir = mkdtempSync(join(tmpdir(), 'wield-e2e-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/**
 * Starts `wield ARGS` and waits until it says where it listens. It runs in an empty directory with an empty home, so that
 * no configuration of this machine reaches it. The end of test t stops it, and fails if it has to be killed.
 */
export async function start(t, args, { cwd = directory(t), env = {}, bin = program() } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'wield-e2e-'));
  const child = spawn(bin, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), WIELD_CI: process.env.WIELD_CI ?? '', HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state'), ...env },
  });
  let output = '', said = '';
  const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal })));
  t.after(async () => {
    child.kill('SIGINT');
    const timer = setTimeout(() => child.kill('SIGKILL'), limit);
    const { signal } = await ended;
    clearTimeout(timer);
    rmSync(home, { recursive: true, force: true }); // not before: what the program counted is written when it ends
    if (signal === 'SIGKILL') throw new Error(`wield ${args.join(' ')} did not stop when asked to:\n${output}`);
  });
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`wield ${args.join(' ')} named no address:\n${output}`)), limit);
    child.stdout.on('data', (data) => {
      output += data;
      said += data; // without the log, which comes when it likes and may name other addresses
      const found = said.match(/ listens? on (http:\/\/\S+)\n/);
      if (found) {
        clearTimeout(timer);
        resolve(found[1]);
      }
    });
    child.stderr.on('data', (data) => (output += data));
    ended.then(({ code }) => {
      clearTimeout(timer);
      reject(new Error(`wield ${args.join(' ')} ended with ${code}:\n${output}`));
    });
  });
  return { url, baseURL: url + '/v1', output: () => output, interrupt: () => child.kill('SIGINT') };
}
