// Responses in the background, with the OpenAI SDK, unmodified.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import OpenAI from 'openai';
import { directory, start } from './wield.js';

const slow = `wield: scenario/v1
name: slow
turns:
  - id: for-ever
    when: {user_contains: "for ever"}
    reply: [{text: "I begin. "}, {pause: 10m}, {text: "I end."}]
  - id: count
    reply: [{text: "one "}, {pause: 200ms}, {text: "two "}, {pause: 200ms}, {text: "three"}]
`;

/** A client of a service whose model takes its time. */
async function service(t) {
  const file = join(directory(t), 'slow.scenario.yaml');
  writeFileSync(file, slow);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--scenario', file]);
  return new OpenAI({ baseURL: server.baseURL, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });
}

test('a response is asked for until it is whole', { timeout: 60_000 }, async (t) => {
  const openai = await service(t);
  let response = await openai.responses.create({ model: 'demo', input: 'count', background: true });
  assert.equal(response.status, 'queued');
  assert.equal(response.background, true);
  while (response.status === 'queued' || response.status === 'in_progress') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    response = await openai.responses.retrieve(response.id);
  }
  assert.equal(response.status, 'completed');
  assert.equal(response.output_text, 'one two three');
  const next = await openai.responses.create({ model: 'demo', input: 'again', previous_response_id: response.id });
  assert.equal(next.output_text, 'one two three');
});

test('a stream that was left is followed from where it was', { timeout: 60_000 }, async (t) => {
  const openai = await service(t);
  const seen = [];
  let id;
  for await (const event of await openai.responses.create({ model: 'demo', input: 'count', background: true, stream: true })) {
    seen.push(event);
    id ??= event.response?.id;
    if (event.type === 'response.output_text.delta') break; // the connection ends here
  }
  for await (const event of await openai.responses.retrieve(id, { stream: true, starting_after: seen.at(-1).sequence_number })) seen.push(event);
  assert.deepEqual(
    seen.map((event) => event.sequence_number),
    seen.map((_, i) => i),
  );
  const text = seen.filter((event) => event.type === 'response.output_text.delta').map((event) => event.delta);
  assert.equal(text.join(''), 'one two three');
  assert.equal(seen.at(-1).type, 'response.completed');
  assert.equal(seen.at(-1).response.status, 'completed');
});

test('a response is cancelled', { timeout: 60_000 }, async (t) => {
  const openai = await service(t);
  const { id } = await openai.responses.create({ model: 'demo', input: 'count for ever', background: true });
  for (let i = 0; i < 2; i++) {
    const response = await openai.responses.cancel(id);
    assert.equal(response.status, 'cancelled');
  }
  assert.equal((await openai.responses.retrieve(id)).status, 'cancelled');
  const whole = await openai.responses.create({ model: 'demo', input: 'count' });
  await assert.rejects(openai.responses.cancel(whole.id), (err) => err.status === 400 && /not made in the background/.test(err.message));
  await assert.rejects(openai.responses.create({ model: 'demo', input: 'count', background: true, store: false }), (err) => err.status === 400 && err.param === 'background');
});
