// @anthropic-ai/sdk: errors as it knows them, estimates, and a backend that speaks the same protocol.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { directory, start } from './wield.js';

const sdk = (server) => new Anthropic({ baseURL: server.url, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });
const hello = { model: 'served', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] };

/** Starts a scripted server of the protocol and a wield whose backend it is. */
async function behind(t, turns) {
  const dir = directory(t);
  writeFileSync(join(dir, 'served.scenario.yaml'), `wield: scenario/v1\nname: served\nbackend: {speaks: anthropic, native_tools: true}\n${turns}\n`);
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(dir, 'served.scenario.yaml')]);
  writeFileSync(
    join(dir, 'wield.yaml'),
    `wield: config/v1\nlisten: 127.0.0.1:0\nbackends:\n  up: {kind: anthropic, url: "${upstream.url}", retry: {attempts: 1}}\nmodels:\n  served: {backend: up, mode: native}\n`,
  );
  return start(t, ['serve', '--config', join(dir, 'wield.yaml')]);
}

suite('errors', () => {
  test('a request that is wrong', async (t) => {
    const anthropic = sdk(await start(t, ['serve', '--listen', '127.0.0.1:0']));
    await assert.rejects(anthropic.messages.create({ ...hello, model: 'demo', messages: 'hello' }), (err) => {
      assert.ok(err instanceof Anthropic.BadRequestError);
      assert.equal(err.error.error.type, 'invalid_request_error');
      assert.match(err.message, /messages: this must be an array/);
      assert.match(err.requestID, /^req_/);
      return true;
    });
    await assert.rejects(anthropic.messages.create({ ...hello, model: 'nobody' }), (err) => {
      assert.ok(err instanceof Anthropic.NotFoundError);
      assert.equal(err.error.error.type, 'not_found_error');
      return true;
    });
  });

  for (const [what, status, type, expected] of [
    ['rate limit', 429, 'rate_limit_error', Anthropic.RateLimitError],
    ['overloaded', 529, 'overloaded_error', Anthropic.InternalServerError],
  ]) {
    test(`${what}, streamed and whole`, async (t) => {
      const turns = `turns:\n  - {id: a, when: {}, reply: [{text: hi}]}\nfaults:\n  - {on: a, do: {status: ${status}, retry_after: 7s}}`;
      const anthropic = sdk(await behind(t, turns));
      for (const stream of [false, true]) {
        await assert.rejects(anthropic.messages.create({ ...hello, stream }), (err) => {
          assert.ok(err instanceof expected, err);
          assert.equal(err.status, status);
          assert.equal(err.error.error.type, type);
          assert.equal(err.headers.get('retry-after'), '7');
          return true;
        });
      }
    });
  }

  test('a stream that breaks off', async (t) => {
    const turns = 'turns:\n  - {id: a, when: {}, reply: [{text: "one two three", split: [4, 8]}]}\nfaults:\n  - {on: a, do: {cut_after: 2chunks}}';
    const anthropic = sdk(await behind(t, turns));
    let text = '';
    await assert.rejects(
      async () => {
        for await (const event of await anthropic.messages.create({ ...hello, stream: true })) text += event.delta?.text ?? '';
      },
      (err) => {
        assert.ok(err instanceof Anthropic.APIError, err);
        assert.match(err.message, /api_error/);
        return true;
      },
    );
    assert.match(text, /^one /);
  });
});

test('an estimate of tokens', async (t) => {
  const anthropic = sdk(await start(t, ['serve', '--listen', '127.0.0.1:0']));
  const count = async (content) => (await anthropic.messages.countTokens({ model: 'demo', messages: [{ role: 'user', content }] })).input_tokens;
  assert.ok((await count('x'.repeat(400))) > (await count('x')) + 90);
});

test('the list of models', async (t) => {
  const anthropic = sdk(await start(t, ['serve', '--listen', '127.0.0.1:0']));
  const names = [];
  for await (const model of anthropic.models.list()) names.push(model.id);
  assert.deepEqual(names, ['demo', 'demo-agent']);
  assert.equal((await anthropic.models.retrieve('demo')).display_name, 'demo');
});

suite('a backend of the same protocol', () => {
  const turns = `turns:
  - {id: result, when: {last: tool}, reply: [{text: "The tool says \${result}"}]}
  - id: call
    when: {last: user}
    reply: [{think: "Hm."}, {text: "Let me see."}, {call: {name: look, args: {at: "the sky"}}}, {call: {name: listen, args: {}}}]
    usage: {in: 21, out: 34}`;
  for (const stream of [false, true]) {
    test(stream ? 'streamed' : 'whole', async (t) => {
      const anthropic = sdk(await behind(t, turns));
      const tools = ['look', 'listen'].map((name) => ({ name, input_schema: { type: 'object', properties: { at: { type: 'string' } } } }));
      const body = { ...hello, tools, thinking: { type: 'enabled', budget_tokens: 1024 } };
      const ask = (body) => (stream ? anthropic.messages.stream(body).finalMessage() : anthropic.messages.create(body));
      const first = await ask(body);
      assert.deepEqual(
        first.content.map((block) => block.thinking ?? block.text ?? [block.name, block.input]),
        ['Hm.', 'Let me see.', ['look', { at: 'the sky' }], ['listen', {}]],
      );
      assert.equal(first.usage.input_tokens, 21);
      assert.equal(first.usage.output_tokens, 34);
      const results = first.content.slice(2).map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: 'blue' }] }));
      const second = await ask({ ...body, messages: [...body.messages, { role: 'assistant', content: first.content }, { role: 'user', content: results }] });
      assert.equal(second.stop_reason, 'end_turn');
      assert.match(second.content.at(-1).text, /The tool says .*blue/);
    });
  }
});
