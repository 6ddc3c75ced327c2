// What waits for an answer, on every view: the number beside Approvals, and a notice of the browser where the person wants it.

import * as api from './api.js';
import {summary} from './approval.js';

const lookEvery = 10_000; // while nobody sees the page, whose connection rests then

// watch keeps the number up to date until the function that it returns is called.
export function watch(app) {
  let known = null, pause, over = false;
  const turn = api.inOrder();
  const look = async () => {
    clearTimeout(pause);
    const news = turn();
    try {
      const {items, next} = await api.get('/approvals?limit=100');
      if (over || !news()) return;
      app.mark('approvals', next ? 100 : items.length);
      const fresh = known && items.filter((a) => !known.has(a.id));
      known = new Set(items.map((a) => a.id));
      if (fresh && document.hidden) fresh.forEach(notify);
    } catch {
      // the next look tells
    }
    if (!over && document.hidden && wanted()) pause = setTimeout(look, lookEvery);
  };
  const soon = () => { clearTimeout(pause); pause = setTimeout(look, 100); };
  const off = app.feed((e) => { if (/^(question|answer|consumed|end|deleted|feed\.open)$/.test(e.kind)) soon(); });
  document.addEventListener('visibilitychange', soon);
  look();
  return () => {
    over = true;
    off();
    clearTimeout(pause);
    document.removeEventListener('visibilitychange', soon);
  };
}

const wish = 'wield.notify';

// wanted reports whether the person wants notices, and the browser shows them.
export function wanted() {
  try {
    return 'Notification' in window && Notification.permission === 'granted' && localStorage.getItem(wish) === 'yes';
  } catch {
    return false;
  }
}

// want switches notices on, for which the browser asks the person, or off. It resolves to what is so then.
export async function want(on) {
  if (!('Notification' in window)) throw new Error('This browser has no notifications for pages');
  if (on && (await Notification.requestPermission()) !== 'granted') throw new Error('The browser blocks notifications from this page. Allow them in its site settings');
  try {
    localStorage.setItem(wish, on ? 'yes' : '');
  } catch {
    throw new Error('The browser blocks storage for this page');
  }
  return wanted();
}

function notify(a) {
  if (!wanted()) return;
  const n = new Notification(`wield asks: ${a.tool}`, {body: summary(a), tag: a.id});
  n.onclick = () => {
    window.focus();
    location.hash = `#/approvals/${a.id}`;
    n.close();
  };
}
