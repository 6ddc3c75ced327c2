// A list of any length, of which only the rows that are seen stand in the document. All rows have one height.

import {h, frame} from './ui.js';

// list makes one: list({height: 28, row: (item, i) => element, label: 'Events', onpick: (item, i) => {}}). With id: (item) => name, what is
// picked stays picked while other items come before it. The keys Up, Down, j, k, Home, End,
// PageUp and PageDown move through it, and Enter picks. onend is called when somebody has scrolled to the last rows.
//
// It returns {el, set(items), add(items), pick(i), picked(), items(), stay(on)}: stay keeps the end in sight while rows are added, as long as
// the person has not scrolled away from it.
export function list({height, row, label, onpick, onmove, onend, id}) {
  let items = [], at = -1, follow = false;
  const rows = new Map(); // by index, those in the document
  const inner = h('div', {class: 'list-inner', role: 'listbox', 'aria-label': label});
  const el = h('div', {class: 'list', tabindex: '0', role: 'group', 'aria-label': label}, inner);

  const paint = () => {
    inner.style.height = `${items.length * height}px`;
    const first = Math.max(0, Math.floor(el.scrollTop / height) - 5);
    const last = Math.min(items.length, Math.ceil((el.scrollTop + (el.clientHeight || 600)) / height) + 5);
    for (const [i, r] of rows) {
      if (i < first || i >= last || r.item !== items[i]) {
        r.el.remove();
        rows.delete(i);
      }
    }
    for (let i = first; i < last; i++) {
      if (rows.has(i)) {
        rows.get(i).el.setAttribute('aria-setsize', items.length);
        continue;
      }
      const item = items[i];
      const e = h('div', {class: 'list-row', role: 'option', 'aria-selected': String(i === at), 'aria-posinset': i + 1, 'aria-setsize': items.length,
        onclick: () => pick(item)}, row(item, i));
      e.style.top = `${i * height}px`;
      e.style.height = `${height}px`;
      rows.set(i, {el: e, item});
      inner.append(e);
    }
  };
  const soon = frame(paint);

  // pick picks an item whose row was clicked. It may stand elsewhere by now, since rows are painted later.
  const pick = (item) => {
    const i = place(item);
    if (i >= 0) move(i);
    onpick?.(item, i);
  };
  const place = (item) => (id ? items.findIndex((it) => id(it) === id(item)) : items.indexOf(item));

  const move = (i) => {
    if (items.length === 0) return;
    i = Math.max(0, Math.min(items.length - 1, i));
    rows.get(at)?.el.setAttribute('aria-selected', 'false');
    at = i;
    const top = i * height;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (top + height > el.scrollTop + el.clientHeight) el.scrollTop = top + height - el.clientHeight;
    paint();
    rows.get(at)?.el.setAttribute('aria-selected', 'true');
    onmove?.(items[i], i);
  };
  const steps = {ArrowDown: () => at + 1, j: () => at + 1, ArrowUp: () => at - 1, k: () => at - 1, Home: () => 0, End: () => items.length - 1,
    PageDown: () => at + Math.floor(el.clientHeight / height), PageUp: () => at - Math.floor(el.clientHeight / height)};
  el.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'Enter' && at >= 0) {
      e.preventDefault();
      onpick?.(items[at], at);
    } else if (steps[e.key]) {
      e.preventDefault();
      move(steps[e.key]());
    }
  });
  el.addEventListener('scroll', () => {
    if (follow !== null) follow = follow && el.scrollTop + el.clientHeight >= el.scrollHeight - height * 2;
    if (onend && items.length > 0 && el.scrollTop + el.clientHeight >= (items.length - 2) * height) onend();
    soon();
  });
  new ResizeObserver(soon).observe(el);

  const grown = () => {
    const keep = follow;
    soon();
    if (keep) {
      inner.style.height = `${items.length * height}px`;
      el.scrollTop = el.scrollHeight;
    }
  };
  return {
    el,
    set(list) {
      const was = items[at];
      items = list;
      const now = id && was ? place(was) : -1;
      at = now >= 0 ? now : Math.min(at, items.length - 1);
      grown();
    },
    add(list) { for (const it of list) items.push(it); grown(); },
    refresh() { for (const r of rows.values()) r.el.remove(); rows.clear(); paint(); },
    pick: move,
    picked: () => items[at],
    items: () => items,
    stay(on) { follow = on; if (on) grown(); },
  };
}
