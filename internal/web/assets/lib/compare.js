// Two calls side by side, of one run or of two.

import {h, button, badge, dialog, toast, lasts, visible} from './ui.js';
import {members} from './exact.js';

let first = null; // the call that was chosen to be compared with another

// compare chooses a call. With the second one that is chosen, both are shown.
export function compare(t, turn, call) {
  const mine = {t, turn, call};
  if (!first || (first.t.id === t.id && first.call.id === call.id && first.turn === turn)) {
    first = mine;
    toast(`${call.name} is chosen. Choose Compare at another call, of this run or of another one.`);
    return;
  }
  const other = first;
  first = null;
  dialog('Two calls', sheet(other, mine), {wide: true});
}

const time = (from, to) => (from && to ? lasts(Date.parse(to) - Date.parse(from)) : '');

// rows are what is compared, each with how it is told of a call.
const rows = [
  ['run', (x) => `${x.t.id}, answer ${x.turn + 1}`, {differs: false}],
  ['tool', (x) => x.call.name],
  ['model', (x) => x.t.turns[x.turn].model ?? ''],
  ['dialect', (x) => x.call.dialect ?? (x.call.origin && x.call.origin !== 'text' ? `none: ${x.call.origin}` : '')],
  ['repaired', (x) => [...new Set(x.t.turns[x.turn].notes.map((n) => `${n.kind}${n.path ? ` at ${n.path}` : ''}`))].join(', ') || 'nothing'],
  ['sent back before', (x) => x.t.turns[x.turn].bounces.map((b) => b.reason).join(', ') || 'no'],
  ['rules', (x) => (x.call.policy ? `${x.call.policy.decision} by ${x.call.policy.rule ?? ''}` : '')],
  ['people', (x) => x.call.approvals.map((a) => `${a.state}${a.by ? ` by ${a.by}` : ''}`).join(', ')],
  ['the model took', (x) => time(x.t.turns[x.turn].asked, x.t.turns[x.turn].ended), {differs: false}],
  ['people took', (x) => x.call.approvals.map((a) => time(a.asked, a.answered)).filter(Boolean).join(', '), {differs: false}],
  ['it ran', (x) => time(x.call.started, x.call.ended), {differs: false}],
  ['outcome', (x) => (x.call.result ? (x.call.result.is_error ? x.call.error_type || 'failed' : 'done') : 'no result')],
];

function sheet(a, b) {
  const row = (name, left, right, differs) => h('tr', {class: differs ? 'differs' : ''}, h('th', {scope: 'row'}, name, differs && [' ', badge('differs', 'warn')]), h('td', null, left), h('td', null, right));
  const one = args(a.call), two = args(b.call);
  const names = one && two ? [...new Set([...Object.keys(one), ...Object.keys(two)])] : [];
  return h('div', {class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Two calls'}, h('table', {class: 'table compare'},
    h('thead', null, h('tr', null, h('th', {scope: 'col'}, ''), h('th', {scope: 'col'}, 'the first'), h('th', {scope: 'col'}, 'the second'))),
    h('tbody', null,
      rows.map(([name, tell, {differs = true} = {}]) => row(name, visible(tell(a)), visible(tell(b)), differs && tell(a) !== tell(b))),
      names.map((n) => row(h('code', null, visible(n)), value(one, n), value(two, n), JSON.stringify(one[n]) !== JSON.stringify(two[n]))),
      names.length === 0 && row('arguments', h('pre', null, visible(a.call.arguments)), h('pre', null, visible(b.call.arguments)), a.call.arguments !== b.call.arguments),
      row('result', text(a.call), text(b.call), a.call.result?.text !== b.call.result?.text))));
}

function args(call) {
  try {
    const v = JSON.parse(call.arguments);
    return v && typeof v === 'object' && !Array.isArray(v) ? v : null;
  } catch {
    return null;
  }
}

const value = (args, name) => (name in args ? members({[name]: args[name]}).lastChild : h('span', {class: 'soft'}, 'is not there'));
const text = (call) => (call.result ? h('pre', {tabindex: '0'}, visible(call.result.text.slice(0, 20_000))) : h('span', {class: 'soft'}, 'none'));

// compareButton is what chooses a call.
export const compareButton = (t, turn, call) => button('Compare', () => compare(t, turn, call), {icon: 'copy', quiet: true});
