// What a model was asked for an answer of a run.

import {h, put, badge, bytes, sentence, visible} from './ui.js';
import {tree} from './tree.js';

const matches = {
  same: ['as it was', 'ok', 'Byte for byte the prompt that was sent.'],
  other: ['not as it was', 'warn', 'It was different then, for a reason that the journal does not record, such as an older format of results.'],
  unknown: ['maybe as it was', '', 'The journal does not record whether it was the same then.'],
};

// asked makes a part that reads what was asked when it is opened.
export function asked(t, n, get) {
  const body = h('div', {class: 'panel-body stack'});
  const el = h('details', {class: 'panel folded'}, h('summary', null, 'Prompt sent to the model'), body);
  el.addEventListener('toggle', async () => {
    if (!el.open || body.firstChild) return;
    put(body, h('p', {class: 'soft'}, 'Reading…'));
    try {
      put(body, shown(await get(`/runs/${encodeURIComponent(t.id)}/turns/${n}/request`)));
    } catch (e) {
      if (e.name === 'AbortError') put(body);
      else put(body, h('p', {class: 'bad-words', role: 'alert'}, sentence(e)));
    }
  });
  return el;
}

function shown(a) {
  const [word, kind, why] = matches[a.match] ?? [a.match, '', ''];
  const size = a.messages.reduce((sum, m) => sum + m.text.length, 0);
  return [
    h('p', null, badge(word, kind), ' ', h('span', {class: 'soft'}, why, ' ', a.rendered ? a.in_text ? 'The messages contain the tools, as wield writes them today.' : 'The tools are sent separately, for function calling.'
      : 'These are the messages of the conversation, not the exact prompt.')),
    h('p', {class: 'soft'}, `${a.messages.length} ${a.messages.length === 1 ? 'message' : 'messages'}, ${bytes(size)}${a.dropped ? `; ${a.dropped} were left out, because there was no room` : ''}${a.pruned ? `; ${a.pruned} results were cut, or a note stands for them` : ''}.`),
    a.messages.map((m) => h('section', {class: 'asked'}, badge(m.role), m.call_id && [' ', h('span', {class: 'soft mono'}, visible(m.call_id))], m.text && h('pre', {tabindex: '0'}, visible(m.text)),
      (m.calls ?? []).map((c) => h('pre', {tabindex: '0'}, `${visible(c.name)} ${visible(c.arguments)}`)), m.files ? h('p', {class: 'soft'}, `with ${m.files} ${m.files === 1 ? 'file' : 'files'}`) : null)),
    a.tools.length > 0 && h('details', null, h('summary', null, `${a.tools.length} ${a.tools.length === 1 ? 'tool' : 'tools'} beside the messages`), tree(a.tools, {open: 1})),
    a.cut && h('p', {class: 'caution'}, 'The rest is too long to be shown here. The journal has all of it.'),
  ];
}
