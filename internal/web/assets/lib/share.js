// One file of a run or an exchange, for somebody who has no wield.

import {h, put, button, dialog, download, frame} from './ui.js';

// textOf returns the text of an answer as the model wrote it.
export async function textOf(t, n, app, signal) {
  if (t.kind === 'exchange') return t.turns[n]?.text ?? '';
  const got = await app.api.get(`/runs/${encodeURIComponent(t.id)}/turns/${n}`, {signal});
  return got.text;
}

// share makes one file of a timeline. What is in it is shown before, and can be left out.
export async function share(t, app, signal) {
  const texts = [];
  for (let n = 0; n < t.turns.length && n < 50; n++) {
    try {
      texts[n] = await textOf(t, n, app, signal);
    } catch (e) {
      if (e.name === 'AbortError') return;
      texts[n] = '';
    }
  }
  if (signal?.aborted) return;
  const whole = {...t, turns: t.turns.map((x, n) => ({...x, text: texts[n]}))};
  const words = h('input', {type: 'text', class: 'grow', placeholder: 'words to mask, separated by commas', 'aria-label': 'Words to mask'});
  const results = h('input', {type: 'checkbox'});
  const system = h('input', {type: 'checkbox', checked: true});
  const preview = h('textarea', {class: 'mono', rows: 14, readOnly: true, 'aria-label': 'What the file contains'});
  const note = h('p', {class: 'soft', role: 'status'});
  let text = '';
  const paint = frame(() => {
    const list = words.value.split(',').map((w) => w.trim()).filter(Boolean);
    let left = 0;
    const clean = (v, key) => {
      if (typeof v === 'string') {
        if (results.checked && (key === 'result' || key === 'answer')) return '[left out]';
        let s = v;
        for (const w of list) {
          const parts = s.split(w);
          left += parts.length - 1;
          s = parts.join('[left out]');
        }
        return s;
      }
      if (Array.isArray(v)) return v.filter((x) => !(system.checked && x?.role === 'system')).map((x) => clean(x, key));
      if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, results.checked && k === 'result' && x ? {text: '[left out]', is_error: x.is_error} : clean(x, k)]));
      return v;
    };
    text = JSON.stringify(clean(whole), null, 1);
    preview.value = text;
    const masked = text.split('[masked]').length - 1;
    put(note, `${masked} ${masked === 1 ? 'secret was' : 'secrets were'} found by their form and masked, ${left} more of your words left out. What has no form of a secret stays: read it before you send it.`);
  });
  for (const el of [words, results, system]) el.addEventListener('input', paint);
  paint();
  dialog('Share', [note, h('div', {class: 'row'}, words), h('label', {class: 'row'}, system, 'leave out system messages'), h('label', {class: 'row'}, results, 'leave out results'), preview,
    h('div', {class: 'row end'}, button('Save as JSON', () => download(`${t.id}.json`, text)), button('Save as HTML', () => download(`${t.id}.html`, asPage(t, text), 'text/html'), {kind: 'primary'}))], {wide: true});
}

const escapes = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'};
const escape = (s) => s.replace(/[&<>"']/g, (c) => escapes[c]);

// asPage writes a page that needs nothing else, and in which nothing runs: all of it is text.
function asPage(t, text) {
  const o = JSON.parse(text);
  const part = (name, content) => `<h3>${escape(name)}</h3>\n<pre>${escape(content)}</pre>\n`;
  const turns = o.turns.map((x, n) => `<h2>Answer ${n + 1}: ${escape(x.model ?? '')}</h2>\n`
    + (x.said?.length ? part('before it', x.said.map((m) => `${m.role}: ${m.text}`).join('\n\n')) : '') + x.bounces.map((b) => part(`sent back: ${b.reason}`, `${b.began ?? ''}${b.suppressed ?? ''}\n\n${b.sent ?? ''}`)).join('')
    + part('what the model wrote', x.text ?? '') + x.notes.map((m) => part(`repaired: ${m.kind} ${m.path ?? ''}`, `${m.before ?? ''} → ${m.after ?? ''}`)).join('')
    + x.calls.map((c) => part(`call of ${c.name}${c.dialect ? `, read as ${c.dialect}` : ''}${c.policy ? `, ${c.policy.decision} by ${c.policy.rule ?? ''}` : ''}`, c.arguments) + (c.result ? part('its result', c.result.text) : '')).join('')).join('');
  return `<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><title>${escape(o.title || o.id)}</title>\n`
    + `<h1>${escape(o.title || o.id)}</h1>\n<p>${escape([o.kind, o.id, o.begun, o.agent || o.model].filter(Boolean).join(', '))}</p>\n${turns}${o.request ? part('what the client sent', o.request) : ''}${o.answer ? part('what the client received', o.answer) : ''}`
    + `<details><summary>All of it as JSON</summary><pre>${escape(text)}</pre></details></html>\n`;
}
