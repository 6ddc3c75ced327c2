// An app of an MCP server: a document from outside that shows the result of a call. It runs in a frame without rights, and the page
// talks with it by messages alone, as the MCP extension io.modelcontextprotocol/ui has them.
//
// What an app may: draw within its frame, ask how large it may be, and be told the call's arguments and result. Everything else is
// answered with an error.

import {h, put, button} from './ui.js';
import {base} from './api.js';

const revision = '2026-01-26';
const shortest = 60, tallest = 700; // pixels of the frame
const mostMessages = 100; // in a second; an app that sends more is ended
const tabTime = 1000; // milliseconds in which Tab leads into the frame
const growTime = 1000; // milliseconds between heights of the frame
const checkTime = 100; // milliseconds
const longestName = 64; // characters of a method's name or an id

// What the page answers to requests of an app, by their methods.
const requests = new Map(Object.entries({
  'ui/initialize': () => ({protocolVersion: revision, hostInfo: {name: 'wield', version: '1'}, hostCapabilities: {},
    hostContext: {theme: theme(), displayMode: 'inline', availableDisplayModes: ['inline'], containerDimensions: {maxHeight: tallest}, platform: 'web'}}),
  'ui/request-display-mode': () => ({mode: 'inline'}),
  ping: () => ({}),
}));

// What the page does at notifications of an app.
const notifications = new Map(Object.entries({
  'ui/notifications/initialized': (app) => { app.ready = true; app.tellCall(); },
  'ui/notifications/size-changed': (app, {height}) => app.resize(height),
}));

function theme() {
  return document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

// toolsWithApps returns the names of tools whose results have apps.
export async function toolsWithApps(app) {
  app.withApps ??= app.api.get('/tools').then(({items}) => new Set(items.filter((t) => t.app).map((t) => t.name)));
  try {
    return await app.withApps;
  } catch {
    app.withApps = null; // asked for again with the next call
    return new Set();
  }
}

// An App shows a call that has a result, once a person wants to see it.
export class App {
  constructor(call) {
    this.call = call;
    this.el = h('div', {class: 'app'}, this.button('Show the app', () => this.show()));
  }

  // button makes the only button that is there; who uses it finds the next in its place.
  button(words, act) {
    return button(words, () => { act(); this.el.querySelector('button')?.focus(); });
  }

  show() {
    this.frame = h('iframe', {class: 'app-frame', title: `App of ${this.call.name}`, sandbox: 'allow-scripts', referrerpolicy: 'no-referrer',
      src: `${base}/tools/${encodeURIComponent(this.call.name)}/app`});
    const loading = h('p', {class: 'soft'}, 'Loading the app…');
    let loads = 0;
    this.frame.addEventListener('load', () => { loading.remove(); if (++loads > 1) this.end('it left its document'); });
    this.control = new AbortController();
    const {signal} = this.control;
    addEventListener('message', (e) => this.message(e), {signal});
    document.addEventListener('securitypolicyviolation', (e) => { if (e.effectiveDirective === 'frame-src') this.end('it left its document'); }, {signal});
    this.ready = this.told = false;
    this.sent = this.wanted = this.height = this.growing = 0;
    signal.addEventListener('abort', () => clearTimeout(this.growing));
    this.since = performance.now();
    this.cover = h('div', {class: 'app-cover', title: 'Click to use the app', onclick: () => this.enter()});
    this.keepFocus(signal);
    put(this.el, this.button('Hide the app', () => this.end()), h('p', {class: 'soft'}, 'From the MCP server of ', h('code', null, this.call.name), ', not from wield'), loading, h('div', {class: 'app-stage'}, this.frame, this.cover));
  }

  // keepFocus ends the app if it takes the focus: what a person types elsewhere would go to it. A cover keeps clicks from the frame, so that
  // the page knows of the one that leads into it; besides it there is Tab.
  keepFocus(signal) {
    let tab = -Infinity;
    const check = () => {
      if (document.activeElement !== this.frame || this.cover.hidden) return;
      if (performance.now() - tab < tabTime) return this.enter();
      const before = this.before;
      this.end('it took the keyboard');
      before?.focus();
    };
    this.before = document.activeElement;
    addEventListener('keydown', (e) => { tab = e.key === 'Tab' ? performance.now() : -Infinity; }, {signal, capture: true});
    addEventListener('pointerdown', () => { tab = -Infinity; }, {signal, capture: true});
    addEventListener('focusin', (e) => {
      if (e.target === this.frame) return;
      this.before = e.target;
      this.cover.hidden = false;
    }, {signal});
    addEventListener('blur', check, {signal});
    const timer = setInterval(check, checkTime); // no event tells of it while another window has the focus
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  // enter lets a person use the app, until the focus is elsewhere.
  enter() {
    this.cover.hidden = true;
    this.frame.focus();
  }

  // end takes the frame away, and with it whatever runs in it.
  end(why) {
    this.control?.abort();
    this.frame = null;
    put(this.el, why && h('p', {class: 'soft'}, `The app was ended: ${why}.`), this.button('Show the app', () => this.show()));
  }

  // message takes what the document in the frame says. Of what it sent, only what is named here is looked at, whatever its size.
  message(e) {
    if (!this.frame || e.source !== this.frame.contentWindow || e.origin !== 'null') return;
    const now = performance.now();
    if (now - this.since > 1000) [this.sent, this.since] = [0, now];
    if (++this.sent > mostMessages) return this.end('it sent too many messages');
    const m = e.data;
    if (m === null || typeof m !== 'object' || m.jsonrpc !== '2.0' || typeof m.method !== 'string') return;
    const {id, method} = m;
    if (id === undefined) {
      const params = m.params !== null && typeof m.params === 'object' ? m.params : {};
      notifications.get(method)?.(this, params);
      return;
    }
    if (!(Number.isSafeInteger(id) || (typeof id === 'string' && id.length <= longestName))) return;
    const answer = requests.get(method);
    this.send(answer ? {id, result: answer()} : {id, error: {code: -32601, message: `wield does not let apps use ${method.slice(0, longestName)}`}});
  }

  // send tells the document something. Its origin is opaque, so that no other can be named here.
  send(m) { this.frame?.contentWindow?.postMessage({jsonrpc: '2.0', ...m}, '*'); }

  // tellCall tells what ran and what came of it, once. Who approved the call may have edited its arguments: until that is known, the app waits.
  tellCall() {
    const {args, approval, asked, result} = this.call;
    if (!this.ready || this.told || (approval && (!asked || asked.state === 'pending'))) return;
    this.told = true;
    this.send({method: 'ui/notifications/tool-input', params: {arguments: asked?.answer?.arguments ?? object(args) ?? {}}});
    const structured = object(result.text);
    this.send({method: 'ui/notifications/tool-result', params: {content: [{type: 'text', text: result.text}], isError: Boolean(result.is_error),
      ...(structured && {structuredContent: structured})}});
  }

  // resize lets the frame grow, once in a while: what is below it is not to jump.
  resize(height) {
    if (!Number.isFinite(height)) return;
    this.wanted = Math.min(Math.max(height, shortest, this.wanted), tallest);
    if (!this.growing) this.grow();
  }

  grow() {
    this.growing = 0;
    if (this.wanted === this.height) return;
    this.height = this.wanted;
    this.frame.style.height = `${this.height}px`;
    this.growing = setTimeout(() => this.grow(), growTime);
  }
}

// object returns the object that a text is as JSON, or undefined.
function object(text) {
  try {
    const v = JSON.parse(text);
    return v !== null && typeof v === 'object' && !Array.isArray(v) ? v : undefined;
  } catch {
    return undefined;
  }
}
