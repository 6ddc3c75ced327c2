// One run of a conversation: the messages that it got, and what happened in it.

import {h, put, append, icon, button, badge, toast, sentence, frame, ago, copy, visible, when, later} from './ui.js';
import {growing} from './markdown.js';
import {Talk, older, again} from './talk.js';
import {failureWords, statusBadge} from './status.js';
import {Card} from './toolcard.js';

const pieceTime = 8; // milliseconds that are painted at a time

// A RunView shows one run in a conversation, which is what it is made with: {app, runs, input, branch, near(), bottom(), start(), paintStatus(), paintChips()}.
export class RunView {
  constructor(view, run) {
    Object.assign(this, {view, run, talk: new Talk(run), said: [], parts: new Map(), lost: false, read: 0, turns: 0, turn: view.app.api.inOrder(), sending: false});
    this.before = h('div', {class: 'run-said'});
    this.body = h('div', {class: 'run-body'});
    this.foot = h('div', {class: 'run-foot'});
    this.el = h('article', {class: 'run', dataset: {run: run.id}}, this.before, this.body, this.foot);
    this.control = new AbortController();
    this.paint = frame(() => this.paintNow());
  }

  end() {
    this.control.abort();
    for (const part of this.parts.values()) part.end?.();
  }

  // step takes a step of the transcript: here messages alone count, the rest is told by the events.
  step(s) {
    if (s.position <= this.read) return;
    this.read = s.position;
    if (s.kind === 'turn_end') this.turns++;
    if (s.role !== 'user') return;
    this.said.push(s);
    const el = this.message(s);
    if (!this.turns) this.before.append(el);
    else this.talk.insert({kind: 'user', turn: this.turns, el});
    this.paint();
  }

  // steps reads the messages of the run again.
  async steps() {
    const {api} = this.view.app;
    try {
      const before = this.view.runs[this.view.runs.indexOf(this) - 1];
      const after = this.read || before?.read || 0;
      for await (const page of api.pages(`/sessions/${this.run.session}/transcript`, {limit: 100, ...(after && {after})}, {param: 'after', signal: this.control.signal})) {
        for (const s of page.items) if (s.run === this.run.id) this.step(s);
      }
    } catch (e) {
      if (!this.control.signal.aborted && e.status !== 404) toast(e, {kind: 'bad'});
    }
    this.paint();
    this.view.bottom();
  }

  // message shows what a person has said.
  message(s) {
    const text = growing();
    text.set(s.text ?? '');
    const first = () => this.said[0] === s;
    const el = h('div', {class: 'said said-user', dataset: {position: s.position}}, h('div', {class: 'said-text'}, text.el),
      s.images ? h('div', {class: 'chips'}, (s.files?.length ? s.files : [`${s.images} ${s.images === 1 ? 'file' : 'files'}`]).map((name) => h('span', {class: 'chip'}, icon('file'), visible(name)))) : null,
      h('div', {class: 'said-tools'}, button('Copy', () => copy(s.text), {icon: 'copy', quiet: true}),
        button('Edit and send again', () => this.edit(s, el), {icon: 'edit', quiet: true, class: 'button quiet edit-button'}),
        button('Answer again', () => first() && this.again(s), {icon: 'retry', quiet: true})));
    return el;
  }

  // edit lets a person change what they said; the conversation goes on from there in a chat of its own.
  edit(s, el) {
    if (el.querySelector('textarea')) return;
    const field = h('textarea', {value: s.text, 'aria-label': 'Edited message'});
    const send = () => { if (field.value.trim()) this.send(field.value, s); };
    const box = h('div', {class: 'stack'}, field, h('div', {class: 'row end'}, h('span', {class: 'soft grow'}, 'This starts a new chat; the old one is kept.'),
      button('Cancel', () => done()), button('Send', send, {kind: 'primary', icon: 'send'})));
    const done = () => { box.remove(); el.classList.remove('editing'); };
    field.addEventListener('keydown', (e) => {
      if (e.key === 'Escape') done();
      else if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); send(); }
    });
    el.classList.add('editing');
    el.append(box);
    field.focus();
  }

  async again(s) {
    if (s.images) {
      toast('The files of this message are not sent again. Edit it and attach them.', {kind: 'bad'});
      return;
    }
    this.send(s.text, s);
  }

  // send says something in place of a message, once however often it is wanted until it is said.
  async send(input, s) {
    if (this.sending) return;
    this.sending = true;
    try {
      await this.view.start({input, before: s.position});
    } catch (e) {
      toast(e, {kind: 'bad'});
    } finally {
      this.sending = false;
    }
  }

  // follow reads the events, to the end of the run or until there is nothing more now.
  follow() {
    return new Promise((resolve) => {
      this.view.app.api.stream(`/runs/${this.run.id}/events`, {signal: this.control.signal,
        onBatch: (list) => {
          for (const e of list) this.talk.add(e.data);
          this.whole ||= list.at(-1).name === 'finish';
          if (list.some((e) => e.name === 'approval' || e.name === 'finish' || e.name === 'turn_end' && e.data.error)) this.refresh();
          else if (this.run.state === 'waiting') this.refresh();
          this.paint();
        },
        onState: (state, error) => {
          this.lost = state === 'lost';
          if (state === 'failed' && error.status !== 401 && error.status !== 404) append(this.foot, h('p', {class: 'bad-words', role: 'alert'}, sentence(error)));
          if (state === 'over' || state === 'failed') {
            this.whole = true;
            this.ended();
          }
          if (state === 'open' && this.run.state !== 'ended') resolve();
          if (state !== 'open') resolve();
          this.view.paintStatus();
        }});
      this.control.signal.addEventListener('abort', resolve);
    });
  }

  ended() { this.refresh(); }

  // refresh asks how the run stands.
  refresh = later(60, async () => {
    if (this.control.signal.aborted) return;
    const news = this.turn();
    try {
      const run = await this.view.app.api.get(`/runs/${this.run.id}`, {signal: this.control.signal});
      if (!news()) return;
      this.run = run;
    } catch { return; }
    for (const c of this.talk.calls.values()) if (c.approval?.state === 'pending') this.approval(c);
    this.paint();
    this.view.paintStatus();
  });

  // decided looks at an approval of this run again.
  decided(id) {
    for (const c of this.talk.calls.values()) if (c.approval?.id === id) this.approval(c);
  }

  async approval(c) {
    try {
      const a = await this.view.app.api.get(`/approvals/${c.approval.id}`, {signal: this.control.signal});
      if (a.id !== c.approval.id) return;
      if (older(a, c.approval)) { // it was asked for before what the events have told since
        await this.approval(c);
        return;
      }
      this.talk.add({kind: 'approval', turn: c.turn, call_id: c.id, name: c.name, approval: a});
      c.asked = a;
      this.parts.get(c)?.asking?.update(a);
    } catch { return; }
    this.paint();
  }

  // shownInPart lets an item be shown further with the next painting.
  shownInPart(it) {
    this.talk.changed.add(it);
    this.paint();
  }

  paintNow() {
    const near = this.view.near(), until = performance.now() + pieceTime;
    for (const it of this.talk.changed) {
      if (performance.now() > until) break;
      this.talk.changed.delete(it);
      let part = this.parts.get(it);
      if (!part) {
        part = makers[it.kind](it, this);
        this.parts.set(it, part);
        const next = this.talk.items[this.talk.items.indexOf(it) + 1];
        this.body.insertBefore(part.el, (next && this.parts.get(next)?.el) ?? null);
      }
      part.update?.();
    }
    if (this.talk.changed.size) this.paint(); // the rest
    else this.paintFoot();
    if (near) this.view.bottom(true);
    this.view.paintStatus();
  }

  paintFoot() {
    const end = this.run.ended;
    if (!end) this.paintTrouble();
    if (!end || !this.whole) return; // what happened comes first
    const text = this.talk.items.filter((it) => it.kind === 'text').map((it) => it.text).join('\n\n');
    const key = JSON.stringify([end, text.length, this.view.runs.indexOf(this)]);
    if (this.footKey === key) return;
    this.footKey = key;
    const why = ends[end.reason];
    put(this.foot, why && h('p', {class: 'end'}, statusBadge(this.run.status), ` ${why}`, end.detail ? ` (${end.detail})` : '', end.error ? `: ${end.error.message}` : ''),
      end.reason === 'empty' && this.said.length > 0 && button('Try again', () => this.again(this.said[0]), {icon: 'retry'}),
      h('div', {class: 'foot-line soft'}, this.talk.model && h('span', null, this.talk.model), end.usage?.known && h('span', null, `${end.usage.input_tokens} + ${end.usage.output_tokens} tokens`),
        h('span', {title: when(this.run.changed)}, ago(this.run.changed)),
        h('a', {href: `#/inspector/run/${encodeURIComponent(this.run.id)}`}, 'What happened'),
        text && button('Copy the answer', () => copy(text), {icon: 'copy', quiet: true}),
        button('Go on from here', () => this.branch(), {icon: 'branch', quiet: true})));
  }

  // paintTrouble shows what holds up a run that is not over: a server that is asked again, or a failure that somebody may try again.
  paintTrouble() {
    const {run} = this, {retry} = this.talk, stopped = run.state === 'waiting' && ['failed', 'interrupted'].includes(run.status);
    const words = retry ? `${failureWords(retry.error)} ${again(retry)}` : '', told = this.talk.items.findLast((it) => it.kind === 'failed')?.error.message;
    const key = JSON.stringify([words, stopped && run.status, run.waits, told]);
    if (this.footKey === key) return;
    this.footKey = key;
    put(this.foot, words && h('p', {class: 'trouble', role: 'status'}, words), !words && stopped && this.stoppedPart(told));
  }

  // stoppedPart says that a run has stopped and how it goes on. told is the failure that the events have told last.
  stoppedPart(told) {
    const {run} = this, {error, note} = run.waits ?? {};
    const words = run.status === 'failed' && !(told && told === error?.message) && (error ? failureWords(error) : note);
    return [words && h('p', {class: 'trouble'}, words), h('div', {class: 'row', role: 'alert'}, statusBadge(run.status),
      h('span', {class: 'soft'}, run.status === 'failed' ? 'It is not retried automatically.' : 'It was interrupted.'),
      run.agent ? button('Try again', () => this.resume(), {icon: 'retry', kind: 'primary'}) : h('code', null, `wield sessions resume ${run.id}`),
      h('a', {href: `#/inspector/run/${encodeURIComponent(run.id)}`}, 'What happened'))];
  }

  // resume lets the run go on where it stopped.
  async resume() {
    if (this.resuming) return;
    this.resuming = true;
    try {
      await this.view.app.api.post(`/runs/${this.run.id}/resume`);
    } catch (e) {
      toast(e, {kind: 'bad'});
    } finally {
      this.resuming = false;
      this.refresh();
    }
  }

  // branch lets the next message follow this answer, in a chat of its own.
  branch() {
    const next = this.view.runs[this.view.runs.indexOf(this) + 1];
    this.view.branch = next?.said[0]?.position ?? null;
    this.view.paintChips();
    this.view.input.focus();
  }
}

const ends = {limit: 'It stopped at a limit', canceled: 'It was stopped', empty: 'The model wrote nothing', error: 'It ended with an error'};

// What makes the parts of a run, by their kinds. Each gives {el, update()}.
const makers = {
  user: (it) => ({el: it.el}),
  text(it, run) {
    const md = growing(() => run.shownInPart(it));
    return {el: h('div', {class: 'said said-model'}, md.el), update: () => md.set(it.text)};
  },
  reasoning(it, run) {
    const md = growing(() => run.shownInPart(it));
    const words = h('span', null, 'Reasoning');
    return {el: h('details', {class: 'reasoning'}, h('summary', null, words), md.el), update() {
      md.set(it.text);
      words.textContent = `Reasoning, ${it.text.trim().split(/\s+/).length} words`;
    }};
  },
  failed: (it) => ({el: h('p', {class: 'trouble'}, failureWords(it.error))}),
  bounce: (it) => ({el: h('details', {class: 'aside'}, h('summary', null, badge('asked again', 'warn'), ` ${reasons[it.reason] ?? it.reason}${it.name ? `: ${it.name}` : ''}`),
    it.suppressed && [h('h3', null, 'First response'), h('pre', null, visible(it.suppressed))], it.sent && [h('h3', null, 'What the model was told'), h('pre', null, visible(it.sent))])}),
  rejected: (it) => ({el: h('details', {class: 'aside'}, h('summary', null, badge('not run', 'bad'), ` ${it.name || 'a call'}: ${it.message || reasons[it.reason] || it.reason}`), h('pre', null, visible(it.raw ?? '')))}),
  overrun: (it) => ({el: h('details', {class: 'aside'}, h('summary', null, badge('went on', 'warn'), ' the model went on past its turn'),
    h('p', null, `Its turn ended at byte ${it.at}, before `, h('code', null, visible(it.marker.trim())), '. Nothing behind it is read as a call.'))}),
  call: (it, run) => new Card(it, run),
};

const reasons = {unknown_tool: 'a tool that is not there was called', malformed: 'a call could not be read', invalid: 'arguments did not fit the tool', incomplete: 'a call broke off', confused: 'a tool was called the wrong way', overrun: 'a call came behind the end of the turn'};
