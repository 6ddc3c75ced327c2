// Markdown as elements. HTML in it is text like any other, addresses lead to pages only, and pictures from elsewhere are links: nothing that
// a model writes is fetched or run because it was shown.

import {h, safeAddress, copy, button} from './ui.js';

// markdown returns an element with the text.
export function markdown(text) {
  const view = growing();
  view.set(text);
  return view.el;
}

// growing returns a view of a text that is still being written: {el, set(text)}. Blocks that did not change keep their elements, so that what a
// person has selected stays so, and only the last block is read again while the text grows.
//
// With more, a long text is shown in pieces: after some milliseconds set calls more, and the next set of the same text goes on.
export function growing(more = null) {
  const el = h('div', {class: 'markdown'});
  const shown = []; // {source, from, code}: the blocks in the document; of one of code its view
  let known = '', left = null; // what is to be shown yet
  const cut = (n) => {
    while (el.childNodes.length > n) el.lastChild.remove();
    shown.length = Math.min(shown.length, n);
  };
  const add = (b) => {
    const code = b.kind === 'code' ? codeView() : null;
    el.append(code?.el ?? element(b));
    shown.push({code});
  };
  // go shows what is left until the time is over, and reports whether that was all.
  const go = (over) => {
    for (const b of left.blocks) {
      const i = left.at++, old = shown[i];
      if (left.same && old?.source === b.source && (!old.code || old.code.whole())) {
        old.from = b.from;
        continue;
      }
      const grows = left.same && b.kind === 'code' && old?.code;
      if (left.same) cut(grows ? i + 1 : i);
      left.same = false;
      if (!grows) add(b);
      shown[i].source = copied(b.source);
      shown[i].from = b.from;
      shown[i].code?.set(b.data);
      left.code = shown[i].code;
      if (!fill(over) || over()) return false;
    }
    cut(left.at);
    return true;
  };
  // fill goes on with the block of code that is being shown.
  const fill = (over) => {
    if (left.code && !left.code.fill(over)) return false;
    left.code = null;
    return true;
  };
  return {
    el,
    set(text) {
      text = text.replace(/\r\n?/g, '\n');
      if (text === known && !left) return;
      if (text !== known) {
        const at = text.startsWith(known) ? Math.max(0, shown.length - 1) : 0;
        left = {blocks: unhurried(blocks(text, at > 0 ? shown[at].from : 0)), at, same: true, code: null};
        known = text;
      }
      const until = performance.now() + pieceTime;
      const over = () => more !== null && performance.now() > until;
      if (fill(over) && go(over)) left = null;
      else more();
    },
  };
}

// unhurried lets a loop over a generator end, and another one go on with it.
function unhurried(list) {
  return {[Symbol.iterator]: () => ({next: () => list.next()})};
}

const pieceTime = 8; // milliseconds

// copied returns a text that is apart from the one that it was cut out of. A browser keeps the whole of that for as long as there is a piece,
// and of a text that grows there are as many as it was shown times.
function copied(piece) {
  return ` ${piece}`.slice(1);
}

const fence = /^( {0,3})(`{3,}|~{3,})([^\n]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$/;
const quote = /^ {0,3}>[ \t]?(.*)$/;
const divider = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const blank = /^[ \t]*$/;

// blocks splits a text, from a position at which a block begins, into blocks.
function* blocks(text, from) {
  const lines = [];
  for (let at = from; at <= text.length;) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    lines.push({at, text: text.slice(at, end)});
    at = end + 1;
  }
  for (let i = 0; i < lines.length;) {
    if (blank.test(lines[i].text)) {
      i++;
      continue;
    }
    const [kind, n, data] = block(lines, i);
    const last = lines[i + n - 1];
    yield {kind, data, from: lines[i].at, source: text.slice(lines[i].at, last.at + last.text.length)};
    i += n;
  }
}

// block reads the block that begins at a line: its kind, how many lines it has, and what is in it.
function block(lines, i) {
  const line = lines[i].text;
  let m;
  if ((m = fence.exec(line)) && !(m[2][0] === '`' && m[3].includes('`'))) return fenced(lines, i, m);
  if ((m = heading.exec(line))) return ['heading', 1, {level: m[1].length, text: m[2] ?? ''}];
  if (rule.test(line)) return ['rule', 1, null];
  if (quote.test(line)) return quoted(lines, i);
  if (item.test(line)) return listed(lines, i);
  if (line.includes('|') && lines[i + 1] && divider.test(lines[i + 1].text) && lines[i + 1].text.includes('-')
    && cells(line).length === cells(lines[i + 1].text).length) return tabled(lines, i);
  if (/^ {4}/.test(line)) return indented(lines, i);
  let n = 1;
  while (lines[i + n] && !blank.test(lines[i + n].text) && !interrupts(lines[i + n].text)) n++;
  return ['paragraph', n, lines.slice(i, i + n).map((l) => l.text.trimStart()).join('\n')];
}

function interrupts(line) {
  const m = item.exec(line);
  return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || Boolean(m && m[3] && (/[-*+]/.test(m[2]) || /^1[.)]/.test(m[2])));
}

function fenced(lines, i, m) {
  const mark = m[2], body = [], indent = new RegExp(`^ {0,${m[1].length}}`);
  let n = 1;
  for (; lines[i + n]; n++) {
    const end = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(lines[i + n].text);
    if (end && end[1][0] === mark[0] && end[1].length >= mark.length) {
      n++;
      break;
    }
    body.push(lines[i + n].text.replace(indent, ''));
  }
  return ['code', n, {language: m[3].trim().split(/\s/)[0], text: body.join('\n')}];
}

function indented(lines, i) {
  let n = 1;
  while (lines[i + n] && (/^ {4}/.test(lines[i + n].text) || blank.test(lines[i + n].text))) n++;
  while (blank.test(lines[i + n - 1].text)) n--;
  return ['code', n, {language: '', text: lines.slice(i, i + n).map((l) => l.text.slice(4)).join('\n')}];
}

function quoted(lines, i) {
  let n = 0;
  const body = [];
  for (let m; lines[i + n] && (m = quote.exec(lines[i + n].text)); n++) body.push(m[1]);
  for (; lines[i + n] && !blank.test(lines[i + n].text) && !interrupts(lines[i + n].text); n++) body.push(lines[i + n].text);
  return ['quote', n, body.join('\n')];
}

function listed(lines, i) {
  const first = item.exec(lines[i].text);
  const ordered = /\d/.test(first[2]);
  const same = (m) => m && (ordered ? /\d/.test(m[2]) && m[2].at(-1) === first[2].at(-1) : m[2] === first[2]);
  const items = [];
  let n = 0, loose = false;
  while (lines[i + n]) {
    const m = item.exec(lines[i + n].text);
    if (!same(m) || rule.test(lines[i + n].text)) break;
    const indent = m[1].length + m[2].length + 1;
    const body = [m[3] ?? ''];
    n++;
    for (; lines[i + n]; n++) {
      const line = lines[i + n].text;
      if (blank.test(line)) {
        const next = lines[i + n + 1]?.text;
        if (next === undefined || !(spaces(next) >= indent || same(item.exec(next)))) break;
        if (spaces(next) < indent) {
          loose = true;
          n++;
          break;
        }
        body.push('');
      } else if (spaces(line) >= indent) body.push(line.slice(indent));
      else if (item.test(line) || interrupts(line)) break;
      else body.push(line.trimStart());
    }
    items.push(body.join('\n'));
  }
  return ['list', n, {ordered, start: ordered ? parseInt(first[2], 10) : 1, items, loose}];
}

function spaces(line) {
  return line.length - line.trimStart().length;
}

function tabled(lines, i) {
  const head = cells(lines[i].text), rows = [];
  const align = cells(lines[i + 1].text).map((c) => (/^:.*:$/.test(c) ? 'center' : /:$/.test(c) ? 'right' : ''));
  let n = 2;
  for (; lines[i + n] && lines[i + n].text.includes('|') && !blank.test(lines[i + n].text); n++) rows.push(cells(lines[i + n].text));
  return ['table', n, {head, align, rows}];
}

// cells splits a row of a table. A bar behind a backslash or in code is part of a cell.
function cells(line) {
  const list = [];
  let cell = '', code = false;
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (c === '\\' && line[i + 1] === '|') { cell += '|'; i++; continue; }
    if (c === '`') code = !code;
    if (c === '|' && !code) { list.push(cell.trim()); cell = ''; continue; }
    cell += c;
  }
  list.push(cell.trim());
  if (list[0] === '') list.shift();
  if (list.at(-1) === '') list.pop();
  return list;
}

const makers = {
  paragraph: (text) => h('p', null, inline(text)),
  heading: ({level, text}) => h(`h${Math.min(6, level + 1)}`, {class: `heading-${level}`}, inline(text)),
  rule: () => h('hr'),
  quote: (text) => h('blockquote', null, [...blocks(text, 0)].map(element)),
  code: ({language, text}) => codeBlock(text, language),
  list: ({ordered, start, items, loose}) => h(ordered ? 'ol' : 'ul', ordered && start !== 1 ? {start} : null, items.map((text) => {
    const task = /^\[([ xX])\][ \t]+/.exec(text);
    const list = [...blocks(task ? text.slice(task[0].length) : text, 0)];
    const content = list.map((b) => (b.kind === 'paragraph' && !loose ? inline(b.data) : element(b)));
    return h('li', task ? {class: 'task'} : null, task && h('span', {class: 'task-mark', 'aria-label': task[1] === ' ' ? 'open' : 'done'}, task[1] === ' ' ? '☐' : '☑'), content);
  })),
  table: ({head, align, rows}) => h('div', {class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Table'}, h('table', {class: 'table'},
    h('thead', null, h('tr', null, head.map((c, i) => h('th', {class: align[i], scope: 'col'}, inline(c))))),
    h('tbody', null, rows.map((r) => h('tr', null, head.map((_, i) => h('td', {class: align[i]}, inline(r[i] ?? '')))))))),
};

function element(b) {
  return makers[b.kind](b.data);
}

// codeBlock shows code with its language and a button that copies it.
function codeBlock(text, language) {
  const view = codeView();
  view.set({text, language});
  view.fill(() => false);
  return view.el;
}

// A browser takes long for a text of many lines. So a long one stands in parts, of which those that are not seen are not laid out.
const partSize = 8 << 10;

// codeView is a block of code that may grow: {el, set({text, language}), fill(over), whole()}. fill shows parts of it until it is over, and reports
// whether all is there. What is there already stays as it is.
function codeView() {
  const name = h('span'), code = h('code');
  let text = '', at = 0; // what is shown of it
  const starts = []; // of the parts in the text
  const part = (piece) => {
    const el = h('span', {class: 'code-part'}, piece);
    el.style.containIntrinsicBlockSize = `auto ${piece.split('\n').length}lh`;
    return el;
  };
  return {
    el: h('div', {class: 'code-block'}, h('div', {class: 'code-head'}, name, button('Copy', () => copy(text), {icon: 'copy', quiet: true})), h('pre', {tabindex: '0'}, code)),
    set({text: now, language}) {
      name.textContent = language;
      if (now === text) return;
      const keep = now.startsWith(text) ? starts.length - 1 : 0; // the last part may go on
      while (starts.length > Math.max(0, keep)) {
        at = starts.pop();
        code.lastChild.remove();
      }
      text = now;
    },
    fill(over) {
      while (at < text.length) {
        const line = text.indexOf('\n', at + partSize), end = line < 0 ? text.length : line;
        const piece = text.slice(at, end);
        code.append(starts.length === 0 && end === text.length ? piece : part(piece));
        starts.push(at);
        at = end + 1;
        if (over() && at < text.length) return false;
      }
      return true;
    },
    whole: () => at >= text.length,
  };
}

// Marks inside a line, in the order in which they are looked for at each place.
const marks = [
  [/^\\([!-/:-@[-`{-~])/, (m) => m[1]],
  [/^\\\n/, () => h('br')],
  [/^ {2,}\n/, () => h('br')],
  [/^(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/, (m) => h('code', null, m[2].replace(/\n/g, ' ').replace(/^ (.*\S.*) $/, '$1'))],
  [/^!\[([^\]\n]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:[ \t]+"[^"\n]*")?\)/, (m) => picture(m[1], m[2])],
  [/^\[((?:[^[\]\n]|\[[^[\]\n]*\])+)\]\(<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:[ \t]+"[^"\n]*")?\)/, (m) => link(inline(m[1]), m[2])],
  [/^<((?:https?:\/\/|mailto:)[^\s<>]+)>/, (m) => link(m[1], m[1])],
  [/^https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}*_]/, (m) => link(m[0], m[0]), /[\s(]|^$/],
  [/^\*\*(?=\S)([\s\S]*?\S)\*\*/, (m) => h('strong', null, inline(m[1]))],
  [/^__(?=\S)([\s\S]*?\S)__(?!\w)/, (m) => h('strong', null, inline(m[1])), /\W|^$/],
  [/^\*(?=[^\s*])([\s\S]*?[^\s*])\*(?!\*)/, (m) => h('em', null, inline(m[1]))],
  [/^_(?=[^\s_])([\s\S]*?[^\s_])_(?!\w)/, (m) => h('em', null, inline(m[1])), /\W|^$/],
  [/^~~(?=\S)([\s\S]*?\S)~~/, (m) => h('del', null, inline(m[1]))],
];

// What a mark can begin with: everything before it is text.
const special = /[\\`!\[<*_~]| {2,}\n|https?:\/\//g;

// longest bounds how much of a text is searched for marks; what is longer in one paragraph is no prose.
const longest = 20_000;

function inline(text) {
  if (text.length > longest) return [text];
  const out = [];
  let plain = '', at = 0;
  while (at < text.length) {
    special.lastIndex = at;
    const next = special.exec(text);
    if (!next) break;
    plain += text.slice(at, next.index);
    at = next.index;
    const rest = text.slice(at);
    const before = at === 0 ? '' : text[at - 1];
    let found = false;
    for (const [pattern, make, behind] of marks) {
      if (behind && !behind.test(before)) continue;
      const m = pattern.exec(rest);
      if (!m) continue;
      if (plain) out.push(plain);
      plain = '';
      out.push(make(m));
      at += m[0].length;
      found = true;
      break;
    }
    if (!found) {
      plain += text[at];
      at++;
    }
  }
  plain += text.slice(at);
  if (plain) out.push(plain);
  return out;
}

// link leads elsewhere, in a tab of its own that knows nothing of this one. Where it leads is seen before it is followed.
function link(content, address) {
  const safe = safeAddress(address);
  return safe === '#' ? h('span', null, content) : h('a', {href: safe, target: '_blank', rel: 'noopener noreferrer nofollow', title: safe}, content);
}

// picture shows one whose data stand in the text. Any other is a link: to show it would tell its server who reads what.
function picture(words, address) {
  const safe = safeAddress(address);
  if (safe.startsWith('data:')) return h('img', {src: safe, alt: words});
  return link(`🖼 ${words || address}`, address);
}
