// The tool runner and the message threads of Anthropic’s SDK: a thread is refused with a code that lets the SDK go on without one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { start } from './wield.js';

const made = async (t) => new Anthropic({ baseURL: (await start(t, ['serve', '--listen', '127.0.0.1:0'])).url, apiKey: 'any', maxRetries: 0 });
const question = { model: 'demo', max_tokens: 500, messages: [{ role: 'user', content: 'What is the weather in Rome?' }] };

test('the tool runner goes through a round of calls', async (t) => {
  const anthropic = await made(t);
  const weather = betaTool({
    name: 'get_weather', description: 'Tells the weather in a city.', run: async ({ city }) => `18 degrees in ${city}`,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  });
  const last = await anthropic.beta.messages.toolRunner({ ...question, tools: [weather] });
  assert.match(last.content.map((block) => block.text).join(''), /18 degrees in Rome/);
});

test('a thread is refused with the code that SDKs know', async (t) => {
  const anthropic = await made(t);
  await assert.rejects(anthropic.messages.create({ ...question, thread: { type: 'create' } }), (err) => {
    return err.status === 400 && err.error.error.details.error_code === 'thread_unsupported_request';
  });
});

test('a tool of Anthropic’s server is refused by its name, one that the client runs is offered', async (t) => {
  const anthropic = await made(t);
  await assert.rejects(anthropic.messages.create({ ...question, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }), (err) => {
    return err.status === 400 && /tools\[0\]: the tool .*web_search/.test(err.message);
  });
  assert.ok(await anthropic.messages.create({ ...question, tools: [{ type: 'bash_20250124', name: 'bash' }] }));
});
