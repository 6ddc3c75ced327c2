// What can be taken from a timeline: requests, tests, cases and scenarios that make it happen again.

import {button, copy, toast} from './ui.js';
import {rounded} from './exact.js';
import {share, textOf} from './share.js';

// actions are what can be done with a timeline. get reads what is to be copied; who has left the view by then gets nothing, and is told nothing.
export function actions(t, app, turn, signal) {
  const copying = (words, get) => button(words, async () => {
    try {
      const text = await get();
      if (!signal?.aborted) copy(text);
    } catch (e) {
      if (e.name !== 'AbortError') toast(e, {kind: 'bad'});
    }
  }, {icon: 'copy'});
  const written = () => textOf(t, turn(), app, signal);
  return [
    copying('Copy as curl', () => (t.request ? asCurl(t) : runCurl(t))),
    copying('Copy as Go test', async () => asGoTest(t, await written(), app, signal)),
    copying('Copy as case', async () => asCase(t, await written(), app, signal)),
    t.kind === 'run' && copying('Copy as scenario', () => app.api.text(`/runs/${encodeURIComponent(t.id)}/scenario`, {signal})),
    t.session && button('Go on from here', () => app.go(`chat/${encodeURIComponent(t.session)}`), {icon: 'branch'}),
    button('Share', () => share(t, app, signal), {icon: 'export'}),
  ];
}

const shell = (s) => `'${s.replaceAll("'", "'\\''")}'`;

function asCurl(t) {
  return `curl -s ${shell(location.origin + t.path)} \\\n  -H "Authorization: Bearer $WIELD_KEY" -H 'Content-Type: application/json' \\\n  -d ${shell(t.request)}\n`;
}

function runCurl(t) {
  const input = t.turns[0]?.said.findLast((m) => m.role === 'user')?.text ?? '';
  return `curl -s ${shell(`${location.origin}/api/v1/runs`)} \\\n  -H "Authorization: Bearer $WIELD_KEY" -H 'Content-Type: application/json' \\\n  -d ${shell(JSON.stringify({agent: t.agent || t.model, input}))}\n`;
}

// readNow returns what is read from the text of an answer now.
async function readNow(t, text, app, signal) {
  const {readings: [r]} = await app.api.post('/parse', {text, tools: t.tools, dialects: ['auto']}, {signal});
  return r;
}

// goText writes a text as Go does. What JSON leaves as it is and a file of Go may not have is escaped as well.
const goText = (s) => JSON.stringify(s).replaceAll('\ufeff', '\\ufeff');

// asGoTest writes a test that reads the text of an answer again, and holds the calls to those that are read from it now. Who keeps it says with it
// that this is right, or writes there what should come out.
async function asGoTest(t, text, app, signal) {
  const tools = t.tools.map(plainTool), {calls} = await readNow(t, text, app, signal);
  const want = calls.map((c) => `\n\t\t${goText(c.complete ? `${c.name} ${c.arguments}` : `${c.name}, incomplete`)},`).join('');
  return `package main

import (
	"encoding/json"
	"testing"

	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// From ${t.kind} ${t.id}.
func TestReading(t *testing.T) {
	var tools []struct {
		Name       string
		Parameters json.RawMessage
	}
	if err := json.Unmarshal([]byte(${goText(JSON.stringify(tools))}), &tools); err != nil {
		t.Fatal(err)
	}
	var o dialect.Options
	for _, d := range tools {
		s, err := schema.Compile(d.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		o.Tools = append(o.Tools, shape.Tool{Name: d.Name, Args: s.Shape()})
	}
	got, err := dialect.Parse(${goText(text)}, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{${want && `${want}\n\t`}} // what was read when this was written: the name and the arguments of each call
	if len(got.Calls) != len(want) {
		t.Fatalf("%d calls: %+v", len(got.Calls), got.Calls)
	}
	for i, c := range got.Calls {
		read := c.Name + " " + c.Arguments
		if !c.Complete {
			read = c.Name + ", incomplete"
		}
		if read != want[i] {
			t.Errorf("call %d is %s, want %s", i, read, want[i])
		}
	}
}
`;
}

const plainTool = (x) => ({name: x.name ?? x.function?.name, parameters: x.parameters ?? x.function?.parameters ?? {}});

// asCase writes a line of a file of cases: the text, the tools, and what is read from it now. Who keeps it says with it that this is right.
async function asCase(t, text, app, signal) {
  const r = await readNow(t, text, app, signal);
  const args = (c) => {
    try {
      return rounded(c.arguments) ? {arguments_text: c.arguments} : {arguments: JSON.parse(c.arguments)};
    } catch {
      return {arguments_text: c.arguments};
    }
  };
  return JSON.stringify({id: `${t.kind}/${t.id}`, tools: t.tools.map((x) => ({type: 'function', function: plainTool(x)})), text, want: {
    content: r.content ?? '', ...(r.reasoning && {reasoning: r.reasoning}), calls: r.calls.map((c) => (c.complete ? {name: c.name, ...args(c)} : {name: c.name, incomplete: true})),
    rejected: r.rejected.map((x) => ({reason: x.reason, ...(x.name && {name: x.name})})), notes: [...new Set(r.notes.map((n) => n.kind))]}}) + '\n';
}

// pretty writes JSON so that it can be read; other texts stay as they are.
export function pretty(s) {
  try {
    return JSON.stringify(JSON.parse(s), null, 2);
  } catch {
    return s ?? '';
  }
}
