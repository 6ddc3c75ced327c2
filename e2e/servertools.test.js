// Tools that a vendor's servers run, asked for with the vendors' SDKs: wield carries them out with tools of its own, and refuses or
// reports them by their names where it has none.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { GoogleGenAI } from '@google/genai';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { directory, start } from './wield.js';

const scenario = `wield: scenario/v1
name: served
turns:
  - {id: searched, when: {result_contains: heavy rain}, reply: [{text: It rains.}]}
  - {id: fetched, when: {result_contains: "<h1>"}, reply: [{text: I read it.}]}
  - {id: ran, when: {result_contains: ran 6*7}, reply: [{text: It is 42.}]}
  - {id: search, when: {user_contains: search}, reply: [{call: {name: web_search, args: {query: rain in Ghent}}}]}
  - {id: fetch, when: {user_contains: fetch}, reply: [{call: {name: web_fetch, args: {url: "https://ghent.example/a"}}}]}
  - {id: run, reply: [{call: {name: code_execution, args: {code: "6*7"}}}]}
`;

const key = 'a-long-random-secret-of-a-desk';
const url = 'https://ghent.example/weather';

/** A service whose model m has tools of wield in the place of a vendor's, and whose model bare has none; and its clients. */
async function service(t) {
  const web = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url, 'http://web');
    if (pathname === '/search')
      return res
        .setHeader('content-type', 'application/json')
        .end(
          JSON.stringify({ results: [{ url, title: 'Weather', snippet: `heavy rain for ${searchParams.get('q')}` }] }),
        );
    return res.end(pathname === '/page' ? `<h1>${searchParams.get('q')}</h1>` : `ran ${searchParams.get('q')}`);
  });
  web.keepAliveTimeout = 0;
  await new Promise((resolve) => web.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    web.closeAllConnections();
    web.close();
  });
  const at = `127.0.0.1:${web.address().port}`,
    dir = directory(t);
  const tool = (name, does, path, q) =>
    `    ${name}: {description: ${does}., url: "http://${at}/${path}?q={${q}}", params: {${q}: {required: true}}}\n`;
  writeFileSync(join(dir, 'served.scenario.yaml'), scenario);
  writeFileSync(
    join(dir, 'wield.yaml'),
    `wield: config/v1
keys: [{name: desk, secret: env:DESK_KEY}]
backends: {s: {kind: script, scenario: served.scenario.yaml}}
models:
  m: {backend: s, mode: text, server_tools: {web_search: find, web_fetch: page, code_execution: calculate}}
  bare: {backend: s, mode: text}
tools:
  http:
${tool('find', 'Finds pages', 'search', 'query')}${tool('page', 'Reads a page', 'page', 'url')}${tool('calculate', 'Calculates', 'run', 'code')}
policies: {default: {default: allow, rules: [{allow: {host: ["${at}"]}}]}}
`,
  );
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], {
    cwd: dir,
    env: { DESK_KEY: key },
  });
  const options = { apiKey: key, maxRetries: 0, timeout: 60_000 };
  return {
    openai: new OpenAI({ ...options, baseURL: server.baseURL }),
    anthropic: new Anthropic({ ...options, baseURL: server.url }),
    google: new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: server.url } }),
    ai: {
      openai: createOpenAI({ apiKey: key, baseURL: server.baseURL }),
      anthropic: createAnthropic({ apiKey: key, baseURL: server.baseURL }),
    },
  };
}

const texts = { search: /It rains\./, fetch: /I read it\./, run: /It is 42\./ };

test('the SDK of Anthropic', { timeout: 120_000 }, async (t) => {
  const { anthropic } = await service(t);
  for (const [ask, type, name, result] of [
    ['search', 'web_search_20250305', 'web_search', 'web_search_tool_result'],
    ['fetch', 'web_fetch_20250910', 'web_fetch', 'web_fetch_tool_result'],
    ['run', 'code_execution_20250825', 'code_execution', /code_execution_tool_result$/],
  ]) {
    const request = {
      model: 'm',
      max_tokens: 500,
      messages: [{ role: 'user', content: ask }],
      tools: [{ type, name }],
    };
    for (const { content } of [
      await anthropic.messages.create(request),
      await anthropic.messages.stream(request).finalMessage(),
    ]) {
      const [use, told, text] = content;
      assert.deepEqual([use.type, use.id], ['server_tool_use', told.tool_use_id], ask);
      assert.match(told.type, new RegExp(result));
      assert.match(text.text, texts[ask]);
      if (ask === 'search') assert.equal(told.content[0].url, url);
    }
    await assert.rejects(
      anthropic.messages.create({ ...request, model: 'bare' }),
      (err) => err.status === 400 && err.message.includes(name),
    );
  }
});

test('the SDK of OpenAI', { timeout: 120_000 }, async (t) => {
  const { openai } = await service(t);
  for (const [ask, tool, type] of [
    ['search', { type: 'web_search' }, 'web_search_call'],
    ['run', { type: 'code_interpreter', container: { type: 'auto' } }, 'code_interpreter_call'],
  ]) {
    const request = { model: 'm', input: ask, tools: [tool] };
    for (const response of [
      await openai.responses.create(request),
      await openai.responses.stream(request).finalResponse(),
    ]) {
      assert.deepEqual(
        response.output.map((item) => item.type),
        [type, 'message'],
      );
      assert.match(response.output_text, texts[ask]);
    }
  }
  const { data, response } = await openai.responses
    .create({ model: 'bare', input: 'hello', tools: [{ type: 'web_search' }], tool_choice: 'none' })
    .withResponse();
  assert.equal(data.status, 'completed');
  assert.match(response.headers.get('x-wield-dropped'), /web_search/);
  await assert.rejects(
    openai.responses.create({
      model: 'bare',
      input: 'run',
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    }),
    (err) => err.status === 400 && /code_interpreter/.test(err.message),
  );
  await assert.rejects(
    openai.responses.create({
      model: 'bare',
      input: 'search',
      tools: [{ type: 'web_search' }],
      tool_choice: { type: 'web_search' },
    }),
    (err) => err.status === 400 && /web_search/.test(err.message),
  );

  const searched = await openai.chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'search' }],
    web_search_options: {},
  });
  assert.match(searched.choices[0].message.content, texts.search);
});

test('the SDK of Google', { timeout: 120_000 }, async (t) => {
  const { google } = await service(t);
  for (const [ask, tool] of [
    ['search', { googleSearch: {} }],
    ['fetch', { urlContext: {} }],
    ['run', { codeExecution: {} }],
  ]) {
    const answer = await google.models.generateContent({ model: 'm', contents: ask, config: { tools: [tool] } });
    assert.match(answer.text, texts[ask]);
    const [candidate] = answer.candidates;
    if (ask === 'search') assert.equal(candidate.groundingMetadata.groundingChunks[0].web.uri, url);
    if (ask === 'run') assert.equal(candidate.content.parts[0].executableCode.code, '6*7');
    const [name] = Object.keys(tool);
    await assert.rejects(
      google.models.generateContent({ model: 'bare', contents: ask, config: { tools: [tool] } }),
      (err) => err.status === 400 && err.message.includes(name),
    );
  }
});

test('the AI SDK', { timeout: 120_000 }, async (t) => {
  const { ai } = await service(t);
  for (const [ask, model, tools] of [
    ['search', ai.anthropic('m'), { web_search: ai.anthropic.tools.webSearch_20250305() }],
    ['fetch', ai.anthropic('m'), { web_fetch: ai.anthropic.tools.webFetch_20250910() }],
    ['run', ai.anthropic('m'), { code_execution: ai.anthropic.tools.codeExecution_20250825() }],
    ['search', ai.openai.responses('m'), { web_search: ai.openai.tools.webSearch() }],
    ['run', ai.openai.responses('m'), { code_interpreter: ai.openai.tools.codeInterpreter() }],
  ]) {
    const { text, content } = await generateText({ model, prompt: ask, tools, maxOutputTokens: 500, maxRetries: 0 });
    assert.match(text, texts[ask]);
    const result = content.find((part) => part.type === 'tool-result');
    assert.deepEqual([result.toolName, result.providerExecuted], [Object.keys(tools)[0], true]);
  }
});
