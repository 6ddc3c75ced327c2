package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/tool"
	"wield/tool/builtin/conversation"
	"wield/tool/runner"
)

// Earlier conversations are found and read by whoever had them, and by nobody else.
func TestConversations(t *testing.T) {
	store := new(journal.Memory)
	had := func(by, question, said string) string {
		t.Helper()
		run := agent.New(&fakeModel{answers: []answer{{text: said}}}, tools(t, reads("look", says("x"))),
			agent.Options{Journal: store, By: by}).Run(ask(question))
		play(t, run)
		return run.Session()
	}
	ann := had("ann", "Where is the invoice from Lisbon?", "It is in the Drawer. "+strings.Repeat("é", 5000))
	bob := had("bob", "Where is the invoice from Lisbon?", "Bob's answer.")
	had("", "The invoice of nobody", "x")
	had("wield run", "The invoice of the command line", "x")
	look := func(by string, alike []string, name, args string) string {
		t.Helper()
		r := tools(t)
		for _, made := range conversation.Tools() {
			made.State = tool.StateEnabled
			if err := r.Settings().Tools.(*runner.Registry).Add(made); err != nil {
				t.Fatal(err)
			}
		}
		run := agent.New(&fakeModel{answers: []answer{calls(call("1", name, args))}}, r,
			agent.Options{Journal: store, By: by, Alike: alike}).Run(ask("look"))
		play(t, run)
		return results(run.Messages())[0]
	}
	for _, tt := range []struct {
		by, name, args string
		want           []string
		not            string
	}{
		{"ann", "conversation_search", `{"query":"LISBON invoice"}`,
			[]string{ann, `"count":1`, "Where is the invoice from Lisbon?", `"number":1`}, bob},
		{"ann", "conversation_search", `{"query":"drawer"}`,
			[]string{ann, `"role":"assistant"`, "It is in the Drawer. é", `…"`}, bob},
		{"carl", "conversation_search", `{"query":"invoice"}`, []string{`"messages":[]`, `"count":0`}, "Lisbon"},
		{"", "conversation_search", `{"query":"invoice"}`, []string{`"count":0`}, "nobody"},
		{"ann", "conversation_search", `{"query":" "}`, []string{"query is empty"}, "Lisbon"},
		{"ann", "conversation_read", fmt.Sprintf(`{"session":%q}`, ann),
			[]string{`"total":2`, "Where is the invoice", "Drawer", `"title":"Where is the invoice from Lisbon?"`},
			"next"},
		{"ann", "conversation_read", fmt.Sprintf(`{"session":%q,"limit":1}`, ann), []string{`"total":2`, `"next":2`},
			"Drawer"},
		{"ann", "conversation_read", fmt.Sprintf(`{"session":%q,"from":2}`, ann), []string{"Drawer"}, "next"},
		{"ann", "conversation_read", fmt.Sprintf(`{"session":%q,"from":9}`, ann), []string{`"messages":[]`}, "next"},
		{"ann", "conversation_read", fmt.Sprintf(`{"session":%q}`, bob), []string{"There is no conversation"}, "Bob's"},
		{"ann", "conversation_read", `{"session":"ses_none"}`, []string{"There is no conversation"}, "Lisbon"},
		{"wield chat", "conversation_search", `{"query":"invoice"}`, []string{`"count":1`, "command line"}, "Lisbon"},
	} {
		got := look(tt.by, []string{"wield run", "wield chat"}, tt.name, tt.args)
		for _, w := range tt.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %s %s gave %.400s, without %s", tt.by, tt.name, tt.args, got, w)
			}
		}
		if strings.Contains(got, tt.not) {
			t.Errorf("%s: %s %s gave %.400s, with %s", tt.by, tt.name, tt.args, got, tt.not)
		}
	}
	// A session in which somebody else asked too is nobody's alone.
	run := agent.New(&fakeModel{}, tools(t), agent.Options{Journal: store, By: "bob"}).Run(
		&chat.Request{Messages: ask("and now?").Messages, Conversation: ann})
	play(t, run)
	if got := look("ann", nil, "conversation_search", `{"query":"drawer"}`); strings.Contains(got, ann) {
		t.Errorf("it is shown: %s", got)
	}
	r := tools(t)
	for _, made := range conversation.Tools() {
		made.State = tool.StateEnabled
		if err := r.Settings().Tools.(*runner.Registry).Add(made); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Call(t.Context(), "conversation_read", `{"session":"x"}`); err != nil ||
		got.ErrorType != tool.ErrNotAvailable {
		t.Errorf("without a journal: %+v, %v", got, err)
	}
}
