// Command lines: the text as it stands, coloured by its syntax tree, with what the rules say of each part.

import {h} from './ui.js';
import {exact} from './exact.js';

const strength = {allow: 0, ask: 1, deny: 2};

// What the deepest part around some text means for its colour.
const colours = {BinaryCmd: 'joins', Redirect: 'redirects', CmdSubst: 'inserts', ProcSubst: 'inserts', ParamExp: 'inserts', ArithmExp: 'inserts'};

// command shows a command of a review. light(part) marks a part; light() takes the mark away.
export function command(cmd, findings) {
  if (!cmd.shell) {
    return {element: h('pre', {class: 'command exact', tabindex: '0', role: 'region', 'aria-label': 'Program and arguments'}, cmd.argv.map((word, i) => [i > 0 && ' ', h('span', {class: 'word'}, exact(word))])), light() {}};
  }
  const parts = cmd.parts ?? [];
  const said = parts.map(() => '');
  for (const f of findings ?? []) {
    if (f.part !== undefined && (said[f.part] === '' || strength[f.decision] > strength[said[f.part]])) said[f.part] = f.decision;
  }
  const spans = segments(cmd.shell, parts).map(({text, inside}, n, all) => {
    const deepest = inside.at(-1);
    const worst = inside.reduce((w, i) => (said[i] && (w === '' || strength[said[i]] > strength[w]) ? said[i] : w), '');
    const el = h('span', {class: ['part', worst && `is-${worst}`, deepest !== undefined && colours[parts[deepest].kind]]}, exact(text, {part: n < all.length - 1}));
    return {el, inside};
  });
  return {
    element: h('pre', {class: 'command exact', tabindex: '0', role: 'region', 'aria-label': 'Command line'}, spans.map((s) => s.el)),
    light(part) { for (const s of spans) s.el.classList.toggle('lit', part !== undefined && s.inside.includes(part)); },
  };
}

// segments cuts a line where a part begins or ends. Places of parts are counted in bytes.
function segments(line, parts) {
  const bytes = new TextEncoder().encode(line);
  const cuts = new Set([0, bytes.length]);
  for (const p of parts) cuts.add(p.from).add(p.to);
  const at = [...cuts].filter((n) => n >= 0 && n <= bytes.length).sort((a, b) => a - b);
  const decoder = new TextDecoder();
  const out = [];
  for (let i = 0; i + 1 < at.length; i++) {
    const inside = [];
    parts.forEach((p, n) => { if (p.from <= at[i] && at[i + 1] <= p.to) inside.push(n); });
    out.push({text: decoder.decode(bytes.subarray(at[i], at[i + 1])), inside});
  }
  return out;
}
