// Running a tool once more, by hand.

import {h, put, badge, button, dialog, sentence, visible} from './ui.js';
import {tree} from './tree.js';
import {pretty} from './copies.js';

// runAgain runs a tool with the arguments of a call. The rules are asked again.
export function runAgain(t, c, app) {
  const args = h('textarea', {class: 'mono', rows: 8, spellcheck: 'false', 'aria-label': 'Arguments', value: pretty(c.arguments), oninput: () => asking?.remove()});
  const out = h('div', {class: 'stack', 'aria-live': 'polite'});
  let under = false, asking = null; // the button that runs what was looked at, as long as it is what is written
  const run = async (approved) => {
    if (under) return;
    let value;
    try {
      value = JSON.parse(args.value);
    } catch (e) {
      put(out, h('p', {class: 'bad-words'}, `These are no arguments: ${e.message}`));
      return;
    }
    const written = args.value;
    under = true;
    put(out, h('p', {class: 'soft'}, 'It runs…'));
    try {
      const got = await app.api.post(`/tools/${encodeURIComponent(c.name)}/run`, {agent: t.agent || t.model, arguments: value, ...(approved && {approved: true})});
      const review = got.review, asks = !got.ran && review.decision === 'ask';
      asking = asks && written === args.value ? button('Run it anyway', () => run(true), {kind: 'primary'}) : null;
      put(out, h('p', null, badge(got.ran ? (got.result?.is_error ? 'failed' : 'ran') : asks ? 'asks' : 'not run', got.ran && !got.result?.is_error ? 'ok' : asks ? 'wait' : 'bad'), ' ', h('code', null, review.rule ?? ''), ' ', h('span', {class: 'soft'}, review.why ?? '')),
        asking, got.result && h('pre', null, visible(got.result.text)),
        review.problems?.length ? tree(review.problems, {open: 3}) : null);
    } catch (e) {
      put(out, h('p', {class: 'bad-words'}, sentence(e)));
    } finally {
      under = false;
    }
  };
  dialog(`Run ${c.name} again`, [h('p', {class: 'soft'}, 'The rules apply as for the model. The result is shown only here.'), args, h('div', {class: 'row end'}, button('Run', () => run(false), {kind: 'primary', icon: 'retry'})), out], {wide: true});
}
