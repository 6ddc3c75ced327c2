// The agent Claude Code, unmodified, does a task through the Messages protocol: with a model that only writes text, and with a
// server of its own protocol behind wield, to which its requests must arrive as they were sent.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { claudeCode, installed, play } from './agents.js';
import { keptPrefix, plainMessages, recorder } from './recorder.js';
import { noted } from './results.js';
import { directory, start } from './wield.js';

const { name: client, version, command } = claudeCode;
const here = dirname(fileURLToPath(import.meta.url));
const scenario = readFileSync(join(here, 'claude-code.scenario.yaml'), 'utf8');

const backends = {
  'a model that writes text': { kind: 'openai', mode: 'text', speaks: 'openai', url: (server) => server.baseURL },
  'a server that has function calling': { kind: 'openai', mode: 'native', speaks: 'openai, native_tools: true', url: (server) => server.baseURL },
  'a server of the same protocol': { kind: 'anthropic', mode: 'native', speaks: 'anthropic, native_tools: true', url: (server) => server.url },
};

const row = { kind: 'agent', client, version, how: 'Messages', stream: true };

for (const [what, { kind, mode, speaks, url }] of Object.entries(backends)) {
  test(`Claude Code ${version} reads a file, edits it and runs a command, with ${what}`, { timeout: 600_000 }, (t) => noted({ ...row, what }, async () => {
    const bin = await installed(t, client, version, command);
    if (!bin) return 'skipped';
    const dir = directory(t);
    writeFileSync(join(dir, 'agent.scenario.yaml'), scenario.replace('{speaks: openai}', `{speaks: ${speaks}}`));
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'agent.scenario.yaml'], { cwd: dir });
    const behind = await recorder(t, upstream.url);
    writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
keys: [{name: agent, secret: env:AGENT_KEY}]
backends:
  up: {kind: ${kind}, url: "${url(behind)}", forward: [thinking, metadata, context_management, output_config]}
models:
  coder: {backend: up, mode: ${mode}}
`);
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir, env: { AGENT_KEY: 'sesame' } });
    const front = await recorder(t, server.url);
    const cwd = directory(t);
    const notes = join(cwd, 'notes.txt');
    writeFileSync(notes, 'the first line of the note\n');

    const args = ['-p', `Add a second line to ${notes} and count the lines.`, '--model', 'coder', '--allowedTools', 'Read,Edit,Bash'];
    const { code, output } = await play(t, join(bin, command), args, {
      cwd,
      env: claudeCode.env(front),
    });
    assert.equal(code, 0, output);
    assert.match(output, /The note has two lines now\./);
    assert.equal(readFileSync(notes, 'utf8'), 'the first line of the note\na "second" line\n', output);

    assert.ok(front.asked.every(({ size }) => size > 40_000), 'requests as large as they are in life');
    if (kind === 'anthropic') assert.deepEqual(behind.asked.map(plainMessages), front.asked.map(plainMessages), 'field by field');

    if (mode === 'text') assert.ok(keptPrefix(behind.asked) >= 0.95, `${keptPrefix(behind.asked)} of a prompt is the front of the next`);

    const journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
    assert.deepEqual(journal.map((entry) => entry.turn), ['read', 'edit', 'count', 'done'], 'one request a step, none in vain');
  }));
}

for (const [what, { kind, mode, speaks, url }] of Object.entries(backends)) test(`Claude Code ${version} finds a deferred tool of an MCP server and calls it, with ${what}`, { timeout: 600_000 }, (t) => noted({ ...row, how: 'Messages, deferred tools', what }, async () => {
  const bin = await installed(t, client, version, command);
  if (!bin) return 'skipped';
  const dir = directory(t);
  writeFileSync(join(dir, 'shop.scenario.yaml'), `wield: scenario/v1
name: shop
backend: {speaks: ${speaks}}
turns:
  - {id: done, when: {last: tool, result_contains: "find_parcels knows P-7"}, reply: [{text: "The parcel waits in Lisbon."}]}
  - id: call
    when: {last: tool, tool: ToolSearch, tools_offered: [mcp__shop__find_parcels(number)]}
    reply: [{call: {name: mcp__shop__find_parcels, args: {number: P-7}}}]
  - {id: search, when: {user_contains: parcel P-7}, reply: [{text: "I look. "}, {call: {name: ToolSearch, args: {query: find parcels, max_results: 3}}}]}
`);
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'shop.scenario.yaml'], { cwd: dir });
  const behind = await recorder(t, upstream.url);
  writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1\nbackends: {up: {kind: ${kind}, url: "${url(behind)}", forward: [thinking, metadata, context_management, output_config]}}\nmodels: {coder: {backend: up, mode: ${mode}}}\n`);
  const front = await recorder(t, (await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir })).url);
  const shop = JSON.stringify({ mcpServers: { shop: { command: process.execPath, args: [join(here, 'many_tools.js')] } } });

  const args = ['-p', 'Where is parcel P-7?', '--model', 'coder', '--mcp-config', shop, '--strict-mcp-config', '--allowedTools', 'ToolSearch,mcp__shop'];
  const { code, output } = await play(t, join(bin, command), args, { cwd: directory(t), env: { ...claudeCode.env(front), ENABLE_TOOL_SEARCH: 'true' } });
  assert.equal(code, 0, output);
  assert.match(output, /The parcel waits in Lisbon\./);

  const found = front.asked.map(({ body }) => body.tools.filter(({ name, defer_loading }) => defer_loading && name.startsWith('mcp__')).length);
  assert.deepEqual(found, [0, 3, 3], 'of 60 tools those are sent that were found');
  const told = JSON.stringify(behind.asked.map(({ body }) => body.messages)).includes('The number of one of the parcels.');
  assert.equal(told, kind !== 'anthropic', 'a server of another protocol reads in the result what was found');
  if (mode === 'text') assert.ok(keptPrefix(behind.asked) >= 0.95, `${keptPrefix(behind.asked)} of a prompt is the front of the next`);
  if (kind === 'anthropic') assert.deepEqual(behind.asked.map(plainMessages), front.asked.map(plainMessages), 'field by field');
  const journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
  assert.deepEqual(journal.map((entry) => entry.turn), ['search', 'call', 'done']);
}));
