// One question to a person: what would run, why it is asked about, and the answer.

import * as api from './api.js';
import {h, put, sameFocus, badge, button, sentence, toast, when} from './ui.js';
import {older} from './talk.js';
import {exact, members, rounded, same} from './exact.js';
import {effect as effects, verdict, upper} from './review.js';
import {form} from './form.js';
import {parts} from './parts.js';

// What states are called, and their colours.
export const states = {
  pending: ['needs approval', 'wait'], approved: ['approved', 'ok'], edited: ['approved with changes', 'ok'], denied: ['denied', 'bad'],
  expired: ['expired', 'warn'], cancelled: ['cancelled', ''], consumed: ['approved', 'ok'],
};

// stateBadge shows the state of an approval. What was used is told as what was decided.
export function stateBadge(a) {
  const [words, kind] = a.state === 'consumed' && a.answer?.arguments ? states.edited : states[a.state] ?? [a.state, ''];
  return badge(words, kind);
}

// summary says in a line what an approval is about.
export function summary(a) {
  const args = a.arguments ?? {};
  const first = args.shell ?? args.code ?? (typeof args.command === 'string' ? [args.command, ...(Array.isArray(args.arguments) ? args.arguments : [])].join(' ') : undefined) ??
    args.path ?? args.url ?? Object.values(args).find((v) => typeof v === 'string');
  return (typeof first === 'string' ? first : JSON.stringify(args)).replaceAll(/\s+/g, ' ').slice(0, 200);
}

// card shows an approval, and lets those decide who may. onDecided gets it when it was decided, here or elsewhere; inside says that it stands in
// its conversation, to which it needs no link then. It returns
//   element
//   update(approval)   shows it as it is now
//   act(name)          approve, edit, parts, deny or remember, as the keys do
//   busy()             somebody is writing an answer
//   end()
export function card(app, approval, {onDecided, inside = false} = {}) {
  let a = approval, review = null, editing = null, unchanged = false, choice = null, seenEnd = false, inexact = false, wished = false, sending = false, asked = 0, looking = false;
  const mayDecide = app.may('approver', 'admin');
  const element = h('article', {class: 'approval', 'aria-label': `Question about ${a.tool}`});
  const head = h('header', {class: 'approval-head'});
  const left = h('span', {class: 'soft left', role: 'timer'});
  const effect = h('div', {class: 'stack'});
  const rules = h('div');
  const chosen = h('div');
  const whole = h('div');
  const writing = h('div');
  const bar = h('footer', {class: 'approval-bar'});
  const bottom = h('div', {class: 'approval-end'});
  const said = h('p', {class: 'bad-words', role: 'alert'});
  const nothing = h('p', {class: 'soft', role: 'status'});
  const reason = h('input', {type: 'text', class: 'grow', placeholder: 'Reason for the model (optional)', 'aria-label': 'Reason', maxlength: '2000'});
  const keep = h('input', {type: 'checkbox', id: `keep-${a.id}`});
  put(element, head, effect, chosen, rules, whole, writing, bottom, bar);

  // Who decides has had all of it before the eyes: the end of what is to be decided must have been on the screen.
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((e) => e.isIntersecting) || review === null) return;
    seenEnd = true;
    paintBar();
  });
  watcher.observe(bottom);

  const timer = setInterval(paintTime, 1000);
  let pause; // after which what was typed is looked at

  function paintHead() {
    const facts = a.facts ?? {};
    put(head, h('div', {class: 'row'}, !inside && [h('h2', null, exact(a.tool)), stateBadge(a)], facts.dangerous && badge('cannot be taken back', 'bad'), facts.network && badge('reaches the network', 'warn'),
      facts.read_only && badge('changes nothing', 'ok'), h('span', {class: 'grow'}), left),
      !inside && h('p', {class: 'soft'}, 'Asked ', h('time', {datetime: a.asked}, when(a.asked)), ' by ', h('a', {href: `#/chat/${a.session}`}, 'a conversation'), ' · ', h('a', {href: `#/inspector/run/${a.run}`}, 'its run')),
      !a.rule && a.why && h('p', null, exact(a.why)), // no rule asks, but the tool: by a form or an address
      a.facts?.changed && h('p', {class: 'caution'}, 'The tool has changed since this was asked. The call will not run.'));
  }

  function paintTime() {
    if (a.state !== 'pending' || !a.expires) {
      put(left);
      return;
    }
    const s = Math.ceil((new Date(a.expires) - Date.now()) / 1000);
    if (s <= 0) {
      put(left, 'expired');
      reload(); // until the service, whose clock counts, says so too
      return;
    }
    put(left, `expires in ${s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`}`);
    left.classList.toggle('soon', s < 120);
  }

  function paintEffect() {
    put(effect);
    put(rules);
    put(whole);
    const args = review?.arguments ?? a.arguments;
    inexact = rounded(review?.text ?? '');
    if (review?.decision) {
      const {elements, light} = effects(review, a.dir);
      put(effect, elements);
      put(rules, verdict(review, light));
    }
    if (a.env?.length) effect.append(h('p', null, 'With the variables ', a.env.map((v) => [h('code', null, exact(v)), ' '])));
    put(whole, h('details', {open: inexact || !(review?.files || review?.command)}, h('summary', null, editing ? 'All arguments, with your changes' : 'All arguments'),
      inexact ? [h('p', {class: 'caution'}, 'The browser would round some of the numbers, so the arguments are shown as text. To change them, use the API.'), h('pre', {class: 'exact'}, exact(review.text))] : members(args ?? {})));
    if (a.answer?.arguments) whole.append(h('details', {open: true}, h('summary', null, 'Arguments that ran instead'), members(a.answer.arguments)));
  }

  // paintBar shows what can be answered now. Who is writing, or about to press a button, goes on with that.
  function paintBar() {
    sameFocus(bar, fillBar);
  }

  function fillBar() {
    put(bar);
    if (a.state !== 'pending') {
      bar.append(outcome());
      return;
    }
    if (!mayDecide) {
      bar.append(h('p', {class: 'soft'}, 'Only the roles approver and admin can answer.'));
      return;
    }
    const some = !editing && omitted().length > 0, none = some && choice.empty();
    const ready = review !== null && seenEnd && !sending && !none && (!editing || (review.problems ?? []).length === 0);
    const why = review === null ? 'Still loading' : !seenEnd ? 'Scroll through all of it first' : none ? 'Nothing is left: deny it' : null;
    const edits = editing && !unchanged;
    const rule = review?.always && !edits && !some && a.always ? a.always : '';
    bar.append(...[
      rule && h('div', {class: 'row keep'}, keep, h('label', {for: keep.id}, 'Always allow: '), h('code', null, exact(rule)),
        rule.includes('args: {"*": ') && h('span', {class: 'soft'}, '"*" stands for every argument: only these values are allowed.')),
      h('div', {class: 'row'}, reason),
      h('div', {class: 'row'},
        button(edits ? 'Approve with changes' : some ? 'Approve selected' : 'Approve', editing ? sendEdit : some ? approveSome : approve, {kind: 'primary', icon: 'check', disabled: !ready, title: why}),
        editing ? button('Do not edit', stopEdit) : button('Edit', edit, {icon: 'edit', disabled: sending || review === null || inexact}),
        button('Deny', deny, {kind: 'danger', icon: 'close', disabled: sending}),
        button('Deny and end the run', stop, {icon: 'stop', disabled: sending}),
        why && h('span', {class: 'soft'}, why)), said].filter(Boolean));
  }

  function outcome() {
    const by = a.answer?.by;
    const words = {expired: 'The approval expired. The call did not run, and the model was told.', cancelled: 'The run ended before anybody answered.'}[a.state] ??
      `${upper(stateBadge(a).textContent)}${by ? ` by ${by}` : ''}${a.answer?.at ? `, ${when(a.answer.at)}` : ''}.`;
    return h('div', {class: 'stack'}, h('p', {class: 'outcome'}, exact(words)), a.answer?.reason && h('p', null, h('span', {class: 'soft'}, 'Reason: '), exact(a.answer.reason)),
      a.answer?.refused && h('p', null, h('span', {class: 'soft'}, 'Left out: '), exact(a.answer.refused)),
      a.answer?.always && h('p', {class: 'soft'}, 'Rule remembered: ', h('code', null, exact(a.always))));
  }

  // left returns the parts that are left out.
  function omitted() {
    return choice?.refused() ?? [];
  }

  // look asks what the rules say, and what would change: of the call, of other arguments, or of what is left of it.
  async function look(args) {
    const mine = ++asked;
    const refused = args || choice?.empty() ? [] : omitted();
    try {
      const got = await api.post(`/approvals/${a.id}/review`, args ? {arguments: args} : refused.length ? {refused} : {});
      if (mine !== asked) return;
      editing?.show(got.problems ?? []);
      if ((got.problems ?? []).length && review) review = {...review, problems: got.problems};
      else {
        review = got;
        paintEffect();
        offerParts();
      }
      put(said, !editing && got.problems?.length ? `The call would fail: ${got.problems.map((p) => p.message).join('. ')}` : '');
    } catch (e) {
      if (mine !== asked) return;
      review ??= {arguments: a.arguments}; // it can be answered without
      put(said, `What it would do is not known: ${sentence(e)}`);
      paintEffect();
    }
    paintBar();
    if (wished) {
      wished = false;
      edit();
    }
    watcher.takeRecords(); // of the end of less than is shown now
    watcher.unobserve(bottom);
    watcher.observe(bottom); // is the end seen now?
  }

  // offerParts lets a person choose among the parts of the call, where it has several.
  function offerParts() {
    if (choice || !review.parts || a.state !== 'pending') return;
    choice = parts(review.parts, {onchange: () => { look(); paintBar(); }});
    put(chosen, choice.element);
  }

  function approveSome() {
    return send({decision: 'edit', refused: omitted()});
  }

  function approve() {
    return send({decision: 'allow', ...(keep.checked && keep.isConnected && {always: true})});
  }

  function deny() {
    return send({decision: 'deny'});
  }

  // stop says no, and ends the run as well.
  function stop() {
    return send({decision: 'stop'});
  }

  async function send(decision) {
    if (sending || a.state !== 'pending') return;
    sending = true;
    paintBar();
    try {
      if (reason.value.trim()) decision.reason = reason.value.trim();
      settle(await api.post(`/approvals/${a.id}`, decision));
    } catch (e) {
      if (e.body?.approval) {
        settle(e.body.approval);
        toast(sentence(e), {kind: 'bad'});
      } else {
        if (e.field?.startsWith('/arguments')) editing?.show([{field: e.field.slice('/arguments'.length), message: e.message}]);
        put(said, sentence(e));
      }
    } finally {
      sending = false;
      paintBar();
    }
  }

  function settle(now) {
    if (!older(now, a)) a = now;
    endEntry();
    paint();
    onDecided?.(a);
  }

  // endEntry takes away what a person could have written.
  function endEntry() {
    clearTimeout(pause);
    editing = choice = null;
    put(writing);
    put(chosen);
  }

  function edit() {
    if (editing || a.state !== 'pending' || !mayDecide || inexact) return;
    if (review === null) {
      wished = true; // as soon as all of it is here
      return;
    }
    editing = form(a.facts?.parameters, a.arguments ?? {}, {oninput: () => {
      clearTimeout(pause);
      asked++; // what is found out about what was written before is of no interest any more
      pause = setTimeout(() => { const args = written(); if (args) look(args); }, 250);
      compare();
    }});
    put(writing, h('section', {class: 'stack'}, h('div', {class: 'row'}, h('h3', null, 'Run this instead'), nothing), editing.element));
    chosen.hidden = true;
    unchanged = null;
    compare();
    editing.focus();
    writing.scrollIntoView({block: 'nearest'});
  }

  // compare says at once whether what is written would change anything. If not, to approve it is to approve what was asked.
  function compare() {
    let args = null;
    try {
      args = editing.value();
    } catch {
      // it can be no arguments, which is said at the field after a moment
    }
    const now = args !== null && same(args, a.arguments ?? {});
    if (now === unchanged) return;
    unchanged = now;
    put(nothing, now && 'Nothing is changed yet.');
    paintBar();
  }

  // written returns what is written in the form, or nothing if it can be no arguments.
  function written() {
    try {
      const args = editing.value();
      editing.show([]);
      return args;
    } catch (e) {
      editing.show([{field: e.field ?? '', message: e.message}]);
      return null;
    }
  }

  async function sendEdit() {
    const args = written();
    if (!args) return;
    if (same(args, a.arguments ?? {})) await approve();
    else await send({decision: 'edit', arguments: args});
  }

  function stopEdit() {
    clearTimeout(pause);
    editing = null;
    put(writing);
    chosen.hidden = false;
    look();
    paintBar();
  }

  async function reload() {
    if (looking) return;
    looking = true;
    try {
      update(await api.get(`/approvals/${a.id}`));
    } catch {
      // it is shown as it was
    }
    looking = false;
  }

  function update(now) {
    if (older(now, a)) return;
    const settled = now.state !== a.state;
    a = now;
    if (settled) {
      endEntry();
      paint();
      onDecided?.(a);
    }
  }

  function paint() {
    paintHead();
    paintTime();
    paintEffect();
    paintBar();
  }

  paint();
  if (mayDecide) look();
  else review = {arguments: a.arguments};
  const acts = {approve: () => bar.querySelector('.primary:not(:disabled)')?.click(), edit, parts: () => choice?.focus(), deny: () => reason.focus(), remember: () => { if (keep.isConnected) keep.checked = !keep.checked; }};
  return {element, update, act: (name) => acts[name]?.(), busy: () => editing !== null || omitted().length > 0 || reason.value !== '', end() { watcher.disconnect(); clearInterval(timer); clearTimeout(pause); asked = -1; }};
}
