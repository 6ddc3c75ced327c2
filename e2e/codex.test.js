// The agent Codex, unmodified, does a task through the Responses protocol: with a model that only writes text, and with a server
// that has function calling, to which all that its requests say must arrive.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { installed, play } from './agents.js';
import { asCompletions, recorder } from './recorder.js';
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

const row = { kind: 'agent', client: '@openai/codex', version, how: 'responses', stream: true };
const scenario = readFileSync(join(here, 'codex.scenario.yaml'), 'utf8');

const backends = {
  'a model that writes text': { mode: 'text', speaks: 'openai' },
  'a server that has function calling': { mode: 'native', speaks: 'openai, native_tools: true' },
};

for (const [what, { mode, speaks }] of Object.entries(backends)) {
  test(`Codex ${version} reads a file, edits it and runs a command, with ${what}`, { timeout: 600_000 }, (t) => noted({ ...row, what }, async () => {
    const bin = await installed(t, '@openai/codex', version, 'codex');
    if (!bin) return 'skipped';
    const dir = directory(t);
    writeFileSync(join(dir, 'agent.scenario.yaml'), scenario.replace('{speaks: openai}', `{speaks: ${speaks}}`));
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'agent.scenario.yaml'], { cwd: dir });
    const behind = await recorder(t, upstream.url);
    writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends:
  local: {kind: openai, url: "${behind.baseURL}"}
models:
  codex: {backend: local, mode: ${mode}}
`);
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
    const front = await recorder(t, server.url);
    const home = directory(t);
    mkdirSync(join(home, '.codex'));
    writeFileSync(join(home, '.codex', 'config.toml'), settings(front));
    const cwd = directory(t);
    writeFileSync(join(cwd, 'notes.txt'), 'the first line of the note\n');

    // Its own sandbox is off, since not every machine lets it make one; the commands are those of the scenario.
    const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', 'Add a second line to notes.txt and count the lines.'];
    const { code, output } = await play(t, join(bin, 'codex'), args, { cwd, home, env: { WIELD_KEY: 'unused' } });
    assert.equal(code, 0, output);
    assert.match(output, /The note has two lines now\./);
    assert.equal(readFileSync(join(cwd, 'notes.txt'), 'utf8'), 'the first line of the note\na "second" line\n', output);

    assert.ok(front.asked.every(({ size }) => size > 35_000), 'requests as large as they are in life');
    if (mode === 'native') assert.deepEqual(behind.asked.map(({ body }) => body), front.asked.map(asCompletions), 'field by field');

    const journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
    assert.deepEqual(journal.map((entry) => entry.turn), ['read', 'edit', 'count', 'done'], 'one request a step, none in vain');
  }));
}
