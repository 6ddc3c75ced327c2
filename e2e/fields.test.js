// Every field that a request of an SDK can hold, however deep, has a row that says what becomes of it: those of the request itself in
// docs/compatibility.md, the nested ones, asked for one by one before a server of each kind, in fields.json. The fields are read from the
// types of the packages, so that a new version with a new field fails here. None is lost in silence but those that `quiet` names.
//
//   WIELD_FIELDS=write node --test fields.test.js    makes fields.json of what is found

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fields } from './fields.js';
import { fronts, quiet } from './fronts.js';
import { backends, behind, outcome } from './probe.js';
import { sources } from './wield.js';

const file = join(dirname(fileURLToPath(import.meta.url)), 'fields.json');
const committed = JSON.parse(readFileSync(file, 'utf8'));

/** The fields that the page has rows for, by front. */
function rows() {
  const page = readFileSync(join(sources, 'docs', 'compatibility.md'), 'utf8');
  const table = page.split('## Request fields')[1].split('\n## ')[0];
  const found = {};
  for (const line of table.split('\n')) {
    const [, front, named] = line.split('|').map((cell) => cell.trim());
    if (!named || front === 'front' || front.startsWith('-')) continue;
    for (const [, field] of named.matchAll(/`([\w-]+)`/g)) (found[front] ??= new Set()).add(field);
  }
  return found;
}

/** What became of each field, before each kind of server. */
async function asked(wield, path, list) {
  const found = {};
  await Promise.all(backends.map(async (backend) => {
    let last;
    for (const { name, inside, before, after, closed } of list) {
      const row = (found[name] ??= {}), outside = found[inside]?.[backend];
      if (after.length === 0 || (outside && !/sent|silent|-|^refused$/.test(outside))) { // what is inside of what is told is so too
        row[backend] = outside ?? '-';
        continue;
      }
      const text = JSON.stringify(before);
      if (last?.text !== text) last = { text, answer: await wield.ask(backend, path, before) };
      const answers = [];
      for (const request of last.answer.status === 200 ? after : after.slice(0, 1)) answers.push(await wield.ask(backend, path, request));
      row[backend] = await outcome(wield, last.answer, answers, { name, closed });
    }
  }));
  return Object.fromEntries(Object.entries(found).map(([name, row]) => [name, backends.map((backend) => row[backend]).join(' ')]));
}

for (const [front, { path, top, types }] of Object.entries(fronts)) {
  test(`each field of a request has a row: ${front}`, async (t) => {
    const all = new Map();
    for (const { package: of, roots } of types) {
      const list = fields(of, roots);
      if (!list) return t.skip(`${of} is not installed`);
      for (const field of list) if (!all.has(field.name)) all.set(field.name, field);
    }
    const known = rows()[front] ?? new Set();
    const missing = [...all.keys()].filter((name) => top.includes(name.split('.')[0]) && name.split('.').length === 2 && !known.has(name.split('.')[1]));
    assert.deepEqual(missing, [], 'fields that docs/compatibility.md says nothing of');

    const found = await asked(await behind(t), path, [...all.values()]);
    const silent = Object.entries(found).filter(([name, row]) => row.includes('silent') && !quiet.some(({ of }) => of.test(`${front} ${name}`)));
    assert.deepEqual(silent.map(([name, row]) => `${name}: ${row}`), [], `fields that are lost in silence; the servers are ${backends}`);
    if (process.env.WIELD_FIELDS === 'write') {
      committed[front] = found;
      writeFileSync(file, `${JSON.stringify(committed, null, 1)}\n`);
    }
    assert.deepEqual(found, committed[front], 'what fields.json says; WIELD_FIELDS=write takes what was found');
  });
}
