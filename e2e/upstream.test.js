// Model servers that behave badly, and clients that leave: what the OpenAI SDK gets to see of them.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';
import { directory, start } from './wield.js';
import { getWeather, question } from './weather.js';

const hello = [{ role: 'user', content: 'Hello' }];
const client = (server) => new OpenAI({ baseURL: server.baseURL, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });

/** A scripted model server with a fault, and wield in front of it. */
async function behind(t, scenario, fault, extra = []) {
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', ...(fault ? ['--fault', fault] : []), scenario]);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'demo', ...extra]);
  return { upstream, server };
}

/** A scenario file of one answer to everything. */
function scenario(t, reply, more = '') {
  const file = join(directory(t), 'own.scenario.yaml');
  writeFileSync(file, `wield: scenario/v1\nname: own\n${more}turns:\n  - {id: only, when: {}, reply: ${JSON.stringify(reply)}}\n`);
  return file;
}

suite('an upstream that fails', () => {
  const faults = [
    { fault: '{do: {status: 500}}', error: OpenAI.InternalServerError },
    { fault: '{do: {status: 429, retry_after: 7s}}', error: OpenAI.RateLimitError, retryAfter: '7' },
    { fault: '{do: {status: 401}}', error: OpenAI.InternalServerError }, // its key is wield's, not the client's
    { fault: '{do: html_502}', error: OpenAI.InternalServerError },
    { fault: '{do: {wrong_content_type: text/html}}', error: null }, // what it says is what counts
    { fault: '{do: drop_done}', error: null },
    { fault: '{do: {huge_line: 3000000}}', error: null },
    { fault: '{nth: 1, do: {status: 503}}', error: null }, // asked again
    { fault: '{nth: 1, do: {reset: true, cut_after: 0b}}', error: null },
  ];
  for (const { fault, error, retryAfter } of faults) {
    for (const stream of [false, true]) {
      test(`${fault}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
        const { server } = await behind(t, scenario(t, [{ text: 'Good morning.' }]), fault);
        const ask = async () => {
          const answer = await client(server).chat.completions.create({ model: 'demo', messages: hello, stream });
          if (!stream) return answer.choices[0].message.content;
          let text = '';
          for await (const chunk of answer) text += chunk.choices[0]?.delta.content ?? '';
          return text;
        };
        if (!error) {
          assert.equal(await ask(), 'Good morning.');
          return;
        }
        await assert.rejects(ask(), (err) => {
          assert.ok(err instanceof error, `${err.constructor.name}: ${err}`);
          assert.ok(err.message.length > 10, err.message);
          if (retryAfter) assert.equal(err.headers.get('retry-after'), retryAfter);
          return true;
        });
      });
    }
  }

  test('a stream that breaks off: the text so far, then an error', async (t) => {
    const { server } = await behind(t, 'demo', '{do: {cut_after: 4chunks}}');
    const stream = await client(server).chat.completions.create({ model: 'demo', messages: hello, stream: true });
    let text = '';
    await assert.rejects(
      async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      },
      (err) => err instanceof OpenAI.APIError,
    );
    assert.match(text, /^I am the/);
  });

  test('a call that is cut off is never a call', async (t) => {
    const cut = scenario(t, [{ text: 'Let me look.\n' }, { raw: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Pa' }]);
    const { server } = await behind(t, cut);
    const body = { model: 'demo', messages: [{ role: 'user', content: question('Paris') }], tools: [getWeather] };
    const { choices } = await client(server).chat.completions.create(body);
    assert.equal(choices[0].message.tool_calls, undefined);
    assert.equal(choices[0].finish_reason, 'stop');
  });
});

suite('an upstream with bad habits in its function calling', () => {
  for (const habit of ['no_index', 'id_every_delta', 'empty_id', 'no_role', 'object_args', 'whole_args', 'finish_stop']) {
    for (const stream of [false, true]) {
      test(`${habit}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
        const native = scenario(t, [{ call: { name: 'get_weather', args: { city: 'Paris' } } }], 'backend: {native_tools: true}\ndefaults: {chunk: 3}\n');
        const { server } = await behind(t, native, `{do: ${habit}}`);
        const { completions } = client(server).chat;
        const body = { model: 'demo', messages: [{ role: 'user', content: question('Paris') }], tools: [getWeather] };
        const { choices } = stream ? await completions.stream(body).finalChatCompletion() : await completions.create(body);
        assert.equal(choices[0].finish_reason, 'tool_calls');
        const [call] = choices[0].message.tool_calls;
        assert.ok(call.id);
        assert.equal(call.function.name, 'get_weather');
        assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' });
      });
    }
  }
});

suite('a client that leaves', () => {
  test('its request to the model is cancelled', async (t) => {
    const slow = scenario(t, [{ text: 'one two three' }, { pause: '5m' }, { text: 'four' }], 'defaults: {chunk: 4}\n');
    const { upstream, server } = await behind(t, slow);
    const controller = new AbortController();
    const stream = await client(server).chat.completions.create({ model: 'demo', messages: hello, stream: true }, { signal: controller.signal });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break;
    }
    controller.abort();
    // The script's journal tells when the server has noticed; the pause is far longer than this test may take.
    let journal = [];
    for (let i = 0; i < 3000 && !journal.length; i++) {
      await sleep(20);
      journal = await (await fetch(`${upstream.url}/__script/journal`)).json();
    }
    assert.equal(journal.length, 1, 'the upstream never noticed');
    assert.equal(journal[0].complete, false);
  });

  test('the service still ends when asked to, with an answer under way', async (t) => {
    const slow = scenario(t, [{ text: 'one' }, { pause: '1s' }, { text: 'two' }]);
    const { server } = await behind(t, slow);
    const stream = await client(server).chat.completions.create({ model: 'demo', messages: hello, stream: true });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (text === 'one') server.interrupt();
    }
    assert.equal(text, 'onetwo', 'the answer under way is finished');
  });
});

suite('second chances', () => {
  test('a call of an unknown tool is sent back, and the client sees none of it', async (t) => {
    const file = join(directory(t), 'unknown.scenario.yaml');
    writeFileSync(
      file,
      `wield: scenario/v1
name: unknown
turns:
  - id: again
    when: {user_contains: TOOL_ERROR}
    reply: [{fence: json, call: {name: get_weather, args: {city: Rome}}}]
  - id: wrong
    when: {}
    reply: [{raw: "<tool_call>\\n{\\"name\\": \\"look_outside\\", \\"arguments\\": {}}\\n</tool_call>"}]
`,
    );
    const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', file]);
    const dir = directory(t);
    writeFileSync(
      join(dir, 'wield.yaml'),
      `wield: config/v1\nbackends: {local: {kind: openai, url: "${upstream.baseURL}"}}\nmodels: {coder: {backend: local, mode: text}}\n`,
    );
    const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
    const { data, response } = await client(server)
      .chat.completions.create({ model: 'coder', messages: [{ role: 'user', content: question('Rome') }], tools: [getWeather] })
      .withResponse();
    assert.equal(response.headers.get('x-wield-bounces'), '1');
    const [call] = data.choices[0].message.tool_calls;
    assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ['get_weather', { city: 'Rome' }]);
    assert.doesNotMatch(JSON.stringify(data), /look_outside|TOOL_ERROR/);
  });
});
