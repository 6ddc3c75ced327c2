package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/chat"
)

const liveFile = `{"id":"a::q1","bfcl_id":"q1","category":"simple","question":[{"role":"user","content":"How deep is berth 3?"}],"tools":[{"type":"function","function":{"name":"water.depth","parameters":{"type":"object","properties":{"berth":{"type":"integer"}},"required":["berth"]}}}]}
{"id":"b::q1","bfcl_id":"q1","category":"simple","question":[{"role":"user","content":"How deep is berth 3?"}],"tools":[{"type":"function","function":{"name":"water.depth","parameters":{"type":"object","properties":{"berth":{"type":"integer"}},"required":["berth"]}}}],"gold":[{"name":"water.depth","arguments":{"berth":3}}]}
{"id":"q2","category":"simple","question":[{"role":"user","content":"And berth 4?"}],"tools":[{"type":"function","function":{"name":"water.depth","parameters":{}}}],"gold":[{"name":"water.depth","arguments":{"berth":4}}]}
{"id":"q3","category":"relevance","question":[{"role":"user","content":"Hello."}],"tools":[{"type":"function","function":{"name":"water.depth","parameters":{}}}],"gold":[]}
{"id":"q4","category":"java","question":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}
`

// deep is a model that always calls water_depth with berth 3.
type deep struct{ requests []*chat.Request }

func (d *deep) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	d.requests = append(d.requests, req)
	return func(yield func(chat.Event, error) bool) {
		for _, e := range []chat.Event{
			{Kind: chat.KindCallEnd, Detail: &chat.Call{Name: "water_depth", Arguments: `{"berth": 3.0}`,
				Complete: true}},
			{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 30, Out: 10}},
			{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls}},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestLive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.jsonl")
	if err := os.WriteFile(file, []byte(liveFile), 0o600); err != nil {
		t.Fatal(err)
	}
	questions, err := Questions(file, Choice{Categories: []string{"simple", "relevance"}})
	if err != nil || len(questions) != 3 || questions[0].Gold == nil {
		t.Fatalf("%d questions, %v", len(questions), err)
	}
	d := &deep{}
	var results []Asked
	for i := range questions {
		results = append(results,
			Ask(t.Context(), d, "deep", &questions[i], LiveOptions{Required: true, MaxTokens: 9, Timeout: time.Minute}))
	}
	for _, r := range d.requests {
		if r.Temperature == nil || *r.Temperature != 0 || r.MaxTokens != 9 || r.Choice.Mode != chat.ChoiceRequired {
			t.Errorf("asked with %+v", r)
		}
	}
	s := Stand(results)
	if len(s) != 1 || s[0].Valid.N != 2 || s[0].RightTool.N != 2 || s[0].RightArgs.N != 1 || s[0].RightArgs.Of != 2 ||
		s[0].False.N != 1 || s[0].False.Of != 1 || s[0].In != 30 {
		t.Errorf("%+v", s)
	}
	var b strings.Builder
	if err := WriteStandings(&b, s); err != nil || !strings.Contains(b.String(), "100 (34-100)") ||
		!strings.Contains(b.String(), "50 (9-91)") {
		t.Errorf("%s, %v", b.String(), err)
	}
	if _, err := Questions(file, Choice{MaxTools: 10}); err != nil {
		t.Error(err)
	}
}

// TestMidTask: a question stands behind two others, and the calls that answer them.
func TestMidTask(t *testing.T) {
	question := func(n int) LiveQuestion {
		return LiveQuestion{ID: fmt.Sprint(n), Category: "simple",
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(fmt.Sprint("Question ", n))}},
			Tools:    []chat.Tool{{Name: fmt.Sprint("tool", n/2)}},
			Gold: []ComparedCall{{Name: fmt.Sprint("tool", n/2),
				Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}}}
	}
	all := []LiveQuestion{question(0), question(1), question(2), question(3)}
	if MidTask(all[:2]) != nil {
		t.Error("two questions make a task of three parts")
	}
	for i, q := range MidTask(all) {
		var got []string
		for _, m := range q.Messages {
			got = append(got, m.Text())
			for _, c := range m.Calls {
				got = append(got, c.ID+" "+c.Name+c.Arguments)
			}
		}
		a, b := (i+2)%4, (i+3)%4
		want := []string{fmt.Sprintf("1. Question %d\n2. Question %d\n3. Question %d", a, b, i),
			"", fmt.Sprintf(`call_1 tool%d{"n":%d}`, a/2, a), "done", "", fmt.Sprintf(`call_3 tool%d{"n":%d}`, b/2, b),
			"done"}
		if !slices.Equal(got, want) || q.Tools[0].Name != all[i].Tools[0].Name || len(q.Tools) != 2 ||
			len(all[i].Tools) != 1 {
			t.Errorf("question %d: %q with %d tools, want %q", i, got, len(q.Tools), want)
		}
	}
}
