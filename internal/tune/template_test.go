package tune

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// trained is a model that calls only tools that its own template shows it.
type trained struct{}

func (trained) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		text := prose(nil, nil)
		if req.Prompt != "" {
			hermes, _ := dialect.Lookup("hermes")
			text = faithful(hermes, known(req.Prompt))
		}
		_ = yield(chat.Event{Kind: chat.KindText, Text: text}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

type ownTemplate struct {
	traits bridge.TemplateTraits
	err    error
}

func (o ownTemplate) Inspect(context.Context) (bridge.TemplateTraits, error) { return o.traits, o.err }

func (ownTemplate) Render(req *chat.Request) (string, error) {
	return req.Tools[0].Name + req.Messages[0].Text(), nil
}

// TestTemplate: a model that follows nothing but its template is found out, and the mode is recommended.
func TestTemplate(t *testing.T) {
	o := Options{Native: true, Template: true, Dialects: []string{"hermes"}, Rounds: 2,
		Bridge: bridge.Options{Template: ownTemplate{traits: bridge.TemplateTraits{Dialect: "hermes"}}}}
	all, err := Trials(t.Context(), trained{}, o)
	if err != nil {
		t.Fatal(err)
	}
	r := Summarise("boat", slices.Collect(all))
	best := r.Rows[r.Best]
	if best.Candidate.Mode != bridge.ModeTemplate || best.RightArgs.N != best.RightArgs.Of ||
		r.Patch() != "models:\n  boat:\n    mode: template\n" {
		t.Errorf("%+v\n%s", r.Rows, r.Patch())
	}
	for _, tt := range []struct {
		template bridge.Template
		want     string
	}{
		{nil, "no rendered prompt"},
		{ownTemplate{err: errors.New("nobody tells it")}, "nobody tells it"},
		{ownTemplate{traits: bridge.TemplateTraits{Rules: chat.Rules{NoTools: true}}}, "no place for tools"},
		{ownTemplate{}, ""},
	} {
		why := Told(t.Context(), tt.template)
		if (why == nil) != (tt.want == "") || why != nil && !strings.Contains(why.Error(), tt.want) {
			t.Errorf("%v, want %q", why, tt.want)
		}
	}
}
