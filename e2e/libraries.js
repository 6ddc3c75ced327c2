// Takes the libraries of a language through one call, then two, with each protocol that they speak.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { play } from './agents.js';
import { noted } from './results.js';
import { start } from './wield.js';

const here = dirname(fileURLToPath(import.meta.url));

/**
 * Runs a program that takes libraries, { name: [version, ...protocols] }, through their cases. It gets the URL of a wield
 * behind its args, and prints one line of JSON a case. Without a path the cases are skipped for the reason.
 */
export async function takeLibraries(t, language, libraries, { path, reason }, args, options) {
  const cases = Object.entries(libraries).flatMap(([client, [version, ...protocols]]) => protocols.flatMap((how) => [false, true].map((stream) => (
    { kind: 'library', client: `${language}'s ${client}`, version, how, stream, what: 'one call, then two' }))));
  if (!path) {
    t.skip(`${language}'s libraries cannot be had here: ${reason}`);
    for (const row of cases) await noted(row, () => 'skipped');
    return;
  }
  const upstream = await start(t, ['script', 'serve', '--listen', '127.0.0.1:0', join(here, 'clients.scenario.yaml')]);
  const server = await start(t, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream.baseURL, '--model', 'clients']);
  const { code, output } = await play(t, path, [...args, server.url], { cwd: here, ...options });
  assert.equal(code, 0, output);
  const said = output.split('\n').filter((line) => line.startsWith('{"client"')).map((line) => JSON.parse(line));
  for (const row of cases) {
    await t.test(`${row.client}, ${row.how}, ${row.stream ? 'streamed' : 'whole'}`, () => noted(row, () => {
      const found = said.find(({ client, how, stream }) => `${language}'s ${client}` === row.client && how === row.how && stream === row.stream);
      assert.ok(found, `it did not run:\n${output}`);
      assert.ok(!found.fault, found.fault ?? '');
    }));
  }
  assert.equal(said.length, cases.length);
}
