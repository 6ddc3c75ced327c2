// Google's SDK with what may stand behind wield: rounds of a call, whole and streamed.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { GoogleGenAI, Type } from '@google/genai';
import { standing, startAll } from './backends.js';
import { noted, pinned } from './results.js';
import { start } from './wield.js';

const client = '@google/genai';
const row = { kind: 'library', client, version: pinned(client), how: 'generateContent' };
const tools = [{
  functionDeclarations: [{
    name: 'get_weather', description: 'Tells the weather in a city.',
    parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING, nullable: true } }, required: ['city'] },
  }],
}];

/** Asks once, and returns the parts of the answer and why it ended. */
async function ask(ai, model, contents, stream) {
  const params = { model, contents, config: { tools, temperature: 0.5, topK: 4 } };
  const chunks = stream ? await ai.models.generateContentStream(params) : [await ai.models.generateContent(params)];
  const answer = { parts: [], reason: undefined };
  for await (const { candidates: [{ content, finishReason }] } of chunks) {
    answer.parts.push(...(content?.parts ?? []).filter((part) => part.text || part.functionCall));
    answer.reason = finishReason ?? answer.reason;
  }
  return answer;
}

for (const { behind, model } of standing(row.how)) for (const stream of [false, true]) {
  test(`a call and its result${stream ? ', streamed' : ''}, with ${behind}`, (t) => noted({ ...row, behind, stream, what: 'one call' }, async () => {
    const server = await startAll(t, join(dirname(fileURLToPath(import.meta.url)), 'clients.scenario.yaml'));
    const ai = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: server.url } });
    const contents = [{ role: 'user', parts: [{ text: 'What is the weather in Rome?' }] }];
    const called = await ask(ai, model, contents, stream);
    const { name, args } = called.parts.find((part) => part.functionCall).functionCall;
    assert.deepEqual({ name, args }, { name: 'get_weather', args: { city: 'Rome' } });
    assert.equal(called.reason, 'STOP');
    contents.push({ role: 'model', parts: called.parts }, { role: 'user', parts: [{ functionResponse: { name, response: { output: '18 degrees' } } }] });
    const told = await ask(ai, model, contents, stream);
    assert.match(told.parts.map((part) => part.text).join(''), /18 degrees/);
  }));
}

test('what is said beside answers', async (t) => {
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0']);
  const ai = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: server.url } });
  assert.ok((await ai.models.countTokens({ model: 'demo', contents: 'Hello' })).totalTokens > 0);
  await assert.rejects(ai.models.generateContent({ model: 'nobody', contents: 'Hello' }), (err) => err.status === 404 && /there is no model/.test(err.message));
});
