// Servers and clients of MCP that others have written: npm's filesystem server behind a model that only writes text, for an unmodified
// OpenAI client, and the MCP Inspector's command line as a client of wield.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { installed } from './agents.js';
import { directory, start } from './wield.js';

const filesystem = { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', command: 'mcp-server-filesystem' };
const inspector = { name: '@modelcontextprotocol/inspector', version: '2.12.0', command: 'mcp-inspector' };
const key = 'a-key-that-is-long-enough';

/** Starts wield with npm's filesystem server and a scripted model that writes a call of it as text. */
async function served(t, bin) {
  const dir = directory(t);
  writeFileSync(join(dir, 'note.txt'), 'the meeting is at ten');
  writeFileSync(join(dir, 'm.scenario.yaml'), `wield: scenario/v1
name: m
turns:
  - {id: call, when: {last: user}, reply: [{call: {name: files__read_text_file, args: {path: note.txt}}}]}
  - {id: answer, when: {last: tool}, reply: [{text: "It says: \${result}"}]}
`);
  writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
data: state
sandbox: {level: limits}
keys: [{name: me, secret: env:KEY}]
backends: {s: {kind: script, scenario: m.scenario.yaml}}
mcp:
  serve: {enabled: true}
  servers: {files: {command: [${join(bin, filesystem.command)}, .], trust: ["*"]}}
models:
  helper: {backend: s, model: m, mode: text, mcp: [files]}
`);
  return start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir, env: { KEY: key } });
}

test('an OpenAI client, a model that only writes text, and the tools of npm\'s filesystem server', { timeout: 600_000 }, async (t) => {
  const bin = await installed(t, filesystem.name, filesystem.version, filesystem.command);
  if (!bin) return;
  const server = await served(t, bin);
  const client = new OpenAI({ baseURL: server.baseURL, apiKey: key, maxRetries: 0, timeout: 60_000 });
  let answer;
  for (let i = 0; i < 30; i++) { // the server starts behind wield's back
    const completion = await client.chat.completions.create({ model: 'helper', messages: [{ role: 'user', content: 'What does my note say?' }] });
    answer = completion.choices[0].message;
    if (answer.content?.includes('at ten')) break;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  assert.match(answer.content, /It says: .*the meeting is at ten/);
  assert.equal(answer.tool_calls, undefined);
});

test(`MCP Inspector ${inspector.version} lists and calls tools of /mcp`, { timeout: 600_000 }, async (t) => {
  const bin = await installed(t, filesystem.name, filesystem.version, filesystem.command);
  const cli = await installed(t, inspector.name, inspector.version, inspector.command);
  if (!bin || !cli) return;
  const server = await served(t, bin);
  const inspect = async (...args) => (await promisify(execFile)(join(cli, inspector.command), ['--cli', ...args,
    '--transport', 'http', '--header', `Authorization: Bearer ${key}`], { timeout: 60_000 })).stdout;
  let list = '';
  for (let i = 0; i < 30 && !list.includes('files__read_text_file'); i++) {
    list = await inspect(`${server.url}/mcp`, '--method', 'tools/list');
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  assert.match(list, /files__read_text_file/);
  const result = await inspect(`${server.url}/mcp/files`, '--method', 'tools/call', '--tool-name', 'read_text_file', '--tool-arg', 'path=note.txt');
  assert.match(result, /the meeting is at ten/);
});
