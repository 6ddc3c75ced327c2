// Forms made of a JSON Schema, for the arguments of tools.

import {h, put, button} from './ui.js';
import {isOdd} from './exact.js';

let forms = 0;

// form makes a form for an object. It returns
//   element
//   value()            the object; an Error with the place, as field, if what was typed cannot be one
//   show(problems)     writes [{field, message}] beside the fields that they are about
//   focus()
// oninput is called when something was typed. Whatever the schema says, all can be written as JSON.
export function form(schema, start, {oninput} = {}) {
  const id = `form-${++forms}`;
  const properties = schema && typeof schema.properties === 'object' && schema.properties ? schema.properties : {};
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  let raw = Object.keys(properties).length === 0 && Object.keys(start).length === 0;
  let fields = new Map();
  let text = null;
  const body = h('div', {class: 'stack'});
  const wrong = h('p', {class: 'bad-words', role: 'alert', id: `${id}-wrong`});
  const how = button('As JSON', () => turn(), {class: 'link'});
  const element = h('div', {class: 'form stack'}, body, wrong, h('div', {class: 'row end'}, how));
  const changed = () => oninput?.();

  function turn() {
    let now;
    try {
      now = value();
    } catch (e) {
      show([{field: e.field ?? '', message: e.message}]);
      return;
    }
    raw = !raw;
    build(now);
    focus();
  }

  function build(now) {
    fields = new Map();
    text = null;
    put(wrong);
    how.querySelector('span').textContent = raw ? 'As a form' : 'As JSON';
    if (raw) {
      text = h('textarea', {class: 'mono', rows: '8', spellcheck: 'false', 'aria-label': 'Arguments as JSON', 'aria-describedby': `${id}-wrong`, value: JSON.stringify(now, null, 2), oninput: changed});
      put(body, text);
      return;
    }
    const left = [];
    put(body);
    const names = [...Object.keys(properties), ...Object.keys(now).filter((n) => !Object.hasOwn(properties, n))];
    for (const name of names) {
      if (Object.hasOwn(now, name) || required.has(name)) add(name, now[name]);
      else left.push(name);
    }
    if (left.length) {
      const pick = h('select', {'aria-label': 'Add an argument'}, h('option', {value: ''}, 'Add an argument…'), left.map((n) => h('option', {value: n}, n)));
      pick.addEventListener('change', () => {
        if (!pick.value) return;
        const name = pick.value;
        pick.querySelector(`option[value="${CSS.escape(name)}"]`).remove();
        pick.value = '';
        add(name, undefined, pick.parentElement);
        fields.get(name).focus();
        changed();
      });
      body.append(h('div', {class: 'row'}, pick));
    }
  }

  function add(name, now, before = null) {
    const s = properties[name] && typeof properties[name] === 'object' ? properties[name] : {};
    const key = `${id}-${fields.size}`;
    const f = field(s, now, key, changed);
    const bad = h('p', {class: 'bad-words', id: `${key}-wrong`, role: 'alert'});
    f.input.setAttribute('aria-describedby', `${key}-about ${key}-wrong`);
    const box = h('div', {class: 'field'},
      h('div', {class: 'row'}, h('label', {for: key}, name, required.has(name) && h('span', {class: 'soft'}, ' · required')), h('span', {class: 'grow'}),
        !required.has(name) && button(`Leave out ${name}`, () => { box.remove(); fields.delete(name); changed(); }, {icon: 'close', quiet: true})),
      f.element, typeof s.description === 'string' && h('p', {class: 'soft about', id: `${key}-about`}, s.description), bad);
    fields.set(name, {...f, bad, focus: () => f.input.focus()});
    body.insertBefore(box, before);
  }

  function value() {
    if (raw) {
      let v;
      try {
        v = JSON.parse(text.value);
      } catch (e) {
        throw Object.assign(new Error(`this is no JSON: ${e.message}`), {field: ''});
      }
      if (v === null || typeof v !== 'object' || Array.isArray(v)) throw Object.assign(new Error('the arguments must be an object'), {field: ''});
      return v;
    }
    const out = {};
    for (const [name, f] of fields) {
      let v;
      try {
        v = f.value();
      } catch (e) {
        throw Object.assign(e, {field: '/' + name.replaceAll('~', '~0').replaceAll('/', '~1')});
      }
      if (v !== undefined) Object.defineProperty(out, name, {value: v, enumerable: true, writable: true, configurable: true});
    }
    return out;
  }

  function show(problems) {
    put(wrong);
    for (const f of fields.values()) {
      put(f.bad);
      f.input.removeAttribute('aria-invalid');
    }
    for (const p of problems) {
      const name = p.field.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~');
      const f = fields.get(name);
      const rest = p.field.split('/').slice(2).join('/');
      if (f) {
        f.bad.append((f.bad.textContent ? '. ' : '') + (rest ? `${rest}: ` : '') + p.message);
        f.input.setAttribute('aria-invalid', 'true');
      } else {
        wrong.append((wrong.textContent ? '. ' : '') + (p.field ? `${p.field}: ` : '') + p.message);
      }
    }
  }

  function focus() {
    (text ?? [...fields.values()][0]?.input)?.focus();
  }

  build(start);
  return {element, value, show, focus};
}

// field makes what one value is typed in.
function field(s, now, id, changed) {
  const type = Array.isArray(s.type) ? s.type.find((t) => t !== 'null') : s.type;
  if (Array.isArray(s.enum) && (now === undefined || s.enum.some((e) => e === now))) return choice(s.enum, now, id, changed);
  if (type === 'boolean' && (now === undefined || typeof now === 'boolean')) return choice([true, false], now, id, changed);
  if ((type === 'integer' || type === 'number') && (now === undefined || typeof now === 'number')) return number(now, id, changed);
  if (typeof now === 'string' ? !spoiled(now) : now === undefined && (type === 'string' || type === undefined)) return words(now, id, changed);
  if (type === 'array' && (s.items?.type === 'string') && (now === undefined || now.every?.((t) => typeof t === 'string' && !spoiled(t)))) return list(now ?? [], id, changed);
  return json(now, id, changed);
}

// spoiled reports whether a field of text would not give a text back as it was, or would not show what is in it.
function spoiled(text) {
  return text.includes('\r') || isOdd(text.replaceAll(/[ \t]+(?=\n|$)/g, '').replaceAll(/[ \t]{9,}/g, ' ').replaceAll(/\n{5,}/g, '\n'));
}

function choice(values, now, id, changed) {
  const input = h('select', {id, onchange: changed}, now === undefined && h('option', {value: ''}, 'Choose…'), values.map((v, i) => h('option', {value: String(i), selected: v === now}, String(v))));
  return {element: input, input, value: () => (input.value === '' ? undefined : values[Number(input.value)])};
}

function number(now, id, changed) {
  const input = h('input', {id, type: 'text', inputmode: 'decimal', spellcheck: 'false', value: now === undefined ? '' : String(now), oninput: changed});
  return {element: input, input, value: () => {
    const t = input.value.trim();
    if (t === '') return undefined;
    if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(t)) throw new Error('this is no number');
    return Number(t);
  }};
}

function words(now = '', id, changed) {
  const long = now.includes('\n') || now.length > 80;
  const input = long ? h('textarea', {id, class: 'mono', rows: String(Math.min(16, now.split('\n').length + 1)), spellcheck: 'false', value: now, oninput: changed})
    : h('input', {id, class: 'mono', type: 'text', spellcheck: 'false', autocomplete: 'off', value: now, oninput: changed});
  const more = !long && button('More lines', () => {
    const wide = words(input.value + '\n', id, changed);
    wide.input.value = input.value;
    for (const a of ['aria-describedby', 'aria-invalid']) if (input.hasAttribute(a)) wide.input.setAttribute(a, input.getAttribute(a));
    input.replaceWith(wide.input);
    more.remove();
    out.input = wide.input;
    wide.input.focus();
  }, {icon: 'plus', quiet: true});
  const out = {element: h('div', {class: 'row tight'}, h('div', {class: 'grow'}, input), more), input, value: () => out.input.value};
  return out;
}

function list(now, id, changed) {
  const rows = h('div', {class: 'stack tight'});
  const inputs = [];
  const row = (t) => {
    const input = h('input', {class: 'mono', type: 'text', spellcheck: 'false', autocomplete: 'off', value: t, 'aria-label': `Item ${inputs.length + 1}`, oninput: changed});
    inputs.push(input);
    const el = h('div', {class: 'row tight'}, h('div', {class: 'grow'}, input), button('Remove the item', () => { inputs.splice(inputs.indexOf(input), 1); el.remove(); changed(); }, {icon: 'close', quiet: true}));
    rows.append(el);
    return input;
  };
  now.forEach(row);
  const plus = button('Add an item', () => { row('').focus(); changed(); }, {icon: 'plus', id});
  return {element: h('div', {class: 'stack tight'}, rows, h('div', null, plus)), input: plus, value: () => inputs.map((i) => i.value)};
}

function json(now, id, changed) {
  const input = h('textarea', {id, class: 'mono', rows: '4', spellcheck: 'false', value: now === undefined ? '' : escaped(JSON.stringify(now, null, 2)), oninput: changed});
  return {element: h('div', null, h('p', {class: 'soft about'}, 'As JSON'), input), input, value: () => {
    if (input.value.trim() === '') return undefined;
    try {
      return JSON.parse(input.value);
    } catch (e) {
      throw new Error(`this is no JSON: ${e.message}`);
    }
  }};
}

// escaped writes what would not be seen in a field as escapes of JSON.
function escaped(text) {
  return text.replaceAll(/[^\n -~\u00a1-\u00ac\u00ae-\u024f]/gu, (c) => (isOdd(c) ? [...Array(c.length).keys()].map((i) => '\\u' + c.charCodeAt(i).toString(16).padStart(4, '0')).join('') : c));
}
