package record

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples has one record of each kind with every field set, because what is not set is not frozen.
func samples() []Record {
	at := time.Date(2026, 3, 4, 5, 6, 7, 890000, time.UTC)
	call := chat.Call{Index: 1, ID: "call_1", Name: "command_exec", Arguments: `{"command":"ls <x>"}`, Complete: true,
		Origin: chat.OriginFunction, Dialect: "hermes", Reasoning: "to see", At: 3, End: 40,
		Reason: chat.ReasonInvalid, Problem: "p"}
	extra := []chat.Extra{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: json.RawMessage(`"c2ln"`)}}
	part := chat.Part{Kind: chat.PartImage, Text: "t", MediaType: "image/png", URL: "https://example.com/a.png",
		Data: []byte{1, 2}, Name: "a.png", Detail: "low", Raw: json.RawMessage(`{"type":"image"}`),
		Protocol: chat.ProtocolOpenAI}
	message := chat.Message{Role: chat.RoleAssistant, Name: "n", Parts: []chat.Part{{Text: "Tür"}, part},
		Reasoning: "r", Calls: []chat.Call{call}, CallID: "call_0", IsError: true, Opaque: extra}
	cost := 0.25
	usage := chat.Usage{Known: true, In: 10, Out: 5, Cached: 3, Written: 2, Reasoning: 1, Requests: 2, Uncounted: 1}
	result := tool.Result{OK: true, Data: json.RawMessage(`{"n":1}`), Parts: []chat.Part{part}, Error: "e",
		ErrorType: tool.ErrTool, Code: "MISSING_REQUIRED", Details: json.RawMessage(`{}`), Timeout: time.Second,
		Truncated: &tool.Truncation{Shown: 1, Size: 3, Kept: 2, Spill: "s", Member: "stdout"}, Cached: true,
		Edited: json.RawMessage(`{"command":"ls"}`), Refused: "the second part", Denied: "the third part",
		DeniedPath: "secret.txt"}
	question := runner.Question{Binding: "b", CallID: "call_1", Tool: "command_exec", Definition: "d",
		Arguments: json.RawMessage(`{"command":"ls"}`), Dir: "/work", Env: []string{"A=1"}, Rule: "policy.yaml:3",
		Why: "it asks", Always: "allow ls", Expires: at.Add(time.Hour),
		Form: &tool.Form{Why: "w", Schema: json.RawMessage(`{"type":"object"}`), Draft: json.RawMessage(`{"a":1}`),
			State: json.RawMessage(`"s"`)}}
	return []Record{
		{Kind: KindRun, Run: &Run{Session: "ses_1", Parent: "run_0", Agent: "coder", Model: "m", Dir: "/work",
			By: "key:ha", Unattended: true, Only: &[]string{"n"},
			Client: []Definition{{Name: "open_door", Description: "Opens a door.",
				Parameters: json.RawMessage(`{"type":"object"}`)}},
			Offered: []Definition{{Name: "n", Description: "d", Parameters: json.RawMessage(`{}`)}}}},
		{Kind: KindSession, Session: &Session{Title: "Files", Notes: map[string]string{"a": "b"}}},
		{Kind: KindClaimed, StoreOnly: StoreOnly{Claimed: &Claimed{Owner: "own_1"}}},
		{Kind: KindMessage, Message: &Message{Message: message, By: "someone", Sent: "msg_1"}},
		{Kind: KindSent, Sent: &Sent{ID: "msg_1", Message: message, By: "someone"}},
		{Kind: KindTurn, Turn: &Turn{Turn: 1, Model: "m", Backend: "local", Attempt: 1, Budget: 8000, Pruned: 2,
			Dropped: 3, Room: 7000,
			Tools: &[]Definition{{Name: "n", Description: "d", Parameters: json.RawMessage(`{}`)}}, Digest: "d"}},
		{Kind: KindTurnEnd, TurnEnd: &TurnEnd{Turn: 1, Message: message, Raw: "a\xffb", Before: []Text{"no"},
			Usage: usage, Finish: &chat.Finish{Reason: chat.FinishCalls, Model: "m", ID: "f", Bounces: 1, Stop: "s"},
			Error: &Failure{Kind: "timeout", Message: "late", Status: 504, RetryAfter: 1}}},
		{Kind: KindBounce, Bounce: &chat.BounceDetail{Reason: chat.ReasonMalformed, Call: &call,
			Confused: []chat.Call{call}, Suppressed: "s", Sent: "again", Left: 1}},
		{Kind: KindReject,
			Reject: &Reject{Turn: 1, CallID: "call_1", RejectedDetail: chat.RejectedDetail{Reason: chat.ReasonInvalid,
				Name: "n", Raw: "<x>", Arguments: "{", Message: "m", Dialect: "hermes", At: 1, End: 2}}},
		{Kind: KindRepair,
			Repair: &Repair{Turn: 1, CallID: "call_1",
				NoteDetail: chat.NoteDetail{Kind: "comment", Path: "/a", Before: "b", After: "a", At: 1, End: 2}}},
		{Kind: KindOverrun,
			Overrun: &Overrun{Turn: 1, OverrunDetail: chat.OverrunDetail{At: 3, Marker: "<|im_start|>user",
				Hard: true}}},
		{Kind: KindPolicy, Policy: &policy.Detail{CallID: "call_1", Decision: chat.DecisionAsk, Rule: "r", Why: "w"}},
		{Kind: KindStart, Start: &runner.StartRecord{CallID: "call_1", Tool: "command_exec", Definition: "d",
			Arguments: json.RawMessage(`{"command":"ls"}`), Binding: "b", Approval: "apr_1", Idempotent: true, At: at}},
		{Kind: KindAgain, Again: &Again{CallID: "call_1"}},
		{Kind: KindDetached, Detached: &Detached{CallID: "call_1", Name: "task-1"}},
		{Kind: KindResult, Result: &runner.FinishRecord{CallID: "call_1", Tool: "command_exec", Started: true,
			Result: result, Elapsed: time.Second, At: at}},
		{Kind: KindSummary, Summary: &Summary{Messages: 7, Digest: "d", Text: "so far", Model: "m", Usage: usage}},
		{Kind: KindWait, Wait: &Wait{For: WaitApproval, Approvals: []string{"apr_1"}, Calls: []string{"call_1"},
			Note: "n", Error: &Failure{Kind: "unavailable", Message: "m", Status: 502, RetryAfter: 1}}},
		{Kind: KindResume, Resume: &Resume{By: "someone", Unattended: true}},
		{Kind: KindEnd, End: &End{Reason: "stop", Detail: "d", Usage: usage, Cost: &cost,
			Error: &Failure{Kind: "k", Message: "m", Status: 500, RetryAfter: 1}}},
		{Kind: KindQuestion, Question: &Question{ID: "apr_1", Session: "ses_1", Run: "run_1", Asked: at,
			Question: question}},
		{Kind: KindAnswer,
			Answer: &Answer{At: at,
				Answer: runner.Answer{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"command":"pwd"}`),
					Reason: "r", By: "someone", Always: true, Refused: "the second part", Stop: true}}},
		{Kind: KindConsumed, Consumed: &Consumed{Binding: "b"}},
		{Kind: KindObject,
			Object: &Object{Session: "ses_1", Type: "response", Data: json.RawMessage(`{"id":"resp_1"}`)}},
		{Kind: KindRules, Object: &Object{Session: "ses_1", Type: "rules", Data: json.RawMessage(`[]`)}},
		{Kind: KindDeleted, StoreOnly: StoreOnly{
			Deleted: &Deleted{Session: "ses_1", Reason: ReasonAsked, Positions: [][2]int64{{1, 4}, {9, 9}}}}},
	}
}

// TestGolden freezes the JSON form of every kind. A form that was released is read for ever: when a change is
// wanted, Version grows and the old file stays as one that must be read.
func TestGolden(t *testing.T) {
	var kinds []Kind
	var lines []string
	for _, r := range samples() {
		kinds = append(kinds, r.Kind)
		raw, err := r.Encode()
		if err != nil {
			t.Fatalf("%s: %v", r.Kind, err)
		}
		lines = append(lines, string(raw))
		back, err := Decode(raw)
		if err != nil {
			t.Fatalf("%s: %v", r.Kind, err)
		}
		if !reflect.DeepEqual(back, r) {
			t.Errorf("%s: read back as\n%+v, written from\n%+v", r.Kind, back, r)
		}
	}
	if all := slices.Sorted(maps.Keys(rules)); !slices.Equal(slices.Sorted(slices.Values(kinds)), all) {
		t.Fatalf("samples of %v, kinds are %v", kinds, all)
	}
	got := strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", "records_v1.jsonl")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the JSON form of records changed:\n%s\nwant\n%s", got, want)
	}
}

// TestSamplesAreFull checks that the golden file freezes every field there is.
func TestSamplesAreFull(t *testing.T) {
	for _, r := range samples() {
		v := reflect.ValueOf(r)
		for _, field := range reflect.VisibleFields(v.Type()) {
			if f := v.FieldByIndex(field.Index); f.Kind() == reflect.Pointer && !f.IsNil() {
				full(t, string(r.Kind), f)
			}
		}
	}
}

// full reports fields that are not set. Of a list one element must be full; calls of the first turn begin at 0.
func full(t *testing.T, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		full(t, path, v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			full(t, path+"[]", v.Index(v.Len()-1))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			f := v.Field(i)
			if f.IsZero() {
				t.Errorf("%s.%s is not set in the sample", path, v.Type().Field(i).Name)
				continue
			}
			full(t, path+"."+v.Type().Field(i).Name, f)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want error
	}{
		{``, ErrInvalid},
		{`{"v":1}`, ErrInvalid},
		{`{"v":1,"kind":"none"}`, ErrInvalid},
		{`{"v":1,"kind":"start"}`, ErrInvalid},
		{`{"v":1,"kind":"start","start":{}}`, ErrInvalid},
		{`{"v":2,"kind":"resume","resume":{}}`, ErrVersion},
		{`{"kind":"resume","resume":{}}`, ErrInvalid},
		{`{"v":1,"kind":"turn_end","turn_end":{"turn":0,"message":{"role":"assistant","parts":[{"kind":"smell"}]},"usage":{}}}`, ErrInvalid},
	} {
		if _, err := Decode([]byte(test.raw)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.raw, err, test.want)
		}
	}
}
