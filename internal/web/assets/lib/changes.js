// Changes of files, as unified diffs tell them.

import {h} from './ui.js';
import {exact} from './exact.js';

const signs = {'+': 'added', '-': 'removed', ' ': ''};

// change shows what becomes of one file of a review.
export function change(file) {
  const what = file.created ? 'new file' : file.deleted ? 'is deleted' : file.from ? `moved from ${file.from}` : '';
  return h('section', {class: 'change'},
    h('header', {class: 'row'}, h('strong', {class: 'mono'}, exact(file.path)), what && h('span', {class: ['badge', file.deleted ? 'bad' : 'info']}, what),
      h('span', {class: 'change-counts'}, h('span', {class: 'plus'}, `+${file.added}`), ' ', h('span', {class: 'minus'}, `−${file.removed}`))),
    (file.warnings ?? []).map((w) => h('p', {class: 'caution'}, w)),
    file.diff ? unified(file.diff, file.path) : h('p', {class: 'soft'}, 'The text does not change.'),
    file.cut && h('p', {class: 'caution'}, 'The rest of the change is too long to be shown here. The arguments have all of it.'));
}

function unified(diff, name) {
  const rows = [];
  let old = 0, now = 0;
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines.slice(2)) { // behind the two lines with names
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (at) {
      if (rows.length) rows.push(h('div', {class: 'diff-gap'}, '…'));
      [old, now] = [Number(at[1]), Number(at[2])];
      continue;
    }
    if (line.startsWith('\\')) {
      rows.push(h('div', {class: 'diff-gap'}, 'no line feed at the end'));
      continue;
    }
    const sign = line[0] ?? ' ';
    rows.push(h('div', {class: ['diff-line', signs[sign]]},
      h('span', {class: 'diff-number', 'aria-hidden': 'true'}, sign === '+' ? '' : old++), h('span', {class: 'diff-number', 'aria-hidden': 'true'}, sign === '-' ? '' : now++),
      h('span', {class: 'diff-sign'}, sign), h('span', {class: 'diff-text'}, exact(line.slice(1)))));
  }
  return h('div', {class: 'diff', tabindex: '0', role: 'region', 'aria-label': `Changes of ${name}`}, rows);
}

// lines shows lines that begin with a minus, a plus or a blank, as a part of a change is told.
export function lines(text, name) {
  const list = text.split('\n');
  if (list.at(-1) === '') list.pop();
  return h('div', {class: 'diff', tabindex: '0', role: 'region', 'aria-label': `Part of the changes of ${name}`},
    list.map((line) => h('div', {class: ['diff-line', signs[line[0]]]}, h('span', {class: 'diff-sign'}, line[0] ?? ' '), h('span', {class: 'diff-text'}, exact(line.slice(1))))));
}
