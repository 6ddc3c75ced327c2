// JSON as a tree that opens and closes. Values whose names say that they are secrets are masked until they are clicked.

import {h, append} from './ui.js';

const secret = /^(?:.*[-_.])?(?:secret|token|password|passwd|authorization|api[-_]?key|access[-_]?key|private[-_]?key|cookie|credential)s?$|(?:Secret|Token|Password|ApiKey|Key)$/;

// isSecret reports whether the name of a value says that nobody should read over a shoulder what it is.
export function isSecret(name) {
  return secret.test(name);
}

// tree returns an element. open is how many levels are open at first; path is where the value stands, as a JSON pointer; onpoint, if there is
// one, is told of the pointer of the value that the mouse or the focus is on, and null when it leaves.
export function tree(value, {open = 2, path = '', onpoint} = {}) {
  const el = h('div', {class: 'tree'}, node(null, value, path, open, onpoint));
  return el;
}

function node(name, value, path, open, onpoint) {
  const label = name === null ? null : [h('span', {class: 'tree-name'}, name), ': '];
  if (value === null || typeof value !== 'object') return point(h('div', {class: 'tree-leaf', dataset: {pointer: path}}, label, leaf(name, value)), path, onpoint);
  const list = Array.isArray(value);
  const entries = list ? value.map((v, i) => [String(i), v]) : Object.entries(value);
  const [before, behind] = list ? '[]' : '{}';
  if (entries.length === 0) return h('div', {class: 'tree-leaf', dataset: {pointer: path}}, label, before + behind);
  const size = `${entries.length} ${list ? (entries.length === 1 ? 'item' : 'items') : (entries.length === 1 ? 'member' : 'members')}`;
  const el = h('details', {class: 'tree-node', dataset: {pointer: path}}, h('summary', null, label, h('span', {class: 'soft'}, `${before} ${size} ${behind}`)));
  const inner = h('div', {class: 'tree-inner'});
  const fill = () => {
    if (inner.firstChild) return;
    append(inner, entries.slice(0, 1000).map(([k, v]) => node(k, v, `${path}/${k.replaceAll('~', '~0').replaceAll('/', '~1')}`, open - 1, onpoint)));
    if (entries.length > 1000) append(inner, h('div', {class: 'soft'}, `and ${entries.length - 1000} more`));
  };
  el.append(inner);
  el.addEventListener('toggle', () => { if (el.open) fill(); });
  if (open > 0) {
    fill();
    el.open = true;
  }
  return point(el, path, onpoint);
}

function point(el, path, onpoint) {
  if (!onpoint) return el;
  const stop = (e, p) => { e.stopPropagation(); onpoint(p); };
  el.addEventListener('mouseover', (e) => stop(e, path));
  el.addEventListener('mouseleave', (e) => stop(e, null));
  el.addEventListener('focusin', (e) => stop(e, path));
  return el;
}

const longest = 400; // of a text before it is cut off, until it is clicked

function leaf(name, value) {
  const kind = value === null ? 'null' : typeof value;
  if (name !== null && isSecret(name) && value !== null && value !== '') {
    const el = h('button', {type: 'button', class: 'tree-secret', title: 'Show it'}, '••••••');
    el.addEventListener('click', () => el.replaceWith(h('span', {class: `tree-${kind}`}, JSON.stringify(value))), {once: true});
    return el;
  }
  const text = JSON.stringify(value);
  if (text.length <= longest) return h('span', {class: `tree-${kind}`}, text);
  const el = h('span', {class: `tree-${kind}`}, text.slice(0, longest), h('button', {type: 'button', class: 'link', onclick: () => { el.textContent = text; }}, `… ${text.length - longest} more`));
  return el;
}
