// MCP servers that requests name, with the SDKs of OpenAI and Anthropic, unmodified.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { directory, program, start } from './wield.js';

const scenario = `wield: scenario/v1
name: sums
turns:
  - {id: answer, when: {last: tool}, reply: [{text: "It is \${result}."}]}
  - {id: ask, when: {user: "ask"}, reply: [{call: {name: asked__calculator, args: {expression: 6*7}}}]}
  - {id: call, reply: [{call: {name: sums__calculator, args: {expression: 6*7}}}]}
`;

/** A service whose clients may name two MCP servers: calls of one are trusted, those of the other need an approval. */
async function service(t) {
  const dir = directory(t);
  writeFileSync(join(dir, 'sums.scenario.yaml'), scenario);
  const calculator = JSON.stringify([program(), 'mcp', 'serve', '--tool', 'calculator', '--allow', 'calculator']);
  writeFileSync(
    join(dir, 'wield.yaml'),
    `wield: config/v1
data: state
sandbox: {level: limits}
keys: [{name: desk, secret: env:DESK_KEY}]
mcp:
  servers:
    sums: {command: ${calculator}, trust: ["*"]}
    asked: {command: ${calculator}}
backends: {s: {kind: script, scenario: sums.scenario.yaml}}
models: {m: {backend: s, mode: text, server_tools: {mcp_servers: [sums, asked]}}}
`,
  );
  const key = 'a-long-random-secret-of-a-desk';
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir, env: { DESK_KEY: key } });
  return {
    openai: new OpenAI({ baseURL: server.baseURL, apiKey: key, maxRetries: 0, timeout: 60_000 }),
    anthropic: new Anthropic({ baseURL: server.url, apiKey: key, maxRetries: 0, timeout: 60_000 }),
  };
}

const tool = (server_label) => ({ type: 'mcp', server_label, require_approval: 'never' });

test('the SDK of OpenAI', { timeout: 120_000 }, async (t) => {
  const { openai } = await service(t);
  const response = await openai.responses.create({ model: 'm', input: 'sum', tools: [tool('sums')] });
  assert.deepEqual(
    response.output.map((item) => item.type),
    ['mcp_list_tools', 'mcp_call', 'message'],
  );
  const [list, call] = response.output;
  assert.equal(list.server_label, 'sums');
  assert.equal(list.tools[0].name, 'calculator');
  assert.equal(call.name, 'calculator');
  assert.match(call.output, /42/);
  assert.equal(call.error, null);
  assert.match(response.output_text, /42/);

  const stream = openai.responses.stream({ model: 'm', input: 'sum', tools: [tool('sums')] });
  const events = [];
  for await (const event of stream) events.push(event.type);
  for (const type of ['in_progress', 'completed']) {
    assert.ok(events.includes(`response.mcp_list_tools.${type}`), `${events}`);
    assert.ok(events.includes(`response.mcp_call.${type}`), `${events}`);
  }
  assert.ok(events.includes('response.mcp_call_arguments.done'), `${events}`);
  assert.match((await stream.finalResponse()).output_text, /42/);
});

test('approvals with the SDK of OpenAI', { timeout: 120_000 }, async (t) => {
  const { openai } = await service(t);
  const first = await openai.responses.create({ model: 'm', input: 'ask', tools: [tool('asked')] });
  const question = first.output.find((item) => item.type === 'mcp_approval_request');
  assert.equal(question.name, 'calculator');
  const second = await openai.responses.create({
    model: 'm',
    previous_response_id: first.id,
    tools: [tool('asked')],
    input: [{ type: 'mcp_approval_response', approval_request_id: question.id, approve: true }],
  });
  assert.equal(second.output[0].approval_request_id, question.id);
  assert.match(second.output_text, /42/);
});

test('the SDK of Anthropic', { timeout: 120_000 }, async (t) => {
  const { anthropic } = await service(t);
  const request = {
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'sum' }],
    mcp_servers: [{ type: 'url', url: '', name: 'sums' }],
    tools: [{ type: 'mcp_toolset', mcp_server_name: 'sums' }],
    betas: ['mcp-client-2025-11-20'],
  };
  const stream = anthropic.beta.messages.stream(request);
  for (const message of [await anthropic.beta.messages.create(request), await stream.finalMessage()]) {
    const [use, result, text] = message.content;
    assert.equal(use.type, 'mcp_tool_use');
    assert.equal(use.server_name, 'sums');
    assert.deepEqual(use.input, { expression: '6*7' });
    assert.equal(result.type, 'mcp_tool_result');
    assert.equal(result.tool_use_id, use.id);
    assert.equal(result.is_error, false);
    assert.match(text.text, /42/);
    const next = await anthropic.beta.messages.create({
      ...request,
      messages: [...request.messages, { role: 'assistant', content: message.content }, { role: 'user', content: 'and?' }],
    });
    assert.match(next.content.at(-1).text, /42/);
  }
});
