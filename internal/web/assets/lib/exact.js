// Texts of calls, exactly: what a person would not see, or would see as something else, is written out.

import {h} from './ui.js';

// Characters that are seen as nothing, as a blank, or that change how others are seen. A line feed, a tab and a blank are what they seem.
const odd = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Co}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
const before = (end) => new RegExp(`[ \\t]{9,}|[ \\t]+(?=\\n${end})|\\n{5,}|(?:(?![ \\t\\n])${odd.source})`, 'gu');
const pieces = before('|$'), inner = before('');

// isOdd reports whether there is anything in a text that a person would not see.
export function isOdd(text) {
  return text.search(pieces) >= 0;
}

// exact returns a text as nodes. Odd characters are written as their numbers, long runs of blanks and of empty lines as how many there are.
// A part is a piece of a longer text, at whose end blanks are seen.
export function exact(text, {part = false} = {}) {
  const out = [];
  let from = 0;
  for (const m of text.matchAll(part ? inner : pieces)) {
    if (m.index > from) out.push(text.slice(from, m.index));
    const words = named(m[0]);
    out.push(h('span', {class: 'odd', title: words.title}, words.text), m[0].includes('\n') ? '\n' : null);
    from = m.index + m[0].length;
  }
  if (from < text.length) out.push(text.slice(from));
  return out;
}

function named(s) {
  if (/^[ \t]+$/.test(s)) {
    const what = s.includes('\t') ? 'blanks and tabs' : s.length === 1 ? 'blank' : 'blanks';
    return {text: `⟨${s.length} ${what}⟩`, title: `${s.length} ${what}, and nothing else`};
  }
  if (/^\n+$/.test(s)) return {text: `⟨${s.length - 1} empty lines⟩`, title: `${s.length - 1} empty lines`};
  const code = 'U+' + s.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
  return {text: `⟨${code}⟩`, title: `the character ${code}, which is not seen or changes how others are seen`};
}

// value shows a value of JSON: texts as they are, all else as JSON.
export function value(v) {
  if (typeof v === 'string') return v === '' ? h('span', {class: 'soft'}, 'empty text') : h('pre', {class: 'exact'}, exact(v));
  return h('pre', {class: 'exact'}, exact(JSON.stringify(v, null, 2)));
}

// members shows the arguments of a call, each under its name, whole.
export function members(args) {
  const names = Object.keys(args);
  if (names.length === 0) return h('p', {class: 'soft'}, 'No arguments.');
  return h('dl', {class: 'members'}, names.map((name) => [h('dt', null, exact(name)), h('dd', null, value(args[name]))]));
}

// rounded reports whether a text of JSON holds numbers that a script does not read exactly.
export function rounded(text) {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token[0] === '"') continue;
    const n = Number(token);
    if (!Number.isFinite(n) || (/^-?\d+$/.test(token) ? String(n) !== token && !/^-0$/.test(token) : digits(token) > 15)) return true;
  }
  return false;
}

// digits returns how many digits of a number matter.
function digits(token) {
  return token.replace(/[eE].*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '').length;
}

// same reports whether two values of JSON say the same, in whatever order the members of objects stand.
export function same(a, b) {
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b;
  const names = Object.keys(a);
  return Array.isArray(a) === Array.isArray(b) && names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && same(a[n], b[n]));
}
