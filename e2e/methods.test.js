// Each method of the SDKs has a row: it works with a model that writes text, wield passes it on to a server that has it, wield refuses
// it by the name of its URL, or it asks nothing of a server. A new version with a new method fails here until it has one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import * as ai from 'ai';
import { Ollama } from 'ollama';
import OpenAI, { toFile } from 'openai';
import { call, methods, service } from './methods.js';
import { getWeather, question } from './weather.js';

const file = await toFile(Buffer.from('{}'), 'a.jsonl');
const messages = [{ role: 'user', content: question('Rome') }];
const { name, description, parameters } = getWeather.function;
const answers = (text) => assert.match(text, /scripted model/);

/** The rows of what the conversations of OpenAI's SDK are about; create and the like are the same below beta. */
const responses = (at) => {
  const ask = (more) => at().create({ model: 'demo', input: question('Rome'), ...more });
  return {
    create: async () => answers((await ask()).output[0].content[0].text),
    retrieve: async () => answers((await at().retrieve((await ask()).id)).output[0].content[0].text),
    delete: async () => {
      const { id } = await ask();
      await at().delete(id);
      await assert.rejects(at().retrieve(id), { status: 404 });
    },
    cancel: async () =>
      assert.match((await at().cancel((await ask({ background: true })).id)).status, /completed|cancelled/),
    compact: async () =>
      assert.equal((await at().compact({ model: 'demo', input: question('Rome') })).object, 'response.compaction'),
    'inputItems.list': async () => {
      for await (const item of at().inputItems.list((await ask()).id))
        assert.match(item.content[0].text ?? item.content, /Rome/);
    },
    'inputTokens.count': async () =>
      assert.ok((await at().inputTokens.count({ model: 'demo', input: 'Rome' })).input_tokens > 0),
  };
};

const under = (path, rows) =>
  Object.fromEntries(Object.entries(rows).map(([method, row]) => [`${path}.${method}`, row]));

function openai(c) {
  const body = { model: 'demo', messages };
  const tools = [
    {
      type: 'function',
      function: { ...getWeather.function, parse: JSON.parse, function: ({ city }) => `18 in ${city}` },
    },
  ];
  const conversation = async () => (await c.conversations.create({ items: [{ role: 'user', content: 'Rome' }] })).id;
  const item = async (id) => (await c.conversations.items.list(id)).data[0].id;
  return {
    works: {
      'beta.agents.environments.files.prepare': async () =>
        assert.equal(
          (await c.beta.agents.environments.files.prepare({ '/workspace/x': file })).uploadedFiles[0].asked,
          'POST /v1/files',
        ),
      'chat.completions.create': async () =>
        answers((await c.chat.completions.create(body)).choices[0].message.content),
      'chat.completions.parse': async () => answers((await c.chat.completions.parse(body)).choices[0].message.content),
      'chat.completions.stream': async () => answers(await c.chat.completions.stream(body).finalContent()),
      'chat.completions.runTools': async () =>
        assert.match(await c.chat.completions.runTools({ ...body, tools }).finalContent(), /18 in Rome/),
      'models.list': async () => assert.equal((await c.models.list()).data.length, 4),
      'models.retrieve': async () => assert.equal((await c.models.retrieve('demo')).id, 'demo'),
      ...under(
        'responses',
        responses(() => c.responses),
      ),
      ...under(
        'beta.responses',
        responses(() => c.beta.responses),
      ),
      'responses.parse': async () =>
        answers((await c.responses.parse({ model: 'demo', input: question('Rome') })).output_text),
      'responses.stream': async () =>
        answers((await c.responses.stream({ model: 'demo', input: question('Rome') }).finalResponse()).output_text),
      'conversations.create': async () => assert.ok(await conversation()),
      'conversations.retrieve': async () => assert.ok((await c.conversations.retrieve(await conversation())).id),
      'conversations.update': async () =>
        assert.equal((await c.conversations.update(await conversation(), { metadata: { a: 'b' } })).metadata.a, 'b'),
      'conversations.delete': async () =>
        assert.equal((await c.conversations.delete(await conversation())).deleted, true),
      'conversations.items.create': async () =>
        assert.equal(
          (await c.conversations.items.create(await conversation(), { items: [{ role: 'user', content: 'b' }] })).data
            .length,
          1,
        ),
      'conversations.items.list': async () =>
        assert.equal((await c.conversations.items.list(await conversation())).data.length, 1),
      'conversations.items.retrieve': async () => {
        const conversation_id = await conversation(),
          id = await item(conversation_id);
        assert.equal((await c.conversations.items.retrieve(id, { conversation_id })).id, id);
      },
      'conversations.items.delete': async () => {
        const conversation_id = await conversation();
        await c.conversations.items.delete(await item(conversation_id), { conversation_id });
        assert.equal((await c.conversations.items.list(conversation_id)).data.length, 0);
      },
    },
    passes: {
      'completions.create': ['POST /v1/completions', { model: 'openai', prompt: 'x' }],
      'embeddings.create': ['POST /v1/embeddings', { model: 'openai', input: 'x', encoding_format: 'float' }],
      'moderations.create': ['POST /v1/moderations', { model: 'openai', input: 'x' }],
      'images.generate': ['POST /v1/images/generations', { model: 'openai', prompt: 'x' }],
      'images.edit': ['POST /v1/images/edits', { model: 'openai', image: file, prompt: 'x' }],
      'images.createVariation': ['POST /v1/images/variations', { model: 'openai', image: file }],
      'audio.speech.create': ['POST /v1/audio/speech', { model: 'openai', input: 'x', voice: 'alloy' }],
      'audio.transcriptions.create': ['POST /v1/audio/transcriptions', { model: 'openai', file }],
      'audio.translations.create': ['POST /v1/audio/translations', { model: 'openai', file }],
      'files.create': ['POST /v1/files', { file, purpose: 'user_data' }],
      'files.retrieve': ['GET /v1/files/x', 'x'],
      'files.list': ['GET /v1/files'],
      'files.delete': ['DELETE /v1/files/x', 'x'],
      'files.content': ['GET /v1/files/x/content', 'x'],
      'files.waitForProcessing': ['GET /v1/files/x', 'x', { pollInterval: 1 }],
      'batches.create': [
        'POST /v1/batches',
        { input_file_id: 'x', endpoint: '/v1/responses', completion_window: '24h' },
      ],
      'batches.retrieve': ['GET /v1/batches/x', 'x'],
      'batches.list': ['GET /v1/batches'],
      'batches.cancel': ['POST /v1/batches/x/cancel', 'x'],
    },
    lacks:
      /^(admin|audio\.voice|beta\.(agents|assistants|chatkit|realtime|threads)|containers|contentProvenanceChecks|decisions|evals|fineTuning|live|realtime|safety|skills|uploads|vectorStores|videos|webhooks)|^chat\.completions\.(messages\.|retrieve|update|list|delete)|^models\.delete/,
    local: ['webhooks.unwrap', 'webhooks.verifySignature', 'beta.agents.sessions.artifacts.forResult'],
    args: {
      'vectorStores.fileBatches.uploadAndPoll': ['x', { files: [file] }],
      'beta.threads.runs.submitToolOutputsStream': ['x', { thread_id: 'x', tool_outputs: [] }],
      'beta.agents.environments.files.upload': ['x', { path: '/workspace/x', file }],
      'beta.agents.sessions.stream': ['x', { input: 'x' }],
    },
  };
}

function anthropic(c) {
  const body = { model: 'demo', max_tokens: 500, messages };
  const weather = betaTool({ name, description, inputSchema: parameters, run: async ({ city }) => `18 in ${city}` });
  const says = ({ content }) => content.map((block) => block.text).join('');
  const conversations = (at) => ({
    create: async () => answers(says(await at().create(body))),
    parse: async () => answers(says(await at().parse(body))),
    stream: async () => answers(says(await at().stream(body).finalMessage())),
    countTokens: async () => assert.ok((await at().countTokens({ model: 'demo', messages })).input_tokens > 0),
  });
  const requests = [{ custom_id: 'a', params: { model: 'anthropic', max_tokens: 1, messages } }];
  const batches = {
    create: ['POST /v1/messages/batches', { requests }],
    retrieve: ['GET /v1/messages/batches/x', 'x'],
    list: ['GET /v1/messages/batches'],
    delete: ['DELETE /v1/messages/batches/x', 'x'],
    cancel: ['POST /v1/messages/batches/x/cancel', 'x'],
    results: ['GET /v1/messages/batches/x/results', 'x'],
  };
  const files = {
    list: ['GET /v1/files'],
    delete: ['DELETE /v1/files/x', 'x'],
    download: ['GET /v1/files/x/content', 'x'],
    retrieveMetadata: ['GET /v1/files/x', 'x'],
    upload: ['POST /v1/files', { file }],
  };
  const models = (at) => ({
    list: async () => assert.equal((await at().list()).data.length, 4),
    retrieve: async () => assert.equal((await at().retrieve('demo')).id, 'demo'),
  });
  return {
    works: {
      ...under(
        'messages',
        conversations(() => c.messages),
      ),
      ...under(
        'beta.messages',
        conversations(() => c.beta.messages),
      ),
      ...under(
        'models',
        models(() => c.models),
      ),
      ...under(
        'beta.models',
        models(() => c.beta.models),
      ),
      'beta.sessions.events.toolRunner': async () => {
        // it ends by itself, and says why to its log
        const said = [];
        const logger = Object.fromEntries(
          ['error', 'warn', 'info', 'debug'].map((level) => [level, (...words) => said.push(JSON.stringify(words))]),
        );
        for await (const _ of c.withOptions({ logger }).beta.sessions.events.toolRunner('x', { tools: [] }))
          assert.fail('there is no session');
        assert.match(said.join(), /unknown URL: GET .*\/v1\/sessions\/x\/events/);
      },
      'beta.messages.toolRunner': async () =>
        assert.match(says(await c.beta.messages.toolRunner({ ...body, tools: [weather] })), /18 in Rome/),
      'beta.messages.thread': async () =>
        answers(
          says(
            await c.beta.messages
              .thread({ model: 'demo', max_tokens: 500, unsupportedRequestBehavior: 'continue_unthreaded' })
              .send(messages[0]),
          ),
        ),
    },
    passes: {
      ...under('messages.batches', batches),
      ...under('beta.messages.batches', batches),
      ...under('files', files),
      ...under('beta.files', files),
    },
    lacks:
      /^(beta\.)?(agents|compliance|deployments|deploymentRuns|dreams|environments|memoryStores|organization|sessions|skills|tunnels|userProfiles|vaults)\./,
    local: ['beta.webhooks.parseUnverified', 'beta.webhooks.unwrap', 'beta.environments.work.worker'],
    args: {
      'beta.environments.work.poller': [{ environmentId: 'x', environmentKey: 'x' }],
      'beta.environments.work.worker': [{}],
    },
  };
}

// Ollama's client has its methods itself.
const ollama = (c) => ({
  chat: [() => c.chat({ model: 'demo', messages }), ({ message }) => answers(message.content), 'POST /api/chat'],
  generate: [
    () => c.generate({ model: 'demo', prompt: question('Rome') }),
    ({ response }) => answers(response),
    'POST /api/generate',
  ],
  list: [() => c.list(), ({ models }) => assert.equal(models.length, 4), 'GET /api/tags'],
  ps: [() => c.ps(), ({ models }) => assert.equal(models.length, 4), 'GET /api/ps'],
  show: [
    () => c.show({ model: 'demo' }),
    ({ capabilities }) => assert.ok(capabilities.includes('tools')),
    'POST /api/show',
  ],
  version: [() => c.version(), ({ version }) => assert.match(version, /^\d+\./), 'GET /api/version'],
  embed: [
    () => c.embed({ model: 'ollama', input: 'x' }),
    ({ embeddings }) => assert.deepEqual(embeddings, [[1, 2]]),
    'POST /api/embed',
  ],
  embeddings: [
    () => c.embeddings({ model: 'ollama', prompt: 'x' }),
    ({ embedding }) => assert.deepEqual(embedding, [1, 2]),
    'POST /api/embeddings',
  ],
  ...Object.fromEntries(
    ['pull', 'push', 'create', 'copy', 'delete'].map((name) => [
      name,
      [
        () => c[name]({ model: 'demo', from: 'demo', source: 'demo', destination: 'other' }),
        /neither fetched nor changed here/,
        `${name === 'delete' ? 'DELETE' : 'POST'} /api/${name} 501`,
      ],
    ]),
  ),
  systemone: [() => c.systemone({}), /unknown URL: POST "\/v1\/systemone"/, 'POST /v1/systemone 404'],
  webSearch: [() => c.webSearch({ query: 'x' }), /elsewhere/, 'POST https://ollama.com/api/web_search'], // always of the vendor
  webFetch: [() => c.webFetch({ url: 'x' }), /elsewhere/, 'POST https://ollama.com/api/web_fetch'],
  abort: [() => c.abort()],
  encodeImage: [() => c.encodeImage(Buffer.from('x')), (text) => assert.equal(text, 'eA==')],
  processStreamableRequest: [
    () => c.processStreamableRequest('chat', { model: 'demo', messages }),
    ({ message }) => answers(message.content),
    'POST /api/chat',
  ],
  fileExists: [() => c.fileExists('/none'), (there) => assert.equal(there, false)],
});

/** What the AI SDK does with each kind of model of its providers for the protocols, and each of its functions that asks one. */
function aiSDK({ baseURL, fetch }) {
  const [openai, anthropic, compatible] = [createOpenAI, createAnthropic, createOpenAICompatible].map((make) =>
    make({ name: 'wield', baseURL, fetch, apiKey: 'any' }),
  );
  const prompt = question('Rome'),
    value = 'x',
    data = Buffer.from('x'),
    mediaType = 'text/plain';
  const text = async ({ text }) => answers(await text);
  const vector = ({ embedding, embeddings }) => assert.deepEqual(embedding ?? embeddings[0], [1, 2]);
  const questions = { a: { type: 'boolean', instructions: 'x' } },
    fields = { a: { type: 'text', description: 'x' } };
  const batch = (provider, type) => ({ provider, batch: { version: 2, id: 'x', provider: type } });
  const requests = (model) => [{ id: 'a', type: 'text', model, prompt }];
  const none = /No such|does not support|not compatible|not supported/;
  const says =
    (url) =>
    ({ text }) =>
      assert.equal(text, url);
  const audio = Buffer.from('RIFF1234WAVEfmt ');
  const socket = [
    () => fetch(`${baseURL}/realtime/translations`).then((r) => r.text()),
    (said) => assert.match(said, /unknown URL/),
    'GET /v1/realtime/translations 404',
  ];
  const kinds = {
    // how a model of each kind is asked, what it answers, and at which URL
    language: (url) => (model) => [() => ai.generateText({ model: model('demo'), prompt, maxRetries: 0 }), text, url],
    completion: (model) => [
      () => ai.generateText({ model: model('openai'), prompt, maxRetries: 0 }),
      says('POST /v1/completions'),
      'POST /v1/completions',
    ],
    embedding: (model) => [() => ai.embed({ model: model('openai'), value }), vector, 'POST /v1/embeddings'],
    image: (model) => [
      () => ai.generateImage({ model: model('openai'), prompt }),
      ({ image }) => assert.equal(image.base64, 'AAAA'),
      'POST /v1/images/generations',
    ],
    words: (model) => [
      () => ai.transcribe({ model: model('openai'), audio }),
      says('POST /v1/audio/transcriptions'),
      'POST /v1/audio/transcriptions',
    ],
    speech: (model) => [
      () => ai.generateSpeech({ model: model('openai'), text: 'x' }),
      ({ audio }) => assert.ok(audio.uint8Array.length > 0),
      'POST /v1/audio/speech',
    ],
    extraction: (url) => (model) => [
      () => ai.experimental_extract({ model: model('demo'), state: 'x', fields, maxRetries: 0 }),
      /valid JSON/,
      url,
    ], // the model of the test answers prose
    decision: (model) => [
      () => ai.experimental_decide({ model: model('demo'), state: 'x', questions, maxRetries: 0 }),
      /unknown URL/,
      'POST /v1/decisions 404',
    ],
    missing: (make) => [() => make('x'), none],
  };
  const of = (name, provider, kind, ...factories) =>
    Object.fromEntries(factories.map((f) => [`${name}.${f}`, kind(provider[f])]));
  const chat = openai.chat('demo');
  const ask = (url, run, check = text) => [run, check, url];
  const chats = (run, check) => ask('POST /v1/chat/completions', run, check);
  return {
    all: [
      ...Object.entries({ openai, anthropic, compatible }).flatMap(([name, provider]) =>
        Object.keys(provider)
          .filter((key) => typeof provider[key] === 'function')
          .map((key) => `${name}.${key}`),
      ),
      ...Object.keys(ai).filter((name) => typeof ai[name] === 'function' && asking.test(name)),
      ...Object.keys(openai.experimental_realtime).map((name) => `openai.experimental_realtime.${name}`),
    ],
    rows: {
      ...of('openai', openai, kinds.language('POST /v1/responses'), 'languageModel', 'responses'),
      ...of('openai', openai, kinds.language('POST /v1/chat/completions'), 'chat'),
      ...of('openai', openai, kinds.completion, 'completion'),
      ...of('openai', openai, kinds.embedding, 'embedding', 'embeddingModel', 'textEmbedding', 'textEmbeddingModel'),
      ...of('openai', openai, kinds.image, 'image', 'imageModel'),
      ...of('openai', openai, kinds.words, 'transcription', 'transcriptionModel'),
      ...of('openai', openai, kinds.speech, 'speech', 'speechModel'),
      ...of('openai', openai, kinds.extraction('POST /v1/responses'), 'extractionModel'),
      ...of('openai', openai, kinds.decision, 'decisionModel', 'evaluationModel'),
      // They speak over a WebSocket, which is asked for with a plain request here.
      experimental_streamTranslate: socket,
      ...of('openai', openai, () => socket, 'translation', 'speechTranslationModel'),
      'openai.files': ask(
        'POST /v1/files',
        () => ai.uploadFile({ api: openai.files(), data, mediaType }),
        ({ providerReference }) => assert.equal(providerReference.openai, 'x'),
      ),
      'openai.skills': ask(
        'POST /v1/skills 404',
        () => ai.uploadSkill({ api: openai.skills(), files: [{ path: 'SKILL.md', data }] }),
        /unknown URL/,
      ),
      'openai.experimental_batch': ask(
        'POST /v1/files,POST /v1/batches',
        () => ai.experimental_startBatch({ provider: openai, requests: requests('openai') }),
        ({ id }) => assert.equal(id, 'x'),
      ),
      'openai.experimental_realtime': ask(
        'POST /v1/realtime/client_secrets 404',
        () => openai.experimental_realtime.getToken({ model: 'demo' }),
        /unknown URL/,
      ),
      'openai.experimental_realtime.getToken': ask(
        'POST /v1/realtime/client_secrets 404',
        () => openai.experimental_realtime.getToken({ model: 'demo' }),
        /unknown URL/,
      ),
      ...of('anthropic', anthropic, kinds.language('POST /v1/messages'), 'languageModel', 'chat', 'messages'),
      ...of('anthropic', anthropic, kinds.extraction('POST /v1/messages'), 'extractionModel'),
      ...of(
        'anthropic',
        anthropic,
        (model) => [
          () => ai.experimental_decide({ model: model('demo'), state: 'x', questions, maxRetries: 0 }),
          /JSON/,
          'POST /v1/messages',
        ],
        'decisionModel',
        'evaluationModel',
      ),
      ...of('anthropic', anthropic, kinds.missing, 'embeddingModel', 'textEmbeddingModel', 'imageModel'),
      'anthropic.files': ask('POST /v1/files', () => ai.uploadFile({ api: anthropic.files(), data, mediaType }), null),
      'anthropic.skills': ask(
        'POST /v1/skills 404',
        () => ai.uploadSkill({ api: anthropic.skills(), files: [{ path: 'SKILL.md', data }] }),
        /unknown URL/,
      ),
      'anthropic.experimental_batch': ask(
        'POST /v1/messages/batches',
        () => ai.experimental_startBatch({ provider: anthropic, requests: requests('anthropic') }),
        null,
      ),
      ...of('compatible', compatible, kinds.language('POST /v1/chat/completions'), 'languageModel', 'chatModel'),
      ...of('compatible', compatible, kinds.completion, 'completionModel'),
      ...of('compatible', compatible, kinds.embedding, 'embeddingModel', 'textEmbeddingModel'),
      ...of('compatible', compatible, kinds.image, 'imageModel'),
      generateText: chats(() => ai.generateText({ model: chat, prompt })),
      streamText: chats(() => ai.streamText({ model: chat, prompt })),
      experimental_streamTextLowMemory: chats(
        () => ai.experimental_streamTextLowMemory({ model: chat, prompt }),
        async ({ textStream }) => {
          let said = '';
          for await (const piece of textStream) said += piece;
          answers(said);
        },
      ),
      experimental_streamLanguageModelCall: chats(
        () => ai.experimental_streamLanguageModelCall({ model: chat, prompt }),
        async ({ stream }) => {
          let said = '';
          for await (const part of stream) said += part.text ?? part.delta ?? '';
          answers(said);
        },
      ),
      generateObject: chats(
        () => ai.generateObject({ model: chat, prompt, output: 'no-schema', maxRetries: 0 }),
        /No object generated/,
      ), // as above: prose
      streamObject: chats(
        () => ai.streamObject({ model: chat, prompt, output: 'no-schema', maxRetries: 0, onError() {} }).object,
        /No object generated/,
      ),
      embed: kinds.embedding(openai.embedding),
      embedMany: ask(
        'POST /v1/embeddings',
        () => ai.embedMany({ model: openai.embedding('openai'), values: ['x'] }),
        vector,
      ),
      generateImage: kinds.image(openai.image),
      generateSpeech: kinds.speech(openai.speech),
      experimental_generateSpeech: kinds.speech(openai.speech),
      transcribe: kinds.words(openai.transcription),
      experimental_transcribe: kinds.words(openai.transcription),
      uploadFile: ask(
        'POST /v1/files',
        () => ai.uploadFile({ api: compatible.files?.() ?? openai.files(), data, mediaType }),
        ({ providerReference }) => assert.equal(providerReference.openai, 'x'),
      ),
      uploadSkill: ask(
        'POST /v1/skills 404',
        () => ai.uploadSkill({ api: openai.skills(), files: [{ path: 'SKILL.md', data }] }),
        /unknown URL/,
      ),
      experimental_decide: kinds.decision(openai.decisionModel),
      experimental_evaluate: kinds.decision(openai.decisionModel),
      experimental_extract: kinds.extraction('POST /v1/responses')(openai.extractionModel),
      experimental_startBatch: ask(
        'POST /v1/files,POST /v1/batches',
        () => ai.experimental_startBatch({ provider: openai, requests: requests('openai') }),
        ({ id }) => assert.equal(id, 'x'),
      ),
      experimental_listBatches: ask('GET /v1/batches', () => ai.experimental_listBatches({ provider: openai }), null),
      experimental_getBatchStatus: ask(
        'GET /v1/batches/x',
        () => ai.experimental_getBatchStatus(batch(openai, 'wield.batch')),
        null,
      ),
      experimental_cancelBatch: ask(
        'POST /v1/batches/x/cancel',
        () => ai.experimental_cancelBatch(batch(openai, 'wield.batch')),
        null,
      ),
      experimental_getBatchResults: ask(
        'GET /v1/batches/x',
        async () => ai.experimental_getBatchResults(batch(openai, 'wield.batch')).getReader().read(),
        null,
      ),
      // No provider for these protocols has such models.
      ...Object.fromEntries(
        ['rerank', 'experimental_generateVideo', 'experimental_startVideo', 'experimental_getVideoStatus'].map(
          (name) => [
            name,
            [() => assert.ok(![openai, anthropic, compatible].some((p) => p.rerankingModel || p.videoModel))],
          ],
        ),
      ),
      ...Object.fromEntries(
        ['experimental_streamSpeech', 'experimental_streamTranscribe'].map((name) => [
          name,
          [() => ai[name]({ model: openai.speech('openai'), text: 'x' }), none],
        ]),
      ),
    },
  };
}

/** The functions of the AI SDK that ask a model or a provider. */
const asking =
  /^(experimental_)?(generate(?!Id)|stream|embed|transcribe|rerank|upload|decide|evaluate|extract(?!.*Middleware)|\w+Batch|(start|get)Video)/;

const clients = {
  openai: {
    client: ({ baseURL, fetch }) =>
      new OpenAI({ baseURL, fetch, apiKey: 'any', adminAPIKey: 'any', maxRetries: 0, timeout: 30_000 }),
    rows: openai,
  },
  '@anthropic-ai/sdk': {
    client: ({ url, fetch }) => new Anthropic({ baseURL: url, fetch, apiKey: 'any', maxRetries: 0, timeout: 30_000 }),
    rows: anthropic,
  },
};

/** What a result of the server says that it was asked. */
async function echoed(result) {
  if (result instanceof Response) result = await result.json();
  return result?.asked ?? result?.text;
}

for (const [sdk, { client, rows }] of Object.entries(clients)) {
  test(`each method of ${sdk}`, { timeout: 300_000 }, async (t) => {
    const server = await service(t);
    const c = client(server);
    const { works, passes, lacks, local, args } = rows(c);
    const all = methods(c);
    const known = (m) => works[m] ?? passes[m] ?? (lacks.test(m) || local.includes(m));
    assert.deepEqual(
      all.filter((m) => !known(m)),
      [],
      'methods without a row',
    );
    assert.deepEqual(
      [...Object.keys(works), ...Object.keys(passes), ...local].filter((m) => !all.includes(m)),
      [],
      'rows without a method',
    );
    for (const m of all) {
      server.asked.length = 0;
      if (works[m]) {
        await t.test(`${m} works`, works[m]);
      } else if (passes[m]) {
        const [asked, ...given] = passes[m];
        await t.test(`${m} is passed on`, async () => assert.equal(await echoed(await call(c, m, given)), asked));
      } else if (local.includes(m)) {
        await call(c, m, args[m]).catch(() => {});
        assert.deepEqual(server.asked, [], `${m} asks nothing`);
      } else {
        const err = await call(c, m, args[m]).then(
          (result) => assert.fail(`${m}: ${typeof result}`),
          (err) => err,
        );
        const [method, path] = (server.asked.at(-1) ?? '').split(' ');
        const reason = [err, err.cause].find((e) => e?.status);
        assert.ok(reason, `${m}: ${err.stack}`);
        const names = { 404: `unknown URL: ${method} "${path}"`, 405: `"${method}" is not answered at this URL` }[
          reason.status
        ];
        assert.ok(names && (reason.error?.error?.message ?? reason.message).includes(names), `${m}: ${reason.message}`);
      }
    }
  });
}

/** Runs rows of a call, what must come of it, and what is asked of wield for it, if anything. */
async function table(t, server, all, rows) {
  assert.deepEqual(
    all.filter((name) => !rows[name]),
    [],
    'methods without a row',
  );
  assert.deepEqual(
    Object.keys(rows).filter((name) => !all.includes(name)),
    [],
    'rows without a method',
  );
  for (const [name, [run, check, url = '']] of Object.entries(rows)) {
    await t.test(name, async () => {
      server.asked.length = 0;
      if (check instanceof RegExp) await assert.rejects(async () => run(), check);
      else if (typeof check === 'function') await check(await run());
      else
        await Promise.resolve()
          .then(run)
          .catch((err) => err); // the echo is no such thing; that it came is what counts
      assert.equal(server.asked.join(), url);
    });
  }
}

test('each method of ollama', { timeout: 300_000 }, async (t) => {
  const server = await service(t);
  const elsewhere = async (input, init) => {
    if (String(input).startsWith(server.url)) return server.fetch(input, init);
    server.asked.push(`${init.method} ${input}`);
    throw new Error('elsewhere');
  };
  const c = new Ollama({ host: server.url, fetch: elsewhere });
  const own = Object.getPrototypeOf(c),
    all = [own, Object.getPrototypeOf(own)].flatMap(Object.getOwnPropertyNames);
  await table(
    t,
    server,
    [...new Set(all)].filter((name) => name !== 'constructor'),
    ollama(c),
  );
});

test('each model of the AI SDK, and each of its functions that asks one', { timeout: 300_000 }, async (t) => {
  const server = await service(t);
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const { all, rows } = aiSDK(server);
  await table(t, server, all, rows);
});
