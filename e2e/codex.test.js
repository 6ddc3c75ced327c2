// The agent Codex, unmodified, does a task through the Responses protocol: with a model that only writes text, and with servers
// that have function calling, to which all that its requests say must arrive. What tools it offers depends on the name of the model:
// for one that it does not know commands, for others patches as a freeform tool as well, and for the newest one freeform tool whose
// input is a program, among the input in the place of the field tools.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { codex, installed, play } from './agents.js';
import { asCompletions, keptPrefix, recorder } from './recorder.js';
import { noted } from './results.js';
import { directory, start } from './wield.js';

const { name: client, version, command } = codex;
const here = dirname(fileURLToPath(import.meta.url));

const row = { kind: 'agent', client, version, how: 'responses', stream: true };
const scenario = readFileSync(join(here, 'codex.scenario.yaml'), 'utf8');

const backends = {
  'a model that writes text': { mode: 'text', kind: 'openai', speaks: 'openai' },
  'a server that has function calling': { mode: 'native', kind: 'openai', speaks: 'openai, native_tools: true' },
  'a server of the same protocol': { mode: 'native', kind: 'responses', speaks: 'responses, native_tools: true' },
};

// The steps of the task, by the name of the model.
const steps = {
  codex: ['read', 'edit', 'count', 'done'],
  'gpt-5.5': ['read', 'edit-by-a-patch', 'edited-by-a-patch', 'count', 'done'],
  'gpt-6.2-sol': ['read-in-a-program', 'edit-in-a-program', 'count-in-a-program', 'done'],
};

for (const model of Object.keys(steps)) for (const [what, { mode, kind, speaks }] of Object.entries(backends)) {
  const how = model === 'codex' ? row.how : `${row.how}, ${model}`;
  test(`Codex ${version} reads a file, edits it and runs a command as ${model}, with ${what}`, { timeout: 600_000 }, (t) => noted({ ...row, how, what }, async () => {
    const bin = await installed(t, client, version, command);
    if (!bin) return 'skipped';
    const dir = directory(t);
    writeFileSync(join(dir, 'agent.scenario.yaml'), scenario.replace('{speaks: openai}', `{speaks: ${speaks}}`));
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'agent.scenario.yaml'], { cwd: dir });
    const behind = await recorder(t, upstream.url);
    writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends:
  local: {kind: ${kind}, url: "${behind.baseURL}"}
models:
  ${model}: {backend: local, mode: ${mode}}
`);
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
    const front = await recorder(t, server.url);
    const home = directory(t);
    mkdirSync(join(home, '.codex'));
    writeFileSync(join(home, '.codex', 'config.toml'), codex.settings(front, model));
    const cwd = directory(t);
    writeFileSync(join(cwd, 'notes.txt'), 'the first line of the note\n');

    // Its own sandbox is off, since not every machine lets it make one; the commands are those of the scenario.
    const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', 'Add a second line to notes.txt and count the lines.'];
    const { code, output } = await play(t, join(bin, command), args, { cwd, home, env: { WIELD_KEY: 'unused' } });
    assert.equal(code, 0, output);
    assert.match(output, /The note has two lines now\./);
    assert.equal(readFileSync(join(cwd, 'notes.txt'), 'utf8'), 'the first line of the note\na "second" line\n', output);

    assert.ok(front.asked.every(({ size }) => size > 30_000), 'requests as large as they are in life');
    const plain = kind === 'openai' && model === 'codex'; // other tools are functions to the server
    if (mode === 'native' && plain) assert.deepEqual(behind.asked.map(({ body }) => body), front.asked.map(asCompletions), 'field by field');
    if (mode === 'text') assert.ok(keptPrefix(behind.asked) >= 0.95, `${keptPrefix(behind.asked)} of a prompt is the front of the next`);
    if (kind === 'responses') {
      for (const [i, { body }] of front.asked.entries()) {
        assert.deepEqual(behind.asked[i].body.tools, body.tools, 'the tools as they came');
        const added = ({ input }) => input.filter(({ type }) => type === 'additional_tools').map(({ tools }) => tools);
        assert.deepEqual(added(behind.asked[i].body), added(body), 'those among the input, too');
      }
    }

    const journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
    assert.deepEqual(journal.map((entry) => entry.turn), steps[model], 'one request a step, none in vain');
  }));
}
