package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/tool/policy"
	"wield/tool/runner"
)

// eventSamples has an event of every kind that is sent.
func eventSamples() []chat.Event {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	call := chat.Call{Index: 1, ID: "call_1", Name: "f", Arguments: `{"x":1}`, Complete: true,
		Origin: chat.OriginFunction, Dialect: "hermes", At: 2, End: 9}
	failed := &chat.Error{Kind: chat.ErrOverloaded, Message: "busy", Status: 529}
	return []chat.Event{
		{Kind: chat.KindTurnStart, Turn: 1, Detail: &chat.TurnDetail{Model: "m", Backend: "b", Dialect: "hermes",
			Attempt: 2}},
		{Kind: chat.KindTurnEnd, Turn: 1, Detail: &chat.TurnDetail{Model: "m", Attempt: 1, Failed: failed}},
		{Kind: chat.KindText, Text: "a", Detail: chat.LogProbs(`{"content":[]}`)},
		{Kind: chat.KindReasoning, Text: "b",
			Detail: chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: []byte(`"s"`)}}},
		{Kind: chat.KindCallEnd, ID: "call_1", Name: "f", Detail: &call},
		{Kind: chat.KindNativeCall, ID: "n", Name: "web", Text: "{}"},
		{Kind: chat.KindNativeResult, ID: "n", Name: "web", Text: "found"},
		{Kind: chat.KindRejected, Index: -1, Name: "g",
			Detail: &chat.RejectedDetail{Reason: chat.ReasonUnknownTool, Name: "g", Raw: "<raw>", Arguments: "{}",
				Message: "why", Dialect: "hermes", At: 1, End: 6}},
		{Kind: chat.KindNote, ID: "call_1", Detail: &chat.NoteDetail{Kind: "coerced", Path: "/x", Before: `"1"`,
			After: "1", At: 3, End: 6}},
		{Kind: chat.KindOverrun, At: 5, End: 5, Detail: &chat.OverrunDetail{At: 5, Marker: "User:", Hard: true}},
		{Kind: chat.KindBounce, Detail: &chat.BounceDetail{Reason: chat.ReasonInvalid, Call: &call, Suppressed: "said",
			Sent: "told", Left: 1}},
		{Kind: chat.KindConverted, Detail: &chat.BounceDetail{Reason: chat.ReasonConfused}},
		{Kind: chat.KindPolicy, ID: "call_1", Detail: &policy.Detail{CallID: "call_1", Decision: chat.DecisionAsk,
			Rule: "r", Why: "w"}},
		{Kind: chat.KindApproval, ID: "call_1",
			Detail: &runner.ApprovalDetail{ID: "a1", CallID: "call_1", State: runner.ApprovalDenied, By: "me",
				Reason: "no", Address: "http://x", Expires: at}},
		{Kind: chat.KindToolState, ID: "call_1", Detail: &runner.StateDetail{CallID: "call_1", State: runner.CallRunning,
			Elapsed: time.Second}},
		{Kind: chat.KindProgress, ID: "call_1", Detail: &runner.ProgressDetail{CallID: "call_1", Stream: "stdout",
			Text: "out", Done: 1, Total: 2}},
		{Kind: chat.KindResult, ID: "call_1", Name: "f",
			Detail: &chat.Result{CallID: "call_1", Name: "f", Parts: chat.Text("r"), IsError: true}},
		{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 1, Out: 2, Cached: 3, Written: 4, Reasoning: 5,
			Requests: 6, Uncounted: 7}},
		{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls, Model: "m", ID: "i", Bounces: 1,
			Stop: "s"}},
		{Kind: chat.KindIdle, Detail: &chat.RetryDetail{Error: failed, At: at, Attempt: 2, Of: 3}},
	}
}

// TestEventsAsSent freezes the JSON of events: clients of the stream read it.
func TestEventsAsSent(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")
	samples := eventSamples()
	if len(lines) != len(samples) {
		t.Fatalf("%d lines for %d events", len(lines), len(samples))
	}
	for i := range samples {
		e, ok := eventOf(&samples[i])
		if !ok {
			t.Errorf("%s is not sent", samples[i].Kind)
			continue
		}
		got, err := encode(&e)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != lines[i] {
			t.Errorf("%s is sent as\n%s\nwant\n%s", samples[i].Kind, got, lines[i])
		}
	}
}
