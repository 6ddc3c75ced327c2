package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wield/bridge"
	"wield/bridge/internal/grammar"
	"wield/chat"
	"wield/schema"
)

// plainTemplate writes each message on a line, behind the names of the tools. It says what it was asked for.
type plainTemplate struct {
	traits bridge.TemplateTraits
	err    error
}

func (p plainTemplate) Inspect(ctx context.Context) (bridge.TemplateTraits, error) {
	if ctx.Err() != nil {
		return bridge.TemplateTraits{}, errors.New("not asked")
	}
	return p.traits, p.err
}

func (p plainTemplate) Render(req *chat.Request) (string, error) {
	var b strings.Builder
	for _, tool := range req.Tools {
		b.WriteString("(" + tool.Name + ")\n")
	}
	for _, m := range req.Messages {
		b.WriteString(string(m.Role) + ": " + m.Text())
		for _, c := range m.Calls {
			b.WriteString(" calls " + c.Name + c.Arguments)
		}
		b.WriteString("\n")
	}
	return b.String() + "assistant: ", nil
}

var hermesTemplate = bridge.TemplateTraits{Dialect: "hermes", Stop: []string{"<|user|>"}}

func withTemplate(traits bridge.TemplateTraits) bridge.Options {
	return bridge.Options{Mode: bridge.ModeTemplate, Template: plainTemplate{traits: traits},
		Server: bridge.Server{Stops: true}}
}

const parisCall = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"

// TestTemplate: the prompt is the template's, the call is read from the text, and a second request is rendered anew.
func TestTemplate(t *testing.T) {
	s, f := play(t, withTemplate(hermesTemplate), ask(weather), answer{text(parisCall)})
	if want := "(get_weather)\nuser: hi\nassistant: "; f.requests[0].Prompt != want {
		t.Errorf("prompt %q, want %q", f.requests[0].Prompt, want)
	}
	if got := strings.Join(f.requests[0].Stop, " "); got != "<tool_response> <|user|>" {
		t.Errorf("stops at %q", got)
	}
	if len(s.Calls) != 1 || s.Calls[0] != `get_weather({"city": "Paris"})` || s.Finish != chat.FinishCalls {
		t.Errorf("%+v", s)
	}

	wrong := strings.Replace(parisCall, "city", "town", 1)
	s, f = play(t, withTemplate(hermesTemplate), ask(weather), answer{text(wrong)},
		answer{text(strings.TrimPrefix(parisCall, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\":"))})
	second := f.requests[1].Prompt
	if !strings.Contains(second, "assistant: "+wrong) || !strings.Contains(second, "Missing required parameter: city") {
		t.Errorf("second prompt %q", second)
	}
	if opening := "<tool_call>\n{\"name\": \"get_weather\", \"arguments\":"; !strings.HasSuffix(second,
		"assistant: "+opening) {
		t.Errorf("the second answer is not begun: %q", second)
	}
	if len(s.Calls) != 1 || len(s.Bounces) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTemplateRequired: a call that is required is begun by the prompt, or held by a grammar.
func TestTemplateRequired(t *testing.T) {
	req := ask(weather, live)
	req.Choice.Mode = chat.ChoiceRequired
	s, f := play(t, withTemplate(hermesTemplate), req,
		answer{text(`get_weather", "arguments": {"city": "Paris"}}` + "\n</tool_call>")})
	if !strings.HasSuffix(f.requests[0].Prompt, "<tool_call>\n{\"name\": \"") {
		t.Errorf("prompt %q", f.requests[0].Prompt)
	}
	if len(s.Calls) != 1 || s.Raw[0] != parisCall {
		t.Errorf("%+v", s)
	}

	o := withTemplate(hermesTemplate)
	o.Constraint = bridge.ConstraintLlamaCPP
	named := ask(weather, live)
	named.Choice = chat.Choice{Mode: chat.ChoiceNamed, Name: "get_weather"}
	_, f = play(t, o, named, answer{text(parisCall)})
	if got := f.requests[0]; got.Format == nil || got.Format.Kind != chat.FormatGrammar ||
		!strings.HasPrefix(got.Prompt, "(get_weather)\nuser") || !strings.HasSuffix(got.Prompt, "assistant: ") {
		t.Errorf("%+v %+v", got.Format, got.Prompt)
	}
	o.Constraint = bridge.ConstraintOpenAI // which would hold to a list, of which a template does not tell
	if _, f = play(t, o, named, answer{text(` {"city": "Paris"}}` + "\n</tool_call>")}); f.requests[0].Format != nil {
		t.Errorf("held to %+v", f.requests[0].Format)
	}
}

// TestTemplateWithoutTools: what a template has no place for is told in the text.
func TestTemplateWithoutTools(t *testing.T) {
	o := withTemplate(bridge.TemplateTraits{Rules: chat.Rules{NoTools: true, NoSystem: true}})
	_, f := play(t, o, ask(weather), answer{text("no")})
	if got := f.requests[0]; got.Prompt != "" || len(got.Messages) != 1 ||
		!strings.Contains(lastOf(got), "get_weather") {
		t.Errorf("%+v", got)
	}
	var notice string
	for e := range bridge.New(&fake{t: t, answers: []answer{{text("no")}}}, o).Stream(t.Context(), ask(weather)) {
		if d, ok := e.Detail.(*chat.TurnDetail); ok {
			notice = d.Notice
		}
	}
	if !strings.Contains(notice, "no place for tools") {
		t.Errorf("notice %q", notice)
	}
	if _, f = play(t, o, ask(), answer{text("yes")}); f.requests[0].Prompt != "user: hi\nassistant: " {
		t.Errorf("without tools: %+v", f.requests[0])
	}

	req := ask(weather)
	req.Messages = append(req.Messages,
		chat.Message{Role: chat.RoleAssistant,
			Calls: []chat.Call{{ID: "1", Name: "get_weather", Arguments: `{"city": "Paris"}`}}},
		chat.Message{Role: chat.RoleTool, CallID: "1", Parts: chat.Text("21")})
	_, f = play(t, withTemplate(bridge.TemplateTraits{Dialect: "hermes", Rules: chat.Rules{NoCalls: true}}), req,
		answer{text("21")})
	if !strings.Contains(f.requests[0].Prompt, "assistant: "+parisCall) {
		t.Errorf("calls are lost: %q", f.requests[0].Prompt)
	}
}

// TestTemplateFails: a template that is not there is an error that says so, and nothing is asked to tell what would be
// sent.
func TestTemplateFails(t *testing.T) {
	o := withTemplate(hermesTemplate)
	o.Template = plainTemplate{err: errors.New("nobody tells it")}
	if s, _ := play(t, o, ask(weather)); !strings.Contains(s.Err, "mode template: nobody tells it") {
		t.Errorf("%q", s.Err)
	}
	if s, _ := play(t, bridge.Options{Mode: bridge.ModeTemplate}, ask(weather)); !strings.Contains(s.Err,
		"needs Options.Template") {
		t.Errorf("%q", s.Err)
	}
	if _, _, err := bridge.New(&fake{t: t}, withTemplate(hermesTemplate)).Sent(ask(weather)); err == nil ||
		!strings.Contains(err.Error(), "not asked") {
		t.Errorf("%v", err)
	}
}

// TestOpening: what begins all calls begins the call of each tool as its dialect writes it.
func TestOpening(t *testing.T) {
	for _, tt := range []struct{ dialect, want string }{
		{"hermes", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\":"},
		{"qwen3-coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\n"},
		{"kimi-k2",
			"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"},
	} {
		g, err := grammar.New(grammar.Options{Dialect: tt.dialect,
			Tools: []grammar.Tool{{Name: "get_weather", Args: schema.ShapeOf(weather.Parameters)}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Opening(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.dialect, got, tt.want)
		}
	}
}
