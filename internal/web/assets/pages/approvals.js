import {h, put, sameFocus, button, badge, sentence, toast, ago} from '../lib/ui.js';
import {exact} from '../lib/exact.js';
import {card, stateBadge, summary} from '../lib/approval.js';
import {want, wanted} from '../lib/waiting.js';

export const title = 'Approvals';

const kinds = /^(question|answer|consumed|end|deleted|feed\.open)$/;

// show puts the view into root: the questions of all conversations, and one of them with all that is known of it.
export function show(root, route, app) {
  let items = [], state = route.query.state === 'all' ? 'all' : 'pending', at = route.parts[0] ?? '', shown = null, over = false, pause, loaded = false, mine = 0, more = false, decided = null;
  const list = h('ul', {class: 'queue-list', 'aria-label': 'Questions'});
  const detail = h('div', {class: 'queue-detail'});
  const next = h('p', {class: 'queue-next', role: 'status'});
  const box = h('div', {class: 'queue'}, list, detail);
  const which = h('select', {'aria-label': 'Filter questions', onchange: () => { state = which.value; load(); }},
    h('option', {value: 'pending'}, 'Needs approval'), h('option', {value: 'all', selected: state === 'all'}, 'All'));
  const bell = button('', ring);
  const turn = app.api.inOrder();
  put(root, h('header', {class: 'page-head'}, h('h1', null, title), which, h('span', {class: 'grow'}), bell), box);

  function paintBell() {
    const on = wanted();
    put(bell.querySelector('span'), on ? 'Notifications are on' : 'Notify me');
    bell.setAttribute('aria-pressed', String(on));
  }

  async function ring() {
    try {
      await want(bell.getAttribute('aria-pressed') !== 'true');
    } catch (e) {
      toast(`${e.message}.`, {kind: 'bad'});
    }
    paintBell();
  }

  function paintList() {
    document.title = (state === 'pending' && items.length ? `(${items.length}) ` : '') + `${title} · wield`;
    sameFocus(list, () => put(list, items.map((a) => h('li', null, h('a', {href: `#/approvals/${encodeURIComponent(a.id)}`, class: 'queue-item', 'aria-current': a.id === at ? 'true' : null},
      h('span', {class: 'row'}, h('strong', null, exact(a.tool)), a.facts?.dangerous && badge('!', 'bad'), h('span', {class: 'grow'}), state === 'all' ? stateBadge(a) : null, h('span', {class: 'soft'}, ago(a.asked))),
      h('span', {class: 'queue-what mono'}, exact(summary(a))))))));
    if (more) list.append(h('li', {class: 'soft more'}, `These are the latest ${items.length}. There are more.`));
    if (items.length === 0 && loaded) put(list, h('li', {class: 'empty'}, state === 'pending' ? 'Nothing needs approval. When a rule asks about a tool call, from any chat or client, the question appears here: approve it, edit it, or deny it with a reason.' : 'No approvals yet.'));
    box.classList.toggle('one', at !== '');
  }

  // paintNext says below a question that was decided what there is to do next.
  function paintNext() {
    if (!decided) {
      put(next);
      return;
    }
    const waiting = items.find((a) => a.state === 'pending' && a.id !== at);
    sameFocus(next, () => put(next, waiting ? h('a', {href: `#/approvals/${encodeURIComponent(waiting.id)}`}, 'Next question: ', exact(waiting.tool)) : 'Nothing else needs approval.',
      ' · ', h('a', {href: `#/chat/${decided.session}`}, 'See the result in the conversation')));
  }

  // pick shows one question.
  async function pick(id) {
    if (id && id === at && shown) return;
    const turn = ++mine;
    at = id;
    shown?.end();
    shown = decided = null;
    paintList();
    if (!id) {
      put(detail, items.length ? h('p', {class: 'empty'}, 'Select a question. ', h('kbd', null, 'j'), h('kbd', null, 'k'), ' go through them, ', h('kbd', null, '?'), ' shows all keys.') : null);
      return;
    }
    let a = items.find((it) => it.id === id);
    if (!a) {
      try {
        a = await app.api.get(`/approvals/${encodeURIComponent(id)}`);
      } catch (e) {
        if (turn === mine) put(detail, h('p', {class: 'empty', role: 'alert'}, sentence(e)));
        return;
      }
      if (turn !== mine || over) return;
    }
    shown = card(app, a, {onDecided: (now) => { if (now.id === at) decided = now; soon(); }});
    paintNext();
    put(detail, h('a', {href: '#/approvals', class: 'queue-back'}, 'All questions'), shown.element, next);
    detail.scrollTop = 0;
  }

  async function load() {
    const news = turn(), asked = state;
    try {
      const got = await app.api.get(`/approvals?limit=100&state=${asked}`);
      if (over || asked !== state || !news()) return;
      const first = !loaded;
      items = got.items;
      more = got.next !== undefined;
      loaded = true;
      paintList();
      paintNext();
      if (shown) {
        const now = items.find((a) => a.id === at) ?? await app.api.get(`/approvals/${encodeURIComponent(at)}`);
        if (!over && now.id === at) shown?.update(now);
      } else if (first && !at && items.length && matchMedia('(min-width: 761px)').matches) {
        pick(items[0].id);
      } else if (!at) {
        pick('');
      }
    } catch (e) {
      if (!over) toast(e, {kind: 'bad'});
    }
  }
  const soon = () => { clearTimeout(pause); pause = setTimeout(load, 60); };

  const go = (step) => {
    const i = items.findIndex((a) => a.id === at);
    const next = items[i < 0 ? 0 : Math.max(0, Math.min(items.length - 1, i + step))];
    if (next) app.go(`approvals/${encodeURIComponent(next.id)}`);
  };
  const offKeys = app.keys({
    j: ['Next question', () => go(1)], k: ['Previous question', () => go(-1)],
    a: ['Approve', () => shown?.act('approve')], e: ['Edit, then approve', () => shown?.act('edit')], p: ['Select parts', () => shown?.act('parts')], d: ['Deny: write a reason, Tab, Enter', () => shown?.act('deny')],
    r: ['Remember the rule', () => shown?.act('remember')],
  });
  const offFeed = app.feed((e) => { if (kinds.test(e.kind)) soon(); });
  app.onmove((r) => {
    pick(r.parts[0] ?? '');
    return true;
  });
  paintBell();
  load();
  if (at) pick(at);
  return () => {
    over = true;
    shown?.end();
    offKeys();
    offFeed();
    clearTimeout(pause);
  };
}
