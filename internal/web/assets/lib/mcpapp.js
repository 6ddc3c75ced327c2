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
  'ui/notifications/initialized': (app) => app.tellCall(),
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
    this.hear = (e) => this.message(e);
  }

  // button makes the only button that is there; who uses it finds the next in its place.
  button(words, act) {
    return button(words, () => { act(); this.el.querySelector('button')?.focus(); });
  }

  show() {
    this.frame = h('iframe', {class: 'app-frame', title: `App of ${this.call.name}`, sandbox: 'allow-scripts', referrerpolicy: 'no-referrer',
      src: `${base}/tools/${encodeURIComponent(this.call.name)}/app`});
    let loads = 0;
    this.frame.addEventListener('load', () => { if (++loads > 1) this.end('it left its document'); });
    addEventListener('message', this.hear);
    this.told = false;
    this.sent = 0;
    this.since = performance.now();
    put(this.el, this.frame, this.button('Hide the app', () => this.end()));
  }

  // end takes the frame away, and with it whatever runs in it.
  end(why) {
    removeEventListener('message', this.hear);
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

  // tellCall tells what was called and what came of it, once.
  tellCall() {
    if (this.told) return;
    this.told = true;
    const {args, result} = this.call;
    this.send({method: 'ui/notifications/tool-input', params: {arguments: object(args) ?? {}}});
    const structured = object(result.text);
    this.send({method: 'ui/notifications/tool-result', params: {content: [{type: 'text', text: result.text}], isError: Boolean(result.is_error),
      ...(structured && {structuredContent: structured})}});
  }

  resize(height) {
    if (Number.isFinite(height)) this.frame.style.height = `${Math.min(Math.max(height, shortest), tallest)}px`;
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
