// The Python package openai, unmodified, where Python and its registry are at hand.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { play } from './agents.js';
import { pythonWith } from './python.js';
import { noted } from './results.js';
import { start } from './wield.js';

const version = '3.52.0';
const here = dirname(fileURLToPath(import.meta.url));

// What clients.py does.
const uses = ['chat completions', 'responses with the history', 'responses with previous_response_id'];
const rounds = ['one call', 'parallel calls', 'a call without arguments', 'an error as the result', 'ten turns'];
const row = (how, stream, what) => ({ kind: 'library', client: "Python's openai", version, how, stream, what });

test(`Python's openai ${version}`, { timeout: 900_000 }, async (t) => {
  const { path, reason } = process.env.WIELD_PYTHON ? { path: process.env.WIELD_PYTHON } : await pythonWith(`openai==${version}`);
  if (!path) {
    t.skip(`openai==${version} cannot be installed here: ${reason}`);
    for (const how of uses) {
      for (const stream of [false, true]) {
        for (const what of rounds) await noted(row(how, stream, what), () => 'skipped');
      }
    }
    return;
  }
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(here, 'clients.scenario.yaml')]);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'clients']);
  const { code, output } = await play(t, path, [join(here, 'clients.py'), server.baseURL], { cwd: here, limit: 120_000 });
  assert.equal(code, 0, output);
  const cases = output.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(cases.length, 30, output);
  for (const { how, stream, what, fault } of cases) {
    await t.test(`${how}, ${stream ? 'streamed' : 'whole'}, ${what}`, () =>
      noted(row(how, stream, what), () => assert.ok(uses.includes(how) && rounds.includes(what) && !fault, fault ?? '')));
  }
});
