package web_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// told is a run that was recorded before the page was opened, with a call in each state in which one can be left. The
// names say which.
func (w *world) told() {
	w.t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	names := []string{"detected", "done", "repaired", "failed", "forbidden", "denied", "expired", "cancelled",
		"interrupted"}
	var calls []chat.Call
	for i, name := range names {
		calls = append(calls, chat.Call{Index: i, ID: "call_" + name, Name: name,
			Arguments: `{"what":"<b>` + name + `</b>"}`, Complete: true})
	}
	calls[slices.Index(names, "failed")].Arguments = `{"path":"hours.md","old_string":"closed","new_string":"open"}`
	records := []record.Record{{Kind: record.KindRun,
		Run: &record.Run{Session: "ses_told", Agent: "helper", By: "ada"}},
		{Kind: record.KindSession, Session: &record.Session{Title: "What was"}},
		{Kind: record.KindMessage,
			Message: &record.Message{Message: chat.Message{Role: chat.RoleUser, Parts: chat.Text("do it all")}}},
		{Kind: record.KindTurn, Turn: &record.Turn{Model: "helper"}},
		{Kind: record.KindReject,
			Reject: &record.Reject{RejectedDetail: chat.RejectedDetail{Reason: chat.ReasonUnknownTool,
				Name: "nothing", Raw: `<tool_call>{"name":"nothing"}</tool_call>`,
				Message: "there is no tool nothing"}}},
		{Kind: record.KindRepair,
			Repair: &record.Repair{CallID: "call_repaired",
				NoteDetail: chat.NoteDetail{Kind: "coerced", Path: "/what", Before: "3", After: `"3"`}}},
		{Kind: record.KindTurnEnd,
			TurnEnd: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("I begin."),
				Calls: calls}}}}
	start := func(name string) {
		records = append(records,
			record.Record{Kind: record.KindStart,
				Start: &runner.StartRecord{CallID: "call_" + name, Tool: name, Arguments: json.RawMessage(`{}`), At: at}})
	}
	ends := func(name string, r tool.Result) {
		records = append(records,
			record.Record{Kind: record.KindResult,
				Result: &runner.FinishRecord{CallID: "call_" + name, Tool: name, Result: r, At: at}})
	}
	for _, name := range []string{"done", "repaired"} {
		start(name)
		ends(name, tool.Text("It went <i>well</i>."))
	}
	start("failed")
	ends("failed", tool.Failure(&tool.Error{Kind: tool.ErrTool, Tool: "failed", Message: "the disk is full"}))
	records = append(records,
		record.Record{Kind: record.KindPolicy,
			Policy: &policy.Detail{CallID: "call_forbidden", Decision: chat.DecisionDeny,
				Rule: "deny: {tool: [forbidden]}", Why: "it is forbidden"}})
	ends("forbidden", tool.Failure(&tool.Error{Kind: tool.ErrSecurity, Tool: "forbidden", Message: "it is forbidden"}))
	start("interrupted")
	ends("interrupted", tool.Failure(&tool.Error{Kind: tool.ErrInterrupted, Tool: "interrupted"}))

	// What people were asked. The answers stand in streams of their own.
	var ids []string
	for _, one := range []struct {
		name   string
		answer *runner.Answer
		kind   tool.ErrorKind
	}{
		{"denied", &runner.Answer{State: runner.ApprovalDenied, By: "amy", Reason: "no <u>way</u>"}, tool.ErrApproval},
		{"expired", nil, tool.ErrExpired},
		{"cancelled", &runner.Answer{State: runner.ApprovalCancelled, Reason: "the run was ended"}, tool.ErrCanceled},
	} {
		id := "apr_" + one.name
		ids = append(ids, id)
		q := &record.Question{ID: id, Session: "ses_told", Run: "run_told", Asked: at,
			Question: runner.Question{CallID: "call_" + one.name, Tool: one.name, Arguments: json.RawMessage(`{}`),
				Expires: at.Add(time.Hour)}}
		list := []record.Record{{Kind: record.KindQuestion, Question: q}}
		if one.answer != nil {
			list = append(list,
				record.Record{Kind: record.KindAnswer,
					Answer: &record.Answer{At: at.Add(time.Minute), Answer: *one.answer}})
		}
		if _, err := w.journal.Append(w.t.Context(), id, 0, list...); err != nil {
			w.t.Fatal(err)
		}
	}
	records = append(records,
		record.Record{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitApproval, Approvals: ids}},
		record.Record{Kind: record.KindResume, Resume: &record.Resume{}})
	ends("denied", tool.Failure(&tool.Error{Kind: tool.ErrApproval, Tool: "denied"}))
	ends("expired", tool.Failure(&tool.Error{Kind: tool.ErrExpired, Tool: "expired"}))
	ends("cancelled", tool.Failure(&tool.Error{Kind: tool.ErrCanceled, Tool: "cancelled"}))
	records = append(records, record.Record{Kind: record.KindEnd, End: &record.End{Reason: "canceled"}})
	if _, err := w.journal.Append(w.t.Context(), "run_told", 0, records...); err != nil {
		w.t.Fatal(err)
	}
}

// TestChatCards shows a card for a call in every state in which one can be left, and in those that one goes through.
func TestChatCards(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	w.told()
	s := w.open(b, adminKey, "#/chat/ses_told")
	s.wait(".run-foot", "It was stopped")
	s.evaluate(nil,
		`document.querySelectorAll('details.card, details.aside').forEach((d) => { if (!d.open) d.querySelector('summary').click(); })`)
	card := func(state string) string { return fmt.Sprintf(".card[data-state=%q]", state) }
	for _, tt := range []struct {
		state string
		words []string
	}{
		{"detected", []string{"detected", `<b>detected</b>`}},
		{"done", []string{"done", "It went <i>well</i>."}},
		{"done", []string{"repaired", "coerced", `3 → "3"`}},
		{"failed", []string{"failed", "the disk is full", "path: hours.md · old_string: closed · new_string: open"}},
		{"denied", []string{"forbidden", "Denied by deny: {tool: [forbidden]}", "it is forbidden"}},
		{"denied", []string{"denied", "Denied by amy: no <u>way</u>"}},
		{"expired", []string{"approval expired", "Approval expired"}},
		{"cancelled", []string{"cancelled", "Withdrawn: the run was ended"}},
		{"interrupted", []string{"interrupted", "it is not known whether the call took effect"}},
	} {
		s.wait(card(tt.state), tt.words...)
	}
	s.wait(".aside", "not run", "there is no tool nothing", `<tool_call>{"name":"nothing"}</tool_call>`)
	if n := s.count(".card"); n != 9 {
		t.Errorf("%d cards are shown", n)
	}
	var first bool
	if s.evaluate(&first,
		`Boolean(document.querySelector('.said-model').compareDocumentPosition(document.querySelector('.card')) & Node.DOCUMENT_POSITION_FOLLOWING)`); !first {
		t.Error("a call is shown before the text that it came after")
	}
	s.pictures("chat-cards")
}

// TestChatRuns: what a command writes is seen while it runs, and it can be stopped.
func TestChatRuns(t *testing.T) {
	b := browser(t)
	w := newWorld(t, strings.ReplaceAll(shop, "default: ask", "default: allow"),
		map[string]string{"work/hours.md": "", "trick.scenario.yaml": `wield: scenario/v1
name: trick
turns:
  - {id: long, when: {last: user}, reply: [{call: {name: command_exec, args: {shell: "echo '<s>it has begun</s>'; sleep 600"}}}]}
  - {id: other, when: {}, reply: [{text: "no"}]}
`})
	s := w.open(b, adminKey, "#/chat")
	s.wait("select", "trick")
	s.call(nil, "choose", "select", "trick")
	s.says("go")
	s.wait(`.card[data-state="running"]`, "running", "<s>it has begun</s>")
	s.wait(".status", "Using command_exec")
	s.click("Stop")
	s.wait(".run-foot", "It was stopped")
	s.gone(".card .badge", "running")
}

// TestChatOlder: of very many chats the latest are listed, and older ones when one goes down the list.
func TestChatOlder(t *testing.T) {
	b := browser(t)
	w := chatWorld(t)
	for i := range 120 {
		id := fmt.Sprintf("run_%03d", i)
		if _, err := w.journal.Append(t.Context(), id, 0,
			record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_" + id, Agent: "helper",
				By: "ada"}},
			record.Record{Kind: record.KindSession, Session: &record.Session{Title: "chat number " + id}},
			record.Record{Kind: record.KindEnd, End: &record.End{Reason: "answer"}}); err != nil {
			t.Fatal(err)
		}
	}
	s := w.open(b, adminKey, "#/chat")
	s.wait(".session-list", "chat number run_119")
	if n := s.count(".session-list li a"); n != 50 {
		t.Errorf("at first %d are listed", n)
	}
	for _, last := range []string{"run_020", "run_000"} { // each is there before one goes on
		s.evaluate(nil,
			`new Promise((r) => requestAnimationFrame(() => { const l = document.querySelector('.session-list'); l.scrollTop = l.scrollHeight; r(); }))`)
		s.wait(".session-list", "chat number "+last)
	}
	s.says("one more")
	s.wait(".session-list li:first-child", "one more")
	s.wait(".session-list", "chat number run_000")
}
