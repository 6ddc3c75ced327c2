// Every field that a request of an SDK can hold has a row in docs/compatibility.md that says what becomes of it. The fields are read
// from the types of the packages, so that a new version with a new field fails here.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sources } from './wield.js';

const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');

/** The names of the members of an interface, of a file of types. */
function members(file, name) {
  const text = readFileSync(join(packages, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const head = text.match(new RegExp(`(?:^|\\n)(?:export |declare )*interface ${name}\\b[^{]*\\{`));
  assert.ok(head, `${file} has no interface ${name}`);
  const found = [];
  let depth = 1;
  for (const line of text.slice(head.index + head[0].length).split('\n')) {
    const member = depth === 1 && line.match(/^\s*'?([\w$-]+)'?\??:/);
    if (member) found.push(member[1]);
    depth += (line.match(/[{]/g) ?? []).length - (line.match(/[}]/g) ?? []).length;
    if (depth <= 0) break;
  }
  assert.ok(found.length > 3, `${name} has the members ${found}`);
  return found;
}

const fronts = {
  'chat completions': [['openai/resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase']],
  Responses: [['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase']],
  Messages: [
    ['@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase'],
    ['@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'MessageCreateParamsBase'],
  ],
  Ollama: [['ollama/dist/browser.d.ts', 'ChatRequest'], ['ollama/dist/browser.d.ts', 'GenerateRequest']],
  Gemini: [['@google/genai/dist/genai.d.ts', 'GenerateContentConfig']],
};

/** The fields that the page has rows for, by front. */
function rows() {
  const page = readFileSync(join(sources, 'docs', 'compatibility.md'), 'utf8');
  const table = page.split('## Request fields')[1].split('\n## ')[0];
  const found = {};
  for (const line of table.split('\n')) {
    const [, front, fields] = line.split('|').map((cell) => cell.trim());
    if (!fields || front === 'front' || front.startsWith('-')) continue;
    for (const [, field] of fields.matchAll(/`([\w-]+)`/g)) (found[front] ??= new Set()).add(field);
  }
  return found;
}

for (const [front, types] of Object.entries(fronts)) {
  test(`each field of a request has a row: ${front}`, (t) => {
    const known = rows()[front] ?? new Set();
    for (const [file, name] of types) {
      if (!existsSync(join(packages, file))) return t.skip(`${file} is not installed`);
      const missing = members(file, name).filter((field) => !known.has(field));
      assert.deepEqual(missing, [], `fields of ${name} that docs/compatibility.md says nothing of`);
    }
  });
}
