// The inspector: finds a run or an exchange, and shows what happened in it: when, what the model was sent and wrote, how that was read, what
// was repaired or sent back, what the rules and people decided, and what came of it.

import {h, put, append, sameFocus, badge, button, toast, dialog, sentence, copy, when, lasts, count, bytes, visible} from '../lib/ui.js';
import {statusBadge} from '../lib/status.js';
import {list} from '../lib/list.js';
import {tree} from '../lib/tree.js';
import {split, asides} from '../lib/split.js';
import {asked} from '../lib/asked.js';
import {actions, pretty} from '../lib/copies.js';
import {runAgain} from '../lib/again.js';
import {compareButton} from '../lib/compare.js';
import {forkButton} from '../lib/fork.js';
import * as playground from './playground.js';

export const title = 'Inspector';

const itemHeight = 54, mostItems = 2000; // that are held at a time

export function show(root, route, app) {
  const abort = new AbortController();
  const get = (path) => app.api.get(path, {signal: abort.signal});
  let q = route.query.q ?? '', next = '', live = true, stood = 0, turn = 0, line = Promise.resolve(), older = false, endDetail = null;

  const search = h('input', {type: 'search', value: q, class: 'grow mono', placeholder: 'tool:x dialect:y status:failed repaired:true dur:>2s "text"', 'aria-label': 'Search', spellcheck: 'false'});
  const said = h('p', {class: 'bad-words filter-note', role: 'alert'});
  const tail = h('button', {type: 'button', class: 'button', 'aria-pressed': 'true', onclick: () => { live = !live; paintLive(); if (live) fresh(); else stood++; }}, 'Live');
  const items = list({height: itemHeight, label: 'Runs and requests', row: itemRow, id: (it) => `${it.kind} ${it.id}`, onpick: (it) => open(it), onend: () => more()});
  items.el.classList.add('inspect-list');
  const oldest = button('Older', () => more());
  const side = h('div', {class: 'inspect-side'}, h('form', {class: 'row', role: 'search', onsubmit: (e) => { e.preventDefault(); seek(search.value); history.replaceState(null, '', address(shown)); }}, search, tail), said, items.el, h('div', {class: 'row end'}, oldest));
  const main = h('div', {class: 'inspect-main'});
  const grid = h('div', {class: 'inspect'}, side, main);
  put(root, h('header', {class: 'page-head'}, h('h1', null, title), h('span', {class: 'grow'}), button('Filters', filters, {quiet: true, icon: 'menu'})), grid);

  const paintLive = () => {
    tail.setAttribute('aria-pressed', String(live));
    tail.classList.toggle('primary', live);
  };

  // Pages are read one after the other, so that each finds the list as the one before it left it. With another search a new line begins.
  const inLine = (read) => {
    const mine = turn;
    line = line.then(() => mine === turn && read(() => mine === turn));
    return line;
  };
  // load reads the first page of what was searched for. What the page looks for by itself is of no interest to who wants the list to stand still.
  const load = (byItself = false) => {
    const before = stood;
    return inLine((wanted) => read('', () => wanted() && (!byItself || before === stood)));
  };
  // more reads the page behind what is shown.
  const more = () => {
    if (!next || older) return;
    older = true;
    inLine(async (wanted) => {
      if (next) await read(next, wanted);
      if (wanted()) older = false;
    });
  };
  const read = async (before, wanted) => {
    if (!wanted()) return;
    try {
      const query = new URLSearchParams({limit: '50', ...(q && {q}), ...(before && {before})});
      const page = await get(`/inspect?${query}`);
      if (!wanted()) return;
      put(said);
      said.classList.remove('wrong');
      if (before) items.add(page.items);
      else items.set(joined(page));
      if (before || items.items() === page.items) next = page.next ?? '';
      oldest.hidden = !next;
      if (items.items().length === 0) put(said, h('span', {class: 'soft'}, q ? 'No run or request matches the search.' : 'Nothing recorded yet. Send a message in Chat or a request to the API: it appears here with what the model wrote, its calls and their results.'));
    } catch (e) {
      if (e.name !== 'AbortError' && wanted()) {
        put(said, sentence(e));
        said.classList.add('wrong'); // it is not asked for again by itself
      }
    }
  };
  // joined puts a first page that was read again in front of the later items that are shown, if it follows on them. Where so much has happened
  // that it does not, or where more than enough are shown, it stands alone, and what comes after it is read again when somebody looks.
  const joined = (page) => {
    const have = items.items(), ids = new Set(page.items.map((i) => i.id)), last = have.findLastIndex((i) => ids.has(i.id));
    if (have.length > mostItems && items.el.scrollTop > itemHeight) return have; // somebody looks at older ones
    if (!page.next || have.length > mostItems || last < 0) return page.items;
    return page.items.concat(have.slice(last + 1));
  };
  const seek = (words) => {
    q = words.trim();
    search.value = q;
    items.set([]);
    next = '';
    turn++;
    line = Promise.resolve();
    older = false;
    load();
  };

  // What is recorded tells that there is something new; it is asked for once a second at most, however much happens, and more seldom if that
  // takes long.
  let due = null, missed = false, rest = 1000;
  const fresh = () => {
    missed = Boolean(due);
    if (!live || due || abort.signal.aborted || document.hidden || said.classList.contains('wrong')) return;
    due = setTimeout(async () => {
      missed = false;
      const begun = performance.now();
      if (live) await load(true);
      if (live && shown && running) await refresh();
      rest = Math.max(1000, 4 * (performance.now() - begun));
      due = null;
      if (missed) fresh();
    }, rest);
  };
  const offFeed = app.feed(() => fresh());
  const poll = setInterval(() => fresh(), 3000); // exchanges of the gateway are in no feed

  let shown = null, running = false, refresh = () => {};
  const address = (it) => `#/inspector${it ? `/${it.kind}/${encodeURIComponent(it.id)}` : ''}${q ? `?q=${encodeURIComponent(q)}` : ''}`;
  const open = (it) => app.go(address(it));

  const detail = async (kind, id, turn, call, span) => {
    endDetail?.();
    endDetail = null;
    running = false;
    const mine = shown = {kind, id}, order = app.api.inOrder();
    grid.classList.add('with-detail');
    put(main, h('p', {class: 'empty'}, 'Reading…'));
    const path = kind === 'run' ? `/runs/${encodeURIComponent(id)}/timeline` : `/captures/${encodeURIComponent(id)}/timeline`;
    let view = null;
    const paint = async () => {
      const news = order();
      try {
        const t = await get(path);
        if (shown !== mine || !news()) return;
        running = kind === 'run' && !t.reason;
        if (view) view.set(t);
        else {
          view = timeline(t, app, {get, turn, call, span, back: () => app.go(address(null)), signal: abort.signal, remember: (n) => history.replaceState(null, '', `#/inspector/${kind}/${encodeURIComponent(id)}/${n}${q ? `?q=${encodeURIComponent(q)}` : ''}`)});
          endDetail = view.end;
          put(main, view.el);
        }
      } catch (e) {
        if (e.name !== 'AbortError' && !view && shown === mine) put(main, h('div', {class: 'empty', role: 'alert'}, h('p', null, sentence(e)), button('Back', () => app.go(address(null)))));
      }
    };
    refresh = paint;
    await paint();
  };
  const go = (r) => {
    const [kind, id, turn, call] = r.parts;
    if ((r.query.q ?? '') !== q) seek(r.query.q ?? '');
    if ((kind === 'run' || kind === 'exchange') && id) detail(kind, id, turn === undefined ? null : Number(turn), call === undefined ? null : Number(call), spanOf(r.query.at));
    else {
      endDetail?.();
      endDetail = null;
      shown = null;
      grid.classList.remove('with-detail');
      put(main, h('p', {class: 'empty'}, 'Select a run or a request to see what the model wrote and why. j and k move through the list, Enter opens, / searches.'));
    }
    return true;
  };
  app.onmove?.(go);

  const step = (n) => {
    const at = items.items().indexOf(items.picked());
    items.pick(Math.max(0, at + n));
    items.el.focus({preventScroll: true}); // Enter opens what is picked
  };
  const off = app.keys({
    '/': ['Search', () => { search.focus(); search.select(); }],
    j: ['The next in the list; Enter opens it', () => step(1)],
    k: ['The previous one', () => step(-1)],
  });
  paintLive();
  load();
  go(route);
  return () => { abort.abort(); offFeed(); clearInterval(poll); clearTimeout(due); off(); endDetail?.(); };
}

function itemRow(i) {
  return h('div', {class: 'inspect-item'},
    h('div', {class: 'row nowrap'}, statusBadge(i.status), h('span', {class: 'grow cut'}, i.title || i.path || i.id), h('span', {class: 'soft'}, lasts(i.took_ms))),
    h('div', {class: 'row nowrap soft small'}, h('span', null, new Date(i.time).toLocaleTimeString('en-GB')), h('span', null, i.kind === 'run' ? 'run' : 'exchange'), h('span', {class: 'cut'}, i.model),
      h('span', {class: 'cut mono grow'}, i.tools.join(' ')), i.repairs > 0 && badge('repaired', 'warn'), i.bounces > 0 && badge('bounced', 'wait'), i.rejects > 0 && badge('refused', 'bad')));
}

function filters() {
  const rows = [['tool:read_file', 'a tool was called; a * at the end stands for anything'], ['model:coder', 'the model, as the client knows it'], ['dialect:hermes', 'a call was read in this dialect'],
    ['status:failed', 'running, needs_approval, waiting_for_client, failed, interrupted, done, limit_reached, no_answer or cancelled'], ['repaired:true', 'a call was repaired'], ['bounced:true', 'the model was asked again'], ['rejected:true', 'text tried to be a call and was none'],
    ['dur:>2s dur:<1m', 'how long it took'], ['kind:run', 'a run of an agent, or an exchange of the gateway'], ['key:ada', 'who asked'], ['"some words"', 'stand in the texts'], ['-tool:x', 'turns a term around']];
  dialog('Filters', h('dl', {class: 'keys'}, rows.map(([term, words]) => [h('dt', {class: 'mono'}, term), h('dd', null, words)])));
}

// spans are the stretches of time of a timeline, in order: what took how long, and what of it was waiting for a person.
export function spans(t) {
  const list = [];
  const ms = (time) => (time ? Date.parse(time) : NaN);
  t.turns.forEach((turn, n) => {
    list.push({turn: n, call: null, kind: 'model', words: turn.model || 'model', at: ms(turn.asked), end: ms(turn.ended), turnInfo: turn});
    turn.calls.forEach((c, k) => {
      const read = ms(turn.ended), decided = ms(c.decided), started = ms(c.started), ended = ms(c.ended);
      const put = (kind, words, at, end) => { if (end >= at) list.push({turn: n, call: k, kind, words, at, end, callInfo: c}); };
      list.push({turn: n, call: k, kind: 'call', words: c.name, at: read, end: Number.isNaN(ended) ? read : ended, callInfo: c});
      const asked = ms(c.approvals[0]?.asked); // what is asked about is decided by the rules and the person together, so their time is not the check's
      put('check', 'checked', read, decided < asked || Number.isNaN(asked) ? decided : asked);
      let from = Number.isNaN(decided) ? read : decided;
      for (const a of c.approvals) {
        const until = ms(a.answered);
        put('wait', a.answered ? `${a.state} by ${a.by || 'somebody'}` : 'needs approval', ms(a.asked), Number.isNaN(until) ? ms(t.ended) : until);
        if (!Number.isNaN(until)) from = until;
      }
      if (!Number.isNaN(started)) {
        put('queue', 'queued', Math.min(from, started), started); // the decision may be written down after the tool has begun
        put('ran', 'ran', started, Number.isNaN(ended) ? ms(t.ended) : ended);
      }
    });
  });
  return list;
}

// spanOf reads two bytes from an address, as from 12-30.
function spanOf(text) {
  const m = /^(\d+)-(\d+)$/.exec(text ?? '');
  return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Number(m[2])] : null;
}

const kindWords = {model: 'model', check: 'check', wait: 'approval', queue: 'queue', ran: 'runs'};

// timeline shows one run or exchange.
function timeline(t, app, {get, turn: first, call: firstCall, span, back, signal, remember}) {
  let chosen = 0;
  const head = h('div', {class: 'stack'});
  const rows = list({height: 26, label: 'Timeline', row: (s) => spanRow(s), onpick: (s) => choose(s.turn, s.call), onmove: (s) => choose(s.turn, s.call)});
  rows.el.classList.add('waterfall');
  const body = h('div', {class: 'stack turn'});
  const el = h('div', {class: 'stack'}, head, h('div', {class: 'row legend soft small'}, Object.entries(kindWords).map(([k, w]) => h('span', null, h('span', {class: `swatch span-${k}`}), ` ${w}`))), rows.el, body);
  let all = [], from = 0, to = 1;

  const spanRow = (s) => {
    const bar = h('span', {class: ['bar', `span-${s.kind}`]});
    const width = Math.max(1, to - from);
    bar.style.left = `${(100 * (s.at - from)) / width}%`;
    bar.style.width = `${Math.max(0.4, (100 * (s.end - s.at)) / width)}%`;
    const failed = s.callInfo?.result?.is_error || s.turnInfo?.error;
    return [h('span', {class: ['span-name', s.kind === 'model' ? '' : s.kind === 'call' ? 'in1' : 'in2', failed && 'bad-words']}, s.kind === 'call' ? h('code', null, s.words) : s.words), h('span', {class: 'track'}, bar), h('span', {class: 'span-time soft'}, lasts(s.end - s.at))];
  };

  const set = (now) => {
    t = now;
    all = spans(t);
    from = Infinity;
    to = -Infinity;
    for (const s of all) {
      from = Math.min(from, s.at);
      to = Math.max(to, s.end);
    }
    rows.set(all);
    rows.refresh();
    rows.el.style.height = `${Math.min(8.5 * 26, Math.max(1, all.length) * 26 + 2)}px`;
    sameFocus(head, () => put(head, h('div', {class: 'row'}, button('Back', back, {quiet: true, icon: 'close'}), h('h2', {class: 'grow cut'}, t.title || t.id),
      t.run_status ? statusBadge(t.run_status) : badge(t.error?.kind || String(t.status), t.error || t.status >= 400 ? 'bad' : 'ok')),
    h('div', {class: 'row soft small'}, h('span', {class: 'mono'}, t.id), h('span', null, when(t.begun)), h('span', null, t.agent || t.model), h('span', null, lasts(Date.parse(t.ended) - Date.parse(t.begun))),
      t.usage.known && h('span', null, `${count(t.usage.input_tokens)} + ${count(t.usage.output_tokens)} tokens`), h('span', null, t.cost === undefined || t.cost === null ? 'cost not known' : `cost ${Number(t.cost.toPrecision(6))}`)),
    t.cache && h('p', {class: 'soft small'}, t.cache), t.error?.message && h('p', {class: 'bad-words'}, t.error.message), h('div', {class: 'row'}, actions(t, app, () => chosen, signal))));
    if (parts.size) paintTurn();
  };

  const choose = (n, call) => {
    if (n === chosen && body.firstChild) {
      focusCall(call);
      return;
    }
    chosen = n;
    lit = null;
    remember(n);
    paintTurn();
    focusCall(call);
  };
  const focusCall = (call) => {
    if (call === null || call === undefined) return;
    lit = call;
    light();
    body.querySelector('.chosen-call')?.scrollIntoView({block: 'nearest'});
  };
  const light = () => {
    for (const part of body.querySelectorAll('[data-decision]')) part.classList.toggle('chosen-call', part.dataset.decision === String(lit));
  };

  // partsOf returns what is shown of an answer: for each part what it is made of, and what makes it.
  const partsOf = (n) => {
    const turn = t.turns[n], list = [];
    const part = (name, of, make) => list.push([`${n} ${name} ${JSON.stringify(of)}`, make]);
    if (!turn) {
      part('none', null, () => h('p', {class: 'empty'}, 'The model has not been asked yet.'));
      return list;
    }
    part('head', [t.turns.length, turn.model, turn.backend, turn.bytes, turn.usage, turn.finish], () => turnHead(turn, n));
    if (turn.error) part('error', turn.error, () => h('p', {class: 'bad-words'}, `${turn.error.kind}: ${turn.error.message}`));
    turn.bounces.forEach((b, k) => part(`bounce ${k}`, b, () => bouncePart(b, t, n, k, app, get)));
    if (turn.rejected.length) part('refused', turn.rejected, () => refusedPart(turn.rejected));
    if (turn.overrun) part('overrun', turn.overrun, () => overrunPart(turn.overrun));
    part('text', [turn.ended, turn.bytes, turn.notes, turn.calls.length], () => readPart(t, n, turn, app, get, signal, span));
    turn.calls.forEach((c, k) => part(`call ${k}`, c, () => decisionPart(t, n, c, k, app)));
    saidPart(t, n, turn, get, part);
    return list;
  };
  const turnHead = (turn, n) => h('div', {class: 'row'}, h('h3', {class: 'grow'}, `Answer ${n + 1} of ${t.turns.length}`), h('span', {class: 'soft small'}, `${turn.model}${turn.backend ? ` at ${turn.backend}` : ''}, ${bytes(turn.bytes)}`, turn.usage.known ? `, ${count(turn.usage.input_tokens)} + ${count(turn.usage.output_tokens)} tokens` : '', turn.finish ? `, ended with ${turn.finish}` : ''),
    t.session && forkButton(t, n, app, signal), button('Previous answer', () => step(-1), {quiet: true, icon: 'retry', disabled: n === 0}), button('Next answer', () => step(1), {quiet: true, icon: 'down', disabled: n >= t.turns.length - 1}));

  // paintTurn shows the answer that is chosen. A part that has become another one is made anew; the others stay as the person left them.
  let parts = new Map(), lit = null;
  const paintTurn = () => {
    const old = parts;
    parts = new Map(partsOf(chosen).map(([key, make]) => [key, old.get(key) ?? make()]));
    sameFocus(body, () => {
      for (const [key, el] of old) if (!parts.has(key)) el.remove();
      let at = body.firstChild;
      for (const el of parts.values()) {
        if (el === at) at = at.nextSibling;
        else body.insertBefore(el, at);
      }
    });
    light();
  };
  const step = (n) => {
    choose(Math.max(0, Math.min(t.turns.length - 1, chosen + n)), null);
    rows.pick(Math.max(0, all.findIndex((s) => s.turn === chosen)));
  };

  set(t);
  chosen = Math.max(0, Math.min(t.turns.length - 1, first ?? interesting(t)));
  paintTurn();
  focusCall(firstCall);
  span = null; // it is of the first answer that is shown
  return {el, set, end() {}};
}

// interesting is the answer that somebody most likely looks for: the first one in which something went wrong, or that has a call.
function interesting(t) {
  const bad = t.turns.findIndex((x) => x.bounces.length || x.rejected.length || x.error || x.overrun || x.notes.length);
  if (bad >= 0) return bad;
  const called = t.turns.findIndex((x) => x.calls.length);
  return Math.max(0, called);
}

// readPart shows the text of an answer beside the calls, and reads it again as another dialect.
function readPart(t, n, turn, app, get, signal, span) {
  const box = h('section', {class: 'stack'}, h('p', {class: 'soft'}, 'Reading…'));
  const only = h('input', {type: 'checkbox'});
  const as = h('select', {'aria-label': 'Read as'}, h('option', {value: 'auto'}, 'as it was (auto)'));
  let names = null, text = '', tools = t.tools;
  as.addEventListener('focus', async () => {
    if (names) return;
    names = [];
    try {
      const all = await app.api.post('/parse', {text: '', dialects: ['all']}, {signal});
      names = all.readings.map((r) => r.dialect).filter((d) => d !== 'auto');
      append(as, names.map((d) => h('option', {value: d}, d)));
    } catch (e) {
      names = null;
      if (e.name !== 'AbortError') toast(e, {kind: 'bad'});
    }
  });
  const again = () => load(as.value);
  as.addEventListener('change', again);
  only.addEventListener('change', again);
  let asked = 0;
  const load = async (dialect) => {
    const mine = ++asked;
    try {
      let reading;
      if (t.kind === 'run') {
        const got = await get(`/runs/${encodeURIComponent(t.id)}/turns/${n}?dialect=${encodeURIComponent(dialect)}&only=${only.checked && dialect !== 'auto'}`);
        if (mine !== asked) return;
        ({text, tools, reading} = got);
      } else {
        text = turn.text ?? '';
        const got = await app.api.post('/parse', {text, tools: t.tools, model: turn.model, dialects: [dialect], only: only.checked && dialect !== 'auto'}, {signal});
        if (mine !== asked) return;
        [reading] = got.readings;
      }
      if (text === '' && turn.calls.length) {
        put(box, h('h3', null, 'The model wrote no text'), h('p', {class: 'soft'}, 'Its calls came through function calling.'));
        return;
      }
      if (text === '') {
        put(box, h('p', {class: 'soft'}, 'No text of the model was kept.'));
        return;
      }
      const view = split(text, {onlink: (at, end) => copy(link(t, `${n}?at=${at}-${end}`))});
      put(box, h('div', {class: 'row'}, h('h3', {class: 'grow'}, 'Model output and decoded calls'), as, h('label', {class: 'row'}, only, 'alone'),
        button('Playground', () => hand(text, tools, app), {icon: 'playground'})), view.el,
      h('div', {class: 'asides stack'}, recorded(turn, reading), asides(text, reading)));
      view.show(reading);
      if (span) view.mark(...span);
      span = null;
    } catch (e) {
      if (e.name !== 'AbortError' && mine === asked) put(box, h('p', {class: 'bad-words', role: 'alert'}, sentence(e)));
    }
  };
  load('auto');
  return box;
}

// recorded shows what was repaired and refused at the time, where reading again says something else: the schema may have been another one.
function recorded(turn, reading) {
  if (turn.notes.length === 0 || turn.notes.length === reading.notes.length) return null;
  return h('section', null, h('h3', null, 'Repaired at the time'), h('ul', null, turn.notes.slice(0, 100).map((n) => h('li', null, badge(n.kind, 'warn'), ' ', h('code', null, n.path ?? ''), ' ', h('code', null, visible(n.before ?? '')), ' → ', h('code', null, visible(n.after ?? ''))))));
}

// bouncePart shows an answer that was sent back. Of a long one of a run all is read when somebody wants it; of an exchange no more is kept.
function bouncePart(b, t, n, k, app, get) {
  const body = h('div', {class: 'panel-body stack'});
  const paint = (x) => put(body, x.began && h('div', null, h('h3', null, 'Beginning of the answer'), h('pre', null, visible(x.began))),
    h('div', null, h('h3', null, 'First response, which the client never saw'), h('pre', {class: 'suppressed'}, visible(x.suppressed ?? ''))),
    x.sent && h('div', null, h('h3', null, 'What the model was told'), h('pre', null, visible(x.sent))),
    x.cut && h('div', {class: 'row'}, h('p', {class: 'caution'}, t.kind === 'run' ? 'These texts are shortened.' : 'The rest of these texts was not kept.'), t.kind === 'run' && button('Show all of it', whole)));
  const whole = async () => {
    try {
      const got = await get(`/runs/${encodeURIComponent(t.id)}/turns/${n}`);
      paint(got.bounces[k]);
    } catch (e) {
      if (e.name !== 'AbortError') toast(e, {kind: 'bad'});
    }
  };
  paint(b);
  return h('section', {class: 'panel bounced'}, h('header', null, badge('sent back', 'wait'), h('span', null, `The model was asked again: ${b.reason}`), b.name && h('code', null, b.name), h('span', {class: 'grow'}),
    b.suppressed && button('Playground', () => hand(b.suppressed, t.tools, app), {icon: 'playground'})), body);
}

// refusedPart shows texts that tried to be calls, and why they were none.
function refusedPart(list) {
  return h('section', {class: 'panel'}, h('header', null, badge('refused', 'bad'), h('span', null, list.length === 1 ? 'Rejected call' : `${list.length} texts tried to be calls`)),
    h('div', {class: 'panel-body stack'}, list.slice(0, 50).map((x) => h('div', null, badge(x.reason), ' ', x.name && h('code', null, x.name), ' ', h('span', null, x.message ?? ''),
      x.raw ? h('pre', {class: 'suppressed'}, visible(x.raw)) : x.arguments ? h('pre', {class: 'suppressed'}, visible(x.arguments)) : null))));
}

// overrunPart shows where the model went on past its turn.
function overrunPart(o) {
  return h('section', {class: 'panel'}, h('header', null, badge('went on', 'warn'), h('span', null, 'The model went on past its turn')),
    h('div', {class: 'panel-body'}, h('p', null, `Its turn ended at byte ${o.at}, before `, h('code', null, visible(o.marker.trim())),
      o.hard ? '. What follows is left out.' : '. What follows may be text.', ' Nothing there is read as a call.')));
}

// hand takes a text to the playground.
function hand(text, tools, app) {
  playground.keep({text, tools: JSON.stringify(tools.map((x) => ({name: x.name ?? x.function?.name, parameters: x.parameters ?? x.function?.parameters})), null, 2)});
  app.go('playground');
}

// link is the address of a part of a timeline.
function link(t, part) {
  return `${location.origin}/#/inspector/${t.kind}/${encodeURIComponent(t.id)}/${part}`;
}

// decisionPart shows what became of a call: rules, people, run, result.
function decisionPart(t, n, c, k, app) {
  const policy = c.policy;
  const kinds = {allow: 'ok', ask: 'wait', deny: 'bad'};
  let args;
  try {
    args = JSON.parse(c.arguments);
  } catch {
    args = null;
  }
  let result = null;
  if (c.result) {
    try {
      result = tree(JSON.parse(c.result.text), {open: 2});
    } catch {
      result = h('pre', null, visible(c.result.text));
    }
  }
  return h('section', {class: 'panel', dataset: {decision: String(k)}},
    h('header', null, h('strong', {class: 'mono'}, c.name), c.dialect && badge(c.dialect, 'info'), c.origin && c.origin !== 'text' && badge(c.origin), c.result && badge(c.result.is_error ? c.error_type || 'failed' : 'done', c.result.is_error ? 'bad' : 'ok'),
      c.runs > 1 && badge(`ran ${c.runs} times`, 'warn'), h('span', {class: 'grow'}), button('Copy the link', () => copy(link(t, `${n}/${k}`)), {icon: 'export', quiet: true}),
      compareButton(t, n, c), app.may('admin') && t.kind === 'run' && button('Run again', () => runAgain(t, c, app), {icon: 'retry', quiet: true})),
    h('div', {class: 'panel-body stack'},
      c.reasoning && h('p', {class: 'soft'}, c.reasoning),
      policy && h('p', null, badge(policy.decision, kinds[policy.decision]), ' ', h('code', null, policy.rule ?? ''), ' ', h('span', {class: 'soft'}, policy.why ?? '')),
      c.approvals.map((a) => h('p', null, badge(a.state, a.state === 'denied' || a.state === 'expired' ? 'bad' : a.state === 'pending' ? 'wait' : 'ok'), ' ', a.by && `by ${a.by}, `, a.answered ? `after ${lasts(Date.parse(a.answered) - Date.parse(a.asked))}` : 'nobody has decided yet', ' ',
        a.reason && h('span', {class: 'soft'}, a.reason), ' ', h('a', {href: `#/approvals/${encodeURIComponent(a.id)}`}, 'the question'))),
      h('div', {class: 'pair'}, h('div', null, c.written !== undefined && [h('h3', null, 'Arguments, as the model wrote them'), h('pre', null, visible(pretty(c.written)))],
        h('h3', null, c.written === undefined ? 'Arguments' : 'Arguments, as a person changed them'), args === null ? h('pre', null, visible(c.arguments)) : tree(args, {open: 2})),
        h('div', null, h('h3', null, 'Result'), result ?? h('p', {class: 'soft'}, t.kind === 'exchange' ? 'The client runs this tool.' : 'No result.')))));
}

// saidPart tells the parts that show what was said before an answer, and what a client sent and received.
function saidPart(t, n, turn, get, part) {
  const said = turn.said ?? [];
  if (said.length) part('said', said, () => folded(t.kind === 'run' ? 'Earlier messages' : 'Prompt sent to the model', said.map((m) => h('div', null, badge(m.role), h('pre', null, visible(m.text))))));
  if (t.kind === 'run') part('asked', turn.asked, () => asked(t, n, get));
  if (t.kind === 'exchange' && n === t.turns.length - 1) {
    part('request', null, () => folded('What the client sent', h('pre', null, visible(pretty(t.request)))));
    part('answer', null, () => folded('What the client received', h('pre', null, visible(pretty(t.answer)))));
  }
}

function folded(words, content) {
  return h('details', {class: 'panel folded'}, h('summary', null, words), h('div', {class: 'panel-body stack'}, content));
}
