package playback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/internal/playback"
	"wield/internal/script"
	"wield/internal/trace"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// record plays a scenario of the catalogue as a run, with tools that give what the scenario's client gives, and
// returns the journal.
func recordRun(t *testing.T, name string, mode bridge.Mode) (*journal.Memory, string) {
	t.Helper()
	live, err := script.FromCatalogue(script.Catalogue(""), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := live.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	return recordScenario(t, s, mode)
}

func recordScenario(t *testing.T, s *script.Scenario, mode bridge.Mode) (*journal.Memory, string) {
	t.Helper()
	var reg runner.Registry
	for _, d := range s.Client.Tools {
		given := 0
		err := reg.Add(tool.Raw(d.Name, d.Description, d.Parameters, func(context.Context, *tool.Call) (tool.Result,
			error) {
			results := s.Client.Results[d.Name]
			if len(results) == 0 {
				return tool.Result{}, &tool.Error{Kind: tool.ErrTool, Tool: d.Name, Message: "there is nothing"}
			}
			text := results[min(given, len(results)-1)]
			given++
			return tool.Text(text), nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	store := new(journal.Memory)
	a := agent.New(bridge.New(script.New(s, script.Options{Speed: -1}), bridge.Options{Mode: mode}),
		runner.New(runner.Settings{Tools: &reg}), agent.Options{Journal: store})
	run := a.Run(&chat.Request{Model: "recorded",
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(s.Client.User[0])}}})
	for _, err := range run.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return store, run.ID()
}

func load(t *testing.T, s journal.Store, id string) *playback.Recording {
	t.Helper()
	list, err := playback.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%d runs", len(list))
	}
	return list[0]
}

var played = []struct {
	scenario string
	mode     bridge.Mode
}{
	{"readPackage", bridge.ModeText},
	{"calculator", bridge.ModeNative},
	{"calculator", bridge.ModeText}, // called through the wrong channel, corrected, and taken over
	{"twoCalls", bridge.ModeText},
	{"unknownTool", bridge.ModeText},
	{"missingArgument", bridge.ModeText},
	{"unquotedKeys", bridge.ModeText},
	{"missingCloser", bridge.ModeText},
	{"tutorials", bridge.ModeText},
	{"missingFile", bridge.ModeText},
	{"fastapiSummary", bridge.ModeText},
	{"pythonFiles", bridge.ModeText},
}

// TestPlay plays recorded runs again: with the same texts, however they are cut, nothing differs.
func TestPlay(t *testing.T) {
	for _, test := range played {
		t.Run(test.scenario+"/"+string(test.mode), func(t *testing.T) {
			store, id := recordRun(t, test.scenario, test.mode)
			r := load(t, store, id)
			for _, split := range []playback.Split{{}, {Size: 1}, {Size: 3}, {Size: -1, Seed: 7}} {
				p := playback.Player{Model: bridge.New(r.Model(split), bridge.Options{Mode: test.mode})}
				differences, err := p.Play(t.Context(), r)
				if err != nil || len(differences) > 0 {
					t.Errorf("%+v: %v, %+v", split, err, differences)
				}
			}
		})
	}
}

// TestDifferences plays a run with what reads or says something else.
func TestDifferences(t *testing.T) {
	store, id := recordRun(t, "readPackage", bridge.ModeText)
	r := load(t, store, id)
	t.Run("the model says something else", func(t *testing.T) {
		other, otherID := recordRun(t, "missingFile", bridge.ModeText)
		p := playback.Player{Model: bridge.New(load(t, other, otherID).Model(playback.Split{}),
			bridge.Options{Mode: bridge.ModeText})}
		d, err := p.Play(t.Context(), r)
		if err != nil || len(d) == 0 || d[0].What != "call" || d[0].Turn != 0 ||
			!strings.Contains(d[0].Recorded, "package.json") || strings.Contains(d[0].Now, "package.json") {
			t.Errorf("%v, %+v", err, d)
		}
		p = playback.Player{Model: bridge.New(load(t, other, otherID).Model(playback.Split{}),
			bridge.Options{Mode: bridge.ModeText}), From: 1}
		if later, err := p.Play(t.Context(), r); err != nil ||
			slices.ContainsFunc(later, func(d playback.Difference) bool { return d.Turn < 1 }) {
			t.Errorf("%v, %+v", err, later)
		}
	})
	t.Run("nobody reads the call", func(t *testing.T) {
		p := playback.Player{Model: r.Model(playback.Split{})}
		d, err := p.Play(t.Context(), r)
		if err != nil ||
			!slices.ContainsFunc(d, func(d playback.Difference) bool { return d.What == "call" && d.Now == "" }) ||
			!slices.ContainsFunc(d, func(d playback.Difference) bool {
				return d.What == "turns" && d.Recorded == "2" && d.Now == "1"
			}) {
			t.Errorf("%v, %+v", err, d)
		}
	})
}

// TestNoToolRuns: a tool gives what it gave then, and a call that was not made then gets an error.
func TestNoToolRuns(t *testing.T) {
	store, id := recordRun(t, "calculator", bridge.ModeNative)
	r := load(t, store, id)
	r.Turns[0].Calls[0].Result.Result = tool.Text("not what a calculator says")
	m := &asking{next: r.Model(playback.Split{})}
	p := playback.Player{Model: m}
	if _, err := p.Play(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := m.results(); len(got) != 1 || got[0] != "not what a calculator says" {
		t.Errorf("%q", got)
	}
	r = load(t, store, id)
	r.Turns[0].Calls[0].Arguments = `{"expression": "1 + 1"}` // what was made then is another call
	m = &asking{next: load(t, store, id).Model(playback.Split{})}
	p = playback.Player{Model: m}
	if _, err := p.Play(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := m.results(); len(got) != 1 || !strings.Contains(got[0], "the recording holds no result of this call") {
		t.Errorf("%q", got)
	}
}

// An asking notes what a model was asked last.
type asking struct {
	next chat.Model
	last []chat.Message
}

func (m *asking) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	m.last = req.Messages
	return m.next.Stream(ctx, req)
}

func (m *asking) results() []string {
	var list []string
	for i := range m.last {
		if m.last[i].Role == chat.RoleTool {
			list = append(list, m.last[i].Text())
		}
	}
	return list
}

// TestScenario makes scenarios of recorded runs and plays them.
func TestScenario(t *testing.T) {
	for _, test := range played {
		t.Run(test.scenario+"/"+string(test.mode), func(t *testing.T) {
			store, id := recordRun(t, test.scenario, test.mode)
			was := load(t, store, id)
			s := scenarioOf(t, was)
			mode := bridge.ModeText
			if s.NativeTools {
				mode = bridge.ModeNative
			}
			out, err := script.Drive(t.Context(), bridge.New(script.New(s, script.Options{Speed: -1}),
				bridge.Options{Mode: mode}), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			out.Requests = s.Expect.MaxTurns
			for _, err := range s.Expect.Check(out) {
				t.Error(err)
			}
			again, againID := recordScenario(t, s, mode)
			now := load(t, again, againID)
			if a, b := said(was), said(now); a != b {
				t.Errorf("the run\n%s\nwas recorded, made a scenario and run again:\n%s", a, b)
			}
		})
	}
}

func scenarioOf(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *playback.Recording) *script.Scenario {
	t.Helper()
	text, err := playback.Scenario("recorded", []*playback.Recording{r}, nil, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s, err := script.Parse("recorded.scenario.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if found := script.Lint(s); len(found) > 0 {
		t.Fatalf("%v\n%s", found, text)
	}
	return s
}

// said returns what a run came to: texts, calls and results.
func said(r *playback.Recording) string {
	var b strings.Builder
	for _, turn := range r.Turns {
		fmt.Fprintf(&b, "%q\n", turn.End.Message.Text())
		for _, c := range turn.Calls {
			result := c.Result.Result.Chat(&c.Call, tool.StylePlain)
			m := result.Message()
			fmt.Fprintf(&b, "  %s %s -> %q\n", c.Name, c.Arguments, strings.TrimPrefix(m.Text(), "Error: "))
		}
	}
	return b.String()
}

// TestScenarioText writes scenarios of hostile texts, which a scripted model must say byte for byte.
func TestScenarioText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(),
			rapid.StringOf(
				rapid.SampledFrom([]rune("${}'\"\\\n\t :#-|>!&*%@`\u2028\u0085\u0000\u007f\ufeff<éa")))).Draw(t, "text")
		user := rapid.String().Draw(t, "user")
		r := &playback.Recording{Turns: []*playback.Turn{{
			Said: []record.Message{{Message: chat.Message{Role: chat.RoleUser, Parts: chat.Text(user)}}},
			End: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text)},
				Raw: record.Text(text)},
		}}}
		s := scenarioOf(t, r)
		if s.Client.User[0] != user {
			t.Fatalf("the user says %q, want %q", s.Client.User[0], user)
		}
		got := ""
		for e, err := range script.New(s, script.Options{Speed: -1}).Stream(context.Background(),
			&chat.Request{Messages: []chat.Message{r.Turns[0].Said[0].Message}}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.KindText {
				got += e.Text
			}
		}
		if got != text {
			t.Fatalf("said %q, want %q", got, text)
		}
	})
}

// TestRead reads what was exported, and what is broken.
func TestRead(t *testing.T) {
	store, id := recordRun(t, "tutorials", bridge.ModeText)
	var b bytes.Buffer
	if _, err := journal.Export(t.Context(), store, journal.Query{}, &b); err != nil {
		t.Fatal(err)
	}
	list, err := playback.Read(&b)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %d runs", err, len(list))
	}
	a, _ := json.Marshal(load(t, store, id))
	if got, _ := json.Marshal(list[0]); string(got) != string(a) {
		t.Errorf("exported and read:\n%s\nfrom the journal:\n%s", got, a)
	}
	for text, want := range map[string]string{
		"":                                "no such run",
		"{\n":                             "line 1: ",
		`{"position":1,"record":{"v":1}}`: "line 1: ",
		`{"position":1,"record":{"v":99,"kind":"run","run":{}}}`: "newer wield",
	} {
		if _, err := playback.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSpans: every span lies within the one around it, and what was said stands in none unless it is asked for.
func TestSpans(t *testing.T) {
	store, id := recordRun(t, "tutorials", bridge.ModeText)
	r := load(t, store, id)
	r.Turns[0].Calls[0].Questions = []*playback.AskedQuestion{
		{Question: record.Question{ID: "apr_1", Asked: r.Turns[0].Ended},
			Answer: &record.Answer{At: r.Turns[0].Ended.Add(time.Microsecond),
				Answer: runner.Answer{State: runner.ApprovalApproved, By: "ann"}}}}
	root := r.Spans(false)
	names := []string{}
	var walk func(s *trace.Recorded)
	walk = func(s *trace.Recorded) {
		names = append(names, s.Name)
		if s.End.Before(s.Start) {
			t.Errorf("%s ends before it begins", s.Name)
		}
		for _, inner := range s.Inside {
			if inner.Start.Before(s.Start) || inner.End.After(s.End.Add(time.Millisecond)) {
				t.Errorf("%s %s..%s is not within %s %s..%s", inner.Name, inner.Start, inner.End, s.Name, s.Start,
					s.End)
			}
			walk(inner)
		}
	}
	walk(root)
	want := []string{"invoke_agent", "chat recorded", "execute_tool search_internet", "approval",
		"run search_internet", "chat recorded", "execute_tool file_access", "run file_access", "chat recorded"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for name, write := range map[string]func(io.Writer, []*trace.Recorded) error{
		"otlp":   func(w io.Writer, s []*trace.Recorded) error { return trace.WriteOTLP(w, "1", id, s) },
		"chrome": trace.WriteChrome,
	} {
		var plain, again, full bytes.Buffer
		for b, content := range map[*bytes.Buffer]bool{&plain: false, &again: false, &full: true} {
			if err := write(b, []*trace.Recorded{r.Spans(content)}); err != nil {
				t.Fatal(err)
			}
		}
		if plain.String() != again.String() {
			t.Errorf("%s: the same run has two traces", name)
		}
		if !json.Valid(plain.Bytes()) || !strings.Contains(plain.String(), "apr_1") ||
			strings.Contains(plain.String(), "Python tutorials") ||
			!strings.Contains(full.String(), "Python tutorials") {
			t.Errorf("%s: %s", name, plain.String())
		}
	}
}
