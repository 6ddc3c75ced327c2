// Stands between two programs that speak HTTP, and keeps what the one asks of the other.

import { createServer, request } from 'node:http';

/** Passes everything on to the server at url. Returns its own url, and the JSON bodies that were posted. */
export async function recorder(t, url) {
  const asked = [];
  const server = createServer((incoming, answer) => {
    const body = [];
    incoming.on('data', (piece) => body.push(piece));
    incoming.on('end', () => {
      const text = Buffer.concat(body);
      if (incoming.method === 'POST') asked.push({ path: incoming.url, size: text.length, body: JSON.parse(text) });
      const { host, ...headers } = incoming.headers;
      const onward = request(url + incoming.url, { method: incoming.method, headers }, (response) => {
        answer.writeHead(response.statusCode, response.headers);
        response.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      onward.end(text);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const own = `http://127.0.0.1:${server.address().port}`;
  return { url: own, baseURL: `${own}/v1`, asked };
}

/**
 * A request of the Messages protocol without the differences that mean nothing: a text by itself or as the only block, the
 * prefix under which a client knows the id of another server's call, and what is said of a result that is no error.
 */
export function plainMessages({ body }) {
  const block = ({ id, tool_use_id: of, is_error: failed, content, ...rest }) => ({
    ...rest,
    ...(id && { id: id.replace(/^toolu_w_/, '') }),
    ...(of && { tool_use_id: of.replace(/^toolu_w_/, '') }),
    ...(failed && { is_error: true }),
    ...(content !== undefined && { content: blocks(content) }),
  });
  const blocks = (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(block));
  return { ...body, system: blocks(body.system), messages: body.messages.map((message) => ({ ...message, content: blocks(message.content) })) };
}

/** What a request of the Responses protocol is in chat completions, field by field, as far as there is a field for it. */
export function asCompletions({ body }) {
  const text = (content) => (typeof content === 'string' ? content : content.map((part) => part.text).join('\n'));
  const messages = [];
  for (const item of body.input) {
    const last = messages.at(-1);
    if (item.type === 'function_call_output') {
      messages.push({ role: 'tool', tool_call_id: item.call_id, content: text(item.output) });
    } else if (item.type === 'function_call') {
      const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } };
      if (last.role === 'assistant') (last.tool_calls ??= []).push(call);
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    } else {
      messages.push({ role: item.role === 'developer' ? 'system' : item.role, content: text(item.content) });
    }
  }
  const functions = body.tools.flatMap((tool) => (tool.type === 'namespace' ? tool.tools : tool)).filter((tool) => tool.type === 'function');
  return {
    model: body.model,
    messages,
    tools: functions.map(({ type, name, description, parameters, strict }) => ({ type, function: { name, description, parameters, strict } })),
    tool_choice: body.tool_choice,
    parallel_tool_calls: body.parallel_tool_calls,
    stream: true,
    stream_options: { include_usage: true },
  };
}

/**
 * The least share of a prompt's bytes, of chat completions without tools, that stand at the front of the next one's: what a server's
 * cache of prefixes finds again. What is asked aside of the conversation is none of its turns.
 */
export function keptPrefix(asked) {
  const prompts = asked.filter(({ body }) => body.messages).map(({ body }) => Buffer.from(body.messages.map(({ role, content }) => `${role}\n${content}\n`).join('')));
  const shares = prompts.slice(1).map((next, i) => {
    const end = prompts[i].findIndex((byte, at) => byte !== next[at]);
    return end < 0 ? 1 : end / prompts[i].length;
  });
  return Math.min(...shares);
}
