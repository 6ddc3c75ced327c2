// Clients of the OpenAI protocols, of Anthropic's and of Ollama's, with all that may stand behind wield: every client, streamed and
// whole, makes the same tool rounds. What a client is given, and what it must come back with, does not depend on the client.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateText, jsonSchema, stepCountIs, streamText, tool as aiTool } from 'ai';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool as agentTool, user } from '@openai/agents';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { standing, startAll } from './backends.js';
import { noted, pinned } from './results.js';

setTracingDisabled(true);

const scenario = join(dirname(fileURLToPath(import.meta.url)), 'clients.scenario.yaml');

/** The tools: what they are called with is kept in `asked`. */
function toolbox(asked) {
  return [
    {
      name: 'get_weather',
      description: 'The weather in a city, now.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
      run: async ({ city }) => {
        asked.push(['get_weather', city]);
        if (city === 'Atlantis') throw new Error('Atlantis is not on the map');
        return `mackerel over ${city}`;
      },
    },
    {
      name: 'get_time',
      description: 'The time, now.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
      run: async (args) => {
        asked.push(['get_time', JSON.stringify(args ?? {})]);
        return 'half past nine';
      },
    },
  ];
}

/** Runs a tool for a client that leaves this to its user; what it throws becomes the result. */
async function execute(tools, name, args) {
  const found = tools.find((t) => t.name === name);
  assert.ok(found, `the client was given a call of ${name}`);
  try {
    return await found.run(JSON.parse(args));
  } catch (err) {
    return `Error: ${err.message}`;
  }
}

const sdk = (server) => new OpenAI({ baseURL: server.baseURL, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });

// Each client makes a session: a function that says something and returns the final answer, and remembers what was said.

function chatSession(server, tools, stream) {
  const openai = sdk(server);
  const messages = [];
  const offered = tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));
  return async (text) => {
    messages.push({ role: 'user', content: text });
    for (;;) {
      const body = { model: server.model, messages, tools: offered };
      const completion = stream
        ? await openai.chat.completions.stream(body).finalChatCompletion()
        : await openai.chat.completions.create(body);
      const [{ message, finish_reason: reason }] = completion.choices;
      messages.push(message);
      assert.equal(reason, message.tool_calls?.length ? 'tool_calls' : 'stop');
      if (!message.tool_calls?.length) return message.content;
      for (const call of message.tool_calls) {
        messages.push({ role: 'tool', tool_call_id: call.id, content: await execute(tools, call.function.name, call.function.arguments) });
      }
    }
  };
}

function runToolsSession(server, tools, stream) {
  const openai = sdk(server);
  let messages = [];
  const offered = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters, parse: JSON.parse, function: (args) => execute(tools, name, JSON.stringify(args)) },
  }));
  return async (text) => {
    messages.push({ role: 'user', content: text });
    const runner = openai.chat.completions.runTools({ model: server.model, messages, tools: offered, stream });
    const answer = await runner.finalContent();
    messages = runner.messages;
    return answer;
  };
}

/** The Responses protocol by hand: with the whole history in every request, or with the id of the last response. */
function responsesSession(server, tools, stream, { stored }) {
  const openai = sdk(server);
  let history = [];
  let previous;
  const offered = tools.map(({ name, description, parameters }) => ({ type: 'function', name, description, parameters, strict: false }));
  return async (text) => {
    let input = [{ role: 'user', content: text }];
    for (;;) {
      const body = { model: server.model, tools: offered };
      if (stored) Object.assign(body, { input, previous_response_id: previous });
      else Object.assign(body, { input: [...history, ...input], store: false });
      const response = stream ? await streamedResponse(openai, body) : await openai.responses.create(body);
      assert.equal(response.status, 'completed');
      previous = response.id;
      history.push(...input, ...response.output);
      const calls = response.output.filter((item) => item.type === 'function_call');
      if (!calls.length) return response.output_text;
      input = [];
      for (const call of calls) {
        input.push({ type: 'function_call_output', call_id: call.call_id, output: await execute(tools, call.name, call.arguments) });
      }
    }
  };
}

/** Reads a stream event by event, and holds it to the rules of the protocol. */
async function streamedResponse(openai, body) {
  const items = [];
  let number = 0;
  let last;
  for await (const event of await openai.responses.create({ ...body, stream: true })) {
    assert.equal(event.sequence_number, number++, 'events are numbered without a gap');
    last = event;
    if (event.type === 'response.output_item.added') {
      assert.equal(event.output_index, items.length);
      items.push({ id: event.item.id, text: '' });
    }
    if (event.item_id) assert.equal(event.item_id, items[event.output_index].id, 'one id an item');
    if (event.type.endsWith('.delta')) items[event.output_index].text += event.delta;
    if (event.type === 'response.output_text.done') assert.equal(event.text, items[event.output_index].text);
    if (event.type === 'response.function_call_arguments.done') assert.equal(event.arguments, items[event.output_index].text);
  }
  assert.equal(last.type, 'response.completed');
  assert.deepEqual(last.response.output.map((item) => item.id), items.map((item) => item.id), 'the result holds the items of the stream');
  const text = last.response.output.flatMap((item) => (item.type === 'message' ? item.content.map((part) => part.text) : []));
  return { ...last.response, output_text: text.join('') };
}

function messagesSession(server, tools, stream, { thinking }) {
  const anthropic = new Anthropic({ baseURL: server.url, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });
  const messages = [];
  const offered = tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  offered.at(-1).cache_control = { type: 'ephemeral' };
  return async (text) => {
    messages.push({ role: 'user', content: [{ type: 'text', text, cache_control: { type: 'ephemeral' } }] });
    for (;;) {
      const body = { model: server.model, max_tokens: 2048, system: 'Answer with the tools.', messages, tools: offered, thinking };
      const message = stream ? await streamedMessage(anthropic, body) : await anthropic.messages.create(body);
      messages.push({ role: 'assistant', content: message.content });
      const calls = message.content.filter((block) => block.type === 'tool_use');
      assert.equal(message.stop_reason, calls.length ? 'tool_use' : 'end_turn');
      if (!calls.length) return message.content.map((block) => block.text).join('');
      const results = [];
      for (const call of calls) {
        assert.match(call.id, /^toolu_[\w-]+$/);
        const content = await execute(tools, call.name, JSON.stringify(call.input));
        results.push({ type: 'tool_result', tool_use_id: call.id, content, is_error: content.startsWith('Error: ') });
      }
      messages.push({ role: 'user', content: results });
    }
  };
}

/** Reads a stream event by event, holds it to the rules of the protocol, and returns what the SDK makes of the same events. */
async function streamedMessage(anthropic, body) {
  const reader = anthropic.messages.stream(body);
  let open = -1;
  let next = 0;
  const types = [];
  for await (const event of reader) {
    types.push(event.type);
    switch (event.type) {
      case 'content_block_start':
        assert.equal(open, -1, 'one block is open at a time');
        assert.equal(event.index, next++, 'blocks are counted without a gap');
        open = event.index;
        break;
      case 'content_block_delta':
        assert.equal(event.index, open);
        break;
      case 'content_block_stop':
        assert.equal(event.index, open);
        open = -1;
    }
  }
  assert.equal(types[0], 'message_start');
  assert.deepEqual(types.slice(-2), ['message_delta', 'message_stop']);
  return reader.finalMessage();
}

function agentsSession(server, tools, stream, { api }) {
  const openai = sdk(server);
  const agent = new Agent({
    name: 'clients',
    instructions: 'Answer with the tools.',
    model: new { chat: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel }[api](openai, server.model),
    tools: tools.map(({ name, description, parameters, run: execute }) => agentTool({ name, description, parameters, strict: false, execute, errorFunction: (_, err) => `Error: ${err.message}` })),
  });
  let history = [];
  return async (text) => {
    const result = await run(agent, [...history, user(text)], { stream });
    if (stream) await result.completed;
    history = result.history;
    return result.finalOutput;
  };
}

function aiSession(server, tools, stream, { provider, maxOutputTokens }) {
  const messages = [];
  const options = {
    model: provider(server),
    tools: Object.fromEntries(
      tools.map(({ name, description, parameters, run: execute }) => [name, aiTool({ description, inputSchema: jsonSchema(parameters), execute })]),
    ),
    stopWhen: stepCountIs(4),
    maxOutputTokens,
    maxRetries: 0,
  };
  return async (text) => {
    messages.push({ role: 'user', content: text });
    if (!stream) {
      const result = await generateText({ ...options, messages });
      messages.push(...result.responseMessages);
      return result.text;
    }
    const result = streamText({ ...options, messages, onError: ({ error }) => assert.fail(String(error)) });
    let pieces = '';
    for await (const piece of result.textStream) pieces += piece;
    messages.push(...(await result.responseMessages));
    assert.ok(pieces.endsWith(await result.text));
    return result.text;
  };
}

function langchainSession(server, tools, stream, { responses }) {
  const chat = new ChatOpenAI({ model: server.model, apiKey: 'unused', maxRetries: 0, useResponsesApi: responses, configuration: { baseURL: server.baseURL } }).bindTools(
    tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } })),
  );
  const messages = [];
  return async (text) => {
    messages.push(new HumanMessage(text));
    for (;;) {
      let answer;
      if (!stream) answer = await chat.invoke(messages);
      else for await (const chunk of await chat.stream(messages)) answer = answer ? answer.concat(chunk) : chunk;
      messages.push(responses ? answer : new AIMessage(answer));
      assert.deepEqual(answer.invalid_tool_calls ?? [], []);
      if (!answer.tool_calls?.length) return answer.text;
      for (const call of answer.tool_calls) {
        messages.push(new ToolMessage({ tool_call_id: call.id, content: await execute(tools, call.name, JSON.stringify(call.args)) }));
      }
    }
  };
}

function mastraSession(server, tools, stream) {
  const agent = new MastraAgent({
    id: 'clients',
    name: 'clients',
    instructions: 'Answer with the tools.',
    model: { id: `wield/${server.model}`, url: server.baseURL, apiKey: 'unused' },
    tools: Object.fromEntries(tools.map(({ name, description, parameters, run: execute }) => [
      name, createTool({ id: name, description, inputSchema: jsonSchema(parameters), execute }),
    ])),
  });
  let messages = [];
  return async (text) => {
    messages.push({ role: 'user', content: text });
    const result = await agent[stream ? 'stream' : 'generate'](messages, { maxSteps: 4, modelSettings: { maxRetries: 0 } });
    let pieces = '';
    if (stream) for await (const piece of result.textStream) pieces += piece;
    const answer = await result.text;
    assert.ok(!stream || pieces.endsWith(answer));
    messages.push(...(await result.response).messages);
    return answer;
  };
}

/** Ollama's client. Its results name the tool, or nothing at all. */
function ollamaSession(server, tools, stream, { named, think }) {
  const ollama = new Ollama({ host: server.url });
  const messages = [];
  const offered = tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));
  return async (text) => {
    messages.push({ role: 'user', content: text });
    for (;;) {
      const body = { model: `${server.model}:latest`, messages, tools: offered, think, keep_alive: '1m', options: { temperature: 0, num_ctx: 4096 } };
      const message = stream ? await streamedLines(ollama, body, server.model) : (await ollama.chat(body)).message;
      messages.push(message);
      if (!message.tool_calls?.length) return message.content;
      for (const call of message.tool_calls) {
        assert.equal(typeof call.function.arguments, 'object');
        const content = await execute(tools, call.function.name, JSON.stringify(call.function.arguments));
        messages.push({ role: 'tool', content, ...(named && { tool_name: call.function.name }) });
      }
    }
  };
}

/** Reads a stream line by line, and holds it to the rules of the protocol. */
async function streamedLines(ollama, body, model) {
  const message = { role: 'assistant', content: '', tool_calls: [] };
  let last;
  for await (const part of await ollama.chat({ ...body, stream: true })) {
    assert.ok(!last?.done, 'nothing follows the line that says done');
    last = part;
    assert.equal(part.model, model);
    assert.equal(part.message.role, 'assistant');
    message.content += part.message.content;
    message.tool_calls.push(...(part.message.tool_calls ?? []));
  }
  assert.equal(last.done, true);
  assert.equal(last.done_reason, 'stop');
  assert.ok(last.total_duration > 0);
  return message;
}

const settings = (server) => ({ name: 'wield', baseURL: server.baseURL, apiKey: 'unused' });

// What a client is called here begins with its packages; behind the comma stands how it is used.
const clients = {
  'openai, chat completions': [chatSession],
  'openai, runTools': [runToolsSession],
  'openai, responses with the history': [responsesSession, { stored: false }],
  'openai, responses with previous_response_id': [responsesSession, { stored: true }],
  '@openai/agents, chat completions': [agentsSession, { api: 'chat' }],
  '@openai/agents, responses': [agentsSession, { api: 'responses' }],
  '@langchain/openai, chat completions': [langchainSession, { responses: false }],
  '@langchain/openai, responses': [langchainSession, { responses: true }],
  '@mastra/core, chat completions': [mastraSession],
  'ai with @ai-sdk/openai, responses': [aiSession, { provider: (server) => createOpenAI(settings(server)).responses(server.model) }],
  'ai with @ai-sdk/openai, chat completions': [aiSession, { provider: (server) => createOpenAI(settings(server)).chat(server.model) }],
  'ai with @ai-sdk/openai-compatible, chat completions': [aiSession, { provider: (server) => createOpenAICompatible(settings(server))(server.model) }],
  '@anthropic-ai/sdk, Messages': [messagesSession, {}],
  '@anthropic-ai/sdk, Messages with thinking': [messagesSession, { thinking: { type: 'enabled', budget_tokens: 1024 } }],
  'ollama, results by the name of the tool': [ollamaSession, { named: true }],
  'ollama, results in their order, with think': [ollamaSession, { named: false, think: true }],
  'ai with @ai-sdk/anthropic, Messages': [aiSession, { provider: (server) => createAnthropic(settings(server))(server.model), maxOutputTokens: 2048 }],
};

const cases = {
  'one call': async (say, asked) => {
    assert.match(await say("What's the weather in Paris?"), /mackerel over Paris/);
    assert.deepEqual(asked, [['get_weather', 'Paris']]);
  },
  'parallel calls': async (say, asked) => {
    assert.match(await say('Please compare Rome and Oslo'), /mackerel over (Rome|Oslo)/);
    assert.deepEqual(asked.sort(), [['get_weather', 'Oslo'], ['get_weather', 'Rome']]);
  },
  'a call without arguments': async (say, asked) => {
    assert.match(await say('what time is it'), /half past nine/);
    assert.deepEqual(asked, [['get_time', '{}']]);
  },
  'an error as the result': async (say, asked) => {
    assert.match(await say("What's the weather in Atlantis?"), /That failed: .*Atlantis is not on the map/s);
    assert.deepEqual(asked, [['get_weather', 'Atlantis']]);
  },
  'ten turns': async (say, asked) => {
    const cities = ['Paris', 'Rome', 'Oslo', 'Lima', 'Cairo', 'Delhi', 'Quito', 'Seoul', 'Turin', 'Accra'];
    for (const city of cities) assert.match(await say(`What's the weather in ${city}?`), new RegExp(`mackerel over ${city}`));
    assert.deepEqual(asked.map(([, city]) => city), cities);
    assert.match(await say('how long have we talked'), /twenty answers so far/);
  },
};

test('clients, with all that may stand behind wield', async (t) => {
  const server = await startAll(t, scenario);
  for (const [name, [session, options]] of Object.entries(clients)) {
    const [client] = name.split(', ');
    const how = name.slice(client.length + 2);
    for (const { behind, model } of standing(how)) for (const stream of [false, true]) {
      await t.test(`${name}, ${stream ? 'streamed' : 'whole'}, with ${behind}`, async (t) => {
        for (const [what, play] of Object.entries(cases)) {
          await t.test(what, async () => {
            const asked = [];
            const row = { kind: 'library', client, version: pinned(client), how, behind, stream, what };
            await noted(row, () => play(session({ ...server, model }, toolbox(asked), stream, options), asked));
          });
        }
      });
    }
  }
});
