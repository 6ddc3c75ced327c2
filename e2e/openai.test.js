// The OpenAI SDK, unmodified, through complete tool rounds.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import OpenAI from 'openai';
import { build, directory, sources, start } from './wield.js';
import { cities, getWeather, question, weatherIn } from './weather.js';

const client = (server) => new OpenAI({ baseURL: server.baseURL, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });

/** Reads a stream the way a careful client does: one message, put together from the deltas. */
async function collect(stream) {
  const message = { role: '', content: '', tool_calls: [] };
  const seen = { finish: [], usage: undefined, chunks: 0, argumentDeltas: 0, ids: new Set() };
  for await (const chunk of stream) {
    seen.chunks++;
    seen.ids.add(chunk.id);
    assert.equal(chunk.object, 'chat.completion.chunk');
    if (chunk.usage) seen.usage = chunk.usage;
    const [choice] = chunk.choices;
    if (!choice) continue;
    assert.equal(choice.index, 0);
    if (choice.delta.role) message.role = choice.delta.role;
    if (choice.delta.content) message.content += choice.delta.content;
    for (const delta of choice.delta.tool_calls ?? []) {
      const call = (message.tool_calls[delta.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
      if (delta.id) call.id = delta.id;
      if (delta.function?.name) call.function.name += delta.function.name;
      if (delta.function?.arguments) {
        call.function.arguments += delta.function.arguments;
        seen.argumentDeltas++;
      }
    }
    if (choice.finish_reason) seen.finish.push(choice.finish_reason);
  }
  return { message, ...seen };
}

/** Asks for the weather, runs the tool, hands the result back: the round that every client makes. */
async function round(openai, model, city, { stream }) {
  const messages = [{ role: 'user', content: question(city) }];
  const ask = async () => {
    const body = { model, messages, tools: [getWeather] };
    if (!stream) {
      const completion = await openai.chat.completions.create(body);
      assert.equal(completion.object, 'chat.completion');
      return { message: completion.choices[0].message, finish: [completion.choices[0].finish_reason] };
    }
    return collect(await openai.chat.completions.create({ ...body, stream: true }));
  };
  const first = await ask();
  assert.deepEqual(first.finish, ['tool_calls']);
  assert.equal(first.message.role, 'assistant');
  assert.equal(first.message.tool_calls.length, 1);
  const [call] = first.message.tool_calls;
  assert.equal(call.type, 'function');
  assert.equal(call.function.name, 'get_weather');
  assert.deepEqual(JSON.parse(call.function.arguments), { city });
  assert.ok(call.id, 'the call has an id');
  assert.doesNotMatch(first.message.content ?? '', /get_weather|```/, 'the call does not stand in the text as well');
  assert.match(first.message.content ?? '', /\S/, 'what the model wrote beside the call is kept');

  messages.push(first.message, { role: 'tool', tool_call_id: call.id, content: JSON.stringify(weatherIn(city)) });
  const second = await ask();
  assert.deepEqual(second.finish, ['stop']);
  assert.ok(!second.message.tool_calls?.length, 'the answer holds no call');
  assert.ok(second.message.content.includes(String(weatherIn(city).temp)), `the answer is made of the result: ${second.message.content}`);
  return { first, second };
}

suite('wield serve with the scripted model', () => {
  for (const stream of [false, true]) {
    for (const city of cities) {
      test(`a tool round, ${stream ? 'streamed' : 'whole'}, ${city}`, async (t) => {
        const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
        await round(client(server), 'demo', city, { stream });
      });
    }
  }

  test('runTools, streamed and whole', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    for (const stream of [false, true]) {
      let asked;
      const runner = client(server).chat.completions.runTools({
        model: 'demo',
        stream,
        messages: [{ role: 'user', content: question('Lisbon') }],
        tools: [
          {
            type: 'function',
            function: {
              ...getWeather.function,
              parse: JSON.parse,
              function: async (args) => {
                asked = args;
                return JSON.stringify(weatherIn(args.city));
              },
            },
          },
        ],
      });
      const answer = await runner.finalContent();
      assert.deepEqual(asked, { city: 'Lisbon' });
      assert.ok(answer.includes(String(weatherIn('Lisbon').temp)), answer);
    }
  });

  test('a round in the older form, with functions', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    const { name, description, parameters } = getWeather.function;
    for (const stream of [false, true]) {
      const messages = [{ role: 'user', content: question('Lisbon') }];
      const ask = async () => {
        const body = { model: 'demo', messages, functions: [{ name, description, parameters }] };
        if (!stream) return (await client(server).chat.completions.create(body)).choices[0];
        return (await client(server).chat.completions.stream(body).finalChatCompletion()).choices[0];
      };
      const first = await ask();
      assert.equal(first.finish_reason, 'function_call');
      assert.equal(first.message.tool_calls, undefined);
      assert.equal(first.message.function_call.name, name);
      assert.deepEqual(JSON.parse(first.message.function_call.arguments), { city: 'Lisbon' });
      messages.push(first.message, { role: 'function', name, content: JSON.stringify(weatherIn('Lisbon')) });
      const second = await ask();
      assert.equal(second.finish_reason, 'stop');
      assert.ok(second.message.content.includes(String(weatherIn('Lisbon').temp)), second.message.content);
    }
  });

  test('usage comes when it is asked for', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    const body = { model: 'demo', messages: [{ role: 'user', content: question('Paris') }], tools: [getWeather], stream: true };
    const without = await collect(await client(server).chat.completions.create(body));
    assert.equal(without.usage, undefined);
    const withUsage = await collect(await client(server).chat.completions.create({ ...body, stream_options: { include_usage: true } }));
    assert.ok(withUsage.usage.total_tokens > 0);
    assert.equal(withUsage.ids.size, 1, 'all chunks carry one id');
  });

  test('without tools there is no call', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    const completion = await client(server).chat.completions.create({ model: 'demo', messages: [{ role: 'user', content: question('Paris') }] });
    assert.equal(completion.choices[0].finish_reason, 'stop');
    assert.equal(completion.choices[0].message.tool_calls, undefined);
  });

  test('without its scenario file the model has no answer', async (t) => {
    const copy = directory(t);
    cpSync(sources, copy, { recursive: true, filter: (path) => !['.git', 'e2e', 'node_modules'].includes(basename(path)) });
    rmSync(join(copy, 'internal', 'script', 'catalogue', 'demo.scenario.yaml'));
    const bin = build(copy);
    await assert.rejects(
      async () => {
        const server = await start(t, ['serve', '--listen', '127.0.0.1:0'], { bin });
        await round(client(server), 'demo', 'Paris', { stream: false });
      },
      /demo/,
      'it still answers',
    );
  });

  test('models are listed', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    const ids = [];
    for await (const model of client(server).models.list()) ids.push(model.id);
    assert.ok(ids.includes('demo'), ids.join());
  });

  test('a stream that is left early does not disturb the next request', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    const openai = client(server);
    const stream = await openai.chat.completions.create({
      model: 'demo',
      messages: [{ role: 'user', content: question('Oslo') }],
      tools: [getWeather],
      stream: true,
    });
    for await (const chunk of stream) {
      assert.ok(chunk.id);
      break;
    }
    await round(openai, 'demo', 'Oslo', { stream: true });
  });
});

suite('errors are the exceptions that the SDK has for them', () => {
  const hello = [{ role: 'user', content: 'Hello' }];

  test('an unknown model', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
    await assert.rejects(client(server).chat.completions.create({ model: 'nobody', messages: hello }), (err) => {
      assert.ok(err instanceof OpenAI.NotFoundError, String(err));
      assert.equal(err.code, 'model_not_found');
      assert.match(err.message, /nobody/);
      return true;
    });
  });

  const bad = [
    { name: 'messages is no list', body: { messages: 'Hello' }, param: 'messages' },
    { name: 'no messages', body: { messages: undefined }, param: 'messages' },
    { name: 'an unknown role', body: { messages: [{ role: 'wizard', content: 'Hello' }] }, param: 'messages[0].role' },
    { name: 'a number of the wrong type', body: { temperature: 'hot' }, param: 'temperature' },
    { name: 'a tool without a name', body: { tools: [{ type: 'function', function: {} }] }, param: 'tools[0].function.name' },
    {
      name: 'a tool whose schema is broken',
      body: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'objekt' } } }] },
      param: /^tools\[0\]\.function\.parameters/,
    },
  ];
  for (const { name, body, param } of bad) {
    for (const stream of [false, true]) {
      test(`${name}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
        const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
        await assert.rejects(client(server).chat.completions.create({ model: 'demo', messages: hello, ...body, stream }), (err) => {
          assert.ok(err instanceof OpenAI.BadRequestError, String(err));
          assert.equal(err.type, 'invalid_request_error');
          if (param instanceof RegExp) assert.match(err.param ?? '', param);
          else assert.equal(err.param, param);
          return true;
        });
      });
    }
  }

  test('an upstream that is not there', async (t) => {
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', 'http://127.0.0.1:1/v1', '--model', 'gone']);
    await assert.rejects(client(server).chat.completions.create({ model: 'gone', messages: hello }), (err) => {
      assert.ok(err instanceof OpenAI.InternalServerError, String(err));
      assert.match(err.message, /127\.0\.0\.1:1/);
      return true;
    });
  });

  test('an upstream that limits the rate', async (t) => {
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'weeklyLimit']);
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'limited']);
    await assert.rejects(client(server).chat.completions.create({ model: 'limited', messages: hello }), (err) => {
      assert.ok(err instanceof OpenAI.RateLimitError, String(err));
      return true;
    });
  });
});

suite('model/openai in text mode in front of wield script serve', () => {
  const config = (upstream) => `wield: config/v1
backends:
  local: {kind: openai, url: "${upstream.baseURL}"}
models:
  coder: {backend: local, model: demo, mode: text}
`;

  for (const stream of [false, true]) {
    test(`a tool round, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', 'demo']);
      const dir = directory(t);
      writeFileSync(join(dir, 'wield.yaml'), config(upstream));
      const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
      for (const city of cities) await round(client(server), 'coder', city, { stream });
    });
  }

  test('the answer comes from the scenario file and goes with it', async (t) => {
    const dir = directory(t);
    const file = join(dir, 'weather.scenario.yaml');
    writeFileSync(
      file,
      `wield: scenario/v1
name: weather
turns:
  - id: answer
    when: {last: tool, tool: get_weather}
    reply: [{text: "The script says \${result.temp}."}]
  - id: ask
    when: {user: "/weather in (?<city>[^?]+)/"}
    reply:
      - text: "I will look.\\n"
      - {fence: json, call: {name: get_weather, args: {city: "\${city}"}}}
`,
    );
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', file]);
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'weather']);
    const { second } = await round(client(server), 'weather', 'Rome', { stream: true });
    assert.equal(second.message.content, `The script says ${weatherIn('Rome').temp}.`);

    writeFileSync(file, 'wield: scenario/v1\nname: weather\nturns: []\n');
    await assert.rejects(round(client(server), 'weather', 'Rome', { stream: true }), (err) => {
      assert.ok(err instanceof OpenAI.APIError, String(err));
      return true;
    });
  });
});
