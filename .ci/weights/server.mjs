// An OpenAI-compatible server for the weights of a ChatML model, as small as the tests need it: whole and streamed answers, stop sequences,
// usage, response_format json_schema and llama.cpp's grammar. Tools are ignored without a word, as servers do whose template knows none.
// Usage: node server.mjs FILE PORT NAME. It needs node-llama-cpp in a node_modules above it.
import http from "node:http";
import {getLlama, LlamaGrammarEvaluationState} from "node-llama-cpp";

const [file, port, name] = process.argv.slice(2);
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

// answer calls say with each new piece of text, and returns why it ended and how many tokens there were.
async function answer(body, gone, say) {
  const prompt = model.tokenize(promptOf(body.messages), true);
  const limit = Math.min(body.max_tokens ?? body.max_completion_tokens ?? 512, most - prompt.length);
  if (limit < 1) throw new Error(`the prompt has ${prompt.length} tokens, and there is room for ${most}`);
  const grammar = await grammarOf(body);
  const stops = [body.stop ?? []].flat();
  await sequence.clearHistory();
  const tokens = [];
  let text = "", said = 0, why = "stop";
  const options = {temperature: body.temperature ?? 0.7, grammarEvaluationState: grammar && new LlamaGrammarEvaluationState({model, grammar})};
  for await (const token of sequence.evaluate(prompt, options)) {
    if (gone.aborted || model.isEogToken(token)) break;
    tokens.push(token);
    text = model.detokenize(tokens);
    const end = Math.min(...stops.map(s => text.indexOf(s)).filter(at => at >= 0), Infinity);
    if (end < Infinity) text = text.slice(0, end);
    if (!text.endsWith("\ufffd")) said += say(text.slice(said)).length;
    if (end < Infinity) break;
    if (tokens.length === limit) {
      why = "length";
      break;
    }
  }
  return {text, why, usage: {prompt_tokens: prompt.length, completion_tokens: tokens.length, total_tokens: prompt.length + tokens.length}};
}

let computing = Promise.resolve(); // one answer at a time
http.createServer(async (req, res) => {
  const reply = (status, value) => res.writeHead(status, {"content-type": "application/json"}).end(JSON.stringify(value));
  if (req.url === "/v1/models") return reply(200, {object: "list", data: [{id: name, object: "model"}]});
  if (req.url !== "/v1/chat/completions") return reply(404, {error: {message: "not found"}});
  const pieces = [];
  for await (const piece of req) pieces.push(piece);
  const gone = new AbortController();
  res.on("close", () => gone.abort());
  const turn = computing.then(async () => {
    const body = JSON.parse(Buffer.concat(pieces));
    const chunk = value => res.write(`data: ${JSON.stringify({id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: name, ...value})}\n\n`);
    const say = text => {
      if (body.stream && text) chunk({choices: [{index: 0, delta: {content: text}, finish_reason: null}]});
      return text;
    };
    if (body.stream) res.writeHead(200, {"content-type": "text/event-stream"});
    const {text, why, usage} = await answer(body, gone.signal, say);
    if (!body.stream) return reply(200, {id: "chatcmpl-1", object: "chat.completion", created: 1, model: name, usage, choices: [{index: 0, message: {role: "assistant", content: text}, finish_reason: why}]});
    chunk({choices: [{index: 0, delta: {}, finish_reason: why}]});
    if (body.stream_options?.include_usage) chunk({choices: [], usage});
    res.end("data: [DONE]\n\n");
  }).catch(err => res.headersSent ? res.destroy() : reply(400, {error: {message: err.message}}));
  computing = turn;
  await turn;
}).listen(+port, "127.0.0.1", () => console.log(`ready on ${port}`));
