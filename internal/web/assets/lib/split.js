// The text of a model beside what was read from it. Pointing at one side lights up the other: every key and value of a call knows the
// bytes that it was read from, and every byte what it became.

import {h, put, badge, visible} from './ui.js';
import {list} from './list.js';
import {tree} from './tree.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// A line that is wider than the view goes on in the next row. Rows have one height, so that a text of any length costs no more than what is
// seen of it.
const rowHeight = 20, letter = 7.6, margin = 62; // pixels; a letter that is wider makes its row scroll

// Bytes makes a text whose places are counted as the service counts them.
export class Bytes {
  constructor(text) {
    this.bytes = encoder.encode(text);
    this.length = this.bytes.length;
  }
  slice(at, end) { return decoder.decode(this.bytes.subarray(Math.max(0, at), Math.min(end, this.length))); }

  // rows cuts the text into rows, at its line ends and where a row is full, never inside a character.
  rows(width) {
    const rows = [];
    const b = this.bytes;
    for (let at = 0, line = 1, first = true; at < b.length;) {
      let end = at;
      const most = Math.min(b.length, at + width);
      while (end < most && b[end] !== 10) end++;
      const newline = b[end] === 10 && end < b.length;
      if (!newline && end < b.length) while (end > at + 1 && (b[end] & 0xc0) === 0x80) end--;
      const next = newline ? end + 1 : end;
      rows.push({at, end: next, line: first ? line : 0});
      first = newline;
      if (newline) line++;
      at = next;
    }
    return rows;
  }
}

// What the bytes of a text became, by the kinds of events. What is content is not coloured.
const colours = {reasoning: 'reasoning', rejected: 'rejected', markup: 'markup', call_start: 'call', call_args: 'call', call_end: 'call'};

// cover returns the ranges of a reading that are coloured, in order, each with its class. Events after fed bytes have not happened.
function cover(reading, fed) {
  const ranges = [];
  for (const e of reading.events) {
    if (e.fed > fed) break;
    const kind = colours[e.kind];
    if (!kind || e.at >= e.end) continue;
    const last = ranges.at(-1);
    if (last && last.kind === kind && last.end === e.at && kind !== 'call') last.end = e.end;
    else ranges.push({at: e.at, end: e.end, kind});
  }
  for (const c of reading.calls) { // promoted calls point into reasoning
    if (c.end <= fed) ranges.push({at: c.at, end: c.end, kind: 'call'});
  }
  return ranges.sort((a, b) => a.at - b.at || b.end - a.end);
}

// before returns how many of a sorted list of numbers are smaller than n.
function before(sorted, n) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (sorted[mid] < n) low = mid + 1;
    else high = mid;
  }
  return low;
}

// split makes the view: split(text, {label, onlink}). It returns {el, show(reading, {fed}), mark(at, end), set(text)}. A reading is what the service says
// of the text; mark keeps a range of it lit; onlink is what makes a link to a range.
export function split(text, {label = 'The text of the model', onlink} = {}) {
  let bytes = new Bytes(text), reading = null, fed = Infinity;
  let ranges = [], cuts = [], lit = null, pinned = null;

  const left = list({height: rowHeight, label, row: (r) => paintRow(r)});
  left.el.classList.add('split-text');
  const right = h('div', {class: 'split-calls', tabindex: '0', role: 'region', 'aria-label': 'Decoded calls'});
  const where = h('div', {class: 'split-where soft', 'aria-live': 'polite'});
  const el = h('div', {class: 'split'}, h('div', {class: 'split-side'}, left.el), h('div', {class: 'split-side'}, right), where);

  // A row is cut wherever a colour or a value begins or ends, so that each piece leads to one of them.
  const paintRow = (r) => {
    const edges = new Set([r.at, r.end]);
    for (let i = before(cuts, r.at); i < cuts.length && cuts[i] < r.end; i++) edges.add(cuts[i]);
    if (lit) for (const p of [lit.at, lit.end]) if (p > r.at && p < r.end) edges.add(p);
    if (fed > r.at && fed < r.end) edges.add(fed);
    const list = [...edges].sort((a, b) => a - b);
    const near = ranges.filter((x) => x.at < r.end && x.end > r.at);
    const pieces = [];
    for (let i = 0; i + 1 < list.length; i++) {
      const [at, end] = [list[i], list[i + 1]];
      const kinds = near.filter((x) => x.at < end && x.end > at).map((x) => `is-${x.kind}`);
      const text = bytes.slice(at, end);
      pieces.push(h('span', {class: [...new Set(kinds), lit && lit.at < end && lit.end > at && 'lit', at >= fed && 'unfed'], dataset: {at: String(at)}}, visible(text.replace(/\r?\n$/, ''))));
    }
    return [h('span', {class: 'split-line', 'aria-hidden': 'true'}, r.line ? String(r.line) : ''), h('span', {class: 'split-row'}, pieces)];
  };

  // fit cuts the text for the width of the view, and gives a short text no more height than it needs.
  let width = 0;
  const fit = () => {
    const now = Math.max(24, Math.floor(((left.el.clientWidth || 480) - margin) / letter));
    if (now === width || !reading) return;
    width = now;
    const rows = bytes.rows(width);
    left.set(rows);
    left.refresh();
    el.style.setProperty('--text-height', `${Math.max(150, Math.min(420, rows.length * rowHeight + 10))}px`);
  };
  new ResizeObserver(fit).observe(left.el);

  // values are those that lie in the text, the smaller ones of two that contain each other last.
  let values = [];
  const at = (offset) => {
    let found = null;
    for (const v of values) {
      if (v.at <= offset && offset < v.end && (!found || v.end - v.at <= found.end - found.at)) found = v;
    }
    return found;
  };

  const light = (value) => {
    if (value === lit) return;
    lit = value;
    for (const old of right.querySelectorAll('.lit')) old.classList.remove('lit');
    if (value) {
      const box = right.querySelector(`[data-call="${value.call}"]`);
      const node = box && [...box.querySelectorAll('[data-pointer]')].find((n) => n.dataset.pointer === value.path);
      (node ?? box)?.classList.add('lit');
      put(where, describe(value), pinned === value && onlink && value.end > value.at && h('button', {type: 'button', class: 'link', onclick: () => onlink(value.at, value.end)}, 'Copy the link'));
    } else put(where, 'Point at a value or at the text to see where it comes from.');
    left.refresh();
  };

  // describe says in words where a value comes from.
  const describe = (v) => {
    if (v.call === undefined) return `Bytes ${v.at} to ${v.end}, as the address says. A click on the text looks at another place.`;
    const c = reading.calls[v.call];
    const made = c.arguments_bytes.slice(v.from, v.to), raw = bytes.slice(v.at, v.end);
    const name = v.path === '' ? 'the arguments' : v.path;
    if (v.at === v.end) return `${name}${v.key ? ', the name' : ''}: nothing in the text stands for it`;
    return [`${v.key ? 'the name ' : ''}${name}: bytes ${v.at} to ${v.end}`, v.same ? ', as they are' : `: ${short(raw)} became ${short(made)}`];
  };
  const short = (s) => (s.length > 60 ? `${visible(s.slice(0, 60))}…` : visible(s));

  left.el.addEventListener('mouseover', (e) => {
    const piece = e.target.closest?.('[data-at]');
    if (piece && !pinned) light(at(Number(piece.dataset.at)));
  });
  left.el.addEventListener('click', (e) => {
    const piece = e.target.closest?.('[data-at]');
    if (!piece) return;
    const v = at(Number(piece.dataset.at));
    pinned = pinned === v ? null : v;
    lit = undefined; // whether it stays lit is told as well
    light(v);
  });
  el.addEventListener('mouseleave', () => { if (!pinned) light(null); });
  right.addEventListener('toggle', reachable, true);
  function reachable() {
    for (const leaf of right.querySelectorAll('.tree-leaf:not([tabindex])')) leaf.setAttribute('tabindex', '0');
  }

  // show shows what a reading says, as far as fed bytes go.
  const show = (r, {fed: upto = Infinity} = {}) => {
    reading = r;
    fed = upto;
    lit = pinned = null;
    ranges = cover(r, fed);
    values = [];
    const edges = new Set();
    r.calls.forEach((c, i) => {
      c.arguments_bytes ??= new Bytes(c.arguments);
      for (const v of c.values) {
        if (v.end > fed) continue;
        values.push({...v, call: i});
        edges.add(v.at);
        edges.add(v.end);
      }
    });
    for (const x of ranges) {
      edges.add(x.at);
      edges.add(x.end);
    }
    cuts = Uint32Array.from(edges).sort();
    width = 0;
    fit();
    put(right, calls());
    reachable();
    put(where, 'Point at a value or at the text to see where it comes from.');
  };

  const calls = () => {
    const shown = [];
    reading.calls.forEach((c, i) => {
      if (c.at >= fed) return;
      const whole = c.end <= fed;
      shown.push(h('section', {class: 'split-call', dataset: {call: String(i)}},
        h('header', null, h('strong', {class: 'mono'}, c.name), badge(c.dialect, 'info'), !c.complete && badge('not complete', 'bad'),
          h('button', {type: 'button', class: 'link', onclick: () => reveal(c.at)}, `bytes ${c.at} to ${c.end}`)),
        whole ? body(c, i) : h('pre', null, partial(i))));
    });
    for (const x of reading.rejected) {
      if ((x.end ?? 0) > fed) continue;
      shown.push(h('section', {class: 'split-call'}, h('header', null, badge(`no call: ${x.reason}`, 'bad'), x.name && h('strong', {class: 'mono'}, x.name)),
        h('p', {class: 'soft'}, x.message ?? ''), h('pre', null, visible((x.raw ?? '').slice(0, 2000)))));
    }
    if (reading.overrun && reading.overrun.at < fed) {
      shown.push(h('section', {class: 'split-call'}, h('header', null, badge('went on past its turn', 'warn'), h('code', null, visible(reading.overrun.marker.trim())),
        h('button', {type: 'button', class: 'link', onclick: () => reveal(reading.overrun.at)}, `byte ${reading.overrun.at}`))));
    }
    if (shown.length === 0) shown.push(h('p', {class: 'empty'}, 'The text contains no call.'));
    return shown;
  };

  const body = (c, i) => {
    let value;
    try {
      value = JSON.parse(c.arguments);
    } catch {
      return h('pre', null, visible(c.arguments));
    }
    const point = (path) => {
      if (pinned) return;
      const own = path === null ? null : values.find((v) => v.call === i && v.path === path && !v.key);
      light(own ?? null);
      if (own) reveal(own.at, true);
    };
    return tree(value, {open: 2, onpoint: point});
  };

  // partial is what of the arguments was there when the text had been read that far.
  const partial = (i) => reading.events.filter((e) => e.fed <= fed && e.kind === 'call_args' && (e.index ?? 0) === i).map((e) => e.text).join('');

  // reveal scrolls the text to a byte. If only is set, it moves nothing while that is seen already.
  const reveal = (offset, only = false) => {
    const rows = left.items();
    let low = 0, high = rows.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (rows[mid].at <= offset) low = mid;
      else high = mid - 1;
    }
    const top = low * rowHeight, box = left.el;
    if (only && top >= box.scrollTop && top + rowHeight <= box.scrollTop + box.clientHeight) return;
    box.scrollTop = Math.max(0, top - box.clientHeight / 2);
  };

  // mark keeps a range lit that an address names, which may be that of a value.
  const mark = (from, to) => {
    if (from >= bytes.length) return;
    pinned = values.find((v) => v.at === from && v.end === to) ?? {at: from, end: Math.min(to, bytes.length)};
    light(pinned);
    reveal(from);
  };

  return {el, show, mark, set(t) { bytes = new Bytes(t); }, bytes: () => bytes, lit: () => lit};
}

// asides shows what else a reading says: the candidates and what became of them, and what was repaired.
export function asides(text, reading) {
  const bytes = text instanceof Bytes ? text : new Bytes(text);
  const parts = [];
  if (reading.notes.length) {
    parts.push(h('section', null, h('h3', null, 'Repaired'), h('div', {class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Repairs'}, h('table', {class: 'table'},
      h('thead', null, h('tr', null, ['what', 'where', 'before', 'after'].map((t) => h('th', {scope: 'col'}, t)))),
      h('tbody', null, reading.notes.slice(0, 200).map((n) => h('tr', null, h('td', null, badge(n.kind, 'warn')), h('td', {class: 'mono'}, n.path ?? '', ' ', h('span', {class: 'soft'}, `@${n.at ?? 0}`)),
        h('td', {class: 'mono'}, cut(n.before ?? '')), h('td', {class: 'mono'}, cut(n.after ?? '')))))))));
  }
  const list = reading.candidates ?? [];
  if (list.length) {
    parts.push(h('section', null, h('h3', null, 'Places where a call could begin'), h('div', {class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Candidates'}, h('table', {class: 'table'},
      h('thead', null, h('tr', null, ['dialect', 'outcome', 'why', 'text'].map((t) => h('th', {scope: 'col'}, t)))),
      h('tbody', null, list.slice(0, 200).map((c) => h('tr', null, h('td', null, c.dialect || '?'), h('td', null, badge(c.outcome, c.outcome === 'accepted' ? 'ok' : '')), h('td', null, c.why || ''),
        h('td', {class: 'mono'}, `@${c.at} `, cut(bytes.slice(c.at, Math.min(c.end, c.at + 60)))))))))));
    if (list.length > 200) parts.push(h('p', {class: 'soft'}, `and ${list.length - 200 + (reading.unlisted ?? 0)} more`));
  }
  return parts;
}

function cut(s) {
  return visible(s.length > 120 ? `${s.slice(0, 120)}…` : s);
}
