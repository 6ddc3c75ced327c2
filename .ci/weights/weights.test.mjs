// wield in front of real weights, and the commands of the tutorial with them. WIELD_WEIGHTS is a GGUF file, WIELD_BIN the program,
// WIELD_SRC the checkout.
import assert from "node:assert/strict";
import {spawn, spawnSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {after, before, test} from "node:test";

const bin = process.env.WIELD_BIN, src = process.env.WIELD_SRC;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "weights-"));
const running = [];
const env = {...process.env, PATH: path.dirname(bin) + ":" + process.env.PATH, HOME: dir};

// start runs a program until the tests are over, once it has said that it is ready.
async function start(command, args, ready) {
  const child = spawn(command, args, {cwd: dir, env, stdio: ["ignore", "pipe", "pipe"]});
  running.push(child);
  let said = "";
  await new Promise((done, failed) => {
    const hear = data => { said += data; if (said.includes(ready)) done(); };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", code => failed(new Error(`${command} ended with ${code}: ${said}`)));
  });
  return child;
}

function run(script) {
  const r = spawnSync("sh", ["-ec", script], {cwd: dir, env, encoding: "utf8", timeout: 280_000});
  assert.equal(r.status, 0, `${script}\n${r.stdout}${r.stderr}`);
  return r.stdout;
}

// blocks are those of the tutorial: {info, text}.
const page = fs.readFileSync(path.join(src, "docs/tutorial-local-model.md"), "utf8");
const blocks = [...page.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)].map(([, info, text]) => ({info, text}));

before(async () => {
  for (const {info, text} of blocks) {
    const name = /file=(\S+)/.exec(info)?.[1];
    if (name && !name.includes("scenario")) fs.writeFileSync(path.join(dir, name), text);
  }
  await start(process.execPath, [path.join(import.meta.dirname, "server.mjs"), process.env.WIELD_WEIGHTS, "8411", "smollm2"], "ready");
  const serve = blocks.find(b => b.info === "sh server" && b.text.startsWith("wield serve"));
  await start(bin, serve.text.trim().split(" ").slice(1), "msg=serving");
}, {timeout: 60_000});

after(() => {
  for (const child of running) child.kill();
  fs.rmSync(dir, {recursive: true, force: true});
});

async function ask(body) {
  const res = await fetch("http://127.0.0.1:8412/v1/chat/completions", {method: "POST", body: JSON.stringify({model: "small", temperature: 0, max_tokens: 80, ...body})});
  assert.equal(res.status, 200, await res.clone().text());
  return body.stream ? res.text() : res.json();
}

const tools = [{type: "function", function: {name: "get_weather", description: "Weather of a city", parameters: {type: "object", properties: {city: {type: "string"}}, required: ["city"]}}}];
const messages = [{role: "user", content: "What is the weather in Paris?"}];

test("a required call is valid, whole and streamed", async () => {
  const [call] = (await ask({messages, tools, tool_choice: "required"})).choices[0].message.tool_calls;
  assert.equal(call.function.name, "get_weather");
  assert.deepEqual(JSON.parse(call.function.arguments), {city: "Paris"});
  const stream = await ask({messages, tools, tool_choice: "required", stream: true});
  assert.match(stream, /"name":"get_weather"/);
  assert.match(stream, /"finish_reason":"tool_calls"/);
});

// The template of the weights has no place for tools; this one writes them as models of the same format are trained to.
const template = `{%- set lead = messages[0].content if messages[0].role == 'system' else 'You help.' %}<|im_start|>system
{{ lead }}{% if tools %}{{ '\\n\\nFunctions:\\n' }}{% for tool in tools %}{{ tool.function | tojson }}{{ '\\n' }}{% endfor %}{% endif %}<|im_end|>
{% for m in messages %}{% if not (loop.first and m.role == 'system') %}<|im_start|>{{ 'user' if m.role == 'tool' else m.role }}
{% if m.role == 'tool' %}<tool_response>{{ m.content }}</tool_response>{% else %}{{ m.content }}{% endif %}{% for c in m.tool_calls %}<tool_call>
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;

test("the model's own template: a required call is constrained in its dialect", () => {
  fs.writeFileSync(path.join(dir, "chat.jinja"), template);
  fs.writeFileSync(path.join(dir, "template.yaml"), `wield: config/v1
backends:
  local: {kind: openai, url: "http://127.0.0.1:8411/v1", constrain: llamacpp}
models:
  file: {backend: local, model: smollm2, mode: template, chat_template: chat.jinja}
  own: {backend: local, model: smollm2, mode: template}
`);
  fs.writeFileSync(path.join(dir, "one.jsonl"), JSON.stringify({id: "paris", category: "simple", question: messages, tools, gold: [{name: "get_weather", arguments: {city: "Paris"}}]}) + "\n");
  const [standing] = JSON.parse(run("wield eval live --config template.yaml --model file --required --max-tokens 60 --quiet --json one.jsonl"));
  assert.deepEqual([standing.failed, standing.valid.n, standing.right_tool.n], [0, 1, 1]);
  const shown = JSON.parse(run("wield prompt show file --config template.yaml --json"));
  assert.equal(shown.mode, "template");
  assert.ok(shown.counted && shown.tokens < 150, `${shown.tokens} tokens`);
  assert.match(shown.request.prompt, /"name": "get_weather"/);
  const told = JSON.parse(run("wield prompt show own --config template.yaml --json"));
  assert.equal(told.mode, "text");
  assert.match(told.notice, /no place for tools/);
});

test("a first choice: the model calls the tool that it chose", async () => {
  fs.writeFileSync(path.join(dir, "choice.yaml"), `wield: config/v1
backends:
  local: {kind: openai, url: "http://127.0.0.1:8411/v1"}
models:
  small: {backend: local, model: smollm2, mode: text, first_choice: true}
`);
  fs.writeFileSync(path.join(dir, "one.jsonl"), JSON.stringify({id: "paris", category: "simple", question: messages, tools, gold: [{name: "get_weather", arguments: {city: "Paris"}}]}) + "\n");
  const [standing] = JSON.parse(run("wield eval live --config choice.yaml --model small --max-tokens 100 --quiet --json one.jsonl"));
  assert.deepEqual([standing.failed, standing.valid.n, standing.right_tool.n], [0, 1, 1]);
});

test("the prompt is short", () => {
  const shown = JSON.parse(run("wield prompt show small --config wield.yaml --json"));
  assert.equal(shown.counted, true);
  assert.ok(shown.tokens > 100 && shown.tokens <= 380, `${shown.tokens} tokens`);
});

// What the model says to the result is up to it; that it reads the result is not.
test("a result is taken", async () => {
  const called = {role: "assistant", content: null, tool_calls: [{id: "c1", type: "function", function: {name: "get_weather", arguments: '{"city":"Paris"}'}}]};
  const [short, long] = await Promise.all(["21", "21 degrees, and the sky is clear"].map(content => ask({messages: [...messages, called, {role: "tool", tool_call_id: "c1", content}], tools})));
  assert.match(long.choices[0].finish_reason, /^(stop|length|tool_calls)$/);
  assert.ok(long.usage.prompt_tokens > short.usage.prompt_tokens, JSON.stringify([short.usage, long.usage]));
});

test("an answer has the form that is asked for", async () => {
  const schema = {type: "object", properties: {city: {type: "string"}}, required: ["city"], additionalProperties: false};
  const answer = await ask({messages: [{role: "user", content: "Name a city in Italy."}], response_format: {type: "json_schema", json_schema: {name: "x", schema}}});
  assert.deepEqual(Object.keys(JSON.parse(answer.choices[0].message.content)), ["city"]);
});

test("questions of a file: every required call is valid", () => {
  const depth = {type: "function", function: {name: "water_depth", description: "Depth of the water at a berth.", parameters: {type: "object", properties: {berth: {type: "integer"}}, required: ["berth"]}}};
  const rows = [3, 8, 12].map(berth => ({id: `berth${berth}`, category: "simple", question: [{role: "user", content: `How deep is the water at berth ${berth}?`}], tools: [depth], gold: [{name: "water_depth", arguments: {berth}}]}));
  fs.writeFileSync(path.join(dir, "questions.jsonl"), rows.map(row => JSON.stringify(row) + "\n").join(""));
  const [standing] = JSON.parse(run("wield eval live --config wield.yaml --model small --required --max-tokens 100 --quiet --json questions.jsonl"));
  assert.equal(standing.failed, 0);
  assert.deepEqual([standing.valid.n, standing.valid.of], [rows.length, rows.length]);
});

// Behind two calls the model opens the next one by itself, or says something else. The grammar changes nothing but calls.
test("calls that the model opens by itself are valid, and other text is the same without the grammar", () => {
  fs.writeFileSync(path.join(dir, "held.yaml"), `wield: config/v1
backends:
  grammar: {kind: openai, url: "http://127.0.0.1:8411/v1", constrain: llamacpp}
  free: {kind: openai, url: "http://127.0.0.1:8411/v1", constrain: none}
models:
  held: {backend: grammar, model: smollm2, mode: text, dialect: hermes}
  free: {backend: free, model: smollm2, mode: text, dialect: hermes, bounce: {max: 0}}
`);
  const tool = (name, what, ...parameters) => ({type: "function", function: {name, description: what, parameters: {type: "object", properties: Object.fromEntries(parameters.map(p => [p, {type: "integer"}])), required: parameters}}});
  const area = tool("rectangle_area", "Calculate the area of a rectangle.", "width", "height"), volume = tool("sphere_volume", "Calculate the volume of a sphere.", "radius");
  const rows = [["Find the area of a rectangle that is 4 wide and 9 high.", area, {width: 4, height: 9}], ["Calculate the volume of a sphere with a radius of 7.", volume, {radius: 7}], ["What is the area of a rectangle with a width of 12 and a height of 5?", area, {width: 12, height: 5}], ["Tell me about the moon.", volume]]
    .map(([content, one, gold], i) => ({id: `q${i}`, category: gold ? "simple" : "relevance", question: [{role: "user", content}], tools: [one], gold: gold ? [{name: one.function.name, arguments: gold}] : []}));
  fs.writeFileSync(path.join(dir, "work.jsonl"), rows.map(row => JSON.stringify(row) + "\n").join(""));
  for (const way of ["--mid-task", "--categories relevance"]) run(`wield eval live --config held.yaml --model held,free ${way} --max-tokens 60 --quiet --results "work ${way}" work.jsonl`);
  const answers = ["work --mid-task", "work --categories relevance"].flatMap(file => fs.readFileSync(path.join(dir, file), "utf8").trim().split("\n").map(JSON.parse));
  const held = answers.filter(a => a.way === "held"), free = answers.filter(a => a.way === "free");
  const opened = held.filter(a => a.calls.length + a.refused + a.bounces > 0);
  assert.ok(opened.length >= 2, `${opened.length} calls were opened: ${JSON.stringify(held)}`);
  for (const a of opened) assert.deepEqual([a.calls.length > 0, a.refused, a.bounces], [true, 0, 0], JSON.stringify(a));
  const prose = held.filter(a => !opened.includes(a));
  assert.ok(prose.some(a => a.text), "there was no prose");
  for (const a of prose) assert.equal(a.text, free[held.indexOf(a)].text);
});

// What the model of the tutorial says in the end is up to it; that its commands work is not.
test("the commands of the tutorial", () => {
  let n = 0;
  for (const {info, text} of blocks) {
    if (info === "sh") run(text), n++;
    if (info === "console") {
      const [command, ...want] = text.trim().split("\n");
      const got = run(command.replace(/^\$ /, ""));
      if (!command.includes("wield run")) assert.equal(got.trim(), want.join("\n"));
      n++;
    }
  }
  assert.ok(n >= 5, `${n} commands were run`);
});
