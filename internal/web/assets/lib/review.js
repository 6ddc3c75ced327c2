// What a call would do, and what the rules say of it.

import {h, badge} from './ui.js';
import {exact} from './exact.js';
import {change} from './changes.js';
import {command} from './command.js';

export const decisions = {allow: 'ok', ask: 'wait', deny: 'bad'};

// effect shows what a review tells of a command and of files. light(part) marks a part of the command; light() takes the mark away.
export function effect(review, dir = '') {
  const out = [];
  let light = () => {};
  if (review.command) {
    const shown = command(review.command, review.findings);
    light = shown.light;
    const where = review.command.dir || dir;
    out.push(h('section', null, h('h3', null, review.command.shell ? 'Runs this line in a shell' : 'Runs this program'), shown.element,
      review.command.error && h('p', {class: 'caution'}, review.command.error), where && h('p', {class: 'soft'}, 'in ', h('code', null, exact(where)))));
  }
  if (review.files) {
    out.push(h('section', {class: 'stack'}, h('h3', null, review.files.length === 1 ? 'Changes this file' : `Changes ${review.files.length} files`),
      dir && h('p', {class: 'soft'}, 'in ', h('code', null, exact(dir))), review.files.map(change)));
  }
  if (review.unknown) out.push(h('p', {class: 'caution'}, `It would change nothing: ${review.unknown}`));
  return {elements: out, light};
}

// verdict shows the decision and everything that was looked at: a single thing that was looked at is the decision. To point at one marks its part of
// the command.
export function verdict(review, light, title = 'Why this needs approval') {
  const list = review.findings ?? [];
  return h('section', null, h('h3', null, title),
    list.length !== 1 && h('p', null, badge(review.decision, decisions[review.decision]), ' ', review.why ? `${upper(review.why)}. ` : '', where(review)),
    list.length > 0 && h('ul', {class: 'findings'}, list.map((f) => h('li', {class: f.decides ? 'decides' : '', tabindex: '0',
      onmouseenter: () => light(f.part), onmouseleave: () => light(), onfocus: () => light(f.part), onblur: () => light()},
    badge(f.decision, decisions[f.decision]), h('span', {class: 'soft'}, f.subject), h('code', null, exact(f.text)),
    h('span', {class: 'soft'}, [list.length === 1 || f.why !== review.why ? f.why : '', where(f), f.part === undefined ? f.node : ''].filter(Boolean).map((x, i) => [i > 0 && ' · ', x])),
    f.fix && f.decision !== 'allow' && h('span', {class: 'soft fix'}, 'To allow it, add to the rules of the policy: ', h('code', null, exact(f.fix)))))));
}

// where says which rule it is, and where it stands. That no rule matches is said by the reason.
function where(f) {
  if (!f.rule || f.rule === 'default') return null;
  return [h('code', null, exact(f.rule)), f.file && [' ', place(`${f.file}:${f.line}`)]];
}

// place shows a place in a file by the file's own name; all of its path is told to who points at it.
export function place(text) {
  return h('span', {class: 'soft', title: text}, exact(text.split(/[\\/]/).at(-1)));
}

export function upper(s) {
  return s.charAt(0).toUpperCase() + s.slice(1);
}
