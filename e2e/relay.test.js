// What is no conversation goes through wield to the model's server: the OpenAI SDK in front, a small server behind.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { directory, start } from './wield.js';

const sound = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 256));

/** A server that has embeddings, completions and audio, and answers so that it can be seen what it was sent. */
async function upstream(t) {
  const server = createServer((req, res) => {
    const pieces = [];
    req.on('data', (piece) => pieces.push(piece));
    req.on('end', () => {
      const body = Buffer.concat(pieces);
      const json = (value) => res.setHeader('content-type', 'application/json').end(JSON.stringify(value));
      const answers = {
        '/v1/embeddings': () => {
          const { model, input } = JSON.parse(body);
          const data = [].concat(input).map((text, index) => ({ object: 'embedding', index, embedding: [text.length, 0.5] }));
          json({ object: 'list', model, data, usage: { prompt_tokens: 1, total_tokens: 1 } });
        },
        '/v1/completions': () => {
          const { model, prompt, stream } = JSON.parse(body);
          const choice = (text, reason) => ({ id: 'c', object: 'text_completion', model, choices: [{ index: 0, text, finish_reason: reason }] });
          if (!stream) return json(choice(`${prompt} was asked of ${model}`, 'stop'));
          res.setHeader('content-type', 'text/event-stream');
          for (const word of prompt.split(' ')) res.write(`data: ${JSON.stringify(choice(word, null))}\n\n`);
          res.end('data: [DONE]\n\n');
        },
        '/v1/audio/speech': () => res.setHeader('content-type', 'audio/wav').end(sound),
        '/v1/audio/transcriptions': () => json({ text: `${body.includes('upstream-model')} ${body.includes(sound)}` }),
      };
      if (answers[req.url]) return answers[req.url]();
      res.statusCode = 404;
      return res.end('no such thing');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/v1`;
}

test('embeddings, completions and audio', async (t) => {
  const dir = directory(t);
  writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends:
  local: {kind: openai, url: "${await upstream(t)}"}
models:
  voice: {backend: local, model: upstream-model}
`);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
  const openai = new OpenAI({ baseURL: server.baseURL, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });
  const model = 'voice';

  const embeddings = await openai.embeddings.create({ model, input: ['one', 'three'], encoding_format: 'float' });
  assert.equal(embeddings.model, 'upstream-model');
  assert.deepEqual(embeddings.data.map((entry) => entry.embedding), [[3, 0.5], [5, 0.5]]);

  const completion = await openai.completions.create({ model, prompt: 'This' });
  assert.equal(completion.choices[0].text, 'This was asked of upstream-model');
  const words = [];
  for await (const chunk of await openai.completions.create({ model, prompt: 'one two three', stream: true })) words.push(chunk.choices[0].text);
  assert.deepEqual(words, ['one', 'two', 'three']);

  const speech = await openai.audio.speech.create({ model, input: 'hello', voice: 'alloy' });
  assert.ok(Buffer.from(await speech.arrayBuffer()).equals(sound), 'the sound came whole');
  const transcription = await openai.audio.transcriptions.create({ model, file: await toFile(sound, 'hello.wav') });
  assert.equal(transcription.text, 'true true', 'the form came whole, with the name that the server knows');

  await assert.rejects(openai.audio.translations.create({ model, file: await toFile(sound, 'hello.wav') }), (err) => {
    assert.ok(err instanceof OpenAI.NotFoundError, String(err));
    assert.match(err.message, /no such thing/);
    return true;
  });
});
