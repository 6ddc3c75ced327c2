// The requests of each front: where they go, and which types of which packages say what they can hold.

const say = { role: 'user', content: 'hi' };
const fn = { name: 'canary', description: 'Finds.', parameters: { type: 'object', properties: {} } };
const tool = { type: 'function', function: fn };
const claude = { name: 'canary', description: 'Finds.', input_schema: { type: 'object', properties: {} } };
const gemini = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], tools: [{ functionDeclarations: [fn, { ...fn, name: 'other' }] }] };

/** A conversation that ends with a message, which may be the answer to a call. */
function thread(message, call, answered) {
  return answered ? [say, call, message] : [message.role === 'assistant' ? say : undefined, message, message.role === 'system' || message.role === 'developer' ? say : undefined].filter(Boolean);
}

const called = { role: 'assistant', content: null, tool_calls: [{ id: 'canary', type: 'function', function: { name: 'canary', arguments: '{}' } }] };
const used = { role: 'assistant', content: [{ type: 'tool_use', id: 'canary', name: 'canary', input: {} }] };
const call = { type: 'function_call', call_id: 'canary', name: 'canary', arguments: '{}' };

/** Another tool, so that a choice among them says something. */
const other = { name: 'other', description: 'Looks.', parameters: { type: 'object', properties: {} } };

/** The call that an item of the input answers, and the tool of its kind. */
function answered({ type }) {
  const kind = type.replace(/_output$/, '');
  if (kind === 'tool_search') return [[{ type: 'tool_search_call', call_id: 'canary', execution: 'client', arguments: {} }], [{ type: 'tool_search', execution: 'client' }]];
  return [/output/.test(type) ? [call] : [], []];
}

function responses(v) {
  const item = v.input?.[0]?.type ? v.input[0] : { type: '' };
  const [calls, tools] = answered(item);
  const own = { type: 'function', ...(item.tools ? other : fn) };
  // What is stored could be what another request names, so that the outcome would depend on which one comes first.
  return { store: false, tools: [own, ...(item.tools ? [] : [{ type: 'function', ...other }]), ...tools], ...v, input: Array.isArray(v.input) ? [{ ...say, type: 'message' }, ...calls, ...v.input] : 'hi' };
}

const chat = (v) => ({ ...(!v.functions && { tools: [tool, { type: 'function', function: other }] }), ...v, messages: v.messages?.[0]?.role ? thread(v.messages[0], called, v.messages[0].role === 'tool') : [say] });
/** Blocks that only a model writes. */
const written = /^(thinking|redacted_thinking|tool_use|server_tool_use|mcp_tool_use|compaction|fallback|.+_tool_result|mcp_tool_listing)$/;

/** A message whose role is the one that may hold its content. */
const holder = (m) => (written.test(m.content?.[0]?.type) ? { ...m, role: 'assistant' } : m);

const messages = (v) => ({ tools: [claude, { ...claude, name: 'other' }], max_tokens: 100, ...v, messages: v.messages?.[0]?.role ? thread(holder(v.messages[0]), used, JSON.stringify(v.messages).includes('"tool_result"')) : [say] });
const ollama = (v) => ({ tools: [tool], ...v, stream: false, messages: v.messages?.[0]?.role ? [say, ...v.messages] : [say] });
const generate = (v) => ({ prompt: 'hi', ...v, stream: false });
const config = (v) => ({ ...gemini, generationConfig: v });
const content = (v) => ({ ...gemini, contents: [...gemini.contents, ...(v.parts?.[0]?.functionResponse ? [{ role: 'model', parts: [{ functionCall: { id: 'canary', name: 'canary', args: {} } }] }] : []), { role: v.parts?.[0]?.functionCall ? 'model' : 'user', ...v }] });

export const fronts = {
  'chat completions': { path: '/v1/chat/completions', top: ['ChatCompletionCreateParamsBase'], types: [
    { package: 'openai/resources/chat/completions/completions.d.ts', roots: [{ type: 'ChatCompletionCreateParamsBase', request: chat }] },
  ] },
  Responses: { path: '/v1/responses', top: ['ResponseCreateParamsBase'], types: [
    { package: 'openai/resources/responses/responses.d.ts', roots: [{ type: 'ResponseCreateParamsBase', request: responses }] },
  ] },
  Messages: { path: '/v1/messages', top: ['MessageCreateParamsBase'], types: [
    { package: '@anthropic-ai/sdk/resources/messages/messages.d.ts', roots: [{ type: 'MessageCreateParamsBase', request: messages }] },
    { package: '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', roots: [{ type: 'MessageCreateParamsBase', request: messages }] },
  ] },
  Ollama: { path: '/api/chat', top: ['ChatRequest'], types: [{ package: 'ollama/dist/browser.d.ts', roots: [{ type: 'ChatRequest', request: ollama }] }] },
  'Ollama, generate': { path: '/api/generate', top: [], types: [{ package: 'ollama/dist/browser.d.ts', roots: [{ type: 'GenerateRequest', request: generate }] }] },
  Gemini: { path: '/v1beta/models/MODEL:generateContent', top: [], types: [
    { package: '@google/genai/dist/genai.d.ts', roots: [
      { type: 'Content', request: content },
      { type: 'Tool', request: (v) => ({ ...gemini, tools: [v] }) },
      { type: 'ToolConfig', request: (v) => ({ ...gemini, toolConfig: v }) },
      { type: 'GenerationConfig', request: config },
    ] },
  ] },
};

/** What changes nothing before some servers, and why that is no loss. */
export const quiet = [
  { of: /^chat completions \w+ToolCall\.id$/, why: 'a prompt, and Ollama, pair results with calls by their order' },
  { of: /^Responses \w+(\.\w+Call|ToolCall)\.call_id$/, why: 'the same' },
  { of: /^Gemini FunctionCall\.id$/, why: 'the same' },
  { of: /^Messages ToolUseBlockParam\.id$/, why: 'the same' },
  { of: /^Messages (Browser|Computer)Toolset(\d+\.configs|Configs\.\w+)$/, why: 'members that are on are so by default; enabled has its own row' },
  { of: /^Messages ToolResultBlockParam\.toolset_name$/, why: 'the call that it answers has it' },
  { of: /^Responses [\w.]+\.(id|status|execution)$/, why: 'of an item that is over; the server that made it is not asked for it again' },
  { of: /^Responses ResponseInputItem\.FunctionCallOutput\.name$/, why: 'the call that it answers has the name' },
  { of: /^Responses [\w.]+(Call|Output)\.namespace$/, why: 'tools are found by the namespaces that they stand in' },
  { of: /^Responses ResponseReasoningItem\./, why: 'the thinking of earlier answers goes only to servers of its own protocol' },
  { of: /^Messages (Redacted)?ThinkingBlockParam\./, why: 'the same' },
  { of: /^Responses ResponseCreateParamsBase\.store$/, why: 'wield stores' },
  { of: /^(Responses|Messages) [\w.]+\.defer_loading$/, why: 'where a server cannot defer them, tools are offered at once' },
  { of: /^chat completions ResponseFormatJSONSchema\.JSONSchema\.name$/, why: 'what a schema is called says nothing of the answer' },
  { of: /strict$/, why: 'a model that writes text is held to schemas by wield, whatever this says' },
  { of: /^Messages MessageCreateParamsBase\.stop_sequences$/, why: 'wield stops where the server cannot' },
  { of: /^(Ollama|Ollama, generate) Partial\.stop$/, why: 'the same' },
  { of: /^chat completions ChatCompletionCreateParamsBase\.stop$/, why: 'the same' },
  { of: /^Gemini GenerationConfig\.stopSequences$/, why: 'the same' },
  { of: /^Messages ToolChoiceTool\.disable_parallel_tool_use$/, why: 'a choice of one tool is one call' },
  { of: /^Messages Base64ImageSource\.media_type$/, why: 'Ollama looks at the image itself' },
  { of: /^(Ollama|Ollama, generate) \w+\.keep_alive$/, why: 'the page says so' },
  { of: /^(Responses Reasoning\.effort|chat completions \w+\.reasoning_effort|Gemini ThinkingConfig\.thinkingLevel)$/, why: 'the smallest efforts are none to servers of Messages' },
  { of: /^Gemini FunctionCallingConfig\.mode$/, why: 'AUTO is VALIDATED here: calls are checked whatever this says' },
  { of: /^Responses ResponseCreateParamsBase\.text$/, why: 'text is what is meant anyway; its other formats are sent' },
  { of: /^Gemini FunctionResponse\.name$/, why: 'the call of its id has the name' },
  { of: /^Gemini Schema\.nullable$/, why: 'a schema without a type takes null anyway' },
  { of: /^Gemini Schema\.propertyOrdering$/, why: 'the order of members means nothing to a schema' },
  { of: /^Responses \w*NamespaceTool\.name$/, why: 'a function is called by its own name, unless another has that' },
  { of: /^Gemini (ThinkingConfig\.includeThoughts|GenerationConfig\.thinkingConfig)$/, why: 'clients pass over thoughts that they did not ask for' },
];
