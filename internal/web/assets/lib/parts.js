// The parts of a call, such as the groups of an edit: each can be left out by itself, and the rest is carried out.

import {h, put} from './ui.js';
import {exact} from './exact.js';
import {lines} from './changes.js';

// parts shows what a review tells of the parts of a call. onchange is called when something else is marked. It returns
//   element
//   refused()  what is left out, as a decision takes it: [{part, reason}]
//   empty()    nothing is left
export function parts(list, {onchange}) {
  const rows = list.map((p, n) => {
    const mark = h('input', {type: 'checkbox', checked: true, 'aria-label': `Part ${n + 1}: ${p.what}`});
    const reason = h('input', {type: 'text', class: 'grow', placeholder: 'Reason for the model (optional)', 'aria-label': `Why part ${n + 1} is left out`, maxlength: '2000'});
    const why = h('div', {class: 'row', hidden: true}, reason);
    const body = h('div');
    // Many parts would make a long page; what one does is seen when it is opened.
    const whole = h('details', null, h('summary', null, 'What it changes'), body);
    whole.addEventListener('toggle', () => { if (whole.open && !body.firstChild) put(body, lines(p.diff, p.path), p.cut && h('p', {class: 'caution'}, 'The rest is too long to be shown here.')); });
    const row = h('li', {class: 'part-row stack'}, h('label', {class: 'row'}, mark, h('strong', null, `${n + 1} of ${list.length}`), h('code', null, exact(p.what))), whole, why);
    mark.addEventListener('change', () => {
      why.hidden = mark.checked;
      row.classList.toggle('left-out', !mark.checked);
      if (!mark.checked) reason.focus();
      onchange();
    });
    return {row, mark, reason};
  });
  const element = h('section', {class: 'stack'}, h('h3', null, 'Apply only some parts'),
    h('p', {class: 'soft'}, 'Only the selected parts are applied, all or none. The model is told which were not.'), h('ul', {class: 'part-list stack'}, rows.map((r) => r.row)));
  return {
    element,
    focus: () => rows[0]?.mark.focus(),
    refused: () => rows.flatMap((r, n) => (r.mark.checked ? [] : [{part: n, ...(r.reason.value.trim() && {reason: r.reason.value.trim()})}])),
    empty: () => rows.every((r) => !r.mark.checked),
  };
}
