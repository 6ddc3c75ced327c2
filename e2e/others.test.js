// Other clients of the OpenAI protocol: each makes one complete tool round, streamed and whole, with the scripted model.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { generateText, jsonSchema, stepCountIs, streamText, tool as aiTool } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI } from '@langchain/openai';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool as agentTool } from '@openai/agents';
import OpenAI from 'openai';
import { start } from './wield.js';
import { getWeather, question, weatherIn } from './weather.js';

const city = 'São Paulo';
const temp = String(weatherIn(city).temp);
const serve = (t) => start(t, ['serve', '--listen', '127.0.0.1:0']);

suite('ai with @ai-sdk/openai-compatible', () => {
  const options = (server, asked) => ({
    model: createOpenAICompatible({ name: 'wield', baseURL: server.baseURL, apiKey: 'unused' })('demo'),
    prompt: question(city),
    tools: {
      get_weather: aiTool({
        description: getWeather.function.description,
        inputSchema: jsonSchema(getWeather.function.parameters),
        execute: async (args) => {
          asked.push(args);
          return weatherIn(args.city);
        },
      }),
    },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });

  test('whole', async (t) => {
    const asked = [];
    const { text, steps } = await generateText(options(await serve(t), asked));
    assert.deepEqual(asked, [{ city }]);
    assert.equal(steps.length, 2);
    assert.ok(text.includes(temp), text);
  });

  test('streamed', async (t) => {
    const asked = [];
    const result = streamText(options(await serve(t), asked));
    let text = '';
    for await (const piece of result.textStream) text += piece;
    assert.deepEqual(asked, [{ city }]);
    assert.ok(text.includes(temp), text);
  });
});

suite('@langchain/openai', () => {
  for (const streaming of [false, true]) {
    test(streaming ? 'streamed' : 'whole', async (t) => {
      const server = await serve(t);
      const model = new ChatOpenAI({
        model: 'demo',
        apiKey: 'unused',
        maxRetries: 0,
        configuration: { baseURL: server.baseURL },
      }).bindTools([getWeather]);
      const ask = async (messages) => {
        if (!streaming) return model.invoke(messages);
        let whole;
        for await (const chunk of await model.stream(messages)) whole = whole ? whole.concat(chunk) : chunk;
        return whole;
      };
      const messages = [new HumanMessage(question(city))];
      const first = await ask(messages);
      assert.equal(first.tool_calls.length, 1);
      const [call] = first.tool_calls;
      assert.equal(call.name, 'get_weather');
      assert.deepEqual(call.args, { city });
      messages.push(first, new ToolMessage({ tool_call_id: call.id, content: JSON.stringify(weatherIn(city)) }));
      const second = await ask(messages);
      assert.ok(second.text.includes(temp), second.text);
    });
  }
});

suite('@openai/agents', () => {
  setTracingDisabled(true);
  for (const stream of [false, true]) {
    test(stream ? 'streamed' : 'whole', async (t) => {
      const server = await serve(t);
      const openai = new OpenAI({ baseURL: server.baseURL, apiKey: 'unused', maxRetries: 0 });
      const asked = [];
      const agent = new Agent({
        name: 'weather',
        instructions: 'Answer with the tool.',
        model: new OpenAIChatCompletionsModel(openai, 'demo'),
        tools: [
          agentTool({
            name: 'get_weather',
            description: getWeather.function.description,
            parameters: getWeather.function.parameters,
            strict: true,
            execute: async (args) => {
              asked.push(args);
              return JSON.stringify(weatherIn(args.city));
            },
          }),
        ],
      });
      const result = await run(agent, question(city), { stream });
      if (stream) await result.completed;
      assert.deepEqual(asked, [{ city }]);
      assert.ok(result.finalOutput.includes(temp), result.finalOutput);
    });
  }
});
