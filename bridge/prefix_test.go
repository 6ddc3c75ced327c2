package bridge

import (
	"context"
	"slices"
	"strings"
	"testing"

	"wield/chat"
)

// TestSteady shows that the prompt of one turn stands at the front of the next one's, whatever a client counts in its
// instructions, and that a server of the client's own protocol gets them as they are.
func TestSteady(t *testing.T) {
	turn := func(o Options, billed, left string, more ...chat.Message) []chat.Message {
		m := &sentModel{}
		messages := []chat.Message{
			{Role: chat.RoleSystem,
				Parts: []chat.Part{{Text: "x-anthropic-billing-header: cc_version=2.1; cch=" + billed + ";"},
					{Text: "You are an agent.\n<total_tokens>" + left + " tokens left</total_tokens>\nBe brief."}}},
			{Role: chat.RoleUser, Parts: chat.Text("Read the note.")},
		}
		req := &chat.Request{Messages: append(messages, more...)}
		before := req.Messages[0].Parts[0].Text
		for _, err := range New(m, o).Stream(context.Background(), req) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if req.Messages[0].Parts[0].Text != before || len(req.Messages[0].Parts) != 2 {
			t.Error("the request was changed")
		}
		return m.sent.Messages
	}
	for _, mode := range []Mode{ModeNative, ModeText} {
		first := turn(Options{Mode: mode}, "a1", "9000")
		second := turn(Options{Mode: mode}, "b2", "8000",
			chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("It is empty.")},
			chat.Message{Role: chat.RoleUser, Parts: chat.Text("Write it.")})
		if a, b := first[0].Text(), second[0].Text(); a != b || !strings.Contains(a, "You are an agent.\nBe brief.") ||
			strings.Contains(a, "cch=") {
			t.Errorf("%s: instructions %q, then %q", mode, a, b)
		}
		if last := second[len(second)-1].Text(); !strings.Contains(last, "8000 tokens left") ||
			!strings.HasPrefix(last, "Write it.") {
			t.Errorf("%s: the last message is %q", mode, last)
		}
		if slices.ContainsFunc(second[:len(second)-1],
			func(m chat.Message) bool { return strings.Contains(m.Text(), "tokens left") }) {
			t.Errorf("%s: a counter stands in front", mode)
		}
	}
	if own := turn(Options{Mode: ModeNative, Server: Server{Protocol: chat.ProtocolAnthropic}}, "a1",
		"9000")[0].Text(); !strings.Contains(own, "cch=a1") || !strings.Contains(own, "9000") {
		t.Errorf("a server of the protocol gets %q", own)
	}
}
