// Asks wield twice, and says what became of the field in which the two requests differ.

import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directory, start } from './wield.js';

const sse = (events) => events.map((e) => `${e.type ? `event: ${e.type}\n` : ''}data: ${JSON.stringify(e)}\n\n`).join('');
const text = 'ok';
const completed = {
  id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  output: [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] }],
};
/** What a model server of each protocol says to everything, as a stream. */
const answers = {
  '/v1/chat/completions': sse([{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: 'stop' }] }]) + 'data: [DONE]\n\n',
  '/v1/responses': sse([
    { type: 'response.created', response: { ...completed, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...completed.output[0], status: 'in_progress', content: [] } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'msg_1', delta: text },
    { type: 'response.output_item.done', output_index: 0, item: completed.output[0] },
    { type: 'response.completed', response: completed },
  ]),
  '/v1/messages': sse([
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]),
  '/api/chat': `${JSON.stringify({ model: 'm', created_at: '2026-01-01T00:00:00Z', message: { role: 'assistant', content: text }, done: true, done_reason: 'stop' })}\n`,
};

/** A server that answers, and keeps what it is asked. */
async function listener(t) {
  let asked = [];
  const server = createServer((incoming, answer) => {
    const body = [];
    incoming.on('data', (piece) => body.push(piece));
    incoming.on('end', () => {
      const known = answers[incoming.url];
      if (!known) return answer.writeHead(404).end('{}');
      asked.push(`${incoming.headers['anthropic-beta'] ?? ''}${Buffer.concat(body)}`);
      answer.writeHead(200, { 'content-type': incoming.url === '/api/chat' ? 'application/x-ndjson' : 'text/event-stream' }).end(known);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    take() {
      const was = asked;
      asked = [];
      return was.sort().join('\n');
    },
  };
}

/** The kinds of backends, in the order of what is said of a field. */
export const backends = ['text', 'openai', 'responses', 'anthropic', 'ollama'];

/** wield before a server of each kind. */
export async function behind(t) {
  const dir = directory(t);
  const servers = {};
  let config = 'wield: config/v1\ncapture: {requests: memory, keep: 200}\nbackends:\n';
  let models = 'models:\n';
  for (const name of backends) {
    servers[name] = await listener(t);
    const kind = name === 'text' ? 'openai' : name;
    const url = servers[name].url + (kind === 'openai' || kind === 'responses' ? '/v1' : '');
    config += `  ${name}: {kind: ${kind}, url: "${url}", retry: {attempts: 1}}\n`;
    models += `  ${name}: {backend: ${name}, mode: ${name === 'text' ? 'text' : 'native'}}\n`;
  }
  writeFileSync(join(dir, 'wield.yaml'), config + models);
  const wield = await start(t, ['serve', '--listen', '127.0.0.1:0', '--config', join(dir, 'wield.yaml')]);
  const ask = async (backend, path, body) => {
    const response = await fetch(wield.url + path.replace('MODEL', backend), {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ ...body, ...(!path.includes('MODEL') && { model: backend }) }),
    });
    const reply = await response.text();
    return { status: response.status, reply, sent: servers[backend].take(), id: response.headers.get('x-request-id') };
  };
  const told = async (answer) => (answer.told ??= (await (await fetch(`${wield.url}/admin/captures/${answer.id}`)).json()).dropped?.join() ?? '');
  return { ask, told };
}

/** What became of a field of one value: refused, sent, told, or silent. */
async function became(wield, before, after) {
  if (after.status !== 200) return 'refused';
  if (after.sent !== before.sent) return 'sent';
  return (await wield.told(before)) === (await wield.told(after)) ? 'silent' : 'told';
}

/**
 * What became of a field whose values were asked for. Of the values that a type names one may be what is
 * meant anyway, and of free ones two may say the same.
 */
export async function outcome(wield, before, answers, { name, closed }) {
  const found = [];
  for (const answer of answers) found.push(await became(wield, before, answer));
  const silent = found.filter((one) => one === 'silent').length;
  if (silent > 0 && (closed ? silent > 1 || silent === found.length : silent === found.length)) {
    const told = (await wield.told(before)).split(','); // both times: its name, or by its type the whole of which it is a part
    return told.some((one) => one.includes('=') || one.split('.').pop() === name.split('.').pop()) ? 'told' : 'silent';
  }
  return [...new Set(found.filter((one) => one !== 'silent'))].sort().join('/');
}
