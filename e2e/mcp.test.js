// Servers and clients of MCP that others have written: servers of npm and of Python, npm's filesystem server behind a model that only
// writes text, for an unmodified OpenAI client, and the MCP Inspector's command line, Claude Code and Codex as clients of wield.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { claudeCode, codex, installed, play } from './agents.js';
import { pythonWith } from './python.js';
import { directory, program, start } from './wield.js';

const filesystem = { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', command: 'mcp-server-filesystem' };
const inspector = { name: '@modelcontextprotocol/inspector', version: '2.12.0', command: 'mcp-inspector' };
const everything = { name: '@modelcontextprotocol/server-everything', version: '2026.8.31', command: 'mcp-server-everything' };
const memory = { name: '@modelcontextprotocol/server-memory', version: '2026.8.31', command: 'mcp-server-memory' };
const key = 'a-key-that-is-long-enough';
const here = dirname(fileURLToPath(import.meta.url));

/** A port that nobody listens on. */
async function free() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.on('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a server over HTTP and waits until it takes connections. */
async function service(t, command, args, port, env = {}) {
  const child = spawn(command, args, { cwd: directory(t), stdio: ['ignore', 'ignore', 'ignore'], env: { ...process.env, ...env } });
  const ended = new Promise((resolve) => child.on('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  for (let i = 0; i < 600; i++) {
    const there = await fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false);
    if (there) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${command} does not listen on port ${port}`);
}

/** Calls tools of a server by the command line, one after the other, and checks what each prints. */
async function called(t, settings, revision, calls) {
  const cwd = directory(t);
  writeFileSync(join(cwd, 'wield.yaml'), JSON.stringify({ wield: 'config/v1', data: 'state', sandbox: { level: 'limits' },
    mcp: { servers: { one: { trust: ['*'], resources: true, prompts: true, start: '120s', ...settings } } } }));
  const wield = (...args) => play(t, program(), args, { cwd, env: { WIELD_CONFIG: 'wield.yaml' }, limit: 120_000 });
  const tested = await wield('mcp', 'test');
  assert.equal(tested.code, 0, tested.output);
  assert.match(tested.output, new RegExp(`revision ${revision}`));
  for (const [tool, args, want, ...more] of calls) {
    await t.test(`${tool} ${JSON.stringify(args)}`, async () => {
      const { output } = await wield('mcp', 'call', 'one', tool, JSON.stringify(args), ...more);
      assert.match(output, want);
    });
  }
}

const ofEverything = [
  ['echo', { message: 'hello' }, /^Echo: hello$/m],
  ['get-sum', { a: 2, b: 3 }, /^The sum of 2 and 3 is 5\.$/m],
  ['get-sum', { a: 2, b: 'x' }, /^Error: .*\/b: want number/m],
  ['get-tiny-image', {}, /\[image, image\/png, \d+ bytes\]/],
  ['get-structured-content', { location: 'New York' }, /"temperature":33/],
  ['get-resource-links', { count: 2 }, /\[resource demo:\/\/resource\/dynamic\/text\/2\]/],
  ['get-resource-reference', { resourceType: 'Blob', resourceId: 2 }, /\[resource demo:\/\/resource\/dynamic\/blob\/2, text\/plain, \d+ bytes\]/],
  ['trigger-long-running-operation', { duration: 1, steps: 2 }, /^Long running operation completed\. Duration: 1 seconds, Steps: 2\.$/m],
  ['trigger-elicitation-request', {}, /the MCP server one asks: [^]*--answer/],
  ['trigger-elicitation-request', {}, /^- Name: Ada$/m, '--answer', '{"name": "Ada"}'],
  ['trigger-url-elicitation', { url: 'https://example.com/' }, /User completed the URL elicitation flow/, '--answer', '{}'],
  ['trigger-url-elicitation', { url: 'http://127.0.0.1:9/' }, /sends a person to http:\/\/127\.0\.0\.1:9\/: this machine/],
  ['list_resources', {}, /demo:\/\/resource\/static\/document\/architecture\.md/],
  ['read_resource', { uri: 'demo://resource/dynamic/text/1' }, /^Resource 1: /m],
  ['list_prompts', {}, /args-prompt/],
  ['get_prompt', { name: 'args-prompt', arguments: { city: 'Rome' } }, /Rome\?$/m],
];

for (const [transport, path] of [['stdio', ''], ['streamableHttp', '/mcp'], ['sse', '/sse']]) {
  test(`the everything server of npm, over ${transport}`, { timeout: 600_000 }, async (t) => {
    const bin = await installed(t, everything.name, everything.version, everything.command);
    if (!bin) return;
    const command = join(bin, everything.command);
    if (!path) return called(t, { command: [command] }, '2025-11-25', ofEverything);
    const port = await free();
    await service(t, command, [transport], port, { PORT: String(port) });
    await called(t, { url: `http://127.0.0.1:${port}${path}` }, transport === 'sse' ? '2024-11-05' : '2025-11-25', ofEverything);
  });
}

test('the memory server of npm keeps what it is told', { timeout: 600_000 }, async (t) => {
  const bin = await installed(t, memory.name, memory.version, memory.command);
  if (!bin) return;
  const file = join(directory(t), 'memory.jsonl');
  await called(t, { command: [join(bin, memory.command)], env: { MEMORY_FILE_PATH: file }, writable: [dirname(file)] }, '2025-11-25', [
    ['create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }] }, /"Ada"/],
    ['search_nodes', { query: 'programs' }, /"Ada"/],
    ['open_nodes', { names: ['Bob'] }, /"entities": ?\[\]/],
  ]);
});

const ofPython = [
  ['add', { a: 2 }, /^\{"result":3\}$/m],
  ['add', { a: 'x' }, /^Error: .*\/a: want integer/m],
  ['weather', { city: 'Rome' }, /"degrees": ?21\.5/],
  ['picture', {}, /^\[image, image\/png, 8 bytes\]$/m],
  ['fails', {}, /^Error: Error (executing|calling) tool/m],
  ['slow', { steps: 2 }, /"done"/],
  ['list_resources', {}, /note:\/\/today/],
  ['read_resource', { uri: 'note://today' }, /^the meeting is at ten$/m],
  ['get_prompt', { name: 'greet', arguments: { name: 'Ada' } }, /^Say hi to Ada\.$/m],
];

for (const [name, version] of [['mcp', '2.3.0'], ['fastmcp', '4.2.3']]) {
  test(`servers made with Python's ${name} ${version}`, { timeout: 900_000 }, async (t) => {
    const { path, reason } = await pythonWith(`${name}==${version}`);
    if (!path) return t.skip(`${name}==${version} cannot be installed here: ${reason}`);
    const script = join(here, 'mcp_servers.py');
    await t.test('over standard input and output', (t) => called(t, { command: [path, script, name] }, '2026-07-28', ofPython.slice(0, 1)));
    await t.test('of an older revision, whose tools can ask', (t) =>
      called(t, { command: [path, script, name], protocol: '2025-11-25' }, '2025-11-25', [
        ['paint', {}, /the MCP server one asks: Which color\?/],
        ['paint', {}, /^\{"result":"painted red"\}$/m, '--answer', '{"color": "red"}']]));
    const port = await free();
    await service(t, path, [script, name, String(port)], port);
    await t.test('over HTTP', (t) => called(t, { url: `http://127.0.0.1:${port}/mcp` }, '2026-07-28', ofPython));
  });
}

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

// A coding agent uses a tool of wield over MCP, with a model that wield gives it as well.
const sums = `wield: scenario/v1
name: sums
backend: {speaks: openai}
turns:
  - {id: done, when: {last: tool, result_contains: "5535"}, reply: [{text: "The product is 5535."}]}
  - {id: call, when: {last: user, user_contains: "123 and 45"}, reply: [{call: {name: NAME, args: {expression: 123*45}}}]}
  - {id: other, when: {}, reply: [{text: "Sums"}]}
`;

async function gateway(t, name) {
  const dir = directory(t);
  writeFileSync(join(dir, 'sums.scenario.yaml'), sums.replace('NAME', name));
  writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends: {s: {kind: script, scenario: sums.scenario.yaml}}
models: {coder: {backend: s, model: sums, mode: text}}
`);
  return start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
}

const offered = ['mcp', 'serve', '--tool', 'calculator', '--allow', 'calculator'];

test(`Claude Code ${claudeCode.version} uses a tool of wield mcp serve`, { timeout: 600_000 }, async (t) => {
  const bin = await installed(t, claudeCode.name, claudeCode.version, claudeCode.command);
  if (!bin) return;
  const server = await gateway(t, 'mcp__wield__calculator');
  const cwd = directory(t);
  writeFileSync(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: { wield: { command: program(), args: offered } } }));
  const args = ['-p', 'Multiply 123 and 45.', '--model', 'coder', '--mcp-config', 'mcp.json', '--strict-mcp-config', '--allowedTools', 'mcp__wield__calculator'];
  const { code, output } = await play(t, join(bin, claudeCode.command), args, {
    cwd, env: { ...claudeCode.env(server), ENABLE_TOOL_SEARCH: 'false' },
  });
  assert.equal(code, 0, output);
  assert.match(output, /The product is 5535\./);
});

test(`Codex ${codex.version} uses a tool of wield mcp serve`, { timeout: 600_000 }, async (t) => {
  const bin = await installed(t, codex.name, codex.version, codex.command);
  if (!bin) return;
  const server = await gateway(t, 'calculator');
  const home = directory(t);
  mkdirSync(join(home, '.codex'));
  writeFileSync(join(home, '.codex', 'config.toml'), `${codex.settings(server, 'coder')}[mcp_servers.wield]
command = ${JSON.stringify(program())}
args = ${JSON.stringify(offered)}
`);
  const args = ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', 'Multiply 123 and 45.'];
  const { code, output } = await play(t, join(bin, codex.command), args, { cwd: directory(t), home, env: { WIELD_KEY: 'unused' } });
  assert.equal(code, 0, output);
  assert.match(output, /The product is 5535\./);
});
