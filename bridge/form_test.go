package bridge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/prompt"
	"wield/schema"
)

const citySchema = `{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"}},"required":["city"],"additionalProperties":false}`

func formed(kind chat.FormatKind, tools ...chat.Tool) *chat.Request {
	req := ask(tools...)
	req.Format = &chat.Format{Kind: kind, Name: "city"}
	if kind == chat.FormatSchema {
		req.Format.Schema = json.RawMessage(citySchema)
	}
	return req
}

// TestForm: what a client sees of answers that should have a form. The first failure is asked for again, and
// nothing of it is seen.
func TestForm(t *testing.T) {
	long := `{"city":"` + strings.Repeat("x", 3000) + `"}`
	for _, tc := range []struct {
		name    string
		kind    chat.FormatKind
		answers []answer
		content string
		bounces int
		says    string // is in the message that corrects
	}{
		{"good", chat.FormatSchema, []answer{{text(` {"city":"Rome"}` + "\n")}}, ` {"city":"Rome"}` + "\n", 0, ""},
		{"long", chat.FormatSchema, []answer{{text(long)}}, long, 0, ""},
		{"any object", chat.FormatJSON, []answer{{text(`{"x":1}`)}}, `{"x":1}`, 0, ""},
		{"a list is no object", chat.FormatJSON, []answer{{text(`[1]`)}, {text(`{}`)}}, `{}`, 1, "no JSON object"},
		{"in a code block", chat.FormatSchema, []answer{{text("```json\n{\"city\":\"Rome\"}\n```")}},
			`{"city":"Rome"}`, 0, ""},
		{"coerced", chat.FormatSchema, []answer{{text(`{'city': 'Rome', "n": "5",}`)}}, `{"city": "Rome", "n": 5}`, 0,
			""},
		{"prose", chat.FormatSchema, []answer{{text("It is Rome.")}, {text(`{"city":"Rome"}`)}}, `{"city":"Rome"}`, 1,
			"not JSON"},
		{"prose around", chat.FormatSchema, []answer{{text("Here {it is}: {\"city\":\"Rome\"}\nAnything else?")}},
			`{"city":"Rome"}`, 0, ""},
		{"prose around what is broken", chat.FormatSchema, []answer{{text("Here: {'city': 'Rome'}.")}},
			`{"city": "Rome"}`, 0, ""},
		{"one that fits among others", chat.FormatSchema,
			[]answer{{text(`For {"town":"Rome"} read {"city":"Rome"}.`)}}, `{"city":"Rome"}`, 0, ""},
		{"two that fit", chat.FormatSchema, []answer{{text(`{"city":"Rome"} or {"city":"Paris"}`)},
			{text(`{"city":"Rome"}`)}}, `{"city":"Rome"}`, 1, "not JSON"},
		{"a code block with a lead-in and an end", chat.FormatSchema,
			[]answer{{text("Here you are:\n```json\n{\"city\": \"Rome\",}\n```\nI hope it helps {you}.")}},
			`{"city": "Rome"}`, 0, ""},
		{"two code blocks", chat.FormatSchema,
			[]answer{{text("```\n{\"town\":1}\n```\nor\n```\n{\"city\":\"Rome\"}\n```")}}, `{"city":"Rome"}`, 0, ""},
		{"a code block of the wrong form", chat.FormatSchema,
			[]answer{{text("So:\n```json\n{\"town\":\"Rome\"}\n```")}, {text(`{"city":"Rome"}`)}}, `{"city":"Rome"}`,
			1, "not JSON"},
		{"wrong member", chat.FormatSchema, []answer{{text(`{"town":"Rome"}`)}, {text(`{"city":"Rome"}`)}},
			`{"city":"Rome"}`, 1, "city"},
		{"twice the same name", chat.FormatJSON, []answer{{text(`{"a":1,"a":2}`)}}, `{"a":2}`, 0, ""},
		{"twice wrong: as it was written", chat.FormatSchema, []answer{{text("Rome")}, {text("Still Rome.")}},
			"Still Rome.", 1, "not JSON"},
		{"nothing", chat.FormatSchema, []answer{{}, {text(`{"city":"Rome"}`)}}, `{"city":"Rome"}`, 1, "empty"},
		{"cut off", chat.FormatSchema, []answer{{text(`{"city":"Ro`), finish(chat.FinishLength)}}, `{"city":"Ro`, 0,
			""},
	} {
		for _, mode := range []bridge.Mode{bridge.ModeText, bridge.ModeNative} {
			for name, cut := range chunkings() {
				f := &fake{t: t, answers: tc.answers, cut: cut}
				req := formed(tc.kind)
				req.Stream = true
				s := collect(t, bridge.New(f, bridge.Options{Mode: mode}).Stream(t.Context(), req))
				if s.Content != tc.content || len(s.Bounces) != tc.bounces || s.Err != "" {
					t.Errorf("%s, %s, %s: %q after %d bounces, error %q; want %q after %d", tc.name, mode, name,
						s.Content, len(s.Bounces), s.Err, tc.content, tc.bounces)
				}
				if len(s.Bounces) > 0 &&
					(!strings.HasPrefix(s.Bounces[0], "FORMAT_ERROR: ") || !strings.Contains(s.Bounces[0], tc.says)) {
					t.Errorf("%s: the model is told %q", tc.name, s.Bounces[0])
				}
				if f.requests[0].Format != nil || !strings.Contains(told(f.requests[0]), "MUST be one JSON") {
					t.Errorf("%s, %s: a backend that cannot be held is sent %+v, told %q", tc.name, mode,
						f.requests[0].Format, told(f.requests[0]))
				}
			}
		}
	}
}

func told(req *chat.Request) string {
	var b strings.Builder
	for i := range req.Messages {
		b.WriteString(req.Messages[i].Text() + "\n")
	}
	return b.String()
}

// TestUnformed: when no second try is left, text without the form is sent with a note that says why. With Strict a
// whole answer is an error; a stream is sent.
func TestUnformed(t *testing.T) {
	for _, tt := range []struct{ strict, stream, fails bool }{{false, false, false}, {false, true, false},
		{true, true, false}, {true, false, true}} {
		f := &fake{t: t, answers: []answer{{text("Rome")}, {text("Still Rome.")}}}
		req := formed(chat.FormatSchema)
		req.Stream = tt.stream
		var said, note string
		var failed error
		for e, err := range bridge.New(f, bridge.Options{Strict: tt.strict}).Stream(t.Context(), req) {
			switch failed = err; {
			case e.Kind == chat.KindText:
				said += e.Text
			case e.Kind == chat.KindNote && e.Detail.(*chat.NoteDetail).Kind == chat.NoteFormat:
				note = e.Detail.(*chat.NoteDetail).After
			}
		}
		if tt.fails {
			if chat.AsError(failed).Code != "format_mismatch" || said != "" {
				t.Errorf("%+v: %v, text %q", tt, failed, said)
			}
		} else if failed != nil || said != "Still Rome." || note != "it is not JSON" {
			t.Errorf("%+v: %v, text %q, note %q", tt, failed, said, note)
		}
	}
}

// TestFormBesideTools: a call is no answer in the wrong form, and the text in front of it is seen.
func TestFormBesideTools(t *testing.T) {
	req := formed(chat.FormatSchema, weather)
	s, f := play(t, bridge.Options{Mode: bridge.ModeText}, req, answer{text("One moment.\n"), text(textCall)})
	if s.Content != "One moment." || len(s.Calls) != 1 || len(s.Bounces) != 0 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(told(f.requests[0]), "Unless you call a tool, your response MUST be one JSON value") {
		t.Errorf("told %q", told(f.requests[0]))
	}
	s, _ = play(t, bridge.Options{Mode: bridge.ModeNative}, req,
		join(answer{text("One moment. ")}, function("c1", "get_weather", `{"city":"Paris"}`)))
	if s.Content != "One moment. " || len(s.Calls) != 1 || len(s.Bounces) != 0 {
		t.Errorf("native: %+v", s)
	}
}

// TestHold: which backend is held to which form, and which model is told of it.
func TestHold(t *testing.T) {
	required := chat.Choice{Mode: chat.ChoiceRequired}
	for _, tc := range []struct {
		name   string
		hold   bridge.Constraint
		mode   bridge.Mode
		tools  bool
		choice chat.Choice
		held   string // "": not; form: the client's; else the beginning of the schema
		told   bool
		asks   bool // for tools, natively
	}{
		{"none", bridge.ConstraintNone, bridge.ModeText, false, chat.Choice{}, "", true, false},
		{"openai", bridge.ConstraintOpenAI, bridge.ModeText, false, chat.Choice{}, "form", false, false},
		{"vllm", bridge.ConstraintVLLM, bridge.ModeNative, false, chat.Choice{}, "form", true, false},
		{"auto, tools", bridge.ConstraintAuto, bridge.ModeNative, true, chat.Choice{}, "form", true, true},
		{"vllm, tools", bridge.ConstraintVLLM, bridge.ModeNative, true, chat.Choice{}, "", true, true},
		{"tools in text", bridge.ConstraintOpenAI, bridge.ModeText, true, chat.Choice{}, "", true, false},
		{"required, vllm", bridge.ConstraintVLLM, bridge.ModeText, true, required, `{"type":"structural_tag",`, false,
			false},
		{"required, sglang", bridge.ConstraintSGLang, bridge.ModeText, true, required, `{"type":"structural_tag",`,
			false, false},
		{"required, llamacpp", bridge.ConstraintLlamaCPP, bridge.ModeText, true, required, "root ::= ", false, false},
		{"required, openai", bridge.ConstraintOpenAI, bridge.ModeText, true, required,
			`{"type":"object","properties":{"tool_calls":{"type":"array"`, false, false},
		{"required, none", bridge.ConstraintNone, bridge.ModeText, true, required, "", false, false},
		{"required, native", bridge.ConstraintVLLM, bridge.ModeNative, true, required, "", false, true},
		{"required, ollama", bridge.ConstraintOllama, bridge.ModeAuto, true, required, `{"type":"array"`, false, false},
		{"named", bridge.ConstraintLlamaCPP, bridge.ModeText, true,
			chat.Choice{Mode: chat.ChoiceNamed, Name: "get_weather"}, "root ::= ", false, false},
		{"named, ollama", bridge.ConstraintOllama, bridge.ModeText, true,
			chat.Choice{Mode: chat.ChoiceNamed, Name: "get_weather"}, `{"type":"array","minItems":1,"maxItems":1,`,
			false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := formed(chat.FormatSchema)
			if tc.tools {
				req = formed(chat.FormatSchema, weather)
			}
			req.Choice = tc.choice
			reply := text(`{"city":"Rome"}`)
			if tc.choice.Mode != chat.ChoiceAuto {
				reply = text(`[{"name":"get_weather","arguments":{"city":"Rome"}}]`)
			}
			s, f := play(t, bridge.Options{Mode: tc.mode, Server: bridge.Server{Constraint: tc.hold}}, req,
				answer{reply})
			if len(s.Bounces) > 0 || s.Err != "" || len(s.Calls) == 0 && s.Content != `{"city":"Rome"}` {
				t.Errorf("%+v", s)
			}
			got := f.requests[0]
			switch {
			case tc.held == "" && got.Format != nil, tc.held != "" && got.Format == nil:
				t.Fatalf("held to %+v", got.Format)
			case tc.held == "form" && string(got.Format.Schema) != citySchema,
				tc.held != "" && tc.held != "form" && !strings.HasPrefix(string(got.Format.Schema)+got.Format.Grammar,
					tc.held):
				t.Errorf("held to %s%s", got.Format.Schema, got.Format.Grammar)
			}
			if has := strings.Contains(told(got), "JSON Schema"); has != tc.told {
				t.Errorf("told: %v\n%s", has, told(got))
			}
			if (len(got.Tools) > 0) != tc.asks {
				t.Errorf("%d tools", len(got.Tools))
			}
		})
	}
}

// TestHoldSchema: the schema of calls compiles, with references of the tools' own schemas, and takes what the
// decoder reads as calls of these tools.
func TestHoldSchema(t *testing.T) {
	tools := []chat.Tool{weather, {Name: "bare"}, {Name: "tree", Parameters: json.RawMessage(
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"type":"integer"}},"required":["v"]}}}`)}}
	for hold, wrap := range map[bridge.Constraint][2]string{bridge.ConstraintOllama: {"", ""},
		bridge.ConstraintOpenAI: {`{"tool_calls":`, `}`}} {
		req := ask(tools...)
		req.Choice.Mode = chat.ChoiceRequired
		calls := wrap[0] +
			`[{"name":"u:get_weather","arguments":{"city":"Rome"}},{"name":"u:bare","arguments":{}},{"name":"u:tree","arguments":{"root":{"v":1,"next":{"v":2}}}}]` + wrap[1]
		s, f := play(t, bridge.Options{Mode: bridge.ModeText, Server: bridge.Server{Constraint: hold},
			Decode: dialect.Options{Prefix: "u:"}},
			req, answer{text(calls)})
		if want := []string{`get_weather({"city":"Rome"})`, `bare({})`,
			`tree({"root":{"v":1,"next":{"v":2}}})`}; !cmp.Equal(want, s.Calls) {
			t.Errorf("%s: %v", hold, s.Calls)
		}
		form := f.requests[0].Format
		compiled, err := schema.Compile(form.Schema)
		if err != nil {
			t.Fatalf("%s: %v\n%s", hold, err, form.Schema)
		}
		if v := compiled.Validate(calls); len(v) > 0 {
			t.Errorf("%s: %v", hold, v)
		}
		for _, bad := range []string{`[]`, `[{"name":"other","arguments":{}}]`,
			`[{"name":"u:get_weather","arguments":{}}]`, `[{"name":"u:tree","arguments":{"root":{"v":"x"}}}]`,
			`[{"name":"u:tree","arguments":{"root":{"v":1,"next":{}}}}]`} {
			if v := compiled.Validate(wrap[0] + bad + wrap[1]); len(v) == 0 {
				t.Errorf("%s: %s fits", hold, bad)
			}
		}
	}
	// A schema that cannot be moved: the model is told in words.
	req := ask(chat.Tool{Name: "a", Parameters: json.RawMessage(`{"$id":"x","type":"object"}`)})
	req.Choice.Mode = chat.ChoiceRequired
	_, f := play(t, bridge.Options{Mode: bridge.ModeText, Server: bridge.Server{Constraint: bridge.ConstraintOllama}},
		req, answer{text(`{"name":"a","arguments":{}}`)})
	if f.requests[0].Format != nil {
		t.Errorf("held to %s", f.requests[0].Format.Schema)
	}
}

// TestHoldRefused: a backend that refuses a form is asked without it, and not again for this form until the
// memory lapses.
func TestHoldRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeFormatUnsupported,
			Message: "response_format is not supported"}
		good := answer{text(`{"city":"Rome"}`)}
		f := &fake{t: t, answers: []answer{{}, good, good, good}, errs: []error{refused}}
		b := bridge.New(f,
			bridge.Options{Mode: bridge.ModeNative,
				Server: bridge.Server{Constraint: bridge.ConstraintOpenAI, Support: &bridge.Support{For: time.Minute}}})
		for range 2 {
			if s := collect(t, b.Stream(t.Context(), formed(chat.FormatSchema))); s.Content != `{"city":"Rome"}` ||
				s.Err != "" {
				t.Errorf("%+v", s)
			}
		}
		time.Sleep(2 * time.Minute)
		collect(t, b.Stream(t.Context(), formed(chat.FormatSchema)))
		for i, held := range []bool{true, false, false, true} {
			if got := f.requests[i]; (got.Format != nil) != held || strings.Contains(told(got), "JSON Schema") == held {
				t.Errorf("request %d: held to %+v, told %q", i, got.Format, told(got))
			}
		}
	})
}

// TestFormAsTool: a backend with function calling and no other way to hold its answer is offered a tool whose
// arguments are the answer. What it makes of that is checked as any answer is.
func TestFormAsTool(t *testing.T) {
	good := call(chat.OriginFunction, "c1", "structured_output", `{"city":`, `"Rome"}`)
	for _, tc := range []struct {
		name    string
		answers []answer
		errs    []error
		bounces int
		asks    []bool // each request offers the tool
	}{
		{"called", []answer{join(good, answer{finish(chat.FinishCalls)})}, nil, 0, []bool{true}},
		{"written", []answer{{text(`{"city":"Rome"}`)}}, nil, 0, []bool{true}},
		{"wrong first", []answer{call(chat.OriginFunction, "c1", "structured_output", `{"town":"Rome"}`), good}, nil,
			1, []bool{true, true}},
		{"refused", []answer{{}, {text(`{"city":"Rome"}`)}},
			[]error{&chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeToolsUnsupported}}, 0, []bool{true, false}},
	} {
		for _, stream := range []bool{false, true} {
			f := &fake{t: t, answers: tc.answers, errs: tc.errs}
			req := formed(chat.FormatSchema)
			req.Stream = stream
			s := collect(t,
				bridge.New(f,
					bridge.Options{Mode: bridge.ModeNative,
						Server: bridge.Server{Constraint: bridge.ConstraintNone}}).Stream(t.Context(), req))
			if s.Content != `{"city":"Rome"}` || s.Finish != chat.FinishStop || len(s.Calls)+len(s.Rejected) > 0 ||
				len(s.Bounces) != tc.bounces || s.Err != "" {
				t.Errorf("%s: %+v", tc.name, s)
			}
			for i, asks := range tc.asks {
				if got := f.requests[i].Tools; (len(got) == 1 && got[0].Name == "structured_output" &&
					string(got[0].Parameters) == citySchema) != asks {
					t.Errorf("%s: request %d offers %v", tc.name, i, got)
				}
			}
		}
	}
	f := &fake{t: t, answers: []answer{{text(`{"city":"Rome"}`)}}}
	collect(t,
		bridge.New(f,
			bridge.Options{Mode: bridge.ModeNative, Server: bridge.Server{Constraint: bridge.ConstraintOpenAI}}).Stream(
			t.Context(), formed(chat.FormatSchema)))
	if len(f.requests[0].Tools) > 0 {
		t.Error("a backend that can be held is offered a tool")
	}
}

// TestFormStreams: where the backend is held to the form, a long answer flows from its first KiB on.
func TestFormStreams(t *testing.T) {
	long := `{"city":"` + strings.Repeat("x", 4000) + `"}`
	req := formed(chat.FormatSchema)
	req.Stream = true
	for hold, flows := range map[bridge.Constraint]bool{bridge.ConstraintVLLM: true, bridge.ConstraintNone: false} {
		f := &fake{t: t, answers: []answer{{text(long)}},
			cut: func(s string) []string { return []string{s[:2000], s[2000:]} }}
		texts := 0
		for e, err := range bridge.New(f,
			bridge.Options{Mode: bridge.ModeNative, Server: bridge.Server{Constraint: hold}}).Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.KindText {
				if texts++; texts == 1 && flows {
					break // before the second piece
				}
			}
		}
		if (f.stopped == 1) != flows {
			t.Errorf("%s: stopped %d", hold, f.stopped)
		}
	}
}

// TestBrokenForm: a schema that is none is the client's error, found before the model is asked.
func TestBrokenForm(t *testing.T) {
	req := formed(chat.FormatSchema)
	req.Format.Schema = json.RawMessage(`{"type":"objekt"}`)
	f := &fake{t: t}
	s := collect(t, bridge.New(f, bridge.Options{}).Stream(t.Context(), req))
	if !strings.Contains(s.Err, "the form that is asked for holds no JSON Schema: at /type") ||
		len(f.requests) > 0 {
		t.Errorf("%q", s.Err)
	}
	req.Format.Schema = json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)"}},"required":["a"]}`)
	s, _ = play(t, bridge.Options{Mode: bridge.ModeText}, req, answer{text(`{"a":"y"}`)})
	if s.Content != `{"a":"y"}` || s.Err != "" {
		t.Errorf("a pattern that looks ahead: %+v", s)
	}
}

// TestProbe: a model that makes no call when it is told to gets its tools in text, and is asked once.
func TestProbe(t *testing.T) {
	down := &chat.Error{Kind: chat.ErrUnavailable, Message: "down"}
	unsupported := &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeToolsUnsupported}
	for _, tc := range []struct {
		name   string
		answer answer
		err    error
		native bool
		probes int // of two requests
	}{
		{"calls", function("c", "ping", "{}"), nil, true, 1},
		{"chats", answer{text("pong")}, nil, false, 1},
		{"writes the call as text", answer{text(`<tool_call>{"name":"ping","arguments":{}}</tool_call>`)}, nil,
			false, 1},
		{"refuses", nil, unsupported, false, 1},
		{"is away", nil, down, true, 2},
	} {
		f := &fake{t: t, answers: []answer{tc.answer, {text("a")}}, errs: []error{tc.err}}
		b := bridge.New(f, bridge.Options{Server: bridge.Server{Probe: true}})
		if tc.probes == 2 {
			f.answers, f.errs = append(f.answers, tc.answer), append(f.errs, nil, tc.err)
		}
		f.answers = append(f.answers, answer{text("b")})
		for range 2 {
			collect(t, b.Stream(t.Context(), ask(weather)))
		}
		last := f.requests[len(f.requests)-1]
		if len(f.requests) != 2+tc.probes || (len(last.Tools) > 0) != tc.native {
			t.Errorf("%s: %d requests, the last with %d tools", tc.name, len(f.requests), len(last.Tools))
		}
		if p := f.requests[0]; len(p.Tools) != 1 || p.Tools[0].Name != "ping" ||
			p.Choice.Mode != chat.ChoiceRequired || p.MaxTokens == 0 {
			t.Errorf("%s: the probe is %+v", tc.name, p)
		}
	}
}

// TestRefusalLapses: what a model refused is asked of it again after a while.
func TestRefusalLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &bridge.Support{For: time.Minute}
		s.SetRefused("m", true)
		if !s.Refused("m") || s.Refused("n") {
			t.Error("not remembered")
		}
		time.Sleep(time.Minute)
		if s.Refused("m") {
			t.Error("not forgotten")
		}
		for i := range 5000 {
			s.SetRefused(strings.Repeat("x", i), true)
		}
	})
}

// TestHeldFree: where the choice is the model's own, text in its dialect is held, and nothing else is.
func TestHeldFree(t *testing.T) {
	for _, tc := range []struct {
		name    string
		o       bridge.Options
		req     *chat.Request
		grammar string // what the form begins with; "": there is none
	}{
		{"llamacpp", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP}}, ask(weather),
			"root ::= "},
		{"vllm", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintVLLM}}, ask(weather),
			`{"type":"structural_tag"`},
		{"ollama", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintOllama}}, ask(weather), ""},
		{"openai", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintOpenAI}}, ask(weather), ""},
		{"native", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP},
			Mode: bridge.ModeNative}, ask(weather), ""},
		{"no tools", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP}}, ask(), ""},
		{"an answer in a form", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP}},
			formed(chat.FormatSchema, weather), ""},
		{"a dialect that cannot be held", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP},
			Decode: dialect.Options{Dialect: "yaml-style"}}, ask(weather), ""},
		{"words of the user's own", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP},
			Prompt: prompt.Options{ForTools: "Call {{tools}} as you like."}}, ask(weather), ""},
	} {
		if tc.o.Mode == "" {
			tc.o.Mode = bridge.ModeText
		}
		if tc.req.Format != nil {
			tc.o.Bounce.Off = true
		}
		_, f := play(t, tc.o, tc.req, answer{text("Hello.")})
		held := f.requests[0].Format
		if tc.grammar == "" && held != nil && held.Kind == chat.FormatGrammar ||
			tc.grammar != "" && (held == nil || !strings.HasPrefix(held.Grammar, tc.grammar)) {
			t.Errorf("%s: held to %+v", tc.name, held)
		}
	}
}

// TestSecondTryHeld: after a call that cannot be used the answer has to be one, and a model that is held to
// another form than its dialect's is told so.
func TestSecondTryHeld(t *testing.T) {
	wrong, right := answer{text("```json\n{\"name\":\"get_weather\",\"arguments\":{}}\n```")}, answer{text(textCall)}
	for hold, begins := range map[bridge.Constraint]string{bridge.ConstraintLlamaCPP: "root ::= (",
		bridge.ConstraintOpenAI: `{"type":"object","properties":{"tool_calls"`,
		bridge.ConstraintOllama: `{"type":"array"`} {
		s, f := play(t, bridge.Options{Mode: bridge.ModeText, Server: bridge.Server{Constraint: hold}}, ask(weather),
			wrong, right)
		if len(s.Calls) != 1 || len(s.Bounces) != 1 || len(f.requests) != 2 {
			t.Fatalf("%s: %+v", hold, s)
		}
		held := f.requests[1].Format
		if held == nil ||
			!strings.HasPrefix(string(held.Schema)+strings.Replace(held.Grammar, "root ::= \"", "root ::= (\"", 1),
				begins) {
			t.Errorf("%s: held to %+v", hold, held)
		}
		if said := strings.Contains(s.Bounces[0], "JSON of this shape"); said == (hold == bridge.ConstraintLlamaCPP) {
			t.Errorf("%s: told %q", hold, s.Bounces[0])
		}
	}
	// A backend that refuses is asked once more without.
	f := &fake{t: t, answers: []answer{wrong, {}, right},
		errs: []error{nil, &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeFormatUnsupported}}}
	b := bridge.New(f,
		bridge.Options{Mode: bridge.ModeText, Server: bridge.Server{Constraint: bridge.ConstraintOpenAI}})
	for _, err := range b.Stream(t.Context(), ask(weather)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(f.requests) != 3 || f.requests[2].Format != nil {
		t.Errorf("%d requests, the last held to %+v", len(f.requests), f.requests[len(f.requests)-1].Format)
	}
}

// TestRequiredRepetition: a required answer that is held to calls ends before a call that it has had.
func TestRequiredRepetition(t *testing.T) {
	call := func(city string) string {
		return `<tool_call>{"name":"get_weather","arguments":{"city":"` + city + `"}}</tool_call>` + "\n"
	}
	for _, tc := range []struct {
		name string
		o    bridge.Options
		mode chat.ChoiceMode
		want int
	}{
		{"held", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP}}, chat.ChoiceRequired, 2},
		{"not held", bridge.Options{}, chat.ChoiceRequired, 4},
		{"of its own accord", bridge.Options{Server: bridge.Server{Constraint: bridge.ConstraintLlamaCPP}},
			chat.ChoiceAuto, 4},
	} {
		req := ask(weather)
		req.Choice.Mode = tc.mode
		tc.o.Mode, tc.o.Decode.Dialect = bridge.ModeText, "hermes"
		s, _ := play(t, tc.o, req, answer{text(call("Rome")), text(call("Paris")), text(call("Rome")),
			text(call("Oslo"))})
		if len(s.Calls) != tc.want || s.Content != "" {
			t.Errorf("%s: %d calls, content %q", tc.name, len(s.Calls), s.Content)
		}
	}
}

// TestRequiredIdle: white space without end behind a required call is not shown, and ends the answer.
func TestRequiredIdle(t *testing.T) {
	call := "{\n  \"tool_calls\": [\n    {\"name\": \"get_weather\", \"arguments\": {\"city\": \"%s\"}}"
	a := answer{text(fmt.Sprintf(call, "Rome")), text("\n    "),
		text(", " + fmt.Sprintf(call, "Oslo")[len("{\n  \"tool_calls\": [\n    "):]), text("]")}
	for range 200 {
		a = append(a, text("\n"))
	}
	for _, mode := range []chat.ChoiceMode{chat.ChoiceRequired, chat.ChoiceAuto} {
		req := streamed(ask(weather))
		req.Choice.Mode = mode
		f := &fake{t: t, answers: []answer{a}}
		read := 0
		calls, shown := 0, ""
		for e, err := range bridge.New(f,
			bridge.Options{Mode: bridge.ModeText, Server: bridge.Server{Constraint: bridge.ConstraintOpenAI}}).Stream(
			t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Kind {
			case chat.KindCallEnd:
				calls++
			case chat.KindText:
				shown += e.Text
			}
			read = max(read, e.End)
		}
		if required := mode == chat.ChoiceRequired; calls != 2 || shown != "" || required != (read < 250) {
			t.Errorf("%s: %d calls, %d bytes read, shown %q", mode, calls, read, shown)
		}
	}
}

// TestHoldKindRefused: a server that knows no json_schema at all gets every schema in the place that it does know.
func TestHoldKindRefused(t *testing.T) {
	refused := &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeFormatKindUnsupported,
		Message: "Input should be 'text' or 'json_object'"}
	good := answer{text(`{"city":"Rome"}`)}
	f := &fake{t: t, answers: []answer{{}, good, good, {}, good}, errs: []error{refused, nil, nil, refused, nil}}
	b := bridge.New(f,
		bridge.Options{Mode: bridge.ModeNative, Server: bridge.Server{Constraint: bridge.ConstraintAuto}})
	other := formed(chat.FormatSchema)
	other.Format.Schema = json.RawMessage(`{"type":"object","required":["city"]}`)
	for i, req := range []*chat.Request{formed(chat.FormatSchema), other, other} {
		for _, err := range b.Stream(t.Context(), req) {
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
	}
	var kinds []chat.FormatKind
	for _, r := range f.requests {
		kind := chat.FormatText
		if r.Format != nil {
			kind = r.Format.Kind
		}
		kinds = append(kinds, kind)
	}
	if want := []chat.FormatKind{chat.FormatSchema, chat.FormatJSON, chat.FormatJSON, chat.FormatJSON,
		chat.FormatText}; !cmp.Equal(kinds, want) {
		t.Errorf("asked with %v, want %v", kinds, want)
	}
}
