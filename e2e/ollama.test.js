// Ollama's client: lists, single prompts, errors as it knows them, and a backend that speaks the same protocol.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Ollama } from 'ollama';
import { directory, start } from './wield.js';
import { getWeather, question, weatherIn } from './weather.js';

const client = (server) => new Ollama({ host: server.url });
const hello = { messages: [{ role: 'user', content: 'hello' }] };
const demo = async (t) => client(await start(t, ['serve', '--listen', '127.0.0.1:0']));

/** Starts a scripted server of the protocol and a wield whose backend it is. */
async function behind(t, turns) {
  const dir = directory(t);
  writeFileSync(join(dir, 'served.scenario.yaml'), `wield: scenario/v1\nname: served\nbackend: {speaks: ollama, native_tools: true}\n${turns}\n`);
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(dir, 'served.scenario.yaml')]);
  writeFileSync(
    join(dir, 'wield.yaml'),
    `wield: config/v1\nlisten: 127.0.0.1:0\nbackends:\n  up: {kind: ollama, url: "${upstream.url}", retry: {attempts: 1}}\nmodels:\n  served: {backend: up}\n`,
  );
  return client(await start(t, ['serve', '--config', join(dir, 'wield.yaml')]));
}

test('what there is', async (t) => {
  const ollama = await demo(t);
  const { models } = await ollama.list();
  assert.deepEqual(models.map((m) => m.name), ['demo', 'demo-agent']);
  assert.deepEqual((await ollama.ps()).models.map((m) => m.model), ['demo', 'demo-agent']);
  assert.ok((await ollama.show({ model: 'demo' })).capabilities.includes('tools'));
  assert.match((await ollama.version()).version, /^\d+\.\d+\.\d+$/);
});

test('a single prompt, streamed and whole', async (t) => {
  const ollama = await demo(t);
  const whole = await ollama.generate({ model: 'demo', prompt: 'hello', system: 'Be brief.' });
  let pieces = '';
  let last;
  for await (last of await ollama.generate({ model: 'demo', prompt: 'hello', system: 'Be brief.', stream: true })) pieces += last.response;
  assert.ok(pieces);
  assert.equal(pieces, whole.response);
  assert.ok(last.done && whole.done);
});

suite('errors', () => {
  test('a request that is wrong', async (t) => {
    const ollama = await demo(t);
    for (const stream of [false, true]) {
      await assert.rejects(ollama.chat({ model: 'nobody', ...hello, stream }), (err) => {
        assert.equal(err.name, 'ResponseError');
        assert.equal(err.status_code, 404);
        assert.match(err.message, /there is no model "nobody"/);
        return true;
      });
    }
    await assert.rejects(ollama.chat({ model: 'demo', messages: 'hello' }), { status_code: 400 });
    await assert.rejects(ollama.pull({ model: 'demo' }), { status_code: 501 });
  });

  test('a rate limit, streamed and whole', async (t) => {
    const ollama = await behind(t, 'turns:\n  - {id: a, when: {}, reply: [{text: hi}]}\nfaults:\n  - {on: a, do: {status: 429, body: \'{"error":"slow down"}\'}}');
    for (const stream of [false, true]) {
      await assert.rejects(ollama.chat({ model: 'served', ...hello, stream }), { status_code: 429, message: 'slow down' });
    }
  });

  test('a stream that breaks off', async (t) => {
    const ollama = await behind(t, 'turns:\n  - {id: a, when: {}, reply: [{text: "one "}, {text: "two "}], finish: {error: the runner stopped}}');
    let text = '';
    await assert.rejects(async () => {
      for await (const part of await ollama.chat({ model: 'served', ...hello, stream: true })) text += part.message.content;
    }, /the runner stopped/);
    assert.equal(text, 'one two ');
  });
});

suite('a backend of the same protocol', () => {
  for (const stream of [false, true]) {
    test(stream ? 'streamed' : 'whole', async (t) => {
      const ollama = await behind(t, `turns:
  - id: answer
    when: {last: tool}
    reply: [{think: "It is known."}, {text: "The tool says \${result}"}]
  - id: call
    when: {tools_offered: [get_weather(city)]}
    reply: [{text: "I will look. "}, {call: {name: get_weather, args: {city: Rome}}}]`);
      const messages = [{ role: 'user', content: question('Rome') }];
      const ask = async () => {
        const body = { model: 'served', messages, tools: [getWeather], think: true };
        if (!stream) return (await ollama.chat(body)).message;
        const message = { role: 'assistant', content: '', thinking: '', tool_calls: [] };
        for await (const { message: part } of await ollama.chat({ ...body, stream: true })) {
          message.content += part.content;
          message.thinking += part.thinking ?? '';
          message.tool_calls.push(...(part.tool_calls ?? []));
        }
        return message;
      };
      const first = await ask();
      assert.deepEqual(first.tool_calls.map((c) => [c.function.name, c.function.arguments]), [['get_weather', { city: 'Rome' }]]);
      assert.equal(first.content.trim(), 'I will look.');
      messages.push(first, { role: 'tool', tool_name: 'get_weather', content: JSON.stringify(weatherIn('Rome')) });
      const second = await ask();
      assert.equal(second.thinking, 'It is known.');
      assert.ok(second.content.includes(String(weatherIn('Rome').temp)), second.content);
    });
  }
});
