package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/capture"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

const weather = `[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}}}]`

func (s *service) parse(body string) Parsed {
	s.t.Helper()
	status, text := s.do("POST", "/parse", "k-client", body)
	if status != 200 {
		s.t.Fatalf("%d %s", status, text)
	}
	var out Parsed
	if err := json.Unmarshal(text, &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TestParse: a text is read as several dialects, and every value leads to its bytes.
func TestParse(t *testing.T) {
	s := newService(t)
	text := "Let me look.\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\",\"days\":\"3\"}}</tool_call>"
	out := s.parse(`{"tools":` + weather + `,"dialects":["auto","hermes","anthropic-xml"],"only":true,"text":` +
		quoted(text) + `}`)
	if len(out.Readings) != 3 {
		t.Fatalf("%d readings", len(out.Readings))
	}
	for i, r := range out.Readings {
		want := 1
		if r.Dialect == "anthropic-xml" {
			want = 0
		}
		if len(r.Calls) != want || r.Error != "" {
			t.Fatalf("reading %d: %+v", i, r)
		}
		if at := 0; true {
			for _, e := range r.Events {
				if e.At != at {
					t.Errorf("reading %s: event %+v does not follow %d", r.Dialect, e, at)
				}
				at = e.End
			}
			if at != len(text) {
				t.Errorf("reading %s: the events end at %d of %d", r.Dialect, at, len(text))
			}
		}
	}
	r := out.Readings[0]
	if r.Content != "Let me look.\n" && r.Content != "Let me look." || r.Calls[0].Dialect != "hermes" ||
		len(r.Candidates) == 0 || r.Candidates[len(r.Candidates)-1].Outcome != chat.OutcomeAccepted {
		t.Errorf("%+v", r)
	}
	if len(r.Notes) != 1 || r.Notes[0].Kind != "coerced" || r.Notes[0].Path != "/days" {
		t.Errorf("the notes are %+v", r.Notes)
	}
	found := map[string]string{}
	for _, v := range r.Calls[0].Values {
		if !v.Key {
			found[v.Path] = text[v.At:v.End]
		}
	}
	if found["/city"] != "Rome" || found["/days"] != "3" {
		t.Errorf("the values stand in %q", found)
	}
	all := s.parse(`{"tools":` + weather + `,"dialects":["all"],"text":` + quoted(text) + `}`)
	if len(all.Readings) < 50 {
		t.Errorf("all are %d readings", len(all.Readings))
	}
}

// TestParseChunks: events say how much of the text the decoder had seen, and a long text in small pieces is bounded.
func TestParseChunks(t *testing.T) {
	s := newService(t)
	text := "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>"
	fed := 0
	for _, e := range s.parse(`{"chunk":1,"tools":` + weather + `,"text":` + quoted(text) + `}`).Readings[0].Events {
		if e.Fed < fed || e.End > e.Fed {
			t.Errorf("%+v comes before its bytes", e)
		}
		fed = e.Fed
	}
	if fed != len(text) {
		t.Errorf("the last event came at %d", fed)
	}
	long := strings.Repeat("some words and \\\"more\\\" of them ", 20_000)
	r := s.parse(`{"chunk":1,"tools":` + weather + `,"text":` +
		quoted(`<tool_call>{"name":"get_weather","arguments":{"city":"`+long+`"}}</tool_call>`) + `}`).Readings[0]
	if n := len(r.Events); n > maxReadEvents+10 || len(r.Calls) != 1 || len(r.Calls[0].Values) != 3 {
		t.Errorf("%d events, %d calls", n, len(r.Calls))
	}
	joined := ""
	for _, e := range r.Events {
		if e.Kind == chat.KindCallArgs.String() {
			joined += e.Text
		}
	}
	if joined != r.Calls[0].Arguments {
		t.Error("the events do not add up to the arguments")
	}
}

// TestParseOfMarkers: a text of nothing but beginnings of calls lists some of them, and counts the others.
func TestParseOfMarkers(t *testing.T) {
	s := newService(t)
	r := s.parse(`{"tools":` + weather + `,"text":"` + strings.Repeat("[[", 20_000) + `"}`).Readings[0]
	if n := len(r.Candidates); n != maxReadEvents || r.Unlisted == 0 {
		t.Errorf("%d candidates are listed, %d are not", n, r.Unlisted)
	}
}

func TestParseRefuses(t *testing.T) {
	s := newService(t)
	many := strings.Repeat(`{"name":"x"},`, maxReadTools+1)
	for _, tt := range []struct{ body, field string }{
		{`{"text":"x","dialects":["hermes","klingon"]}`, "/dialects/1"},
		{`{"text":"x","repair":"much"}`, "/repair"},
		{`{"text":"x","tools":[{"parameters":{}}]}`, "/tools/0"},
		{`{"text":"x","tools":[{"name":"a","parameters":{"type":"nonsense"}}]}`, "/tools/0"},
		{`{"text":"x","tools":[{"name":"a","parameters":{"description":"` + strings.Repeat("x", maxReadSchema) +
			`"}}]}`, "/tools/0"},
		{`{"text":"x","tools":[` + strings.TrimSuffix(many, ",") + `]}`, "/tools"},
		{`{"text":"` + strings.Repeat("x", 16_000) + `","dialects":["all"]}`, "/dialects"},
		{`{"text":"x","dialects":["all","all"]}`, "/dialects"},
	} {
		f := s.refused("POST", "/parse", "k-client", tt.body, 400)
		if f.Error.Field != tt.field {
			t.Errorf("%.80s: %+v, want the field %s", tt.body, f.Error, tt.field)
		}
	}
}

func TestParseFilter(t *testing.T) {
	item := Inspected{Kind: "run", Model: "Coder", Status: "failed", Key: "cleo", Took: 2500,
		Tools: []string{"read_file", "write_note"}, Dialects: []string{"hermes"}, Repairs: 1}
	for _, tt := range []struct {
		q     string
		holds bool
		wrong string
	}{
		{"", true, ""}, {"  ", true, ""},
		{"tool:write_note", true, ""}, {"tool:WRITE_NOTE", true, ""}, {"tool:write_*", true, ""},
		{"tool:write", false, ""}, {"tool:none tool:read_file", true, ""}, {"-tool:read_file", false, ""},
		{"-tool:none", true, ""}, {"tool:read_file -tool:write_note", false, ""},
		{"model:coder dialect:hermes status:failed repaired:true", true, ""}, {"status:done", false, ""},
		{"bounced:false kind:run", true, ""}, {"bounced:true", false, ""}, {"dur:>2s", true, ""},
		{"dur:>2s dur:<3s", true, ""}, {"dur:>2s dur:<2.4s", false, ""}, {"dur:2500ms", true, ""},
		{"-dur:>2s", false, ""}, {"dur:<2s", false, ""}, {"key:cleo", true, ""}, {"rejected:false", true, ""},
		{`model:"coder"`, true, ""}, {"colour:red", false, "at 1: there is no field"},
		{"status:fine", false, "status is one of running"}, {"dur:>quick", false, "at 6: \"quick\" is no duration"},
		{"tool:", false, "tool: has no value"}, {`"open`, false, "at 1: the quote is not closed"},
		{`status:done "x`, false, "at 13: the quote"}, {"-word", false, "only fields can be left out"},
	} {
		f, err := ParseFilter(tt.q)
		if tt.wrong != "" {
			var fault *Fault
			if !errors.As(err, &fault) || !strings.Contains(fault.Message, tt.wrong) || fault.Field != "q" {
				t.Errorf("%q: %v, want %q", tt.q, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.q, err)
			continue
		}
		if got := f.holds(&item); got != tt.holds {
			t.Errorf("%q holds: %t", tt.q, got)
		}
	}
	if f, err := ParseFilter("tool dur"); err != nil || len(f.terms) != 0 || len(f.words) != 2 {
		t.Errorf("names of fields alone are %+v %v", f, err)
	}
	f, err := ParseFilter(`zebra "two \"words\"" http://x.test/a tool:read_file`)
	if err != nil || len(f.words) != 3 || len(f.terms) != 1 ||
		!f.says(`a Zebra, Two "Words"`, "see http://x.test/a") || f.says("zebra") {
		t.Errorf("%+v %v", f, err)
	}
}

// FuzzParseFilter: no filter makes the reader fall, and what it takes in it can ask.
func FuzzParseFilter(f *testing.F) {
	for _, q := range []string{"", `tool:x "a b" -status:done dur:>2s`, `a:`, `"\`, "-", "dur:>", ":", "tool:\"",
		"\xff:x"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		got, err := ParseFilter(q)
		if err != nil {
			return
		}
		got.holds(&Inspected{})
		got.says("")
	})
}

// inspectable fills a service with a run of two turns, one of which has a call that was asked about, and an
// exchange that was bounced.
func (s *service) inspectable() {
	s.t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	raw := `<tool_call>{"name":"write_note","arguments":{"path":"a","token":"sk-abcdefghijklmnop"}}</tool_call>`
	call := chat.Call{ID: "call_1", Name: "write_note", Arguments: `{"path":"a","size":1}`, Complete: true,
		Dialect: "hermes", At: 0, End: len(raw)}
	turn := record.Record{Kind: record.KindTurnEnd,
		TurnEnd: &record.TurnEnd{Raw: record.Text(raw),
			Message: chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{call}},
			Finish:  &chat.Finish{Reason: chat.FinishCalls}, Usage: chat.Usage{Known: true, In: 10, Out: 5}}}
	run := runBy("cleo", "ses_i")
	run.Run.Offered = []record.Definition{{Name: "write_note",
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
	n := s.add("run_i", 0, run, said(chat.RoleUser, "Please note the Quagga\nand more"),
		record.Record{Kind: record.KindTurn, Turn: &record.Turn{Model: "m"}},
		record.Record{Kind: record.KindBounce,
			Bounce: &chat.BounceDetail{Reason: chat.ReasonMalformed, Suppressed: "bad answer", Sent: "again"}},
		record.Record{Kind: record.KindRepair,
			Repair: &record.Repair{NoteDetail: chat.NoteDetail{Kind: "coerced", Path: "/size", Before: `"1"`,
				After: "1"}}},
		record.Record{Kind: record.KindReject,
			Reject: &record.Reject{RejectedDetail: chat.RejectedDetail{Reason: chat.ReasonMalformed,
				Raw: "<tool_call>"}}},
		record.Record{Kind: record.KindOverrun,
			Overrun: &record.Overrun{OverrunDetail: chat.OverrunDetail{At: 7, Marker: "<|im_start|>user",
				Hard: true}}},
		turn,
		record.Record{Kind: record.KindPolicy, Policy: &policy.Detail{CallID: "call_1", Decision: chat.DecisionAsk,
			Rule: "ask: write"}})
	s.add("run_i", n,
		record.Record{Kind: record.KindStart,
			Start: &runner.StartRecord{CallID: "call_1", Tool: "write_note", Arguments: json.RawMessage(`{"path":"b"}`),
				At: at}},
		record.Record{Kind: record.KindResult, Result: &runner.FinishRecord{CallID: "call_1", Tool: "write_note",
			Started: true, Result: tool.Result{OK: true, Data: json.RawMessage(`"done"`)}, At: at.Add(time.Second)}},
		record.Record{Kind: record.KindTurn, Turn: &record.Turn{Turn: 1, Model: "m"}}, answered("It is noted."),
		ended("answer"))

	rec := &capture.Record{ID: "req_i", Time: at, Model: "talk", Path: "/v1/chat/completions", Status: 200, Bounces: 1,
		Took: 3 * time.Second, Request: capture.Body(`{"q":"sk-abcdefghijklmnop"}`)}
	for attempt, text := range []string{"broken", `{"name":"write_note","arguments":{}}`} {
		rec.Watch(&chat.Request{Tools: []chat.Tool{{Name: "write_note"}}},
			&chat.Event{Kind: chat.KindTurnStart, Detail: &chat.TurnDetail{Attempt: attempt + 1,
				Sent: &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("the Okapi")}}}}},
			at)
		rec.Watch(nil, &chat.Event{Kind: chat.KindRaw, Text: text}, at.Add(time.Second))
		if attempt == 0 {
			rec.Watch(nil,
				&chat.Event{Kind: chat.KindBounce,
					Detail: &chat.BounceDetail{Reason: chat.ReasonMalformed, Suppressed: text,
						Sent: "Please try again"}}, at)
		}
	}
	rec.Watch(nil,
		&chat.Event{Kind: chat.KindCallEnd, Detail: &chat.Call{ID: "c", Name: "write_note", Arguments: "{}",
			Complete: true, Dialect: "raw-json"}}, at.Add(2*time.Second))
	rec.Watch(nil, &chat.Event{Kind: chat.KindOverrun, Detail: &chat.OverrunDetail{At: 9, Marker: "\n\nHuman:"}}, at)
	rec.Watch(nil, &chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 30, Out: 7, Requests: 2}},
		at.Add(2*time.Second))
	if err := s.api.o.Captures.Add(rec); err != nil {
		s.t.Fatal(err)
	}
}

// TestInspect: runs and exchanges are found by what they are and say, each by whoever may see it.
func TestInspect(t *testing.T) {
	s := newService(t)
	s.filled()
	s.inspectable()
	for _, tt := range []struct{ key, q, want string }{
		{"k-admin", "tool:write_note bounced:true", "run_i req_i"},
		{"k-admin", "kind:exchange tool:write_note", "req_i"}, {"k-admin", "quagga", "run_i"},
		{"k-admin", "okapi", ""}, {"k-admin", "dialect:hermes repaired:true", "run_i"},
		{"k-admin", "rejected:true", "run_i"}, {"k-admin", "dur:>2s kind:exchange", "req_i"},
		{"k-admin", "session:ses_i", "run_i"}, {"k-admin", "status:needs_approval", "run_b run_a"},
		{"k-client", "", "run_i run_a"}, {"k-other", "", "run_b"},
		{"k-admin", "kind:exchange -tool:write_note", "req_2 req_1 req_0"},
	} {
		var page Inspections
		s.get("/inspect?q="+strings.NewReplacer(" ", "+", ">", "%3E").Replace(tt.q), tt.key, &page)
		var ids []string
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.q, tt.key, got, tt.want)
		}
	}
	s.refused("GET", "/inspect?q=colour:red", "k-admin", "", 400)

	seen, next := []string{}, ""
	for range 20 {
		var page Inspections
		s.get("/inspect?limit=1"+next, "k-admin", &page)
		for _, i := range page.Items {
			seen = append(seen, i.ID)
		}
		if page.Next == "" {
			break
		}
		next = "&before=" + page.Next
	}
	if len(seen) != 7 || seen[len(seen)-1] != "req_0" {
		t.Errorf("page by page: %q", seen)
	}
}

// TestInspectOrder: page by page everything comes once, the latest first, though many began in the same
// microsecond and exchanges ended in another order than they began.
func TestInspectOrder(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begun := at
	s := serve(t, options(&journal.Memory{Options: journal.Options{Now: func() time.Time { return begun }}}))
	for i := range 12 {
		begun = at.Add(time.Duration(i/3) * time.Second)
		s.add(fmt.Sprint("run_", i), 0, runBy("ada", fmt.Sprint("ses_", i)))
		// as of another computer, to the nanosecond
		begins := at.Add(time.Duration((i*5%12)/4)*time.Second + time.Duration(i))
		if err := s.api.o.Captures.Add(&capture.Record{ID: fmt.Sprint("req_late_", i), Time: begins,
			Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	const kept = 12 + 12 + 3
	for limit := 1; limit <= kept+1; limit++ {
		seen, latest, next := map[string]bool{}, at.Add(time.Hour), ""
		for range kept + 1 {
			var page Inspections
			s.get(fmt.Sprint("/inspect?limit=", limit, next), "k-admin", &page)
			for _, i := range page.Items {
				if seen[i.ID] || i.Time.After(latest) {
					t.Errorf("pages of %d: %s of %v comes behind %v, seen before: %v", limit, i.ID, i.Time, latest,
						seen[i.ID])
				}
				seen[i.ID], latest = true, i.Time
			}
			if page.Next == "" {
				break
			}
			next = "&before=" + page.Next
		}
		if len(seen) != kept {
			t.Errorf("pages of %d have %d of %d", limit, len(seen), kept)
		}
	}
}

// TestTimeline: what happened in a run and behind an exchange is told in order, without secrets.
func TestTimeline(t *testing.T) {
	s := newService(t)
	s.inspectable()
	var run Timeline
	s.get("/runs/run_i/timeline", "k-client", &run)
	s.refused("GET", "/runs/run_i/timeline", "k-other", "", 404)
	if len(run.Turns) != 2 || run.Kind != "run" || run.Reason != "answer" || len(run.Tools) != 1 {
		t.Fatalf("%+v", run)
	}
	first := run.Turns[0]
	if len(first.Said) != 1 || first.Bounces[0].Suppressed != "bad answer" || first.Notes[0].Path != "/size" ||
		first.Rejected[0].Raw != "<tool_call>" || first.Usage.In != 10 {
		t.Errorf("%+v", first)
	}
	if o := first.Overrun; o == nil || *o != (chat.OverrunDetail{At: 7, Marker: "<|im_start|>user", Hard: true}) ||
		run.Turns[1].Overrun != nil {
		t.Errorf("where the model went on past its turn: %+v", o)
	}
	var exchange Timeline
	s.get("/captures/req_i/timeline", "k-admin", &exchange)
	if o := exchange.Turns[1].Overrun; o == nil || *o != (chat.OverrunDetail{At: 9, Marker: "\n\nHuman:"}) {
		t.Errorf("in an exchange: %+v", o)
	}
	c := first.Calls[0]
	if c.Policy.Decision != chat.DecisionAsk || c.Arguments != `{"path":"b"}` || !c.Ended.After(c.Started) ||
		c.Result == nil || c.Result.IsError || c.Runs != 1 || c.Dialect != "hermes" {
		t.Errorf("%+v", c)
	}
	var turn TurnText
	s.get("/runs/run_i/turns/0", "k-client", &turn)
	if strings.Contains(turn.Text, "sk-abc") || !strings.Contains(turn.Text, "[masked]") ||
		len(turn.Reading.Calls) != 1 {
		t.Errorf("%+v", turn)
	}
	for _, v := range turn.Reading.Calls[0].Values {
		if got := turn.Text[v.At:v.End]; v.Path == "/path" && !v.Key && got != "a" {
			t.Errorf("the path stands in %q", got)
		}
	}
	s.get("/runs/run_i/turns/0?dialect=anthropic-xml&only=true", "k-client", &turn)
	if len(turn.Reading.Calls) != 0 {
		t.Errorf("%+v", turn.Reading.Calls)
	}
	if _, text := s.do("GET", "/runs/run_i/scenario", "k-client", ""); !strings.HasPrefix(string(text),
		"wield: scenario/v1") || strings.Contains(string(text), "sk-abc") {
		t.Errorf("%s", text)
	}
	s.refused("GET", "/runs/run_i/turns/7", "k-client", "", 404)
	s.refused("GET", "/runs/run_i/turns/-1", "k-client", "", 404)
	s.refused("GET", "/runs/run_i/turns/0?dialect=klingon", "k-client", "", 400)

	var ex Timeline
	s.get("/captures/req_i/timeline", "k-admin", &ex)
	if ex.Cost != nil {
		t.Errorf("it costs %v, without prices", *ex.Cost)
	}
	s.api.o.Prices = func(model string) agent.Prices { return agent.Prices{Known: model == "talk", In: 10, Out: 100} }
	ex = Timeline{}
	if s.get("/captures/req_i/timeline", "k-admin", &ex); ex.Cost == nil || *ex.Cost != 0.001 {
		t.Errorf("it costs %v", ex.Cost)
	}
	text := fmt.Sprintf("%+v", ex)
	if strings.Contains(text, "sk-abc") || len(ex.Turns) != 2 || ex.Turns[0].Bounces[0].Sent != "Please try again" ||
		ex.Turns[1].Said[0].Text != "the Okapi" || ex.Turns[1].Calls[0].Dialect != "raw-json" ||
		ex.Turns[1].Text == "" || len(ex.Tools) != 1 || ex.Usage.In != 30 || ex.Usage.Requests != 2 {
		t.Error(text)
	}
}

// TestTimelineBounces: an answer that was sent back is told from its beginning, without secrets. Where a
// timeline has no room for it, that is said, and the text of the answer has all of it.
func TestTimelineBounces(t *testing.T) {
	s := newService(t)
	call := `<tool_call>{"name":"nothing"}</tool_call>`
	long := strings.Repeat("\u20ac", maxTold)
	s.add("run_w", 0, runBy("cleo", "ses_w"), said(chat.RoleUser, "go"),
		record.Record{Kind: record.KindTurn, Turn: &record.Turn{Model: "m"}},
		record.Record{Kind: record.KindBounce,
			Bounce: &chat.BounceDetail{Reason: chat.ReasonUnknownTool, Call: &chat.Call{Name: "nothing"},
				Suppressed: call, Sent: "again"}},
		record.Record{Kind: record.KindBounce,
			Bounce: &chat.BounceDetail{Reason: chat.ReasonInvalid, Suppressed: call + long, Sent: "again!"}},
		record.Record{Kind: record.KindBounce,
			Bounce: &chat.BounceDetail{Reason: chat.ReasonConfused, Suppressed: "taken over"}},
		record.Record{Kind: record.KindTurnEnd,
			TurnEnd: &record.TurnEnd{Before: []record.Text{record.Text("Let me see.\nsk-abcdefghijklmnop\n" + call),
				record.Text("So " + call + long)},
				Raw: "done", Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("done")}}})
	var run Timeline
	var whole TurnText
	s.get("/runs/run_w/timeline", "k-client", &run)
	s.get("/runs/run_w/turns/0", "k-client", &whole)
	for _, tt := range []struct {
		what string
		got  []TimelineBounce
		long string
		cut  bool
	}{{"timeline", run.Turns[0].Bounces, long[:maxTold-len(call)-1], true}, {"text", whole.Bounces, long, false}} {
		want := []TimelineBounce{
			{Bounce: Bounce{Reason: chat.ReasonUnknownTool, Name: "nothing", Suppressed: call, Sent: "again"},
				Began: "Let me see.\n[masked]\n"},
			{Bounce: Bounce{Reason: chat.ReasonInvalid, Suppressed: call + strings.ToValidUTF8(tt.long, ""),
				Sent: "again!"}, Began: "So ", Cut: tt.cut},
			{Bounce: Bounce{Reason: chat.ReasonConfused, Suppressed: "taken over"}},
		}
		if len(tt.got) != len(want) {
			t.Fatalf("the %s has %d bounces", tt.what, len(tt.got))
		}
		for i := range want {
			if tt.got[i] != want[i] {
				t.Errorf("the %s, bounce %d: %.200q..., %d and %d bytes; want %.200q..., %d and %d", tt.what, i,
					fmt.Sprint(tt.got[i]), len(tt.got[i].Began), len(tt.got[i].Suppressed), fmt.Sprint(want[i]),
					len(want[i].Began), len(want[i].Suppressed))
			}
		}
	}
	rec := &capture.Record{ID: "req_w",
		Turns: []capture.Turn{{Raw: capture.Body("Well.\n" + call),
			Bounce: &capture.Bounce{Reason: chat.ReasonInvalid, Name: "x", Suppressed: capture.Body(call),
				Sent: capture.Body("no")}},
			{Raw: capture.Body("other"),
				Bounce: &capture.Bounce{Suppressed: capture.Body(strings.Repeat("x", capture.MaxBody))}}}}
	if b := exchangeTurn(&rec.Turns[0], 0).Bounces[0]; b != (TimelineBounce{Bounce: Bounce{Reason: chat.ReasonInvalid,
		Name: "x", Suppressed: call, Sent: "no"}, Began: "Well.\n"}) {
		t.Errorf("%+v", b)
	}
	if b := exchangeTurn(&rec.Turns[1], 1).Bounces[0]; !b.Cut || b.Began != "" {
		t.Errorf("what is kept of a text is told as all of it, or begins with %q", b.Began)
	}
}
