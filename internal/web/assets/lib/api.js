// The interface of the service. All that the page knows comes through here.

export const base = '/api/v1';

// An ApiError is what the service says is wrong. Status 0: it could not be reached.
export class ApiError extends Error {
  constructor(status, {kind = 'unreachable', message = 'the service cannot be reached', field = '', fix = ''} = {}, body = null) {
    super(message);
    this.name = 'ApiError';
    Object.assign(this, {status, kind, field, fix, body});
  }
}

export const get = (path, options) => send('GET', path, undefined, options);
export const post = (path, body = {}, options) => send('POST', path, body, options);
export const patch = (path, body = {}, options) => send('PATCH', path, body, options);
export const del = (path, options) => send('DELETE', path, undefined, options);

// send asks for something. The answer is what its JSON says, or null if there is no body.
async function send(method, path, body, {signal} = {}) {
  const ask = async () => {
    const response = await reach(path, {method, signal, headers: body === undefined ? {} : {'Content-Type': 'application/json'},
      body: body === undefined ? undefined : JSON.stringify(body)});
    return response.status === 204 ? null : whole(response.json());
  };
  return method === 'GET' ? reading(ask, signal) : ask();
}

// text asks for something that is no JSON, such as an export.
export function text(path, {signal} = {}) {
  return reading(async () => whole((await reach(path, {signal})).text()), signal);
}

// reading asks again, twice at most, where a connection broke off under an answer: who only looks does no harm by it, and an event that let the page
// look is told once.
async function reading(ask, signal) {
  for (const wait of waits.slice(0, 2)) {
    try {
      return await ask();
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 0) throw e;
    }
    await sleep(wait, signal);
  }
  return ask();
}

// whole waits for what an answer has to say.
async function whole(said) {
  try {
    return await said;
  } catch (e) {
    if (e.name === 'AbortError' || e instanceof SyntaxError) throw e;
    throw new ApiError(0); // it broke off
  }
}

async function reach(path, options) {
  const asked = visits;
  let response;
  try {
    response = await fetch(base + path, {credentials: 'same-origin', cache: 'no-store', ...options});
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new ApiError(0);
  }
  if (response.ok) return response;
  throw await failure(response, asked);
}

// failure reads what an answer says is wrong. One that is not of the service, such as a proxy's, says no more than its status.
async function failure(response, asked) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // no JSON
  }
  const error = new ApiError(response.status, body?.error ?? {kind: 'other', message: `the answer has status ${response.status}`}, body);
  if (response.status === 401 && asked === visits) onLogout?.(); // else the caller is known again by now
  return error;
}

let onLogout = null, visits = 0;

// whenLoggedOut says what to do when the service does not know the caller any more.
export function whenLoggedOut(f) {
  onLogout = f;
}

// loggedIn says that the service knows the caller from now on. An answer to what was asked for before may still come, and say otherwise.
export function loggedIn() {
  visits++;
}

// inOrder tells answers that come too late: const turn = inOrder(), then const news = turn() with each request. When the answer is there, news()
// reports whether it may be shown: it may not behind that to a later request, which knew more.
export function inOrder() {
  let asked = 0, shown = 0;
  return () => {
    const mine = ++asked;
    return () => {
      if (mine < shown) return false;
      shown = mine;
      return true;
    };
  };
}

// pages yields the items of a list, page by page, each page with its next: for await (const {items, next} of pages('/runs', {state: 'open'})).
export async function* pages(path, query = {}, {param = 'before', signal} = {}) {
  for (let at = ''; ;) {
    const q = new URLSearchParams({...query, ...(at && {[param]: at})});
    const page = await get(`${path}?${q}`, {signal});
    yield page;
    if (!page.next) return;
    at = page.next;
  }
}

// Waits before a stream that broke off is asked for again, in milliseconds.
const waits = [250, 500, 1000, 2000, 4000];

// stream follows events, and asks again behind the last one that was seen when the connection breaks off.
//
//   after    the id of the last event seen; nothing: from the beginning, or from now, as the path has it
//   onEvent  gets {id, name, data}, where data is the parsed JSON
//   onBatch  in its place gets a list of those that arrived together
//   onState  gets 'open', 'lost' (it is tried again), 'over' (there will be nothing more) or 'failed', with the error
//   signal   ends it
//   hidden   goes on while nobody sees the page. Without it the stream rests then, since a browser has only a few connections for all
//            its tabs; nothing is lost by that.
//
// It returns {after()}, the id of the last event.
export function stream(path, {after = '', onEvent, onBatch, onState, signal, hidden = false} = {}) {
  const ended = () => signal?.aborted;
  const run = async () => {
    for (let failed = 0; !ended();) {
      if (!hidden) await seen(signal);
      if (ended()) return;
      const pause = new AbortController();
      const rest = () => { if (!hidden && document.hidden) pause.abort(); };
      const stop = () => pause.abort();
      document.addEventListener('visibilitychange', rest);
      signal?.addEventListener('abort', stop);
      try {
        const q = after === '' ? '' : (path.includes('?') ? '&' : '?') + 'after=' + encodeURIComponent(after);
        const response = await reach(path + q, {headers: {Accept: 'text/event-stream'}, signal: pause.signal});
        if (response.status === 204) {
          onState?.('over');
          return;
        }
        if (ended()) return; // while the answer was under way
        onState?.('open');
        failed = 0;
        const done = await read(response.body, (list) => {
          if (ended()) return; // nobody wants what had arrived by then
          for (const e of list) if (e.id) after = e.id;
          const bad = list.find((e) => e.name === 'error');
          const good = list.filter((e) => e.name !== 'error');
          if (onBatch && good.length) onBatch(good);
          else good.forEach((e) => onEvent?.(e));
          if (bad) throw new ApiError(bad.status ?? 500, bad.data?.error ?? {});
        }, ended);
        if (done === 'finish') {
          onState?.('over');
          return;
        }
      } catch (e) {
        if (ended()) return;
        if (e instanceof ApiError && e.status >= 400 && e.status < 500) {
          onState?.('failed', e);
          return;
        }
        if (!(e instanceof ApiError) && e.name !== 'AbortError') {
          onState?.('failed', e); // a fault of this page
          throw e;
        }
      } finally {
        document.removeEventListener('visibilitychange', rest);
        signal?.removeEventListener('abort', stop);
      }
      if (ended() || pause.signal.aborted) continue;
      onState?.('lost');
      await sleep(waits[Math.min(failed++, waits.length - 1)], signal);
    }
  };
  run();
  return {after: () => after};
}

// A stream that brings much is read in pieces, with room between them for the browser to paint and to hear the person. What is not read
// yet waits in the connection, and the service with it.
const pieceBytes = 64 << 10, pieceTime = 8; // milliseconds

// read hands the events of an answer over as they arrive, until nobody wants them. It resolves to 'finish' if the last one said that there
// is nothing more.
async function read(body, hand, ended) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let rest = '', looked = 0, last = '', list = [], until = 0;
  const give = () => {
    if (list.length === 0) return;
    last = list.at(-1).name;
    const now = list;
    list = [];
    hand(now);
  };
  try {
    for (;;) {
      const asked = performance.now();
      const {done, value} = await reader.read().catch(() => ({done: true})); // broken off, or ended here
      if (done) return last;
      if (performance.now() > asked + 1) until = performance.now() + pieceTime; // others had their turn
      for (let at = 0; at < value.length; at += pieceBytes) {
        rest += decoder.decode(value.subarray(at, at + pieceBytes), {stream: true});
        let from = 0;
        for (let end; (end = rest.indexOf('\n\n', Math.max(from, looked))) >= 0; from = end + 2) {
          const e = parse(rest.slice(from, end));
          if (e) list.push(e);
          if (performance.now() < until) continue;
          give();
          await painted();
          if (ended()) return last;
          until = performance.now() + pieceTime;
        }
        rest = rest.slice(from);
        looked = Math.max(0, rest.length - 1); // half an end may be there
      }
      give();
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// painted resolves when the browser is about to paint, or soon where it does not.
function painted() {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, 50);
    if (!document.hidden) requestAnimationFrame(() => { clearTimeout(late); resolve(); });
  });
}

// parse reads one event.
function parse(frame) {
  const e = {id: '', name: 'message', data: null};
  let data = '', any = false;
  for (const line of frame.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue; // a comment
    const value = line.slice(colon + 1).replace(/^ /, '').replace(/\r$/, '');
    switch (line.slice(0, colon)) {
      case 'id': e.id = value; break;
      case 'event': e.name = value; break;
      case 'data': data += (any ? '\n' : '') + value; any = true; break;
    }
  }
  if (!any) return null;
  e.data = JSON.parse(data);
  return e;
}

// seen resolves when somebody sees the page.
function seen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      if (document.hidden && !signal?.aborted) return;
      document.removeEventListener('visibilitychange', done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    document.addEventListener('visibilitychange', done);
    signal?.addEventListener('abort', done);
  });
}

function sleep(ms, signal) {
  return new Promise((resolve) => {
    const t = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => { clearTimeout(t); resolve(); }, {once: true});
  });
}
