// The Python package openai, unmodified, where Python and its registry are at hand.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { play } from './agents.js';
import { pythonWith } from './python.js';
import { standing, startAll } from './backends.js';
import { noted } from './results.js';

const version = '3.57.0';
const here = dirname(fileURLToPath(import.meta.url));

// What clients.py does.
const uses = ['chat completions', 'responses with the history', 'responses with previous_response_id']
  .flatMap((how) => standing(how).map((behind) => ({ how, ...behind })));
const rounds = ['one call', 'parallel calls', 'a call without arguments', 'an error as the result', 'ten turns'];
const row = ({ how, behind }, stream, what) => ({ kind: 'library', client: "Python's openai", version, how, behind, stream, what });

test(`Python's openai ${version}`, { timeout: 900_000 }, async (t) => {
  const { path, reason } = process.env.WIELD_PYTHON ? { path: process.env.WIELD_PYTHON } : await pythonWith(`openai==${version}`);
  if (!path) {
    t.skip(`openai==${version} cannot be installed here: ${reason}`);
    for (const use of uses) {
      for (const stream of [false, true]) {
        for (const what of rounds) await noted(row(use, stream, what), () => 'skipped');
      }
    }
    return;
  }
  const server = await startAll(t, join(here, 'clients.scenario.yaml'));
  const { code, output } = await play(t, path, [join(here, 'clients.py'), server.baseURL, JSON.stringify(uses)], { cwd: here, limit: 120_000 });
  assert.equal(code, 0, output);
  const cases = output.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(cases.length, 10 * uses.length, output);
  for (const { stream, what, fault, ...use } of cases) {
    await t.test(`${use.how}, ${stream ? 'streamed' : 'whole'}, ${what}, with ${use.behind}`, () =>
      noted(row(use, stream, what), () => assert.ok(rounds.includes(what) && !fault, fault ?? '')));
  }
});
