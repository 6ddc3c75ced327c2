// A call of a tool, as a conversation shows it.

import {h, put, icon, button, badge, visible} from './ui.js';
import {tree} from './tree.js';
import {states} from './talk.js';
import {card as questionCard} from './approval.js';
import {App, toolsWithApps} from './mcpapp.js';

const longestResult = 6000; // characters of a result that are shown at first

// A Card shows a call of a tool through all its states.
export class Card {
  constructor(call, run) {
    Object.assign(this, {call, run});
    this.state = badge('');
    this.name = h('code', {class: 'card-name'});
    this.brief = h('span', {class: 'card-brief soft'});
    this.repaired = h('span');
    this.inner = h('div', {class: 'card-body'});
    this.el = h('details', {class: 'card'}, h('summary', null, icon('tool'), this.name, this.brief, this.repaired, this.state), this.inner);
    this.el.querySelector('summary').addEventListener('click', () => { this.touched = true; });
  }

  update() {
    const c = this.call, [words, kind] = states[c.state] ?? [c.state, ''];
    this.el.dataset.state = c.state;
    this.name.textContent = c.name;
    const other = c.asked?.answer?.arguments; // that ran in place of what was asked for
    this.brief.textContent = brief(other ? JSON.stringify(other) : c.args);
    put(this.repaired, c.notes.length > 0 && badge('repaired', 'warn'), ' ', other && badge('edited', 'info'));
    this.state.className = `badge ${kind}`;
    put(this.state, words);
    if (!this.touched) this.el.open = ['approval', 'running', 'failed', 'denied', 'interrupted', 'expired'].includes(c.state);
    const asks = c.approval?.state === 'pending' && c.asked && c.state === 'approval'; // the question shows the arguments itself
    this.section('arguments', !asks && c.args && `${c.args} ${Boolean(other)}`, () => [h('h3', null, other ? 'Arguments, as the model wrote them' : 'Arguments'), argumentsOf(c.args)]);
    this.section('notes', c.notes.length ? JSON.stringify(c.notes) : '', () => [h('h3', null, 'Repaired'), h('ul', {class: 'notes'}, c.notes.map((n) => h('li', null, h('code', null, String(n.kind).replaceAll('_', ' ')),
      n.path ? [' at ', h('code', null, n.path)] : '', n.before || n.after ? [': ', h('code', null, visible(n.before ?? '')), ' → ', h('code', null, visible(n.after ?? ''))] : '')))]);
    this.section('policy', c.policy?.decision === 'deny' ? JSON.stringify(c.policy) : '', () => h('p', {class: 'soft'}, `Denied by ${c.policy.rule || 'the rules'}`, c.policy.why ? `: ${c.policy.why}` : ''));
    this.section('question', c.approval ? JSON.stringify([c.approval.state, Boolean(c.asked), c.state]) : '', () => this.question());
    this.output();
    this.section('result', c.result ? c.result.text + c.state : '', () => [h('h3', null, c.result.is_error ? 'Error' : 'Result'), long(c.result.text)]);
    if (c.state === 'done' && !c.native && !this.looked) this.lookForApp();
    this.app?.tellCall();
  }

  // lookForApp offers the app of a call's tool, if it has one.
  async lookForApp() {
    this.looked = true;
    if (!(await toolsWithApps(this.run.view.app)).has(this.call.name)) return;
    this.app = new App(this.call);
    this.section('app', 'x', () => this.app.el);
  }

  // section makes a part of the card anew when what it is made of has changed. The order is that in which they are asked for first.
  section(name, key, make) {
    this.sections ??= new Map();
    let s = this.sections.get(name);
    if (!s) this.sections.set(name, s = {el: this.inner.appendChild(h('div', {class: `card-${name}`})), key: ''});
    if (s.key === (key || '')) return;
    s.key = key || '';
    put(s.el, key && make());
  }

  output() {
    const c = this.call;
    if (!this.pre) {
      this.pre = h('pre', {class: 'live', tabindex: '0', role: 'log', 'aria-label': 'Output'});
      this.section('output', 'x', () => this.pre);
    }
    this.pre.hidden = !c.output || Boolean(c.result);
    if (this.pre.hidden || this.pre.textContent === c.output) return;
    const near = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 40;
    this.pre.textContent = visible(c.output);
    if (near) this.pre.scrollTop = this.pre.scrollHeight;
  }

  // question asks the person in place, with all that the queue of questions shows. Once it is decided it says in a line what was.
  question() {
    const c = this.call, a = c.approval, asked = c.asked, {app} = this.run.view;
    if (!asked) this.run.approval(c);
    if (a.state === 'pending') {
      if (c.state !== 'approval' || !asked) return null;
      this.asking ??= questionCard(app, asked, {inside: true, onDecided: (now) => this.decided(now)});
      return h('div', {class: 'question'}, this.asking.element);
    }
    this.endQuestion();
    const by = asked?.answer?.by ?? a.by, reason = asked?.answer?.reason ?? a.reason;
    const word = asked?.answer?.arguments ? decisions.edited : decisions[a.state] ?? a.state; // what was used is told as what was decided
    return [h('p', {class: 'soft'}, `${word}${by ? ` by ${by}` : ''}${reason ? `: ${visible(reason)}` : ''}`),
      asked?.answer?.always && h('p', {class: 'soft'}, 'Rule remembered: ', h('code', null, visible(asked.always ?? ''))),
      asked?.answer?.refused && h('p', {class: 'soft'}, `Left out: ${visible(asked.answer.refused)}`),
      asked?.answer?.arguments && [h('h3', null, 'Ran with'), argumentsOf(JSON.stringify(asked.answer.arguments))]];
  }

  // decided takes what became of the question, by whomever.
  decided(now) {
    const c = this.call;
    c.asked = now;
    this.run.talk.add({kind: 'approval', turn: c.turn, call_id: c.id, name: c.name, approval: {id: now.id, state: now.state}});
    this.run.paint();
    this.run.view.answered?.();
  }

  endQuestion() {
    this.asking?.end();
    this.asking = null;
  }

  // end stops following.
  end() {
    this.endQuestion();
    this.app?.end();
  }
}

const decisions = {approved: 'Allowed', edited: 'Allowed with other arguments', denied: 'Denied', expired: 'Approval expired', cancelled: 'Withdrawn', consumed: 'Allowed'};

// brief says in a line what a call is about.
function brief(args) {
  const v = parsed(args);
  if (!v || typeof v !== 'object') return visible(args).slice(0, 120);
  const all = Object.entries(v).map(([k, x]) => [k, typeof x === 'string' ? x : JSON.stringify(x)]);
  return visible(all.map(([k, x]) => (all.length > 1 ? `${k}: ${x}` : x)).join(' · ')).replace(/\s+/g, ' ').slice(0, 160);
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

// argumentsOf shows arguments in full: long texts as they are, with what cannot be seen made visible.
function argumentsOf(text) {
  const v = parsed(text);
  if (v === undefined) return h('pre', null, visible(text));
  if (v && typeof v === 'object' && !Array.isArray(v)) {
    const long = Object.entries(v).filter(([, x]) => typeof x === 'string' && (x.includes('\n') || x.length > 100));
    if (long.length) {
      const rest = Object.fromEntries(Object.entries(v).filter(([k]) => !long.some(([name]) => name === k)));
      return [Object.keys(rest).length ? tree(rest) : null, long.map(([k, x]) => [h('h3', null, h('code', null, k)), h('pre', {tabindex: '0'}, visible(x))])];
    }
  }
  return tree(v);
}

// long shows a text, the rest of it on demand.
function long(text) {
  const v = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  if (v && typeof v === 'object') return tree(v, {open: 1});
  const pre = h('pre', {tabindex: '0'}, visible(text.slice(0, longestResult)));
  if (text.length <= longestResult) return pre;
  const more = button(`Show all ${text.length} characters`, () => { pre.textContent = visible(text); more.remove(); });
  return [pre, more];
}
