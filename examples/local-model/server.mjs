// A small OpenAI-compatible server for the weights of a ChatML model, for the tutorial and for tests: conversations and completions, whole and
// streamed, stop sequences, usage, response_format json_schema, llama.cpp's grammar and its /props. Tools are ignored without a word, as
// servers do whose template knows none; with "functions" the library's own function calling gets them.
// Usage: node server.mjs FILE PORT NAME [functions]. It needs node-llama-cpp in a node_modules above it: npm install node-llama-cpp@3.22.1
import http from "node:http";
import {getLlama, LlamaChat, LlamaGrammarEvaluationState} from "node-llama-cpp";

const [file, port, name, functions] = process.argv.slice(2);
const most = 4096; // tokens of a conversation
const llama = await getLlama({gpu: false, build: "never", maxThreads: 1, logLevel: "error"});
const model = await llama.loadModel({modelPath: file});
const sequence = (await model.createContext({contextSize: most, threads: 1})).getSequence();

// The library says oneOf where schemas say anyOf, and knows no descriptions.
function schemaOf(v) {
  if (Array.isArray(v)) return v.map(schemaOf);
  if (v === null || typeof v !== "object") return v;
  return Object.fromEntries(Object.entries(v).filter(([key]) => key !== "description").map(([key, x]) => [key === "anyOf" ? "oneOf" : key, schemaOf(x)]));
}

async function grammarOf(body) {
  const schema = body.response_format?.json_schema?.schema;
  if (body.grammar) return llama.createGrammar({grammar: body.grammar});
  return schema && llama.createGrammarForJsonSchema(schemaOf(schema));
}

function promptOf(messages) {
  const text = content => typeof content === "string" ? content : (content ?? []).map(part => part.text ?? "").join("");
  return messages.map(m => `<|im_start|>${m.role}\n${text(m.content)}<|im_end|>\n`).join("") + "<|im_start|>assistant\n";
}

// The library's own function calling.
const chat = functions && new LlamaChat({contextSequence: sequence});
async function callFunctions(body, gone) {
  const history = body.messages.map(({role, content}) => role === "assistant" ? {type: "model", response: [content ?? ""]} : {type: role === "system" ? "system" : "user", text: content});
  const offered = Object.fromEntries(body.tools.map(({function: f}) => [f.name, {description: f.description, params: schemaOf(f.parameters)}]));
  await sequence.clearHistory();
  const before = sequence.tokenMeter.getState();
  const r = await chat.generateResponse([...history, {type: "model", response: []}], {functions: offered, temperature: body.temperature ?? 0.7, maxTokens: body.max_tokens ?? 512, signal: gone, stopOnAbortSignal: true});
  const used = sequence.tokenMeter.diff(before);
  const calls = r.functionCalls?.map((c, index) => ({index, id: `call_${index}`, type: "function", function: {name: c.functionName, arguments: JSON.stringify(c.params ?? {})}}));
  return {text: r.response, calls, why: calls ? "tool_calls" : "stop", usage: {prompt_tokens: used.usedInputTokens, completion_tokens: used.usedOutputTokens, total_tokens: used.usedInputTokens + used.usedOutputTokens}};
}

// begins reports whether text ends in a part of a stop sequence, which may become a whole one.
function begins(stop, text) {
  for (let n = Math.min(stop.length, text.length); n > 0; n--) if (text.endsWith(stop.slice(0, n))) return true;
  return false;
}

// answer calls say with each new piece of text, and returns why it ended and how many tokens there were.
async function answer(body, gone, say) {
  if (functions && body.tools?.length) {
    const r = await callFunctions(body, gone);
    say(r.text);
    return r;
  }
  const prompt = model.tokenize(body.prompt ?? promptOf(body.messages), true);
  const limit = Math.min(body.max_tokens ?? body.max_completion_tokens ?? 512, most - prompt.length);
  if (limit < 1) throw new Error(`the prompt has ${prompt.length} tokens, and there is room for ${most}`);
  const grammar = await grammarOf(body);
  const stops = [body.stop ?? []].flat();
  // The tokens that the sequence has from the request before are kept. The last one is always computed by itself: in a batch it
  // would come out a little different, and a repeated prompt has it alone.
  const last = prompt.length - 1;
  let same = 0;
  while (same < last && prompt[same] === sequence.contextTokens[same]) same++;
  await sequence.eraseContextTokenRanges([{start: same, end: sequence.nextTokenIndex}]);
  if (same < last) await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(same, last));
  const tokens = [];
  let text = "", said = 0, why = "stop";
  const options = {temperature: body.temperature ?? 0.7, grammarEvaluationState: grammar && new LlamaGrammarEvaluationState({model, grammar})};
  for await (const token of sequence.evaluate(prompt.slice(last), options)) {
    if (gone.aborted || model.isEogToken(token)) break;
    tokens.push(token);
    text = model.detokenize(tokens);
    const end = Math.min(...stops.map(s => text.indexOf(s)).filter(at => at >= 0), Infinity);
    if (end < Infinity) text = text.slice(0, end);
    if (end < Infinity) break;
    if (!text.endsWith("\ufffd") && !stops.some(s => begins(s, text))) said += say(text.slice(said)).length;
    if (tokens.length === limit) {
      why = "length";
      break;
    }
  }
  say(text.slice(said));
  return {text, why, usage: {prompt_tokens: prompt.length, completion_tokens: tokens.length, total_tokens: prompt.length + tokens.length}};
}

let computing = Promise.resolve(); // one answer at a time
http.createServer(async (req, res) => {
  const reply = (status, value) => res.writeHead(status, {"content-type": "application/json"}).end(JSON.stringify(value));
  if (req.url === "/v1/models") return reply(200, {object: "list", data: [{id: name, object: "model"}]});
  if (req.url === "/props") return reply(200, {chat_template: model.fileInfo.metadata.tokenizer.chat_template, bos_token: model.tokens.bosString, eos_token: model.tokens.eosString});
  if (req.url !== "/v1/chat/completions" && req.url !== "/v1/completions") return reply(404, {error: {message: "not found"}});
  const pieces = [];
  for await (const piece of req) pieces.push(piece);
  const gone = new AbortController();
  res.on("close", () => gone.abort());
  const turn = computing.then(async () => {
    const body = JSON.parse(Buffer.concat(pieces)), raw = req.url === "/v1/completions";
    const chunk = value => res.write(`data: ${JSON.stringify({id: "chatcmpl-1", object: raw ? "text_completion" : "chat.completion.chunk", created: 1, model: name, ...value})}\n\n`);
    const part = (text, finish_reason) => ({choices: [{index: 0, finish_reason, ...(raw ? {text} : {delta: text ? {content: text} : {}})}]});
    const say = text => {
      if (body.stream && text) chunk(part(text, null));
      return text;
    };
    if (body.stream) res.writeHead(200, {"content-type": "text/event-stream"});
    const {text, calls: tool_calls, why, usage} = await answer(body, gone.signal, say);
    const whole = raw ? {text} : {message: {role: "assistant", content: text, tool_calls}};
    if (!body.stream) return reply(200, {id: "chatcmpl-1", object: raw ? "text_completion" : "chat.completion", created: 1, model: name, usage, choices: [{index: 0, ...whole, finish_reason: why}]});
    if (tool_calls) chunk({choices: [{index: 0, delta: {tool_calls}, finish_reason: null}]});
    chunk(part("", why));
    if (body.stream_options?.include_usage) chunk({choices: [], usage});
    res.end("data: [DONE]\n\n");
  }).catch(err => res.headersSent ? res.destroy() : reply(400, {error: {message: err.message}}));
  computing = turn;
  await turn;
}).listen(+port, "127.0.0.1", () => console.log(`ready on ${port}`));
