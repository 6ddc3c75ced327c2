// Going on in another way from a message of a run.

import {button, toast} from './ui.js';

// forkButton opens the chat with the message that an answer was given to, so that it can be written in another way. What follows is a chat of its
// own; the run stays as it is.
export function forkButton(t, n, app, signal) {
  return button('Fork here', async ({currentTarget: pressed}) => {
    try {
      const position = await before(t, n, app, signal);
      if (!pressed.isConnected) return; // the person looks at something else by now
      if (position === null) throw new Error('The message before this answer is no longer in the journal');
      app.go(`chat/${encodeURIComponent(t.session)}?edit=${position}`);
    } catch (e) {
      if (e.name !== 'AbortError') toast(e, {kind: 'bad'});
    }
  }, {icon: 'branch'});
}

// before returns the position of the last message of a person before an answer.
async function before(t, n, app, signal) {
  const asked = Date.parse(t.turns[n].asked);
  let found = null;
  for await (const page of app.api.pages(`/sessions/${encodeURIComponent(t.session)}/transcript`, {limit: 100}, {param: 'after', signal})) {
    for (const s of page.items) {
      if (s.run === t.id && s.role === 'user' && s.by !== 'wield' && (found === null || Date.parse(s.at) <= asked)) found = s.position;
    }
  }
  return found;
}
