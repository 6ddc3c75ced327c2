// Takes the libraries of a language through one call, then two, with each protocol that they speak and all that may stand behind
// wield.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { play } from './agents.js';
import { standing, startAll } from './backends.js';
import { noted } from './results.js';

const here = dirname(fileURLToPath(import.meta.url));

/**
 * Runs a program that takes libraries, { name: [version, ...protocols] }, through their cases. It gets the URL of a wield and
 * the cases behind its args, and prints each as a line of JSON, with its fault. Without a path they are skipped for the reason.
 */
export async function takeLibraries(t, language, libraries, { path, reason }, args, options) {
  const cases = Object.entries(libraries).flatMap(([client, [, ...protocols]]) => protocols.flatMap((how) => (
    standing(how).flatMap((behind) => [false, true].map((stream) => ({ client, how, ...behind, stream }))))));
  const row = ({ client, how, behind, stream }) => (
    { kind: 'library', client: `${language}'s ${client}`, version: libraries[client][0], how, behind, stream, what: 'one call, then two' });
  if (!path) {
    t.skip(`${language}'s libraries cannot be had here: ${reason}`);
    for (const one of cases) await noted(row(one), () => 'skipped');
    return;
  }
  const server = await startAll(t, join(here, 'clients.scenario.yaml'));
  const { code, output } = await play(t, path, [...args, server.url, JSON.stringify(cases)], { cwd: here, ...options });
  assert.equal(code, 0, output);
  const said = output.split('\n').filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line));
  for (const one of cases) {
    await t.test(`${one.client}, ${one.how}, ${one.stream ? 'streamed' : 'whole'}, with ${one.behind}`, () => noted(row(one), () => {
      const found = said.find((line) => Object.entries(one).every(([name, value]) => line[name] === value));
      assert.ok(found, `it did not run:\n${output}`);
      assert.ok(!found.fault, found.fault ?? '');
    }));
  }
  assert.equal(said.length, cases.length);
}
