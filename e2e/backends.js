// What may stand behind wield: a model that only writes text, and servers that have function calling, of the protocol that the
// client speaks or of another one.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directory, start } from './wield.js';

const names = {
  text: 'a model that writes text',
  native: 'a server that has function calling',
  own: 'a server of the same protocol',
};

/** The kind of the servers that speak the protocol of a client. Gemini's is only a front. */
function kind(how) {
  if (/^(chat completions|runTools)/.test(how)) return 'openai';
  if (/^responses/.test(how)) return 'responses';
  if (/^(Messages|tool_runner)/.test(how)) return 'anthropic';
  return how === 'generateContent' ? undefined : 'ollama';
}

/** What clients of a protocol are tried with: what stands behind wield, and the name of the model that leads there. */
export function standing(how) {
  const own = kind(how);
  const list = [{ behind: names.text, model: 'text' }, { behind: names.native, model: own === 'openai' ? 'anthropic' : 'openai' }];
  return own ? [...list, { behind: names.own, model: own }] : list;
}

/** Starts a wield whose models are those of `standing`. They play a scenario, of which each server has its own. */
export async function startAll(t, file) {
  const dir = directory(t);
  const scenario = readFileSync(file, 'utf8');
  const models = { text: 'openai', openai: 'openai', responses: 'responses', anthropic: 'anthropic', ollama: 'ollama' };
  const play = (name) => writeFileSync(join(dir, `${name}.yaml`), scenario.replace(/^name: .*$/m, `name: ${name}
backend: {speaks: ${models[name]}, native_tools: ${name !== 'text'}}`));
  Object.keys(models).forEach(play);
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', ...Object.keys(models).map((name) => `${name}.yaml`)], { cwd: dir });
  const url = (kind) => (kind === 'openai' || kind === 'responses' ? upstream.baseURL : upstream.url);
  writeFileSync(join(dir, 'wield.yaml'), `wield: config/v1
backends:
${Object.entries(models).map(([name, kind]) => `  ${name}: {kind: ${kind}, url: "${url(kind)}"}`).join('\n')}
models:
${Object.keys(models).map((name) => `  ${name}: {backend: ${name}, mode: ${name === 'text' ? 'text' : 'native'}}`).join('\n')}
`);
  return start(t, ['serve', '--listen', '127.0.0.1:0', '--config', 'wield.yaml'], { cwd: dir });
}
