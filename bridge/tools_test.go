package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/bridge"
	"wield/chat"
)

// TestBrokenSchema says which tool's schema is broken, where, and asks nothing of the model.
func TestBrokenSchema(t *testing.T) {
	for _, tc := range []struct {
		schema string
		want   []string
	}{
		{`{"type":"object","properties":{"a":{"type":"strin"}}}`,
			[]string{`at /properties/a/type: `, "string"}},
		{`{"properties":{"a":{"type":7},"b":{"$ref":"#/$defs/none"}}}`,
			[]string{"at /properties/a/type: ", "at /properties/b/$ref: "}},
		{`{"properties":{"a":{"pattern":"["}}}`, []string{"at /properties/a/pattern: "}},
		{`{"properties":{"a":{"pattern":"(?=x)"},"b":{"type":"strin"}}}`, []string{"at /properties/b/type: "}},
		{`{"type":`, []string{"no JSON Schema: "}},
	} {
		req := ask(weather, chat.Tool{Name: "x", Parameters: json.RawMessage(tc.schema)})
		for _, mode := range []bridge.Mode{bridge.ModeText, bridge.ModeNative} {
			events := 0
			for _, err := range bridge.New(&fake{t: t}, bridge.Options{Mode: mode}).Stream(t.Context(), req) {
				var e *chat.Error
				if events++; !errors.As(err, &e) || e.Kind != chat.ErrBadRequest ||
					e.Param != "tools[1].function.parameters" || e.Code != "invalid_function_parameters" {
					t.Fatalf("%s: %+v", tc.schema, err)
				}
				for _, want := range append(tc.want, `tool "x"`) {
					if !strings.Contains(e.Message, want) {
						t.Errorf("%s: %q does not hold %q", tc.schema, e.Message, want)
					}
				}
			}
			if events != 1 {
				t.Errorf("%s: %d events", tc.schema, events)
			}
		}
	}
}

// TestPatterns takes schemas with patterns that cannot be matched in linear time: the rest of the schema holds.
func TestPatterns(t *testing.T) {
	const parameters = `{"type":"object","properties":{"id":{"type":"string","pattern":"^(?!x).*$","maxLength":3},
		"pattern":{"type":"string"},"list":{"prefixItems":[{"pattern":"(a)\\1"}]},"days":{"type":"integer"}},
		"patternProperties":{"^(?=a/~)":{"type":"string"}},"required":["id"]}`
	var log bytes.Buffer
	m := &fake{t: t}
	b := bridge.New(m, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true},
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, tc := range []struct{ args, want string }{
		{`{"id":"xyz"}`, `f({"id":"xyz"})`},
		{`{"id":"a","days":"3"}`, `f({"id":"a","days":3})`},
		{`{"id":"a","list":["b"],"pattern":"("}`, `f({"id":"a","list":["b"],"pattern":"("})`},
		{`{}`, ""},
		{`{"id":"abcd"}`, ""},
	} {
		m.answers = append(m.answers, answer{text(`{"name":"f","arguments":` + tc.args + `}`)})
		s := collect(t, b.Stream(t.Context(), ask(chat.Tool{Name: "f", Parameters: json.RawMessage(parameters)})))
		if got := strings.Join(s.Calls, ""); got != tc.want || tc.want == "" && len(s.Rejected) != 1 {
			t.Errorf("%s is %q, %q", tc.args, got, s.Rejected)
		}
	}
	m.answers = append(m.answers, answer{text(`{"name":"g","arguments":{"id":"a"}}`)})
	if s := collect(t,
		b.Stream(t.Context(), ask(chat.Tool{Name: "g", Parameters: json.RawMessage(parameters)}))); !cmp.Equal(s.Calls,
		[]string{`g({"id":"a"})`}) {
		t.Errorf("another tool with this schema: %+v", s)
	}
	for _, want := range []string{"level=WARN", "tool=f", "/properties/id/pattern",
		"/properties/list/prefixItems/0/pattern", "/patternProperties/^(?=a~1~0)"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not hold %q once: %s", want, &log)
		}
	}
}

// TestSchemasTooLarge refuses schemas that would take long to compile, and takes those of as many bytes as are allowed.
func TestSchemasTooLarge(t *testing.T) {
	half := json.RawMessage(`{"description":"` + strings.Repeat("x", 1<<20-len(`{"description":""}`)) + `"}`)
	for _, tt := range []struct {
		more string
		want bool
	}{{`{"type":"object"}`, true}, {"", false}} {
		req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}},
			Tools: []chat.Tool{{Name: "a", Parameters: half}, {Name: "b", Parameters: half}}}
		if tt.more != "" {
			req.Tools = append(req.Tools, chat.Tool{Name: "c", Parameters: json.RawMessage(tt.more)})
		}
		refused := false
		for _, err := range bridge.New(fixed{}, bridge.Options{Mode: bridge.ModeNative}).Stream(t.Context(), req) {
			var e *chat.Error
			refused = refused ||
				errors.As(err, &e) && e.Param == "tools" && strings.Contains(e.Message, "2097169 bytes")
		}
		if refused != tt.want {
			t.Errorf("%q more: refused %v", tt.more, refused)
		}
	}
}

// A fixed model says hello.
type fixed struct{}

func (fixed) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		_ = yield(chat.Event{Kind: chat.KindText, Text: "hello"}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

// TestPatternsOfAllTools offers tools whose patterns are taken one by one, and are too large together.
func TestPatternsOfAllTools(t *testing.T) {
	for n, ok := range map[int]bool{3: true, 20: false} {
		var tools []chat.Tool
		for i := range n {
			name := "t" + string(rune('a'+i))
			tools = append(tools,
				chat.Tool{Name: name,
					Parameters: json.RawMessage(`{"properties": {"` + name + `": {"pattern": "` +
						strings.Repeat("((a{1,30}){1,30})", 20) + `"}}}`)})
		}
		var failed *chat.Error
		for _, err := range bridge.New(fixed{}, bridge.Options{Mode: bridge.ModeNative}).Stream(t.Context(),
			ask(tools...)) {
			errors.As(err, &failed)
		}
		if ok != (failed == nil) ||
			!ok && (failed.Kind != chat.ErrBadRequest || !strings.Contains(failed.Message, "too large together")) {
			t.Errorf("%d tools: %v", n, failed)
		}
	}
}

// TestLargeSchemas: schemas of too many bytes or values are refused before they are compiled, in tools and in the
// form of an answer.
func TestLargeSchemas(t *testing.T) {
	enum := func(values int, value string) json.RawMessage {
		return json.RawMessage(`{"type": "object", "properties": {"a": {"enum": [` +
			strings.TrimSuffix(strings.Repeat(value+",", values), ",") + `]}}}`)
	}
	for _, c := range []struct {
		schema json.RawMessage
		want   string // in the error; empty: there is none
	}{
		{enum(1, `"`+strings.Repeat("a,[", 400_000)+`\""`), ""},
		{enum(99_000, `1`), ""},
		{enum(110_000, `1`), "values together, more than the 100000"},
		{enum(110_000, `[]`), "values together"},
		{enum(3, `"`+strings.Repeat("a", 1<<20)+`"`), "bytes together"},
	} {
		tools := ask(chat.Tool{Name: "f", Parameters: c.schema})
		form := ask()
		form.Format = &chat.Format{Kind: chat.FormatSchema, Name: "x", Schema: c.schema}
		for _, req := range []*chat.Request{tools, form} {
			var failed *chat.Error
			for _, err := range bridge.New(fixed{}, bridge.Options{Mode: bridge.ModeNative}).Stream(t.Context(), req) {
				errors.As(err, &failed)
			}
			refused := failed != nil && failed.Kind == chat.ErrBadRequest &&
				strings.Contains(failed.Message, "together")
			if refused != (c.want != "") || refused && !strings.Contains(failed.Message, c.want) {
				t.Errorf("%.60s: %v", c.schema, failed)
			}
		}
	}
}
