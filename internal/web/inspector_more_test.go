package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"wield/chat"
	"wield/dialect/dialecttest"
	"wield/journal/record"
)

// clipboard is held by the test that copies: a browser has one for all of its guests.
var clipboard sync.Mutex

// copies lets a test read what the page puts into the clipboard, which is its own until it ends.
func (s *sheet) copies() {
	s.t.Helper()
	clipboard.Lock()
	s.t.Cleanup(clipboard.Unlock)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if err := s.tab.Permit(s.t.Context(), s.w.base, name); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *sheet) copied() (text string) {
	s.t.Helper()
	s.told("Copied")
	s.evaluate(&text, "navigator.clipboard.readText()")
	// it goes by itself, too
	s.evaluate(nil, "document.querySelectorAll('.toasts button').forEach((b) => b.click()), true")
	s.gone(".toast")
	return text
}

// TestInspectorAsked: of each answer of a run it is seen what the model was sent, word for word, with the
// tools that stand in its text.
func TestInspectorAsked(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/run/"+run+"/0")
	s.click("Prompt sent to the model")
	s.wait(".folded[open]", "as it was", "The messages contain the tools", "What is six times seven?", "calculator")
	s.pictures("inspector-asked")
	s.click("Next answer")
	s.click("Next answer")
	s.click("Prompt sent to the model")
	s.wait(".folded[open]", "as it was", "42", "6 * 7")
}

// TestInspectorGrows: what becomes of a call is shown while one looks at it, and what one has opened beside
// it stays open.
func TestInspectorGrows(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	id := w.begins("shop", "Open the shop on Sundays.")
	s := w.open(b, adminKey, "#/inspector/run/"+w.only("/runs")+"/1/0")
	s.wait(".panel.chosen-call", "nobody has decided yet", "No result.")
	s.click("Prompt sent to the model")
	s.wait(".folded[open]", "Open the shop on Sundays.")
	if status := w.ask(approverKey, "POST", "/approvals/"+id,
		map[string]string{"decision": "deny", "reason": "closed is closed"}, nil); status != 200 {
		t.Fatal(status)
	}
	s.wait(".panel.chosen-call", "by amy", "closed is closed")
	s.gone(".panel.chosen-call", "No result.")
	s.wait(".turn h3", "Answer 2 of 3")
	s.wait(".folded[open]", "Open the shop on Sundays.")
}

// TestInspectorFork: from an answer of a run one goes to the message that it was given to, writes it in
// another way, and both chats are there.
func TestInspectorFork(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/run/"+run+"/0")
	s.click("Fork here")
	s.wait(".said-user textarea", "What is six times seven?")
	s.write("textarea[aria-label='Edited message']", "What is seven times six?")
	s.press("Enter")
	s.wait(".said-user", "What is seven times six?")
	s.wait(".said-model", "It is done.")
	s.wait(".session-list", "What is seven times six?")
	var page struct{ Items []struct{ ID string } }
	if w.ask(adminKey, "GET", "/sessions", nil, &page); len(page.Items) != 2 {
		t.Errorf("there are %+v", page.Items)
	}
}

// TestInspectorCompare: two calls, of two runs, stand side by side, and what differs is marked.
func TestInspectorCompare(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	var runs []string
	for _, decision := range []map[string]any{{"decision": "edit",
		"arguments": map[string]string{"path": "hours.md", "old_string": "Sunday: closed",
			"new_string": "Sunday: <b>noon</b>"}}, {"decision": "stop"}} {
		id := w.begins("shop", "Open the shop on Sundays.")
		var a struct{ Run string }
		if status := w.ask(approverKey, "POST", "/approvals/"+id, decision, &a); status != 200 {
			t.Fatal(status)
		}
		if decision["decision"] == "edit" {
			w.question(a.Run) // of the next call
			if err := os.WriteFile(filepath.Join(w.dir, "work", "hours.md"), []byte(shopFiles["work/hours.md"]),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
		runs = append(runs, a.Run)
	}
	s := w.open(b, adminKey, "#/inspector/run/"+runs[0]+"/1")
	var order []string // a person's time stands alone: the check is over when it begins
	s.evaluate(&order, `Promise.all([import('/web/pages/inspector.js'), fetch('/api/v1/runs/`+runs[0]+
		`/timeline').then((r) => r.json())]).then(([inspector, t]) => {
		const [check, wait] = inspector.spans(t).filter((s) => s.turn === 1 && ['check', 'wait'].includes(s.kind));
		return [check.kind, wait.kind, check.end <= wait.at ? 'apart' : 'the check takes ' + (check.end - wait.at) + ' ms of the wait'];
	})`)
	if want := []string{"check", "wait", "apart"}; !slices.Equal(order, want) {
		t.Errorf("the spans are %q, want %q", order, want)
	}
	s.wait(".panel", "as a person changed them", "Sunday: <b>noon</b>", "as the model wrote them",
		"Sunday: 11:00 to 15:00", "by amy")
	s.click("Compare", ".inspect-main")
	s.told("edit_file is chosen")
	s.goTo("#/inspector/run/" + runs[1] + "/1")
	s.wait(".panel", "edit_file", "denied")
	s.click("Compare", ".inspect-main")
	s.wait("dialog .differs", "new_string", "Sunday: <b>noon</b>", "Sunday: 11:00 to 15:00")
	s.wait("dialog .differs", "people", "edited by amy", "denied by amy")
	s.wait("dialog tr:not(.differs)", "old_string")
	s.pictures("inspector-compare")
}

// TestInspectorCopiesByHand: where the browser lets nothing into the clipboard, what was to be copied is
// shown and selected.
func TestInspectorCopiesByHand(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/run/"+run+"/0/0")
	s.click("Copy the link", ".panel.chosen-call")
	s.wait("dialog textarea", w.base+"/#/inspector/run/"+run+"/0/0")
	var selected string
	s.evaluate(&selected, "getSelection().toString()")
	if want := w.base + "/#/inspector/run/" + run + "/0/0"; selected != want {
		t.Errorf("%q is selected, want %q", selected, want)
	}
}

// TestInspectorLinks: an address leads to a call, or to a stretch of the model's text, and such addresses can
// be copied.
func TestInspectorLinks(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/run/"+run+"/1/0")
	s.copies()
	s.wait(".panel.chosen-call", "calculator")
	s.click("Copy the link", ".panel.chosen-call")
	if got, want := s.copied(), w.base+"/#/inspector/run/"+run+"/1/0"; got != want {
		t.Errorf("the link is %s, want %s", got, want)
	}
	s.goTo("#/inspector/run/" + run + "/1?at=0-5")
	s.wait(".split-text .lit", "Right")
	s.wait(".split-where", "Bytes 0 to 5, as the address says")
	s.click("Copy the link", ".split-where")
	if got, want := s.copied(), w.base+"/#/inspector/run/"+run+"/1?at=0-5"; got != want {
		t.Errorf("the link is %s, want %s", got, want)
	}
}

// TestInspectorCase: what was read can be kept as a case, which holds for what reads it now.
func TestInspectorCase(t *testing.T) {
	b := browser(t)
	w, run := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/run/"+run+"/1")
	s.copies()
	s.wait(".split-call", "calculator")
	s.click("Copy as case")
	line := s.copied()
	cases, err := dialecttest.Read(strings.NewReader(line))
	if err != nil || len(cases) != 1 || len(cases[0].Want.Calls) != 1 || cases[0].Want.Calls[0].Name != "calculator" ||
		string(cases[0].Want.Calls[0].Arguments) != `{"expression":"6 * 7"}` {
		t.Fatalf("%v: %s", err, line)
	}
	if len(cases[0].Want.Notes) == 0 || !strings.HasPrefix(cases[0].Text, "Right.") {
		t.Errorf("%+v", cases[0])
	}
	s.click("Copy as Go test")
	if got := s.copied(); !strings.Contains(got, "func TestReading(") || !strings.Contains(got, "6 * 7") {
		t.Errorf("the test is %s", got)
	}
	s.click("Copy as scenario")
	if got := s.copied(); !strings.Contains(got, "wield: scenario/v1") {
		t.Errorf("the scenario is %s", got)
	}
	s.click("Copy as curl")
	if got := s.copied(); !strings.Contains(got, "/api/v1/runs") || !strings.Contains(got, "six times seven") {
		t.Errorf("the command is %s", got)
	}
}

// TestInspectorCopiesFail: whatever was to be copied, that it cannot be had is said, and who has left the
// view is told nothing.
func TestInspectorCopiesFail(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	s := w.open(b, adminKey, "#/inspector")
	for _, c := range []struct{ what, fails, told string }{
		{"Copy as Go test", "Error", "it is gone"}, {"Copy as case", "Error", "it is gone"},
		{"Copy as scenario", "Error", "it is gone"}, {"Copy as Go test", "AbortError", ""},
		{"Copy as case", "AbortError", ""}, {"Copy as scenario", "AbortError", ""},
	} {
		var told string
		s.evaluate(&told, fmt.Sprintf(`import('/web/lib/copies.js').then(async ({actions}) => {
			const fails = async (path, {signal} = {}) => {
				if (!signal) throw new Error('what is asked for cannot be given up');
				throw Object.assign(new Error('it is gone'), {name: %q});
			};
			const list = actions({kind: 'run', id: 'run_1', turns: [], tools: []}, {api: {get: fails, post: (path, body, o) => fails(path, o), text: fails}}, () => 0, new AbortController().signal);
			list.find((el) => el && el.textContent === %q).click();
			await new Promise((done) => setTimeout(done, 20));
			const words = [...document.querySelectorAll('.toast')].map((el) => el.innerText.trim()).join();
			for (const el of document.querySelectorAll('.toast button')) el.click();
			return words;
		})`, c.fails, c.what))
		if told != c.told {
			t.Errorf("%s, with an %s: %q is said, want %q", c.what, c.fails, told, c.told)
		}
	}
}

// TestInspectorBounceWhole: an answer that was sent back is there from its beginning, and a long one says
// that it is cut, until all of it is wanted.
func TestInspectorBounceWhole(t *testing.T) {
	b := browser(t)
	w, _ := curiousWorld(t)
	s := w.open(b, adminKey, "#/inspector/exchange/"+w.capture.List()[0].ID)
	s.wait(".bounced", "sent back", "formula", "TOOL_ERROR")
	s.gone(".bounced button", "Show all of it")
	s.click("Playground", ".bounced")
	s.wait("main h1", "Playground")
	s.wait(".reading", "1 call", "auto")
	s.wait(".split-calls", "formula")
	call := strings.Repeat("word ", 20_000) + "the very end"
	if _, err := w.journal.Append(t.Context(), "run_cut", 0,
		record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_cut", Agent: "sums", By: "ada"}},
		record.Record{Kind: record.KindTurn, Turn: &record.Turn{Model: "m"}},
		record.Record{Kind: record.KindBounce,
			Bounce: &chat.BounceDetail{Reason: chat.ReasonInvalid, Suppressed: call, Sent: "again"}},
		record.Record{Kind: record.KindTurnEnd, TurnEnd: &record.TurnEnd{Before: []record.Text{record.Text(call)},
			Raw: "ok", Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("ok")}}},
		record.Record{Kind: record.KindEnd, End: &record.End{Reason: "answer"}}); err != nil {
		t.Fatal(err)
	}
	s.goTo("#/inspector/run/run_cut/0")
	s.wait(".bounced .caution", "These texts are shortened")
	s.click("Show all of it")
	s.wait(".bounced .suppressed", "the very end")
	s.gone(".bounced .caution")
}

// TestInspectorCost: what a request to the gateway cost is told by the prices of the configuration, as that
// of a run is. Without a price it is not known.
func TestInspectorCost(t *testing.T) {
	b := browser(t)
	const told = "wield: scenario/v1\nname: sums\nturns:\n  - id: all\n    when: {}\n    reply: [{text: fine}]\n    usage: {in: 1500, out: 250}\n"
	for _, tt := range []struct{ prices, want string }{{"prices: {plain: {in: 3, out: 15}}\n", "cost 0.00825"},
		{"", "cost not known"}} {
		w := newWorld(t, tt.prices+curious, map[string]string{"sums.yaml": told})
		w.complete(`{"model":"plain","messages":[{"role":"user","content":"What is it?"}]}`)
		s := w.open(b, adminKey, "#/inspector/exchange/"+w.capture.List()[0].ID)
		s.wait(".inspect-main .row.soft", tt.want)
	}
}

// TestInspectorGoTest: what is copied as a test of Go is one: it passes as it is, whatever the text and the
// calls hold, and fails when another call is wanted.
func TestInspectorGoTest(t *testing.T) {
	b := browser(t)
	odd := "\ufeff`${x}` \u2028 \"quoted\" \\ <b>\n"
	call := func(formula string) string {
		arguments, _ := json.Marshal(map[string]string{"expression": formula})
		return `<tool_call>{"name":"calculator","arguments":` + string(arguments) + `}</tool_call>`
	}
	answer := odd + call("6 * 7") + call(odd) + `<tool_call>{"name":"calculator","arguments":{"expression":"cut`
	w := newWorld(t, curious,
		map[string]string{
			"sums.yaml": "wield: scenario/v1\nname: sums\nturns:\n  - id: a\n    when: {}\n    reply: [{text: " +
				yamlString(answer) + "}]\n"})
	w.complete(
		`{"model":"plain","messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"calculator","parameters":{"type":"object","properties":{"expression":{"type":"string"}}}}}]}`)
	s := w.open(b, adminKey, "#/inspector/exchange/"+w.capture.List()[0].ID)
	s.copies()
	s.wait(".split-call", "calculator")
	s.click("Copy as Go test")
	text := s.copied()
	if n := strings.Count(text, "\n\t\t\"calculator"); n != 3 {
		t.Fatalf("%d calls are wanted:\n%s", n, text)
	}
	for want, source := range map[string]string{"ok": text,
		"FAIL": strings.Replace(text, `\"6 * 7\"}",`, `\"6 * 8\"}",`, 1)} {
		file := filepath.Join(t.TempDir(), "reading_test.go")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", file).CombinedOutput()
		if (err == nil) != (want == "ok") || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %s:\n%s\n%s", err, want, out, source)
		}
	}
}
