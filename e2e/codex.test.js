// The agent Codex, unmodified, does a task through the Responses protocol with a model that only writes text.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { installed, play } from './agents.js';
import { noted } from './results.js';
import { directory, start } from './wield.js';

const version = '0.169.0';
const here = dirname(fileURLToPath(import.meta.url));

const settings = (server) => `model = "codex"
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
`;

const row = { kind: 'agent', client: '@openai/codex', version, how: 'responses', stream: true, what: 'a model that writes text' };

test(`Codex ${version} reads a file, edits it and runs a command`, { timeout: 400_000 }, (t) => noted(row, async () => {
  const bin = await installed(t, '@openai/codex', version, 'codex');
  if (!bin) return 'skipped';
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(here, 'codex.scenario.yaml')]);
  const dir = directory(t);
  writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends:
  local: {kind: openai, url: "${upstream.baseURL}"}
models:
  codex: {backend: local, mode: text}
`);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
  const home = directory(t);
  mkdirSync(join(home, '.codex'));
  writeFileSync(join(home, '.codex', 'config.toml'), settings(server));
  const cwd = directory(t);
  writeFileSync(join(cwd, 'notes.txt'), 'the first line of the note\n');

  // Its own sandbox is off, since not every machine lets it make one; the commands are those of the scenario.
  const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', 'Add a second line to notes.txt and count the lines.'];
  const { code, output } = await play(t, join(bin, 'codex'), args, { cwd, home, env: { WIELD_KEY: 'unused' } });
  assert.equal(code, 0, output);
  assert.match(output, /The note has two lines now\./);
  assert.equal(readFileSync(join(cwd, 'notes.txt'), 'utf8'), 'the first line of the note\na "second" line\n', output);

  const journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
  assert.deepEqual(journal.map((entry) => entry.turn), ['read', 'edit', 'count', 'done'], 'one request a step, none in vain');
}));
