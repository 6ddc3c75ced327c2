// Installs and runs programs that are clients: coding agents with a command line.

import { spawn, execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { directory } from './wield.js';

const installs = new Map();

/** The agent Claude Code; env leads it to a server of the Messages protocol. */
export const claudeCode = {
  name: '@anthropic-ai/claude-code', version: '2.1.332', command: 'claude',
  env: (server) => ({
    ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'sesame', ANTHROPIC_SMALL_FAST_MODEL: 'coder',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1',
  }),
};

/** The agent Codex; settings lead it to a server of the Responses protocol. */
export const codex = {
  name: '@openai/codex', version: '0.171.0', command: 'codex',
  settings: (server, model) => `model = "${model}"
model_provider = "wield"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.wield]
name = "wield"
base_url = "${server.baseURL}"
wire_api = "responses"
env_key = "WIELD_KEY"
request_max_retries = 0
stream_max_retries = 0
`,
};

/**
 * Installs a package of an exact version apart from the libraries, since agents are large and not all of them can be had
 * everywhere. Returns the directory of its commands; where it cannot be installed, test t is skipped and the result is null.
 * WIELD_AGENTS names a directory in which it may be installed already.
 */
export async function installed(t, name, version, command) {
  if (!installs.has(name)) installs.set(name, install(name, version, command));
  const { bin, reason } = await installs.get(name);
  if (!bin) t.skip(`${name}@${version} cannot be installed here: ${reason}`);
  return bin;
}

async function install(name, version, command) {
  let dir = process.env.WIELD_AGENTS;
  const there = (dir) => existsSync(join(dir, 'node_modules', '.bin', command));
  if (!dir || !there(dir)) {
    dir = mkdtempSync(join(tmpdir(), 'wield-agent-'));
    process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
    try {
      await promisify(execFile)('npm', ['install', '--prefix', dir, '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`], {
        timeout: 300_000, env: { ...process.env, TMPDIR: dir }, // what an installation runs leaves files behind
      });
    } catch (err) {
      return { reason: String(err.stderr || err.message).trim().split('\n')[0] };
    }
    if (!there(dir)) return { reason: `it has no command ${command}` };
  }
  return { bin: join(dir, 'node_modules', '.bin') };
}

/** The last line that a command wrote to its standard error, or why it did not run. */
export const lastLine = (err) => String(err.stderr || err.message).trim().split('\n').at(-1);

/**
 * Runs a command to its end, in a home of its own and with temporary files of its own, and returns its output and exit code.
 * Whatever is not on this machine is out of its reach: other addresses lead to a proxy that is not there.
 */
export async function play(t, command, args, { cwd, home = directory(t), env = {}, limit = 180_000 }) {
  const nowhere = 'http://127.0.0.1:9';
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // an agent starts programs of its own, and all of them are to end
    env: {
      PATH: process.env.PATH, TMPDIR: directory(t), WIELD_CI: process.env.WIELD_CI ?? '', HOME: home, CI: '1', NO_COLOR: '1',
      HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: '127.0.0.1,localhost', ...env,
    },
  });
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  const stop = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it has ended by itself
    }
  };
  const timer = setTimeout(stop, limit);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearTimeout(timer);
  stop();
  return { code, output };
}
