// Keeps what the clients did, for the tables of docs/compatibility.md.
//
// A run whose environment names a file in WIELD_RESULTS appends a line to it for each case. Then
//
//   node results.js write LINES results.json    makes the file that is committed,
//   node results.js check LINES results.json    fails where a run found something else than that file says.
//
// What could not be installed where the check runs is passed over there; in the file it stands as skipped.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import process from 'node:process';

/** Runs one case of a client and notes how it ended. What it returns, if anything, is how; otherwise it passed. */
export async function noted(row, run) {
  let outcome = 'failed';
  try {
    outcome = (await run()) ?? 'passed';
  } finally {
    if (process.env.WIELD_RESULTS) appendFileSync(process.env.WIELD_RESULTS, `${JSON.stringify({ ...row, outcome })}\n`);
  }
}

/** The versions that package.json pins, for a client of one package or of several, as in "ai with @ai-sdk/openai". */
export function pinned(client) {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
  return client.split(' with ').map((name) => {
    if (!dependencies[name]) throw new Error(`package.json pins no version of ${name}`);
    return dependencies[name];
  }).join(' with ');
}

const name = ({ kind, client, how, behind, stream, what }) => [kind, client, how, behind, stream, what].join('\t');

function read(lines) {
  const rows = readFileSync(lines, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  return rows.sort((a, b) => (name(a) < name(b) ? -1 : 1));
}

function write(lines, file) {
  writeFileSync(file, `[\n${read(lines).map((row) => JSON.stringify(row)).join(',\n')}\n]\n`);
}

/** Returns what is wrong with the committed file, as far as the run can tell. */
function differences(rows, committed) {
  const said = new Map(committed.map((row) => [name(row), row]));
  const wrong = [];
  for (const row of rows) {
    const old = said.get(name(row));
    said.delete(name(row));
    if (!old) wrong.push(`${name(row)} is not in the file`);
    else if (old.version !== row.version) wrong.push(`${name(row)} ran with ${row.version}, not ${old.version}`);
    else if (row.outcome !== 'skipped' && old.outcome !== row.outcome) wrong.push(`${name(row)} ${row.outcome}, and the file says ${old.outcome}`);
  }
  return [...wrong, ...[...said.keys()].map((row) => `${row} did not run`)];
}

function main(command, lines, file) {
  if (command === 'write') return write(lines, file);
  if (command !== 'check') throw new Error('usage: node results.js write|check LINES FILE');
  const wrong = differences(read(lines), JSON.parse(readFileSync(file, 'utf8')));
  for (const line of wrong) console.error(line);
  if (wrong.length) {
    console.error(`the clients did not do what ${file} says; to take this run's results: node results.js write LINES ${file}`);
    process.exit(1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(...process.argv.slice(2));
