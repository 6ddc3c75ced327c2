// The playground: a text, tools, and what every dialect makes of it, chunk by chunk if one likes.

import {h, put, badge, button, sentence, toast, icon} from '../lib/ui.js';
import {split, asides, Bytes} from '../lib/split.js';

export const title = 'Playground';

// Texts to begin with.
const examples = [
  {name: 'Two calls', text: 'I will look at both.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": "3"}}\n</tool_call>\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": 3,}}\n</tool_call>'},
  {name: 'Tags', text: '<tool_call>\n<function=get_weather>\n<parameter=city>\nSão Paulo "centro"\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>'},
  {name: 'Python', text: '[get_weather(city=\'Val d\\\'Isère\', days=1 + 1)]'},
  {name: 'Quoted in prose', text: 'To call a tool one writes `<tool_call>{"name": "get_weather"}</tool_call>`, but I will not do that now.'},
  {name: 'Broken', text: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": three}}\n</tool_call>'},
];
const exampleTools = '[{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}]';

// What was pasted here last, so that going elsewhere and back loses nothing.
const kept = {text: examples[0].text, tools: exampleTools, repair: 'full', model: '', only: true, chunk: 8};

// keep lets another view hand over a text: keep({text, tools}).
export function keep(more) {
  Object.assign(kept, more);
}

export function show(root, route, app) {
  const abort = new AbortController();
  const text = h('textarea', {class: 'mono', rows: 10, spellcheck: 'false', 'aria-label': 'Model output', value: kept.text});
  const tools = h('textarea', {class: 'mono', rows: 10, spellcheck: 'false', 'aria-label': 'Tools', value: kept.tools});
  const repair = h('select', {'aria-label': 'Repair'}, ['full', 'safe', 'off'].map((r) => h('option', {value: r, selected: r === kept.repair}, `repair ${r}`)));
  const only = h('input', {type: 'checkbox', checked: kept.only});
  const model = h('input', {type: 'text', value: kept.model, placeholder: 'any', size: 14, 'aria-label': 'Model'});
  const chunk = h('input', {type: 'number', value: kept.chunk, min: 1, max: 4096, 'aria-label': 'Bytes per chunk'});
  const said = h('p', {class: 'bad-words', role: 'alert'});
  const groups = h('div', {class: 'readings', role: 'group', 'aria-label': 'Readings'});
  const slider = h('input', {type: 'range', min: 0, max: 0, value: 0, class: 'grow', 'aria-label': 'How much of the text has arrived'});
  const fedNote = h('span', {class: 'soft mono'});
  const view = split('');
  const more = h('div', {class: 'asides stack'});
  const result = h('div', {class: 'stack', hidden: true}, groups,
    h('div', {class: 'row'}, h('span', {class: 'soft'}, 'Arrived'), slider, fedNote), view.el, more);
  let picked = 'auto', last = '', size = 0, reading = null, asked = 0, reads = 0;

  const read = async () => {
    Object.assign(kept, {text: text.value, tools: tools.value, repair: repair.value, model: model.value.trim(), only: only.checked, chunk: Math.max(1, Number(chunk.value) || 8)});
    put(said);
    let list;
    try {
      list = kept.tools.trim() === '' ? [] : JSON.parse(kept.tools);
      if (!Array.isArray(list)) throw new Error('it is no list');
    } catch (e) {
      put(said, `The tools are no JSON list: ${e.message}.`);
      return;
    }
    const mine = ++reads, body = {text: kept.text, tools: list, repair: kept.repair, only: kept.only, ...(kept.model && {model: kept.model})};
    try {
      const all = await app.api.post('/parse', {...body, dialects: ['all']}, {signal: abort.signal});
      if (mine !== reads) return; // another text is read by now
      last = body.text;
      result.hidden = false;
      paintGroups(all.readings, body);
      await pick(picked, body);
    } catch (e) {
      if (e.name !== 'AbortError' && mine === reads) put(said, sentence(e));
    }
  };

  // Readings that say the same stand together: mostly a few dialects read something and all others read nothing.
  const paintGroups = (readings, body) => {
    const same = new Map();
    for (const r of readings) {
      const key = r.error || JSON.stringify([r.calls.map((c) => [c.name, c.arguments, c.complete]), r.rejected.map((x) => [x.reason, x.name]), r.content, r.reasoning]);
      if (!same.has(key)) same.set(key, []);
      same.get(key).push(r);
    }
    const order = [...same.values()].sort((a, b) => weight(b) - weight(a));
    put(groups, order.map((list) => {
      const r = list[0];
      return h('section', {class: 'panel reading'},
        h('header', null, r.error ? badge('error', 'bad') : r.calls.length ? badge(`${r.calls.length} ${r.calls.length === 1 ? 'call' : 'calls'}`, 'ok') : badge('no call'),
          r.rejected.length > 0 && badge(`${r.rejected.length} refused`, 'bad'), r.notes.length > 0 && badge(`${r.notes.length} repaired`, 'warn')),
        h('div', {class: 'panel-body stack'}, r.error ? h('p', null, r.error) : r.calls.slice(0, 5).map((c) => h('code', {class: 'reading-call'}, `${c.name}(${short(c.arguments)})`, !c.complete && ' …')),
          !r.error && r.calls.length === 0 && h('p', {class: 'soft'}, r.content ? 'Plain text, no calls.' : 'No text and no calls.'),
          h('div', {class: 'row names'}, list.map((x) => h('button', {type: 'button', class: 'link', 'aria-pressed': String(x.dialect === picked), dataset: {dialect: x.dialect}, onclick: () => pick(x.dialect, body)}, x.dialect)))));
    }));
  };
  const weight = (list) => (list.some((r) => r.dialect === 'auto') ? 1e6 : 0) + list[0].calls.length * 1000 + list[0].rejected.length * 100;

  // pick reads the text once more as one dialect, in chunks, so that the slider has what it goes through.
  const pick = async (name, body) => {
    const mine = ++asked;
    picked = name;
    for (const b of groups.querySelectorAll('[data-dialect]')) b.setAttribute('aria-pressed', String(b.dataset.dialect === name));
    try {
      const got = await app.api.post('/parse', {...body, dialects: [name], chunk: kept.chunk}, {signal: abort.signal});
      if (mine !== asked) return;
      reading = got.readings[0];
    } catch (e) {
      if (e.name !== 'AbortError' && mine === asked) toast(e, {kind: 'bad'});
      return;
    }
    const bytes = new Bytes(last);
    size = bytes.length;
    slider.step = kept.chunk;
    slider.max = Math.ceil(size / kept.chunk) * kept.chunk; // so that its end is the end of the text
    slider.value = slider.max;
    view.set(last);
    put(more, asides(bytes, reading));
    paint();
  };
  const paint = () => {
    if (!reading) return;
    const fed = Number(slider.value) >= size ? Infinity : Number(slider.value);
    put(fedNote, `${Math.min(fed, size)} of ${size} bytes`);
    view.show(reading, {fed});
  };
  slider.addEventListener('input', paint);

  put(root, h('header', {class: 'page-head'}, h('h1', null, title), h('span', {class: 'grow'}),
    h('div', {class: 'row'}, examples.map((e) => h('button', {type: 'button', class: 'link', onclick: () => { text.value = e.text; tools.value = exampleTools; read(); }}, e.name)))),
  h('div', {class: 'page-body stack'},
    h('div', {class: 'inputs'}, h('label', {class: 'stack'}, 'What the model wrote', text), h('label', {class: 'stack'}, 'Tools offered to it', tools)),
    h('div', {class: 'row'}, repair, h('label', {class: 'row'}, only, 'each dialect alone'), h('label', {class: 'row'}, 'model', model), h('label', {class: 'row'}, 'chunk', chunk),
      h('button', {type: 'button', class: 'button primary', onclick: read}, icon('playground'), 'Read')),
    said, result));
  const off = app.keys({'Control+Enter': ['Read the text', read]});
  if (kept.text.trim()) read();
  return () => { off(); abort.abort(); Object.assign(kept, {text: text.value, tools: tools.value}); };
}

function short(s) {
  return s.length > 90 ? `${s.slice(0, 90)}…` : s;
}
