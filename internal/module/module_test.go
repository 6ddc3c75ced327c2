package module_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wield/chat"
	"wield/internal/module"
	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if mode := os.Getenv("MODULE_PROGRAM"); mode != "" {
		program(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// program is run by the tests of Exec. It writes what it reads in capitals.
func program(mode string) {
	in := json.NewDecoder(os.Stdin)
	for {
		var q module.ProgramInput
		if err := in.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return
			}
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch mode {
		case "fail":
			fmt.Fprintln(os.Stderr, "no luck")
			os.Exit(3)
		case "silent":
			time.Sleep(time.Hour)
		case "junk":
			fmt.Println("not JSON")
			continue
		}
		text := strings.ToUpper(q.Text)
		used := len(q.Text)
		if mode == "words" && !q.Final { // a word at a time
			used = strings.LastIndexByte(q.Text, ' ') + 1
			text = text[:used]
		}
		line, _ := json.Marshal(module.ProgramOutput{Text: &text, Used: &used,
			Metadata: map[string]string{"asked": q.Metadata["asked"] + string(q.Hook) + " " + q.Context.Model + ";"}})
		fmt.Println(string(line))
	}
}

// said is a model that yields events, and keeps the request.
type said struct {
	events []chat.Event
	err    error
	req    *chat.Request
}

func (s *said) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	s.req = req
	return func(yield func(chat.Event, error) bool) {
		for _, e := range s.events {
			if !yield(e, nil) {
				return
			}
		}
		if s.err != nil {
			yield(chat.Event{}, s.err)
		}
	}
}

// texts returns events of text pieces that stand one after the other.
func texts(pieces ...string) (events []chat.Event) {
	at := 0
	for _, p := range pieces {
		events = append(events, chat.Event{Kind: chat.KindText, Text: p, At: at, End: at + len(p)})
		at += len(p)
	}
	return events
}

// upper changes each whole line to capitals.
var upper = module.Module{Name: "upper", Buffer: module.Line, Output: func(*module.Exchange) module.Transformer {
	return module.TransformerFunc(func(_ context.Context, text string) (string, error) {
		return strings.ToUpper(text), nil
	})
}}

// show writes down a stream.
func show(t testing.TB, m chat.Model, req *chat.Request) string {
	t.Helper()
	var b strings.Builder
	for e, err := range m.Stream(t.Context(), req) {
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s %d-%d %q", e.Kind, e.At, e.End, e.Text)
		if r, ok := e.Detail.(*chat.RejectedDetail); ok {
			fmt.Fprintf(&b, " rejected %q", r.Raw)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestOrderOfEvents(t *testing.T) {
	call := []chat.Event{{Kind: chat.KindCallStart, Name: "f", At: 8, End: 10},
		{Kind: chat.KindCallArgs, Text: "{}", At: 10, End: 12}, {Kind: chat.KindCallEnd, At: 12, End: 13}}
	model := &said{events: slices.Concat(texts("one\ntw"), []chat.Event{{Kind: chat.KindMarkup, At: 6, End: 7},
		{Kind: chat.KindIdle}}, []chat.Event{{Kind: chat.KindText, Text: "o", At: 7, End: 8}}, call,
		[]chat.Event{{Kind: chat.KindReasoning, Text: "hm", At: 13, End: 15},
			{Kind: chat.KindText, Text: "end", At: 15, End: 18}, {Kind: chat.KindRejected, Flags: chat.FlagSpent,
				At: 18, End: 20, Detail: &chat.RejectedDetail{Raw: "raw"}}, {Kind: chat.KindFinish}})}
	want := `text 0-4 "ONE\n"
idle 0-0 ""
text 4-8 "TWO"
markup 6-7 ""
call_start 8-10 ""
call_args 10-12 "{}"
call_end 12-13 ""
reasoning 13-15 "hm"
text 15-18 "END"
rejected 18-20 "" rejected "RAW"
finish 0-0 ""
`
	if got := show(t, module.New(model, module.Options{Modules: []module.Module{upper}}),
		&chat.Request{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if raw := model.events[len(model.events)-2].Detail.(*chat.RejectedDetail).Raw; raw != "raw" {
		t.Errorf("the model's own event was changed to %q", raw)
	}
}

// TestOrderOfModules passes a text through several modules both ways.
func TestOrderOfModules(t *testing.T) {
	tag := func(name string, order int) module.Module {
		return module.Module{Name: name, Order: order, Buffer: module.Whole,
			Input: func(_ context.Context, x *module.Exchange, text string) (string, error) {
				x.Meta["saw"] += name
				return text + name, nil
			},
			Output: func(x *module.Exchange) module.Transformer {
				return module.TransformerFunc(func(_ context.Context, text string) (string, error) {
					return text + name + x.Meta["saw"], nil
				})
			}}
	}
	model := &said{events: texts("a", "b")}
	m := module.New(model, module.Options{Modules: []module.Module{tag("2", 2), tag("1", 1)}})
	req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleSystem, Parts: chat.Text("s")},
		{Role: chat.RoleUser, Parts: chat.Text("u")}}}
	if got, want := show(t, m, req), "text 0-2 \"ab212112\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := model.req.Messages[0].Text() + " " + model.req.Messages[1].Text(); got != "s u12" {
		t.Errorf("the model read %q", got)
	}
	if req.Messages[1].Text() != "u" {
		t.Error("the client's request was changed")
	}
}

// TestFailure lets modules fail in every way: what they did not change passes.
func TestFailure(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		m    module.Module
		want string
	}{
		{"input",
			module.Module{Input: func(context.Context, *module.Exchange, string) (string, error) {
				return "", broken
			}}, "one two three"},
		{"output",
			module.Module{Output: func(*module.Exchange) module.Transformer { return &failing{at: 2, err: broken} }},
			"ONE two three"},
		{"half of it",
			module.Module{Output: func(*module.Exchange) module.Transformer {
				return &failing{at: 2, out: "[", used: 1, err: broken}
			}}, "ONE[two three"},
		{"too much used",
			module.Module{Output: func(*module.Exchange) module.Transformer { return &failing{at: 2, used: 99} }},
			"ONE two three"},
		{"too little used",
			module.Module{Buffer: module.Whole,
				Output: func(*module.Exchange) module.Transformer { return &failing{at: 1, out: "<", used: 1} }},
			"<ne two three"},
		{"too much waits", module.Module{Buffer: module.Whole, Output: upper.Output}, "one two three"},
	} {
		o := module.Options{Modules: []module.Module{tt.m}}
		if tt.name == "too much waits" {
			o.MaxPending = 8
		}
		model := &said{events: texts("one", " two", " three")}
		got := ""
		for e, err := range module.New(model, o).Stream(t.Context(),
			&chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("q")}}}) {
			if err != nil {
				t.Fatal(err)
			}
			got += e.Text
		}
		if got != tt.want || model.req.Messages[0].Text() != "q" {
			t.Errorf("%s: %q after %q, want %q", tt.name, got, model.req.Messages[0].Text(), tt.want)
		}
	}
}

// failing changes text to capitals until its at-th piece.
type failing struct {
	at   int
	out  string
	used int
	err  error
}

func (f *failing) Transform(_ context.Context, text string, _ bool) (string, int, error) {
	if f.at--; f.at == 0 {
		return f.out, f.used, f.err
	}
	return strings.ToUpper(text), len(text), nil
}

// TestStreamFails shows what was written before an error.
func TestStreamFails(t *testing.T) {
	m := module.New(&said{events: texts("half a li"), err: errors.New("gone")},
		module.Options{Modules: []module.Module{upper}})
	if got, want := show(t, m, &chat.Request{}), "text 0-9 \"HALF A LI\"\nerror gone\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRedact(t *testing.T) {
	m := module.Redact(module.RedactOptions{Words: []string{"opensesame"},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-\d+`)}})
	for _, tt := range []struct{ text, want string }{
		{"nothing to hide\n", "nothing to hide\n"},
		{"say opensesame now", "say [redacted] now"},
		{"ACME-12 and ACME-3\nsk-abcdefghijklmnop", "[redacted] and [redacted]\n[redacted]"},
		{"Authorization: Bearer abcdefghij", "Authorization: Bearer [redacted]"},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMII\nabc\n-----END RSA PRIVATE KEY----- b\nc", "a\n[redacted] b\nc"},
		{"-----BEGIN PRIVATE KEY-----\nnever ends\n", "[redacted]"},
	} {
		if err := module.Check(t.Context(), m, tt.text); err != nil {
			t.Error(err)
		}
		got, err := m.Input(t.Context(), nil, tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%q became %q, %v; want %q", tt.text, got, err, tt.want)
		}
		out := ""
		for e := range module.New(&said{events: texts(tt.text)}, module.Options{Modules: []module.Module{m}}).Stream(
			t.Context(), &chat.Request{}) {
			out += e.Text
		}
		if out != tt.want {
			t.Errorf("the model's %q became %q; want %q", tt.text, out, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	plain := module.FormatOptions{Plain: true, Trim: true, Wrap: 24}
	for _, tt := range []struct {
		o          module.FormatOptions
		text, want string
	}{
		{plain, "# Soup\n\n\n\nIt *needs* **time**, `salt` and [leeks](http://x.test/l).\n",
			"Soup\n\nIt needs time, salt and\nleeks (http://x.test/l).\n"},
		{plain, "* one_two\n+ _three_\n> said\n---\n", "- one_two\n- three\nsaid\n\n"},
		{plain, "```go\nif x  *y* {\n\n\n}\n```\nend", "if x  *y* {\n\n\n}\nend"},
		{module.FormatOptions{Trim: true}, "\n\na  \r\n\n\n\nb", "a\r\n\nb"},
		{module.FormatOptions{Wrap: 10}, "  a word that wraps\n~~~\nit never wraps in code\n~~~\n",
			"  a word\n  that\n  wraps\n~~~\nit never wraps in code\n~~~\n"},
		{module.FormatOptions{}, "# kept *as it is*  \n", "# kept *as it is*  \n"},
	} {
		m := module.Format(tt.o)
		if err := module.Check(t.Context(), m, tt.text); err != nil {
			t.Error(err)
		}
		out := ""
		for e := range module.New(&said{events: texts(tt.text)}, module.Options{Modules: []module.Module{m}}).Stream(
			t.Context(), &chat.Request{}) {
			out += e.Text
		}
		if out != tt.want {
			t.Errorf("%q became %q; want %q", tt.text, out, tt.want)
		}
	}
}

// TestAnyPieces cuts random texts in every way, through all modules that ship.
func TestAnyPieces(t *testing.T) {
	words := []string{"a", "word", " ", "\n", "\n\n", "\r\n", "*", "**b**", "_", "`", "```", "~~~\n", "# ", "> ", "- ",
		"[x](y)", "sk-abcdefghijklmno", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "secret", "é", "🍜",
		`"password":"x"`}
	modules := []module.Module{module.Redact(module.RedactOptions{Words: []string{"secret"}}),
		module.Format(module.FormatOptions{Plain: true, Trim: true, Wrap: 9}), upper}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "text"), "")
		for _, m := range modules {
			if err := module.Check(context.Background(), m, text); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// echo answers every request with the user's text between marks, and counts.
type echo struct {
	asked int
	err   error
	reply string
}

func (e *echo) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	e.asked++
	if e.err != nil {
		return chat.Fail(e.err)
	}
	to := "de"
	if strings.Contains(req.Messages[0].Text(), "in English") {
		to = "en"
	}
	text := e.reply
	if text == "" {
		text = to + "(" + req.Messages[1].Text() + ")"
	}
	return (&said{events: texts("\n", text, "\n")}).Stream(context.Background(), req)
}

func TestTranslate(t *testing.T) {
	by := &echo{}
	m := module.Translate(module.TranslateOptions{Model: by, Theirs: "German", Models: "English"})
	model := &said{events: texts("an ", "answer\n")}
	served := module.New(model, module.Options{Modules: []module.Module{m}})
	req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleSystem, Parts: chat.Text("s")},
		{Role: chat.RoleUser, Parts: chat.Text("Frage ")}}}
	if got, want := show(t, served, req), "text 0-10 \"de(an answer)\\n\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := model.req.Messages[0].Text() + model.req.Messages[1].Text(); got != "sen(Frage) " {
		t.Errorf("the model read %q", got)
	}
	req.Messages = append(req.Messages, chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("de(an answer)\n")},
		chat.Message{Role: chat.RoleUser, Parts: chat.Text("Frage ")})
	asked := by.asked
	show(t, served, req)
	if got := model.req.Messages[2].Text(); got != "an answer\n" || by.asked != asked {
		t.Errorf("the history has %q, after %d more translations", got, by.asked-asked)
	}
	by.err = errors.New("no translator")
	model.events = texts("another answer")
	if got, want := show(t, served, req), "text 0-14 \"another answer\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, reply := range []string{" ", strings.Repeat("again ", 1000)} {
		by = &echo{reply: reply}
		m := module.Translate(module.TranslateOptions{Model: by, Theirs: "German", Models: "English"})
		if got, err := m.Input(t.Context(), nil, "x"); err == nil {
			t.Errorf("%q became %.20q", reply, got)
		}
	}
}

// run is a command that starts the test as a program.
func run(t *testing.T, mode string) sandbox.Command {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Command{Argv: []string{exe}, Env: append(sandbox.Environ(), "MODULE_PROGRAM="+mode),
		Level: sandbox.None, Limits: sandbox.ProcessLimits{Grace: 100 * time.Millisecond}}
}

func TestExec(t *testing.T) {
	for _, tt := range []struct {
		mode  string
		hooks []module.Hook
		read  string // what the model reads
		shown string
	}{
		{"upper", []module.Hook{module.OnMessage}, "HELLO", "one two three"},
		{"upper", []module.Hook{module.OnMessage, module.OnComplete}, "HELLO", "ONE TWO THREE"},
		{"upper", []module.Hook{module.OnChunk}, "hello", "ONE TWO THREE"},
		{"words", []module.Hook{module.OnChunk}, "hello", "ONE TWO THREE"},
		{"fail", module.Hooks()[:2], "hello", "one two three"},
		{"junk", []module.Hook{module.OnMessage, module.OnComplete}, "hello", "one two three"},
		{"silent", []module.Hook{module.OnChunk}, "hello", "one two three"},
	} {
		timeout := time.Minute // only so that a failure ends
		if tt.mode == "silent" {
			timeout = 50 * time.Millisecond
		}
		m, err := module.Exec(module.ExecOptions{Name: tt.mode, Hooks: tt.hooks, Command: run(t, tt.mode),
			Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		model := &said{events: texts("one t", "wo", " three")}
		got := ""
		for e, err := range module.New(model, module.Options{Modules: []module.Module{m}}).Stream(t.Context(),
			&chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hello")}}}) {
			if err != nil {
				t.Fatal(err)
			}
			got += e.Text
		}
		if read := model.req.Messages[0].Text(); got != tt.shown || read != tt.read {
			t.Errorf("%s on %v: shown %q and read %q, want %q and %q", tt.mode, tt.hooks, got, read, tt.shown, tt.read)
		}
	}
}

// TestExecLeft goes away in the middle: the program ends with the stream.
func TestExecLeft(t *testing.T) {
	m, err := module.Exec(module.ExecOptions{Name: "left", Hooks: []module.Hook{module.OnChunk},
		Command: run(t, "upper"), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for e := range module.New(&said{events: texts("one", "two")}, module.Options{Modules: []module.Module{m}}).Stream(
		t.Context(), &chat.Request{}) {
		if e.Text != "ONE" {
			t.Errorf("got %q", e.Text)
		}
		break // goleak finds what is left
	}
}

func TestExecMetadata(t *testing.T) {
	m, err := module.Exec(module.ExecOptions{Name: "meta", Hooks: []module.Hook{module.OnMessage},
		Command: run(t, "upper"), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	after := module.Module{Order: 1, Input: func(_ context.Context, x *module.Exchange, text string) (string, error) {
		seen = x.Meta["asked"]
		return text, nil
	}}
	show(t, module.New(&said{}, module.Options{Modules: []module.Module{after, m}}),
		&chat.Request{Model: "coder", Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("a")}}})
	if want := "on_message coder;"; seen != want {
		t.Errorf("the next module saw %q, want %q", seen, want)
	}
}

func TestExecOptions(t *testing.T) {
	for _, hooks := range [][]module.Hook{nil, {"on_monday"}, {module.OnChunk, module.OnComplete}} {
		if _, err := module.Exec(module.ExecOptions{Name: "x", Hooks: hooks}); err == nil {
			t.Errorf("%v: no error", hooks)
		}
	}
}
