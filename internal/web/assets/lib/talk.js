// A conversation as it is shown: runs with the messages that began them, and what happened in each. It is made of events, the same way whether
// they are read again or arrive as they happen.

// States of a call. Each has a word, and a kind that gives its colour.
export const states = {
  detected: ['detected', 'info'],
  approval: ['needs approval', 'wait'],
  approved: ['approved', 'info'],
  queued: ['queued', 'info'],
  running: ['running', 'info'],
  done: ['done', 'ok'],
  failed: ['failed', 'bad'],
  denied: ['denied', 'warn'],
  expired: ['expired', 'warn'],
  cancelled: ['cancelled', 'warn'],
  interrupted: ['interrupted', 'warn'],
  rejected: ['not run', 'bad'],
};

// older reports whether an approval stands for less than what is known of it: an answer is final, so one that says that there is none was
// asked for before.
export function older(now, known) {
  const stage = (a) => ({pending: 0, consumed: 2})[a.state] ?? 1;
  return now.id === known.id && stage(now) < stage(known);
}

const longestOutput = 200_000; // characters of a call's live output that are kept

// A Talk is one run as its events tell it. items are, in order: {kind: 'text' or 'reasoning', text}, {kind: 'call', ...}, {kind: 'bounce', ...},
// {kind: 'rejected', ...}, {kind: 'overrun', ...}, {kind: 'failed', error}.
export class Talk {
  constructor(run) {
    this.run = run;
    this.items = [];
    this.calls = new Map();
    this.early = new Map(); // notes of calls that have not come yet, as the journal tells them
    this.usage = null;
    this.finish = '';
    this.retry = null; // that the model's server is asked again, and when
    this.model = '';
    this.changed = new Set(); // items that are to be shown again
  }

  // add takes an event.
  add(e) {
    this.retry = e.kind === 'retry' ? {...e.retry, error: e.error} : null;
    takers[e.kind]?.(this, e);
  }

  item(it) {
    this.items.push(it);
    this.changed.add(it);
    return it;
  }

  // insert puts an item that is no event behind those of its turn.
  insert(it) {
    const at = this.items.findIndex((have) => have.turn > it.turn);
    if (at < 0) this.items.push(it);
    else this.items.splice(at, 0, it);
    this.changed.add(it);
    return it;
  }

  // say adds to the text that is being written.
  say(kind, e) {
    const last = this.items.at(-1);
    const it = last?.kind === kind && last.turn === e.turn ? last : this.item({kind, text: '', turn: e.turn});
    it.text += e.text ?? '';
    this.changed.add(it);
  }

  // call returns the call of an id, which is begun if it is not known.
  call(e) {
    let c = this.calls.get(e.call_id);
    if (!c) {
      c = this.item({kind: 'call', id: e.call_id, name: e.name ?? '', state: 'detected', args: '', notes: this.early.get(e.call_id) ?? [], output: '', result: null, approval: null, policy: null, turn: e.turn, run: this.run.id});
      this.calls.set(e.call_id, c);
    }
    if (e.name) c.name = e.name;
    this.changed.add(c);
    return c;
  }

  // working returns what the run does, in a few words: what it waits for is none.
  working() {
    const running = this.items.filter((it) => it.kind === 'call' && ['running', 'queued'].includes(it.state));
    if (running.length) return `Using ${running.map((c) => c.name).join(', ')}…`;
    const last = this.items.at(-1);
    if (this.retry) return again(this.retry);
    if (last?.kind === 'text') return '';
    return 'Thinking…';
  }
}

// again says when a request is made again.
export function again({at, attempt, of}) {
  const s = Math.ceil((Date.parse(at) - Date.now()) / 1000);
  return `${s > 0 ? `Trying again in ${s} s` : 'Trying again'} (attempt ${attempt} of ${of})…`;
}

// What each kind of event changes.
const takers = {
  turn_start: (t, e) => { if (e.model) t.model = e.model; },
  text: (t, e) => t.say('text', e),
  reasoning: (t, e) => t.say('reasoning', e),
  call_end(t, e) {
    const c = t.call({...e, call_id: e.call_id || e.call?.id, name: e.call?.name});
    c.args = e.call?.arguments ?? '';
    c.origin = e.origin;
    c.dialect = e.dialect;
  },
  note(t, e) {
    if (!e.call_id) return;
    if (!t.calls.has(e.call_id)) {
      t.early.set(e.call_id, [...t.early.get(e.call_id) ?? [], e.note]);
      return;
    }
    t.call(e).notes.push(e.note);
  },
  policy(t, e) {
    const c = t.call(e);
    c.policy = e.policy;
  },
  approval(t, e) {
    const c = t.call(e), again = c.approval && c.approval.id !== e.approval.id;
    if (c.approval && older(e.approval, c.approval)) return;
    if (again) c.asked = null; // it is asked about once more
    c.approval = again ? e.approval : {...c.approval, ...e.approval};
    if (c.result) c.state = outcome(c);
    else if (!begun.includes(c.state)) c.state = approvalStates[e.approval.state] ?? 'approval';
  },
  tool_state(t, e) {
    const c = t.call(e);
    if (c.result) return;
    c.state = e.state === 'done' || e.state === 'failed' ? c.state : e.state;
    if (e.state === 'interrupted') c.state = 'interrupted';
  },
  progress(t, e) {
    const c = t.call(e);
    if (c.result) return;
    if (e.progress.text) c.output = (c.output + e.progress.text).slice(-longestOutput);
    c.progress = e.progress;
    if (c.state === 'detected' || c.state === 'queued') c.state = 'running';
  },
  result(t, e) {
    const c = t.call(e);
    c.result = e.result;
    c.state = outcome(c);
  },
  native_call: (t, e) => { const c = t.call({...e, call_id: e.call_id || `native-${e.turn}-${e.name}`}); c.args = e.text ?? ''; c.native = true; c.state = 'running'; },
  native_result: (t, e) => { const c = t.call({...e, call_id: e.call_id || `native-${e.turn}-${e.name}`}); c.result = {text: e.text ?? '', is_error: false}; c.state = 'done'; },
  rejected: (t, e) => { t.item({kind: 'rejected', turn: e.turn, name: e.name || e.rejected?.name, ...e.rejected}); },
  overrun: (t, e) => { t.item({kind: 'overrun', turn: e.turn, ...e.overrun}); },
  bounce: (t, e) => { t.item({kind: 'bounce', turn: e.turn, ...e.bounce}); },
  turn_end: (t, e) => { if (e.error) t.item({kind: 'failed', turn: e.turn, error: e.error}); },
  usage: (t, e) => { t.usage = e.usage; },
  finish: (t, e) => { t.finish = e.finish; },
};

// outcome is the state of a call that has a result. What was decided about it may be heard of before the result or after it.
function outcome(c) {
  if (c.state === 'interrupted') return c.state;
  if (!c.result.is_error) return 'done';
  if (/it is not known whether|interrupted/i.test(c.result.text)) return 'interrupted';
  if (['denied', 'expired', 'cancelled'].includes(c.approval?.state)) return approvalStates[c.approval.state];
  return c.policy?.decision === 'deny' ? 'denied' : 'failed';
}

// begun are the states of calls that nobody decides about any more.
const begun = ['queued', 'running', 'interrupted'];

const approvalStates = {pending: 'approval', approved: 'approved', edited: 'approved', denied: 'denied', expired: 'expired', cancelled: 'cancelled', consumed: 'approved'};
