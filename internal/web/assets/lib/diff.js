// What changes between two texts, line by line.

import {h, visible} from './ui.js';

// lines returns the changes from one text to another, as [{kind: ' ', '-' or '+', text, old, new}], where old and new are the numbers of lines
// from 1. Texts that differ in very much are shown as one taken out and the other put in.
export function lines(before, after) {
  const a = split(before), b = split(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out = [];
  const same = (i, j) => out.push({kind: ' ', text: a[i], old: i + 1, new: j + 1});
  for (let i = 0; i < head; i++) same(i, i);
  for (const op of middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail))) {
    if (op.kind === ' ') same(head + op.i, head + op.j);
    else if (op.kind === '-') out.push({kind: '-', text: a[head + op.i], old: head + op.i + 1});
    else out.push({kind: '+', text: b[head + op.j], new: head + op.j + 1});
  }
  for (let i = tail; i > 0; i--) same(a.length - i, b.length - i);
  return out;
}

function split(text) {
  if (text === '') return [];
  const list = text.split('\n');
  if (list.at(-1) === '') list.pop();
  return list;
}

const most = 4_000_000; // cells of the table below

// middle finds the longest common part of two lists of lines.
function middle(a, b) {
  if (a.length * b.length > most) return [...a.map((_, i) => ({kind: '-', i})), ...b.map((_, j) => ({kind: '+', j}))];
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push({kind: ' ', i: i++, j: j++});
    else if (j >= b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) out.push({kind: '-', i: i++});
    else out.push({kind: '+', j: j++});
  }
  return out;
}

// diff shows the changes, with a few lines around each. What changes is never left out.
export function diff(before, after, {around = 3, label = 'Changes'} = {}) {
  const list = lines(before, after);
  const near = new Uint8Array(list.length);
  list.forEach((l, i) => { if (l.kind !== ' ') near.fill(1, Math.max(0, i - around), i + around + 1); });
  const rows = [];
  let hidden = 0;
  const flush = () => {
    if (hidden) rows.push(h('div', {class: 'diff-gap'}, `${hidden} ${hidden === 1 ? 'line' : 'lines'} as before`));
    hidden = 0;
  };
  list.forEach((l, i) => {
    if (!near[i]) {
      hidden++;
      return;
    }
    flush();
    rows.push(h('div', {class: ['diff-line', l.kind === '+' ? 'added' : l.kind === '-' ? 'removed' : '']},
      h('span', {class: 'diff-number', 'aria-hidden': 'true'}, l.old ?? ''), h('span', {class: 'diff-number', 'aria-hidden': 'true'}, l.new ?? ''),
      h('span', {class: 'diff-sign'}, l.kind), h('span', {class: 'diff-text'}, visible(l.text))));
  });
  flush();
  if (rows.length === 0) rows.push(h('div', {class: 'diff-gap'}, 'Nothing changes.'));
  return h('div', {class: 'diff', tabindex: '0', role: 'region', 'aria-label': label}, rows);
}

// counts says how much changes, as {added, removed}.
export function counts(before, after) {
  const list = lines(before, after);
  return {added: list.filter((l) => l.kind === '+').length, removed: list.filter((l) => l.kind === '-').length};
}
