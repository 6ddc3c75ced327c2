// A server of MCP with many tools, over standard input and output: node many_tools.js. Each says who it is.

import { createInterface } from 'node:readline';

const topics = [
  'orders',
  'invoices',
  'parcels',
  'suppliers',
  'customers',
  'returns',
  'warehouses',
  'prices',
  'contracts',
  'shifts',
  'machines',
  'permits',
];
const verbs = ['list', 'find', 'create', 'change', 'archive'];
const tools = topics.flatMap((topic) =>
  verbs.map((verb) => ({
    name: `${verb}_${topic}`,
    description: `Use it to ${verb} ${topic} of the shop. It takes the number of one of the ${topic}, and returns what is known of it.`,
    inputSchema: {
      type: 'object',
      properties: { number: { type: 'string', description: `The number of one of the ${topic}.` } },
      required: ['number'],
    },
  })),
);

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'shop', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name, arguments: { number } }) => ({
    content: [{ type: 'text', text: `${name} knows ${number}: it waits in Lisbon` }],
  }),
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params ?? {});
  console.log(
    JSON.stringify(
      result
        ? { jsonrpc: '2.0', id, result }
        : { jsonrpc: '2.0', id, error: { code: -32601, message: `there is no ${method}` } },
    ),
  );
}
