// The frame around the views: who is logged in, where one can go, the keys, the colours, and what happens in the service meanwhile.

import * as api from './lib/api.js';
import {watch} from './lib/waiting.js';
import {h, put, icon, button, toast, dialog, sentence} from './lib/ui.js';

// The views. roles are those that they are of use to.
const all = ['client', 'approver', 'admin'];
const views = [
  {name: 'chat', title: 'Chat', roles: ['client', 'admin'], load: () => import('./pages/chat.js')},
  {name: 'approvals', title: 'Approvals', roles: all, load: () => import('./pages/approvals.js')},
  {name: 'inspector', title: 'Inspector', roles: ['client', 'admin'], load: () => import('./pages/inspector.js')},
  {name: 'playground', title: 'Playground', roles: all, load: () => import('./pages/playground.js')},
  {name: 'analytics', title: 'Analytics', roles: ['client', 'admin'], load: () => import('./pages/analytics.js')},
  {name: 'settings', title: 'Settings', roles: ['admin'], load: () => import('./pages/settings.js')},
];

// app is what views are given.
const app = {
  api,
  who: null, // {name, role}
  go(path) { location.hash = path.startsWith('#') ? path : `#/${path.replace(/^\//, '')}`; },
  keys,
  // feed calls f with each thing that is recorded, {position, stream, seq, session, at, kind}, from now on. One connection serves all who
  // ask. It brings no records: what stands in one has to be asked for. It returns a function that ends it.
  feed(f) { listeners.add(f); return () => listeners.delete(f); },
  // mark shows a number beside the name of a view; 0 takes it away.
  mark(name, n) { marks.set(name, n); paintMarks(); },
  // may reports whether the caller has one of some roles.
  may: (...roles) => roles.includes(app.who?.role),
};

const listeners = new Set();
const marks = new Map();
const root = document.getElementById('app'); // what the document shows in it is seen until the service has answered
let main, shown = {};

// begin finds out who is here, and shows a view, or the login.
async function begin() {
  paintTheme();
  api.whenLoggedOut(() => { if (app.who) leave(); });
  try {
    app.who = await api.get('/whoami');
  } catch (e) {
    if (e.status === 401) login(location.hash === '#used' ? 'This login link was already used, or is too old. Log in with a key, or restart the service for a new link.' : '');
    else unreachable(e);
    return;
  }
  frame();
}

// unreachable says that there is no service, and tries again.
function unreachable(error) {
  put(root, h('main', {class: 'login'}, h('h1', null, 'wield'), h('p', {role: 'alert'}, sentence(error)), button('Try again', () => location.reload(), {kind: 'primary'})));
}

// login asks for a key.
function login(note = '') {
  app.who = null;
  document.title = 'Log in · wield';
  const key = h('input', {type: 'password', id: 'key', name: 'key', autocomplete: 'current-password', autofocus: true, spellcheck: 'false', 'aria-describedby': 'login-note'});
  const said = h('p', {class: note ? 'note' : 'bad-words', id: 'login-note', role: 'alert'}, note);
  const enter = h('button', {class: 'button primary'}, 'Log in');
  const send = async (e) => {
    e.preventDefault();
    if (key.value.trim() === '') {
      put(said, 'Type a key.');
      key.focus();
      return;
    }
    enter.disabled = true;
    try {
      app.who = await api.post('/login', {key: key.value.trim()});
      api.loggedIn();
      if (location.hash === '#used') location.hash = '';
      frame();
    } catch (err) {
      said.className = 'bad-words';
      put(said, err.status === 401 ? 'This key is not valid.' : sentence(err));
      key.select();
      key.focus();
    } finally {
      enter.disabled = false;
    }
  };
  put(root, h('main', {class: 'login'}, h('div', {class: 'brand'}, logo(), h('h1', null, 'wield')),
    h('form', {class: 'stack', onsubmit: send}, h('label', {for: 'key'}, 'Key'), key, said, enter),
    h('p', {class: 'soft'}, 'A key from the configuration (keys), or the one that wield serve printed at its start.')));
  key.focus();
}

// leave shows the login again, because the service knows the caller no more.
function leave(note = 'Your login has expired.') {
  shown.end?.();
  shown = {};
  feedEnd?.abort();
  feedEnd = null;
  unwatch?.();
  unwatch = null;
  for (const d of document.querySelectorAll('dialog')) d.close();
  login(note);
}

async function logOut() {
  try {
    await api.post('/logout');
  } catch (e) {
    toast(e, {kind: 'bad'});
    return;
  }
  leave('You are logged out.');
}

function logo() {
  return h('img', {src: '/web/icon.svg', alt: '', class: 'logo'});
}

// frame shows what stands around the views.
function frame() {
  const mine = views.filter((v) => v.roles.includes(app.who.role));
  main = h('main', {id: 'main', tabindex: '-1'});
  put(root, h('a', {class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); main.focus(); }}, 'Skip to the content'),
    h('div', {class: 'shell'},
      h('header', {class: 'rail'},
        h('a', {class: 'brand', href: '#/', 'aria-label': 'wield, start'}, logo(), h('span', null, 'wield')),
        h('nav', {'aria-label': 'Views'}, mine.map((v) => h('a', {href: `#/${v.name}`, dataset: {view: v.name}}, icon(v.name), h('span', null, v.title), h('span', {class: 'mark', hidden: true})))),
        h('div', {class: 'rail-end'},
          h('div', {class: 'who', title: `role ${app.who.role}`}, h('strong', null, app.who.name), h('span', {class: 'soft'}, app.who.role)),
          h('div', {class: 'row'}, themeButton(), button('Keys', help, {icon: 'keys', quiet: true}), button('Log out', logOut, {icon: 'logout', quiet: true})))),
      main),
    h('div', {class: 'offline', role: 'status', 'aria-live': 'polite'}));
  paintMarks();
  follow();
  unwatch?.();
  unwatch = watch(app);
  route();
}

// route shows what the address names.
async function route() {
  if (!app.who || !main) return;
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decode);
  const mine = views.filter((v) => v.roles.includes(app.who.role));
  const view = mine.find((v) => v.name === parts[0]);
  if (!view) {
    if (parts[0] && views.some((v) => v.name === parts[0])) toast(`The view ${parts[0]} is not for the role ${app.who.role}.`, {kind: 'bad'});
    location.replace(`#/${mine[0].name}`);
    return;
  }
  const at = {path: parts.slice(1).join('/'), parts: parts.slice(1), query: Object.fromEntries(new URLSearchParams(search))};
  if (shown.view === view && shown.move?.(at)) return; // the view goes there by itself
  shown.end?.();
  delete main.dataset.shown;
  const now = shown = {view};
  for (const a of root.querySelectorAll('nav a')) {
    if (a.dataset.view === view.name) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  try {
    const [page] = await Promise.all([view.load(), styles(view.name)]);
    if (shown !== now) return;
    document.title = `${page.title} · wield`;
    put(main);
    main.className = `view-${view.name}`;
    const end = page.show(main, at, {...app, onmove: (f) => { now.move = f; }, who: app.who});
    now.end = typeof end === 'function' ? end : null;
    main.dataset.shown = view.name; // it hears its keys
  } catch (e) {
    if (shown !== now) return;
    put(main, h('div', {class: 'empty', role: 'alert'}, h('p', null, `The view cannot be shown: ${e.message}`), button('Load again', () => location.reload())));
    throw e;
  }
}

// When what has the focus is taken out of the page, the focus goes back to it if it is put in again, or else to what it was in, or to the view: not
// to nowhere, from where whoever uses keys alone or hears the page would have to begin anew.
let around = []; // what had the focus last, and what it is in
document.addEventListener('focusin', (e) => {
  around = [];
  for (let el = e.target; el instanceof HTMLElement; el = el.parentElement) around.push(el);
});
new MutationObserver((records) => {
  if (document.activeElement !== document.body || !records.some((r) => [...r.removedNodes].some((el) => around.includes(el)))) return;
  const to = around.find((el, i) => el.isConnected && (i === 0 || el.tabIndex >= 0)) ?? main;
  to?.focus({preventScroll: true});
}).observe(document.body, {childList: true, subtree: true});

// styles loads those of one view, once.
const styled = new Map();
function styles(name) {
  if (!styled.has(name)) {
    styled.set(name, new Promise((resolve) => {
      document.head.append(h('link', {rel: 'stylesheet', href: `/web/pages/${name}.css`, onload: resolve, onerror: resolve}));
    }));
  }
  return styled.get(name);
}

function decode(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

function paintMarks() {
  for (const [name, n] of marks) {
    const el = root.querySelector(`nav a[data-view="${name}"] .mark`);
    if (!el) continue;
    el.textContent = n > 99 ? '99+' : String(n);
    el.hidden = !n;
  }
}

// follow hears what happens in the service.
let feedEnd = null, unwatch = null;
function follow() {
  feedEnd?.abort();
  feedEnd = new AbortController();
  const line = root.querySelector('.offline');
  api.stream('/events?largest=0', {signal: feedEnd.signal, onEvent: (e) => { for (const f of listeners) f(e.data); },
    onState: (state, error) => {
      put(line, state === 'lost' ? 'Connection to the service lost. Reconnecting…' : state === 'failed' && error.status !== 401 ? sentence(error) : '');
      for (const f of listeners) f({kind: `feed.${state}`});
    }});
}

// Keys. A view adds its own with app.keys({n: ['New chat', f]}); the help lists all. Keys of a single character do nothing while somebody types.
const bound = new Set();
function keys(map) {
  bound.add(map);
  return () => bound.delete(map);
}

function keyName(e) {
  const held = (e.ctrlKey || e.metaKey ? 'Control+' : '') + (e.altKey ? 'Alt+' : '');
  return held + e.key;
}

function typing(target) {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(range|checkbox|radio|button|submit|file)$/.test(target.type);
}

let first = null; // of two keys, such as g c
document.addEventListener('keydown', (e) => {
  if (e.defaultPrevented || e.isComposing || document.querySelector('dialog[open]')) return;
  const name = keyName(e);
  if (name.length === 1 && typing(e.target)) return;
  const whole = first ? `${first} ${name}` : name;
  first = null;
  for (const map of [...bound].reverse()) {
    const entry = map[whole] ?? map[name];
    if (!entry) continue;
    e.preventDefault();
    (Array.isArray(entry) ? entry[1] : entry)(e);
    return;
  }
  if (name === 'g') first = 'g';
});

keys({
  '?': ['These keys', help],
  ...Object.fromEntries(views.map((v) => [`g ${v.name[0]}`, [`Go to ${v.title.toLowerCase()}`, () => app.go(v.name)]])),
  'g a': ['Go to approvals', () => app.go('approvals')],
  'g n': ['Go to analytics', () => app.go('analytics')],
});

function help() {
  const rows = [...bound].reverse().flatMap((map) => Object.entries(map)).filter(([, v]) => Array.isArray(v));
  dialog('Keys', h('dl', {class: 'keys'}, rows.map(([k, [words]]) => [h('dt', null, k.split(' ').map((part) => h('kbd', null, part))), h('dd', null, words)])));
}

// Colours: those that the person prefers everywhere, unless one of the two was chosen here.
const themes = [['', 'auto', 'Colors: system'], ['light', 'sun', 'Colors: light'], ['dark', 'moon', 'Colors: dark']];

function theme() {
  try {
    return localStorage.getItem('wield.theme') ?? '';
  } catch {
    return ''; // the browser keeps nothing
  }
}

function paintTheme() {
  document.documentElement.dataset.theme = theme();
}

function themeButton() {
  const next = () => {
    const i = themes.findIndex(([name]) => name === theme());
    try {
      localStorage.setItem('wield.theme', themes[(i + 1) % themes.length][0]);
    } catch {
      toast('The browser blocks storage for this page.', {kind: 'bad'});
    }
    paintTheme();
    b.replaceWith(themeButton());
    root.querySelector('.theme-button')?.focus();
  };
  const [, picture, words] = themes.find(([name]) => name === theme()) ?? themes[0];
  const b = button(words, next, {icon: picture, quiet: true});
  b.classList.add('theme-button');
  return b;
}

addEventListener('hashchange', route);
begin();
