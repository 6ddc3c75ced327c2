// Walks the methods of an SDK's client, and calls each before a wield that has a model that writes text and a server that says what it
// was asked.

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { directory, start } from './wield.js';

/** The names of all methods below the resources of a client, as chat.completions.create. */
export function methods(client, path = '', seen = new Set([client])) {
  const found = [];
  for (let p = client; path && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(p))) {
      if (typeof value === 'function' && name !== 'constructor' && !/^[_A-Z]/.test(name)) found.push(path + name);
    }
  }
  for (const [name, value] of Object.entries(client)) {
    if (!value?._client || seen.has(value)) continue;
    seen.add(value);
    found.push(...methods(value, `${path}${name}.`, seen));
  }
  return found;
}

const anything = new Proxy({}, { get: (_, key) => (typeof key === 'string' && key !== 'then' ? 'x' : undefined) });

/** Calls a method by its name, with what the names of its parameters ask for if it is not given; of a list it returns an element. */
export async function call(client, name, args) {
  const path = name.split('.'),
    method = path.pop();
  const resource = path.reduce((at, step) => at[step], client);
  const parameters = resource[method]
    .toString()
    .match(/^[^(]*\(([^)]*)/)[1]
    .split(',')
    .map((p) => p.split('=')[0].trim())
    .filter(Boolean);
  const result = await resource[method](
    ...(args ?? parameters.map((p) => (/^opt/.test(p) ? undefined : /^(param|body|query)/.test(p) ? anything : 'x'))),
  );
  if (result?.[Symbol.asyncIterator]) for await (const element of result) return element;
  return result;
}

/** A server that answers everything with what it was asked, in a form that clients of all vendors can read. */
async function echo(t) {
  const server = createServer((req, res) => {
    const body = [];
    req.on('data', (piece) => body.push(piece));
    req.on('end', () => {
      const text = Buffer.concat(body).toString();
      const [path] = req.url.split('?'),
        [, model] = text.match(/"model"(?::"|\r\n\r\n)([\w-]+)/) ?? [];
      const said = { id: 'x', asked: `${req.method} ${path}`, model };
      res.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          ...said,
          object: 'echo',
          type: 'message_batch',
          status: 'processed',
          processing_status: 'ended',
          has_more: false,
          text: said.asked,
          results_url: `http://${req.headers.host}/v1/messages/batches/x/results`,
          data: [{ ...said, index: 0, embedding: [1, 2], b64_json: 'AAAA' }],
          created: 1,
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          choices: [{ index: 0, text: said.asked, finish_reason: 'stop' }],
          embeddings: [[1, 2]],
          embedding: [1, 2],
        }),
      );
    });
  });
  server.keepAliveTimeout = 0; // a connection that ends while wield asks again would be an error of this server
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** wield with the model demo, which writes text, and models on a server of each vendor, which knows them as upstream. */
export async function service(t) {
  const dir = directory(t),
    url = await echo(t);
  writeFileSync(
    join(dir, 'wield.yaml'),
    `wield: config/v1
backends:
  script: {kind: script, scenario: demo}
  openai: {kind: openai, url: "${url}/v1"}
  anthropic: {kind: anthropic, url: "${url}"}
  ollama: {kind: ollama, url: "${url}"}
models:
  demo: {backend: script, mode: text}
  openai: {backend: openai, model: upstream}
  anthropic: {backend: anthropic, model: upstream}
  ollama: {backend: ollama, model: upstream}
`,
  );
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', join(dir, 'wield.yaml')]);
  const asked = [];
  const fetching = async (input, init) => {
    const at = asked.push(`${init?.method ?? 'GET'} ${new URL(input.url ?? input).pathname}`) - 1;
    const response = await fetch(input, init);
    if (!response.ok) asked[at] += ` ${response.status}`;
    return response;
  };
  return { ...server, asked, fetch: fetching };
}
