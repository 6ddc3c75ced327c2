// Coding agents, unmodified, do a task with a model that only writes text and with a server that has function calling.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { installed, play } from './agents.js';
import { pythonWith } from './python.js';
import { keptPrefix, recorder } from './recorder.js';
import { noted } from './results.js';
import { directory, start } from './wield.js';

const here = dirname(fileURLToPath(import.meta.url));

const agents = [
  {
    name: 'opencode-ai',
    version: '1.18.33',
    command: 'opencode',
    args: (task) => ['run', task],
    files: (server) => ({
      'opencode.json': JSON.stringify({
        provider: {
          wield: {
            npm: '@ai-sdk/openai-compatible',
            name: 'wield',
            options: { baseURL: server.baseURL, apiKey: 'unused' },
            models: { agent: { name: 'agent', tool_call: true } },
          },
        },
        model: 'wield/agent',
        small_model: 'wield/agent',
        autoupdate: false,
        share: 'disabled',
      }),
    }),
    turns: ['opencode-read', 'opencode-edit', 'opencode-count', 'done'],
  },
  {
    name: '@qwen-code/qwen-code',
    version: '0.24.4',
    command: 'qwen',
    args: (task) => ['--auth-type', 'openai', '--approval-mode', 'yolo', '-p', task],
    env: (server) => ({ OPENAI_API_KEY: 'unused', OPENAI_BASE_URL: server.baseURL, OPENAI_MODEL: 'agent', QWEN_TELEMETRY_ENABLED: 'false' }),
    turns: ['qwen-read', 'qwen-edit', 'qwen-count', 'done'],
  },
  {
    name: '@google/gemini-cli',
    version: '0.61.0',
    command: 'gemini',
    how: 'generateContent',
    args: (task) => ['--model', 'agent', '--approval-mode', 'yolo', '--skip-trust', '-p', task],
    env: (server) => ({ GEMINI_API_KEY: 'unused', GOOGLE_GEMINI_BASE_URL: server.url, GEMINI_TELEMETRY_ENABLED: 'false' }),
    home: { '.gemini/settings.json': JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false } }) },
    turns: ['gemini-read', 'gemini-edit', 'gemini-count', 'done'],
  },
  {
    name: 'aider-chat', // it has no tools: the model writes its edit as text
    version: '0.86.2',
    does: 'edits a file',
    command: 'aider',
    install: aider,
    args: (task, note) => ['--model', 'openai/agent', '--edit-format', 'diff', '--yes-always', '--no-git', '--no-check-update', '--analytics-disable',
      '--no-show-model-warnings', '--no-show-release-notes', '--message', task, note],
    env: (server) => ({ OPENAI_API_KEY: 'unused', OPENAI_API_BASE: server.baseURL, LITELLM_LOCAL_MODEL_COST_MAP: 'True' }),
    turns: ['aider'],
  },
];

let python;

/** Installs aider, which is written in Python. */
async function aider(t, name, version) {
  const { path, reason } = await (python ??= pythonWith(`${name}==${version}`));
  if (!path) t.skip(`${name}==${version} cannot be installed here: ${reason}`);
  return path && dirname(path);
}

const scenario = readFileSync(join(here, 'agents.scenario.yaml'), 'utf8');

/** What a request asks, as servers are sent it: parts of text are one text, and each tool has parameters. */
const plain = ({ body: { model, messages, tools } }) => ({
  model,
  tools: tools?.map((tool) => ({ ...tool, function: { parameters: { type: 'object', properties: {} }, ...tool.function } })),
  messages: messages.map(({ content, ...rest }) => ({ ...rest, content: Array.isArray(content) ? content.map(({ text }) => text).join('\n') : content })),
});

const own = 'a server of the same protocol'; // for Gemini's there is no backend
const backends = {
  'a model that writes text': { mode: 'text', kind: 'openai', speaks: 'openai' },
  'a server that has function calling': { mode: 'native', kind: 'responses', speaks: 'responses, native_tools: true' },
  [own]: { mode: 'native', kind: 'openai', speaks: 'openai, native_tools: true' },
};

for (const agent of agents) for (const [backend, { mode, kind, speaks }] of Object.entries(backends)) {
  if (agent.how && backend === own) continue;
  const row = { kind: 'agent', client: agent.name, version: agent.version, how: agent.how ?? 'chat completions', stream: true, what: backend };
  test(`${agent.name} ${agent.version} ${agent.does ?? 'reads a file, edits it and runs a command'}, with ${backend}`, { timeout: 1_200_000 }, (t) => noted(row, async () => {
    const bin = await (agent.install ?? installed)(t, agent.name, agent.version, agent.command);
    if (!bin) return 'skipped';
    const dir = directory(t);
    writeFileSync(join(dir, 'agents.scenario.yaml'), scenario.replace('{speaks: openai}', `{speaks: ${speaks}}`));
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'agents.scenario.yaml'], { cwd: dir });
    const behind = await recorder(t, upstream.url);
    writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends:
  local: {kind: ${kind}, url: "${behind.baseURL}"}
models:
  agent: {backend: local, mode: ${mode}}
`);
    const server = await recorder(t, (await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir })).url);
    const cwd = directory(t);
    const note = join(cwd, 'notes.txt');
    writeFileSync(note, 'the first line of the note\n');
    for (const [name, text] of Object.entries(agent.files?.(server) ?? {})) writeFileSync(join(cwd, name), text);

    const home = directory(t);
    for (const [name, text] of Object.entries(agent.home ?? {})) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), text);
    }

    const node = dirname(process.execPath); // an agent may need the Node that runs this
    const { code, output } = await play(t, join(bin, agent.command), agent.args(`Add a second line to ${note} and count the lines.`, note), {
      cwd,
      home,
      env: { PATH: `${node}:${process.env.PATH}`, ...agent.env?.(server) },
    });
    assert.equal(code, 0, output);
    assert.match(output, /The note has two lines now\./);
    assert.equal(readFileSync(note, 'utf8'), 'the first line of the note\na "second" line\n', output);

    const journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
    const asked = (_, i) => journal[i].turn !== 'aside';
    assert.deepEqual(journal.filter(asked).map((entry) => entry.turn), agent.turns, 'one request a step, none in vain');
    if (backend === own) assert.deepEqual(behind.asked.map(plain), server.asked.map(plain), 'what it asks, unchanged');
    if (mode === 'text' && agent.turns.length > 1) {
      const kept = keptPrefix(behind.asked.filter(({ body }) => body.messages).filter(asked));
      assert.ok(kept >= 0.95, `${kept} of a prompt is the front of the next`);
    }
  }));
}
