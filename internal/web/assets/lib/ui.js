// Elements, and the few things that every view shows: notices, dialogs, tables, times.
//
// Text becomes text nodes and nothing else. There is no function here that takes HTML, so that nothing a model, a tool or a client
// writes can become part of the page.

const SVG = 'http://www.w3.org/2000/svg';

// Properties that are set on the element; everything else is an attribute.
const properties = new Set(['value', 'checked', 'disabled', 'indeterminate', 'selected', 'open', 'hidden', 'readOnly', 'multiple', 'scrollTop']);

// Attributes that could carry a script, or styles that the policy refuses.
const refused = /^(on|srcdoc$|style$|innerhtml$|outerhtml$)/i;

// h makes an element: h('a', {href: '#/chat', onclick: f}, 'text', otherElement, null).
// An attribute that is null, undefined or false is left out; `class` may be a list; `dataset` an object.
export function h(tag, attrs, ...children) {
  return fill(document.createElement(tag), attrs, children);
}

function fill(el, attrs, children) {
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith('on') && typeof value === 'function') {
      el.addEventListener(name.slice(2), value);
    } else if (refused.test(name)) {
      throw new Error(`ui: ${name} is no attribute of an element here`);
    } else if (name === 'dataset') {
      Object.assign(el.dataset, value);
    } else if (name === 'class') {
      const list = Array.isArray(value) ? value.filter(Boolean).join(' ') : value;
      if (list) el.setAttribute('class', list);
    } else if (properties.has(name) && name in el) {
      el[name] = value;
    } else if (value === true) {
      el.setAttribute(name, '');
    } else if (value !== false) {
      el.setAttribute(name, name === 'href' || name === 'src' ? safeAddress(String(value)) : String(value));
    }
  }
  append(el, children);
  return el;
}

// append adds elements, texts and lists of them.
export function append(el, ...children) {
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined || c === false || c === true) continue;
    el.append(c instanceof Node ? c : document.createTextNode(String(c)));
  }
  return el;
}

// put replaces what is in an element.
export function put(el, ...children) {
  el.replaceChildren();
  return append(el, ...children);
}

// sameFocus paints what is in el anew. What had the focus there gets it back, or else what is there now of the same kind, name and address.
export function sameFocus(el, paint) {
  const held = document.activeElement;
  const mine = held !== el && el.contains(held);
  paint();
  if (!mine || document.activeElement === held) return;
  const known = (at) => at.getAttribute('href') ?? at.getAttribute('aria-label') ?? at.textContent;
  (held.isConnected ? held : [...el.querySelectorAll(held.tagName)].find((at) => known(at) === known(held)))?.focus({preventScroll: true});
}

// safeAddress returns an address that leads to a page, or to a picture's data; any other becomes one that leads nowhere.
export function safeAddress(address) {
  const a = address.trim();
  if (/^(https?:|mailto:|\/(?!\/)|#)/i.test(a) || a.startsWith(`blob:${location.origin}/`)) return a;
  if (/^data:image\/(png|jpeg|gif|webp);base64,/i.test(a)) return a;
  return '#';
}

// The pictures of buttons, as paths in a square of 24.
const paths = {
  chat: 'M4 5h16v11H9l-5 4z', approvals: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4', inspector: 'M4 6h10M4 12h6M4 18h4M16 12a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM19 19l2.5 2.5',
  playground: 'M9 3h6M10 3v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M7 15h10', analytics: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6M20 16V6', settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  plus: 'M12 5v14M5 12h14', trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13', edit: 'M4 20h4L19 9l-4-4L4 16z', copy: 'M9 9h11v11H9zM5 15H4V4h11v1', close: 'M6 6l12 12M18 6L6 18',
  send: 'M5 12h14M13 6l6 6-6 6', stop: 'M7 7h10v10H7z', branch: 'M7 4v16M7 14c6 0 10-2 10-7M17 4v3M14.5 6.5L17 4l2.5 2.5', retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6', export: 'M12 4v11M7 10l5 5 5-5M5 20h14', search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5',
  attach: 'M20 11l-8 8a5 5 0 0 1-7-7l8-8a3.5 3.5 0 0 1 5 5l-8 8a2 2 0 0 1-3-3l7-7', sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5', moon: 'M20 14a8 8 0 0 1-10-10 8 8 0 1 0 10 10z',
  auto: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18', logout: 'M14 4H5v16h9M10 12h10M16 8l4 4-4 4', keys: 'M3 7h18v10H3zM7 11h.5M11 11h.5M15 11h.5M8 14h8', tool: 'M14 6a4 4 0 0 1 5-2l-3 3 1 2 2 1 3-3a4 4 0 0 1-5 5l-7 8a2 2 0 0 1-3-3l8-7a4 4 0 0 1-1-4z', check: 'M5 13l4 4L19 7', down: 'M6 9l6 6 6-6', menu: 'M4 7h16M4 12h16M4 17h16', warn: 'M12 4l9 16H3zM12 10v4M12 17v.5', file: 'M6 3h8l4 4v14H6zM14 3v4h4',
};

// icon makes one of the pictures. It says nothing to who does not see it: the button has a name.
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [k, v] of Object.entries({viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true'})) svg.setAttribute(k, v);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', paths[name] ?? paths.warn);
  svg.append(path);
  return svg;
}

// svg makes an element of a drawing, for charts.
export function svg(tag, attrs, ...children) {
  return fill(document.createElementNS(SVG, tag), attrs, children);
}

// button makes a button: button('Stop', stop, {icon: 'stop', kind: 'danger'}). With quiet: true only the picture is seen, and the words
// are its name.
export function button(words, onclick, {icon: name, kind = '', quiet = false, ...attrs} = {}) {
  return h('button', {type: 'button', class: ['button', kind, quiet && 'quiet'], onclick, title: quiet ? words : null, 'aria-label': quiet ? words : null, ...attrs},
    name && icon(name), quiet ? null : h('span', null, words));
}

// Notices, the latest last. Those that are seen leave room for the page; how many are held is bounded as well, since something that goes wrong again
// and again has somebody come back to a page that is full of it.
const seenNotices = 4, heldNotices = 100;
const notices = [];
let allNotices = false; // are the earlier ones seen too?

// toast shows a notice for a while. Errors stay until they are closed. What is said already is counted there and not said twice; of many the
// earlier ones are behind a button.
export function toast(message, {kind = '', time = kind === 'bad' ? 0 : 5000} = {}) {
  const text = message instanceof Error ? sentence(message) : String(message);
  let n = notices.find((x) => x.text === text && x.kind === kind);
  if (!n) notices.push(n = notice(text, kind));
  else repeat(n);
  clearTimeout(n.timer);
  if (time) n.timer = setTimeout(n.close, time);
  while (notices.length > heldNotices) notices[0].close();
  arrange();
  return n.close;
}

// notice makes one. A reader of the screen says all of it again when its count changes.
function notice(text, kind) {
  const n = {text, kind, times: 1, timer: 0, count: h('span', {class: 'soft'})};
  n.close = () => {
    clearTimeout(n.timer);
    const at = notices.indexOf(n);
    if (at < 0) return;
    const held = n.el.contains(document.activeElement);
    notices.splice(at, 1);
    n.el.remove();
    arrange();
    if (held) (notices[at] ?? notices.at(-1))?.el.querySelector('button').focus();
  };
  n.el = h('div', {class: ['toast', kind], 'aria-atomic': 'true'}, h('span', null, text, n.count), button('Close', () => n.close(), {icon: 'close', quiet: true}));
  return n;
}

// repeat counts a notice once more. One that is not seen comes forth.
function repeat(n) {
  put(n.count, ` (${++n.times} times)`);
  if (!n.el.hidden) return;
  notices.push(...notices.splice(notices.indexOf(n), 1));
  n.el.remove();
}

// arrange shows the latest notices, and how many there are before them.
function arrange() {
  let box = document.querySelector('.toasts');
  if (!box) document.body.append(box = h('div', {class: 'toasts'}, h('div', {class: 'toast-list', role: 'status', 'aria-atomic': 'false'})));
  const list = box.querySelector('.toast-list'), earlier = Math.max(0, notices.length - seenNotices);
  if (!earlier) allNotices = false;
  notices.forEach((n, i) => {
    n.el.hidden = !allNotices && i < earlier;
    if (n.el.parentNode !== list) list.append(n.el);
  });
  let more = box.querySelector('.toast-more');
  if (!more) {
    box.prepend(more = h('div', {class: 'toast-more row end'}, button('', () => { allNotices = !allNotices; arrange(); }), button('Close all', () => { for (const n of [...notices]) n.close(); })));
  }
  more.hidden = !earlier;
  more.firstChild.setAttribute('aria-expanded', String(allNotices));
  put(more.firstChild, h('span', null, allNotices ? 'The latest only' : `${earlier} earlier`));
}

// sentence says what went wrong, and what to do about it.
export function sentence(error) {
  return error.fix ? `${error.message}. ${upper(error.fix)}.` : error.message;
}

// upper begins a sentence.
export function upper(s) {
  return s.charAt(0).toUpperCase() + s.slice(1);
}

// dialog shows elements on top of the page, until the function that it returns is called, or Escape is pressed. The focus goes back to
// where it was.
export function dialog(title, content, {onclose, wide = false} = {}) {
  const id = `dialog-${++dialogs}`;
  const el = h('dialog', {class: ['dialog', wide && 'wide'], 'aria-labelledby': id},
    h('header', null, h('h2', {id}, title), button('Close', () => el.close(), {icon: 'close', quiet: true})), h('div', {class: 'dialog-body'}, content));
  el.addEventListener('close', () => { el.remove(); onclose?.(); });
  document.body.append(el);
  el.showModal();
  return () => el.close();
}
let dialogs = 0;

// ask asks a person to go on. It resolves to true or false; Escape is false.
export function ask(title, text, {yes = 'OK', kind = 'primary'} = {}) {
  return new Promise((resolve) => {
    let said = false;
    const close = dialog(title, [h('p', null, text), h('div', {class: 'row end'}, button('Cancel', () => close()),
      button(yes, () => { said = true; close(); }, {kind, autofocus: true}))], {onclose: () => resolve(said)});
  });
}

// prompt asks for a line of text. It resolves to null on Escape.
export function prompt(title, value, {label = title, yes = 'Save'} = {}) {
  return new Promise((resolve) => {
    let said = null;
    const input = h('input', {type: 'text', value, 'aria-label': label, autofocus: true});
    const close = dialog(title, h('form', {class: 'stack', onsubmit: (e) => { e.preventDefault(); said = input.value; close(); }}, input,
      h('div', {class: 'row end'}, button('Cancel', () => close()), h('button', {class: 'button primary'}, yes))), {onclose: () => resolve(said)});
    input.select();
  });
}

// table makes a table: columns are [{title, cell(item) → element or text, class}]. onpick makes rows that can be chosen.
export function table(columns, items, {onpick, empty = 'Nothing here.', caption} = {}) {
  if (items.length === 0) return h('p', {class: 'empty'}, empty);
  return h('div', {class: 'table-box', tabindex: '0', role: 'region', 'aria-label': caption ?? 'Table'}, h('table', {class: 'table'},
    caption && h('caption', {class: 'hidden-words'}, caption),
    h('thead', null, h('tr', null, columns.map((c) => h('th', {class: c.class, scope: 'col'}, c.title)))),
    h('tbody', null, items.map((it) => h('tr', onpick ? {class: 'pick', tabindex: '0', onclick: () => onpick(it),
      onkeydown: (e) => { if (e.key === 'Enter' && e.target === e.currentTarget) onpick(it); }} : null,
      columns.map((c) => h('td', {class: c.class, dataset: {title: typeof c.title === 'string' ? c.title : ''}}, c.cell(it))))))));
}

// badge is a word with a colour that says of what kind it is: ok, warn, bad, wait, info or none.
export function badge(text, kind = '') {
  return h('span', {class: ['badge', kind]}, text);
}

// copy puts a text into the clipboard, and says so. Where the page may not, as on an address without TLS that is not this machine's, it shows the
// text for the person to copy.
export async function copy(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    const area = h('textarea', {class: 'mono', rows: 14, readOnly: true, 'aria-label': 'Text to copy', value: text});
    dialog('Copy this', [h('p', null, 'The browser blocked copying. The text is selected: copy it with Ctrl+C.'), area], {wide: true});
    area.focus();
    area.select();
  }
}

// download hands a text to the browser as a file.
export function download(name, text, type = 'application/json') {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const a = h('a', {href: address, download: name});
  a.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// ago says how long ago a time was.
export function ago(time) {
  const s = Math.round((Date.now() - new Date(time)) / 1000);
  if (Number.isNaN(s)) return '';
  if (s < 60) return 'now';
  for (const [n, unit] of [[3600, 60], [86400, 3600], [7 * 86400, 86400]]) {
    if (s < n) return `${Math.floor(s / unit)} ${unit === 60 ? 'min' : unit === 3600 ? 'h' : 'd'}`;
  }
  return new Date(time).toLocaleDateString(undefined, {year: 'numeric', month: 'short', day: 'numeric'});
}

// when writes a time out.
export function when(time) {
  const d = new Date(time);
  return Number.isNaN(d.getTime()) ? '' : d.toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
}

// lasts says how long something takes, given milliseconds.
export function lasts(ms) {
  if (!(ms >= 0)) return '';
  if (ms < 1) return '< 1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const min = Math.floor(ms / 60_000);
  return min < 60 ? `${min} min ${Math.round(ms / 1000) % 60} s` : `${Math.floor(min / 60)} h ${min % 60} min`;
}

// count writes a number so that it can be read.
export function count(n) {
  return typeof n === 'number' ? n.toLocaleString('en').replaceAll(',', '\u202f') : '';
}

// bytes writes a size.
export function bytes(n) {
  if (n < 1024) return `${n} B`;
  return n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / (1 << 20)).toFixed(1)} MiB`;
}

// visible makes characters visible that a person would not see, or that change how the rest is seen: controls, directions, spaces that
// are no spaces.
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu,
    (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

// frame calls f once before the next time that the browser paints, however often it is called until then. In a page that is not seen,
// where nothing is painted, it waits a moment instead. An f that takes long is called more seldom, so that the person is heard in between.
export function frame(f) {
  let asked = false, rest = 0;
  const go = () => {
    asked = false;
    const begun = performance.now();
    f();
    const now = performance.now(), took = now - begun;
    rest = took > 8 ? now + 2 * took : 0;
  };
  const soon = () => {
    if (document.hidden) setTimeout(go, 50);
    else requestAnimationFrame(go);
  };
  return () => {
    if (asked) return;
    asked = true;
    const wait = rest - performance.now();
    if (wait > 0) setTimeout(soon, Math.min(wait, 1000));
    else soon();
  };
}

// later calls f once, some time after the last of several calls.
export function later(ms, f) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}
