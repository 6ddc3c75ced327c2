// The chat: conversations with models, and what their tools do meanwhile.

import {h, put, sameFocus, icon, button, toast, ask, prompt, sentence, upper, ago, bytes, download, visible, dialog, later} from '../lib/ui.js';
import {RunView} from '../lib/runview.js';
import {statusBadge, statusWord} from '../lib/status.js';
import {connectForm} from '../lib/connect.js';

export const title = 'Chat';

// What the service takes of files with one message: each, all together, and how many.
const mostBytes = 8 << 20, mostTogether = 11 << 20, mostFiles = 8;

const pageOfList = 50; // sessions that are listed at first, and more each time

export function show(root, route, app) {
  const view = new View(root, app);
  app.onmove((at) => { view.go(at.parts[0] ?? '', at.query.edit); return true; });
  view.go(route.parts[0] ?? '', route.query.edit);
  return () => view.end();
}

class View {
  constructor(root, app) {
    Object.assign(this, {app, models: [], session: null, id: '', runs: [], files: [], branch: null, chosen: new Map(), ends: [], listed: pageOfList, further: false,
      heard: null, along: null, picked: false, over: false, reach: app.api.inOrder()});
    this.build(root);
    this.ends.push(app.feed((e) => this.hear(e)));
    this.ends.push(app.keys({
      n: ['New chat', () => app.go('chat')],
      '/': ['Search the chats', () => { this.side.classList.add('open'); this.search.focus(); }],
      m: ['Write a message', () => this.input.focus()],
      e: ['Edit the last message', () => this.editLast()],
      w: ['Go to what needs approval', () => this.toQuestion(root)],
      'Alt+s': ['Stop', () => this.stop()],
    }));
    const tick = setInterval(() => this.tick(), 1000);
    this.ends.push(() => clearInterval(tick));
    this.list();
    this.known = this.loadModels();
  }

  end() {
    this.over = true;
    this.keepDraft();
    this.close();
    for (const f of this.ends) f();
    this.listing?.abort();
  }

  // close ends what follows the runs of the session that was shown.
  close() {
    this.settled?.();
    for (const r of this.runs) r.end();
    this.runs = [];
    this.heard = null;
    this.loading?.abort();
  }

  build(root) {
    this.search = h('input', {type: 'search', placeholder: 'Search', 'aria-label': 'Search the chats', oninput: later(250, () => this.list())});
    this.from = h('select', {'aria-label': 'Which chats', onchange: () => this.list()}, h('option', {value: 'service'}, 'Chats'), h('option', {value: 'command_line'}, 'Command line'));
    this.items = h('ul', {class: 'session-list', 'aria-label': 'Chats', onscroll: () => this.older()});
    this.side = h('aside', {class: 'sessions', 'aria-label': 'Chats'},
      h('div', {class: 'sessions-head'}, button('New chat', () => { this.side.classList.remove('open'); this.app.go('chat'); }, {icon: 'plus'}), h('div', {class: 'row nowrap'}, this.from, this.search)), this.items);
    this.name = h('h1', {class: 'grow'}, 'Chat');
    this.tools = h('div', {class: 'row'});
    this.notice = h('div', {class: 'notice', role: 'alert'});
    this.stream = h('div', {class: 'stream', role: 'log', 'aria-label': 'Conversation', tabindex: '0'});
    this.status = h('span', {class: 'status soft', role: 'status'});
    this.input = h('textarea', {rows: '1', placeholder: 'Write a message', 'aria-label': 'Message', oninput: () => this.grow(), onkeydown: (e) => this.onKey(e), onpaste: (e) => this.attach(e.clipboardData.files)});
    this.model = h('select', {'aria-label': 'Model', onchange: () => { this.picked = true; this.pickModel(); }});
    this.toolButton = button('Tools', () => this.pickTools(), {icon: 'tool'});
    this.file = h('input', {type: 'file', multiple: true, hidden: true, 'aria-label': 'Files', onchange: () => { this.attach(this.file.files); this.file.value = ''; }});
    this.chips = h('div', {class: 'chips'});
    this.sendButton = h('button', {class: 'button primary', type: 'submit'}, icon('send'), h('span', null, 'Send'));
    this.stopButton = button('Stop', () => this.stop(), {icon: 'stop', kind: 'danger', hidden: true});
    this.composer = h('form', {class: 'composer', onsubmit: (e) => { e.preventDefault(); this.send(); }}, this.chips, this.input,
      h('div', {class: 'composer-bar'}, this.model, this.toolButton, button('Attach files', () => this.file.click(), {icon: 'attach', quiet: true}), this.file,
        this.status, this.stopButton, this.sendButton));
    const talk = h('section', {class: 'talk', 'aria-label': 'Conversation',
      ondragover: (e) => { if (e.dataTransfer?.types.includes('Files')) { e.preventDefault(); talk.classList.add('drop'); } },
      ondragleave: () => talk.classList.remove('drop'),
      ondrop: (e) => { e.preventDefault(); talk.classList.remove('drop'); this.attach(e.dataTransfer.files); }},
    h('header', {class: 'page-head talk-head'}, button('Chats', () => this.side.classList.toggle('open'), {icon: 'menu', quiet: true, class: 'button quiet only-narrow'}), this.name, this.tools),
    this.notice, this.stream, this.composer);
    put(root, h('div', {class: 'chat'}, this.side, talk));
  }

  // go shows a session, or none. position is that of a message which is to be edited.
  go(id, position) {
    if (id === this.id && this.session) {
      this.editAt(position);
      return;
    }
    const along = this.along === id; // what is written by now goes along, as it stands
    if (!along) this.keepDraft();
    this.close();
    Object.assign(this, {id, session: null, files: along ? this.files : [], branch: null, along: null, picked: false});
    this.side.classList.remove('open');
    put(this.tools);
    this.paintChips();
    if (!along) this.input.value = this.draft();
    this.grow();
    this.mark();
    this.paintStatus();
    if (!id) {
      put(this.name, 'New chat');
      put(this.stream, this.welcome());
      this.input.focus();
      return;
    }
    put(this.name, '…');
    put(this.stream, h('p', {class: 'soft'}, 'Loading…'));
    this.loading = new AbortController();
    this.reading = this.open(this.loading.signal, position);
  }

  // open reads the session and shows it, or says why it cannot be.
  async open(signal, position) {
    try {
      await this.load(signal);
      this.editAt(position);
    } catch (e) {
      if (signal.aborted) return;
      this.heard = null;
      put(this.name, 'Chat');
      put(this.stream, h('div', {class: 'empty', role: 'alert'}, h('p', null, e.status === 404 ? 'This chat does not exist. It was deleted, or belongs to another key.' : sentence(e)), button('New chat', () => this.app.go('chat'))));
    }
  }

  // editAt begins to edit the message at a position of the transcript, if there is one.
  editAt(position) {
    if (!position) return;
    this.settled?.();
    const said = [...this.stream.querySelectorAll('.said-user')].find((el) => el.dataset.position === position);
    said?.querySelector('.edit-button')?.click();
    said?.scrollIntoView({block: 'center'});
  }

  welcome() {
    if (this.connect) {
      return h('div', {class: 'welcome stack'}, this.connect, h('p', null, 'Or try the demo first: its answers are scripted, its tools are real.'), this.tries());
    }
    return h('div', {class: 'welcome stack'}, h('p', null, 'Ask the model something that needs one of its tools. Each tool call appears as a card; you approve those that the rules ask about.'), this.tries());
  }

  // tries are what can be said to the model that is chosen, where it is one that shows something.
  tries() {
    const list = this.current()?.try ?? [];
    return list.length > 0 && h('div', {class: 'row tries'}, list.map((text) => button(text, () => { this.input.value = text; this.send(); })));
  }

  // load reads a session: what was said from its transcript, and what happened from the events of its runs. What is heard of meanwhile may be in
  // what is read or not, so it is looked at afterwards.
  async load(signal) {
    const {api} = this.app, heard = this.heard = [];
    const session = await api.get(`/sessions/${encodeURIComponent(this.id)}`, {signal});
    const states = new Map();
    for await (const page of api.pages('/runs', {session: this.id, limit: 100}, {signal})) for (const r of page.items) states.set(r.id, r);
    const steps = [];
    for await (const page of api.pages(`/sessions/${encodeURIComponent(this.id)}/transcript`, {limit: 100}, {param: 'after', signal})) steps.push(...page.items);
    if (signal.aborted) return;
    Object.assign(this, {session, heard: null});
    put(this.stream);
    for (const s of steps) {
      if (!states.has(s.run)) continue;
      let run = this.runs.find((r) => r.run.id === s.run);
      if (!run) run = this.addRun(states.get(s.run), false);
      run.step(s);
    }
    for (const r of [...states.values()].reverse()) if (!this.runs.some((have) => have.run.id === r.id)) this.addRun(r, false);
    this.paintHead();
    const {agent} = session;
    if (agent && !this.picked && this.models.some((m) => m.name === agent)) this.model.value = agent;
    this.pickModel();
    this.settle();
    const queue = [...this.runs]; // the latest is seen first
    const next = async () => { for (let r; (r = queue.pop()) && !signal.aborted;) await r.follow(); };
    for (let i = 0; i < 3; i++) next();
    for (const e of heard) this.take(e);
  }

  // addRun shows a run, in the order in which they began.
  addRun(run, follow = true) {
    const near = this.near(), r = new RunView(this, run), begun = Date.parse(run.begun);
    const at = this.runs.findIndex((later) => Date.parse(later.run.begun) > begun);
    this.stream.querySelector('.welcome')?.remove();
    if (at < 0) {
      this.runs.push(r);
      this.stream.append(r.el);
    } else {
      this.stream.insertBefore(r.el, this.runs[at].el);
      this.runs.splice(at, 0, r);
    }
    if (follow) {
      if (near) this.settle();
      r.follow();
    }
    return r;
  }

  // hear takes what is recorded in the service, by whomever.
  hear(e) {
    if (['feed.open', 'run', 'session', 'end', 'wait', 'resume', 'deleted'].includes(e.kind)) this.listSoon();
    if (this.heard) this.heard.push(e); // until the session is here
    else if (this.session) this.take(e);
  }

  // take takes what concerns the session that is shown.
  take(e) {
    if (e.kind === 'feed.open') this.catchUp();
    const run = this.runs.find((r) => r.run.id === e.stream);
    if (e.kind === 'run' && e.session === this.id && !run) this.found(e.stream);
    if (e.kind === 'message' && run) run.steps();
    if (['end', 'wait', 'resume'].includes(e.kind) && run) run.ended();
    if (['answer', 'consumed'].includes(e.kind)) for (const r of this.runs) r.decided(e.stream);
  }

  // catchUp looks for what happened while nothing was heard.
  async catchUp() {
    const {api} = this.app, {signal} = this.loading, list = [];
    try {
      for await (const page of api.pages('/runs', {session: this.id, limit: 100}, {signal})) list.push(...page.items);
    } catch {
      return; // who is told that the connection is lost is told when it is back
    }
    if (signal.aborted) return;
    for (const run of list.reverse()) {
      const known = this.runs.find((r) => r.run.id === run.id);
      if (!known) this.addRun(run).steps();
      else if (known.run.state !== 'ended') {
        known.steps();
        known.refresh();
      }
    }
  }

  // toQuestion goes to what waits for a decision: to the first thing in it that can be used.
  toQuestion(root) {
    const card = root.querySelector('.question')?.closest('.card');
    if (!card) return;
    card.open = true;
    card.scrollIntoView({block: 'end'}); // all of it has to be seen before it can be approved
    card.querySelector('.approval-bar button:not(:disabled), .approval-bar input')?.focus();
  }

  // found shows a run that began elsewhere.
  async found(id) {
    try {
      const run = await this.app.api.get(`/runs/${id}`);
      if (run.session !== this.id || this.runs.some((r) => r.run.id === id)) return;
      const r = this.addRun(run);
      r.steps();
      this.bottom();
    } catch { /* it was deleted meanwhile */ }
  }

  listSoon = later(200, () => this.list());

  // older lists more of the sessions when the end of the list is near.
  older() {
    const l = this.items;
    if (!this.further || l.scrollHeight - l.scrollTop - l.clientHeight > 400) return;
    this.further = false; // until those are here
    this.listed += pageOfList;
    this.list();
  }

  // list shows the latest sessions, as many as are wanted.
  async list() {
    if (this.over) return;
    this.listing?.abort();
    const listing = this.listing = new AbortController();
    const items = [];
    let further = false;
    try {
      const q = this.search.value.trim();
      for await (const page of this.app.api.pages('/sessions', {limit: 50, from: this.from.value, ...(q && {q})}, {signal: listing.signal})) {
        items.push(...page.items);
        further = Boolean(page.next);
        if (items.length >= this.listed) break;
      }
    } catch (e) {
      if (!listing.signal.aborted && e.status) put(this.items, h('li', {class: 'empty'}, sentence(e)));
      return;
    }
    if (listing.signal.aborted) return;
    this.further = further;
    sameFocus(this.items, () => put(this.items, items.map((s) => h('li', null, h('a', {href: `#/chat/${encodeURIComponent(s.id)}`, dataset: {id: s.id}},
      h('span', {class: 'session-title'}, s.title || 'Untitled'), h('span', {class: 'session-meta'}, s.status !== 'done' && statusBadge(s.status), ago(s.changed)))))));
    if (items.length === 0) put(this.items, h('li', {class: 'empty'}, this.search.value ? 'No chat matches.' : this.from.value === 'service' ? 'No chats yet.' : 'No runs of the command line yet.'));
    const mine = items.find((s) => s.id === this.id);
    if (mine && this.session) {
      this.session = mine;
      this.paintHead();
    }
    this.mark();
  }

  // mark marks the session that is shown.
  mark() {
    for (const a of this.items.querySelectorAll('a')) {
      if (a.dataset.id === this.id) a.setAttribute('aria-current', 'true');
      else a.removeAttribute('aria-current');
    }
  }

  paintHead() {
    put(this.name, this.session.title || 'Untitled');
    if (this.tools.childNodes.length) return;
    put(this.tools, button('Rename', () => this.rename(), {icon: 'edit', quiet: true}), button('Export', () => this.export(), {icon: 'export', quiet: true}),
      button('Delete', () => this.remove(), {icon: 'trash', quiet: true}));
  }

  async rename() {
    const {id} = this, title = await prompt('Title of this chat', this.session.title ?? '');
    if (title === null || !title.trim()) return;
    try {
      const session = await this.app.api.patch(`/sessions/${id}`, {title: title.trim()});
      if (this.session && this.id === id) { // else the person is elsewhere by now
        this.session = session;
        put(this.name, session.title);
      }
      this.list();
    } catch (e) {
      toast(e, {kind: 'bad'});
    }
  }

  async export() {
    const {id} = this;
    try {
      download(`${id}.jsonl`, await this.app.api.text(`/sessions/${id}/export`), 'application/jsonl');
    } catch (e) {
      toast(e, {kind: 'bad'});
    }
  }

  async remove() {
    const {id} = this;
    if (!await ask('Delete this chat?', 'This deletes all its records for good.', {yes: 'Delete', kind: 'danger'})) return;
    try {
      await this.app.api.del(`/sessions/${id}`);
      if (!this.over && this.id === id) {
        this.session = null;
        this.app.go('chat');
      }
      this.list();
    } catch (e) {
      toast(e, {kind: 'bad'});
    }
  }

  // Models and tools

  async loadModels() {
    try {
      const {items, connect} = await this.app.api.get('/models');
      this.models = items;
      this.connect = connect ? connectForm(this.app, (got) => this.connected(got)) : null;
    } catch (e) {
      this.say(sentence(e));
      return;
    }
    put(this.model, this.models.map((m) => h('option', {value: m.name}, m.name)));
    if (this.connect && !this.id) put(this.stream, this.welcome());
    if (this.models.length === 0) {
      if (!this.connect) this.say('This service has no model that you may use. Add one under models in the configuration.');
      return;
    }
    const wanted = this.session?.agent ?? remembered('wield.model');
    if (this.models.some((m) => m.name === wanted)) this.model.value = wanted;
    else this.model.value = (this.models.find((m) => m.agent) ?? this.models[0]).name;
    this.pickModel();
  }

  // connected shows the model that was connected.
  async connected(got) {
    remember('wield.model', got.model);
    await this.loadModels();
    toast(`${got.model} is connected. It stands in ${got.file}.`);
    this.input.focus();
  }

  current() {
    return this.models.find((m) => m.name === this.model.value);
  }

  // pickModel looks whether the model that is chosen can be asked, before somebody has written to it.
  async pickModel() {
    const m = this.current();
    if (!m) return;
    remember('wield.model', m.name);
    if (!this.id) put(this.stream, this.welcome());
    const tools = m.tools ?? [];
    this.toolButton.hidden = tools.length === 0;
    const chosen = this.chosen.get(m.name);
    put(this.toolButton.querySelector('span'), chosen ? `Tools: ${chosen.size} of ${tools.length}` : `Tools: ${tools.length}`);
    const news = this.reach();
    try {
      const reach = await this.app.api.get(`/models/${encodeURIComponent(m.name)}/reach`);
      if (this.current() !== m || !news()) return;
      this.say(reach.ok ? '' : `The model ${m.name} cannot be asked now: ${reach.message}. ${reach.fix ? reach.fix[0].toUpperCase() + reach.fix.slice(1) + '.' : ''}`);
    } catch { /* an old service, or none: the stream says so */ }
  }

  // say shows a notice above the conversation.
  say(text) {
    put(this.notice, text && [icon('warn'), h('span', {class: 'grow'}, text), button('Try again', () => this.pickModel())]);
  }

  pickTools() {
    const m = this.current(), all = m.tools ?? [];
    const chosen = new Set(this.chosen.get(m.name) ?? all);
    const boxes = all.map((name) => h('label', {class: 'check'}, h('input', {type: 'checkbox', checked: chosen.has(name), onchange: (e) => {
      if (e.target.checked) chosen.add(name);
      else chosen.delete(name);
      if (chosen.size === all.length) this.chosen.delete(m.name);
      else this.chosen.set(m.name, chosen);
      this.pickModel();
    }}), h('code', null, name)));
    dialog(`Tools of ${m.name}`, [h('p', {class: 'soft'}, 'Your next messages can use the selected tools.'), h('div', {class: 'checks'}, boxes)]);
  }

  // Writing

  grow() {
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight + 2, 240)}px`;
  }

  onKey(e) {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      this.send();
    } else if (e.key === 'Escape') {
      this.stream.focus(); // where keys of one letter do what the help says
    }
  }

  draft(id = this.id) {
    try { return sessionStorage.getItem(`wield.draft.${id}`) ?? ''; } catch { return ''; }
  }

  keepDraft(text = this.input.value, id = this.id) {
    try {
      if (text) sessionStorage.setItem(`wield.draft.${id}`, text);
      else sessionStorage.removeItem(`wield.draft.${id}`);
    } catch { /* the browser keeps nothing */ }
  }

  attach(list) {
    for (const f of [...list ?? []]) {
      const sum = this.files.reduce((n, x) => n + x.size, 0) + f.size;
      if (this.files.length >= mostFiles) toast(`A message takes ${mostFiles} files; ${f.name} is left out.`, {kind: 'bad'});
      else if (f.size > mostBytes) toast(`${f.name} is too large (${bytes(f.size)}): a file may have ${bytes(mostBytes)}.`, {kind: 'bad'});
      else if (sum > mostTogether) toast(`${f.name} is left out: the files of a message may have ${bytes(mostTogether)} together.`, {kind: 'bad'});
      else if (f.size === 0) toast(`${f.name} is empty.`, {kind: 'bad'});
      else this.files.push(f);
    }
    this.paintChips();
  }

  paintChips() {
    put(this.chips, this.branch && h('span', {class: 'chip'}, icon('branch'), 'goes on from an earlier answer, as a new chat', button('Do not', () => { this.branch = null; this.paintChips(); }, {icon: 'close', quiet: true})),
      this.files.map((f, i) => h('span', {class: 'chip'}, icon('file'), visible(f.name), h('span', {class: 'soft'}, bytes(f.size)),
        button(`Remove ${f.name}`, () => { this.files.splice(i, 1); this.paintChips(); }, {icon: 'close', quiet: true}))));
  }

  // live returns the run that goes on or waits, if there is one.
  live() {
    return this.runs.findLast((r) => r.run.state !== 'ended');
  }

  async send() {
    const text = this.input.value, {id, branch} = this, files = [...this.files];
    if (this.sending || !(text.trim() || files.length)) return;
    this.sending = true;
    this.sendButton.disabled = true;
    try {
      const attachments = await Promise.all(files.map(encoded));
      await this.reading; // whoever is quick says something before it is known what goes on here
      this.stay(id);
      if (!await this.tell(text, attachments)) {
        await this.start({input: text, attachments, ...(branch && {before: branch})});
      }
      this.sent(id, text, files, branch);
    } catch (e) {
      toast(e, {kind: 'bad'}); // what was written stays
    } finally {
      this.sending = false;
      this.sendButton.disabled = false;
      const at = document.activeElement; // the answer may be here by now, and the person elsewhere
      if (!at || at === document.body || at === this.sendButton) this.input.focus();
    }
  }

  // stay fails if the person has left a chat, where what was to be said stands as a draft.
  stay(id) {
    if (this.over || this.id !== id) throw new Error('The message was not sent, because you left its chat too early');
  }

  // sent takes away what was sent from a chat. What was written or attached meanwhile stays, here or in the chat where the person is by now.
  sent(id, text, files, branch) {
    if (this.over || this.id !== id) {
      if (this.draft(id) === text) this.keepDraft('', id);
      return;
    }
    if (this.input.value === text) this.input.value = '';
    if (!this.along) this.keepDraft();
    this.files = this.files.filter((f) => !files.includes(f));
    if (this.branch === branch) this.branch = null;
    this.paintChips();
    this.grow();
  }

  // tell says something to the run that goes on. It resolves to false if there is none, or none any more.
  async tell(text, attachments) {
    const live = this.live();
    if (!live || this.branch) return false;
    try {
      if (stopped.has(live.run.status)) { // what is said now takes its place
        await this.app.api.post(`/runs/${live.run.id}/cancel`);
        live.refresh();
        return false;
      }
      await this.app.api.post(`/runs/${live.run.id}/messages`, {text, ...(attachments.length && {attachments})});
    } catch (e) {
      if (e.kind !== 'ended') throw e;
      live.refresh();
      return false;
    }
    return true;
  }

  // start starts a run, in the session that is shown, in one that branches off it, or in a new one.
  async start({input, attachments = [], before}) {
    const session = this.id;
    await this.known; // whoever is quick says something before the models are listed
    this.stay(session);
    const m = this.current();
    if (!m) throw new Error('There is no model to ask');
    const tools = this.chosen.get(m.name);
    const run = await this.app.api.post('/runs', {agent: m.name, input, ...(attachments.length && {attachments}), ...(tools && {tools: [...tools]}), ...(session && {session}), ...(before && {before})});
    const elsewhere = this.over || this.id !== session; // the person, by now
    if (run.session !== session) {
      const line = input.trim().split('\n')[0] || attachments[0]?.name || 'Untitled';
      this.app.api.patch(`/sessions/${run.session}`, {title: line.length > 80 ? `${line.slice(0, 79)}…` : line}).catch(() => {}).then(() => this.listSoon());
      if (elsewhere) return;
      this.keepDraft('');
      this.along = run.session;
      this.app.go(`chat/${run.session}`);
      return;
    }
    if (elsewhere) return;
    if (!this.runs.some((r) => r.run.id === run.id)) this.addRun(run).steps();
    this.bottom(true);
  }

  async stop() {
    const live = this.live();
    if (!live) return;
    try {
      await this.app.api.post(`/runs/${live.run.id}/cancel`);
    } catch (e) {
      if (e.kind !== 'ended') toast(e, {kind: 'bad'});
    }
    live.refresh();
  }

  editLast() {
    const edits = this.stream.querySelectorAll('.said-user .edit-button');
    edits[edits.length - 1]?.click();
  }

  // bottom shows the end of the conversation, if the person has not scrolled away from it.
  bottom(always = false) {
    const s = this.stream;
    if (always || s.scrollHeight - s.scrollTop - s.clientHeight < 120) s.scrollTop = s.scrollHeight;
  }

  // settle keeps the end in sight while what was loaded grows to its size, such as a question whose rules come later, until the person does something.
  settle() {
    this.settled?.();
    const grows = new ResizeObserver(() => this.bottom(true)), events = ['pointerdown', 'wheel', 'touchstart', 'keydown'];
    for (const r of this.runs) grows.observe(r.el);
    this.settled = () => {
      grows.disconnect();
      for (const e of events) removeEventListener(e, this.settled, true);
      this.settled = null;
    };
    for (const e of events) addEventListener(e, this.settled, {capture: true, passive: true});
    this.bottom(true);
  }

  // answered goes to the next question, or keeps the end in sight, where it will be.
  answered() {
    const next = this.stream.querySelector('.question')?.closest('.card');
    if (next) next.scrollIntoView({block: 'end'});
    else this.settle();
  }

  near() {
    const s = this.stream;
    return s.scrollHeight - s.scrollTop - s.clientHeight < 120;
  }

  tick() {
    this.live()?.paintFoot();
    this.paintStatus();
  }

  paintStatus() {
    const live = this.live();
    this.stopButton.hidden = !live || stopped.has(live.run.status);
    let text = '';
    if (live && live.run.state === 'waiting') text = live.lost ? 'Connection lost. Reconnecting…' : upper(statusWord(live.run.status));
    else if (live) {
      const words = live.talk.working();
      const s = Math.max(0, Math.floor((Date.now() - new Date(live.run.begun)) / 1000));
      text = live.lost ? 'Connection lost. Reconnecting…' : `${words} ${s ? `${s} s` : ''}`.trim();
    }
    if (this.status.textContent !== text) this.status.textContent = text;
  }
}

// stopped are the statuses of runs that go on only if somebody tries again.
const stopped = new Set(['failed', 'interrupted']);

// encoded reads a file as it is sent.
async function encoded(file) {
  const url = await new Promise((resolve, reject) => {
    const r = new FileReader();
    r.onload = () => resolve(r.result);
    r.onerror = () => reject(new Error(`${file.name} cannot be read`));
    r.readAsDataURL(file);
  });
  return {name: file.name, data: url.slice(url.indexOf(',') + 1)};
}

function remembered(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

function remember(name, value) {
  try { localStorage.setItem(name, value); } catch { /* the browser keeps nothing */ }
}
