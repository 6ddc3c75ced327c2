package bridge

import (
	"context"
	"errors"
	"slices"

	"wield/bridge/internal/grammar"
	"wield/chat"
	"wield/dialect"
	"wield/prompt"
)

// A Template is the chat template of a model, which ModeTemplate renders. It may be used by several goroutines at once.
type Template interface {
	// Inspect returns what is known of the template. It may have to be fetched first; ctx bounds that.
	Inspect(ctx context.Context) (TemplateTraits, error)
	// Render writes the prompt of a request's messages and tools, up to where the model's turn begins.
	Render(req *chat.Request) (string, error)
}

// TemplateTraits tell a Bridge what it has to know of a chat template.
type TemplateTraits struct {
	Dialect string     // that it writes calls in; "": none that is known
	Rules   chat.Rules // which messages it takes
	Opens   bool       // its prompts end inside a reasoning block
	Stop    []string   // headers of the turns of others
}

// noticeNoTools is the notice for a template that has no place for tools.
const noticeNoTools = "the model's chat template has no place for tools, so they are described in the text"

// A knownTemplate is not fetched.
type knownTemplate struct{ Template }

func (t knownTemplate) Inspect(ctx context.Context) (TemplateTraits, error) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	return t.Template.Inspect(over)
}

// prepareTemplate settles what the template allows: where it has no place for tools and their results, they are
// described in the text.
func (r *run) prepareTemplate() error {
	if r.o.Mode != ModeTemplate {
		return nil
	}
	if r.o.Template == nil {
		return errors.New("bridge: ModeTemplate needs Options.Template")
	}
	traits, err := r.o.Template.Inspect(r.ctx)
	if err != nil {
		return &chat.Error{Kind: chat.ErrUnavailable, Code: codeNoTemplate, Cause: err,
			Message: "mode template: " + err.Error()}
	}
	r.template = traits
	return nil
}

// codeNoTemplate is the [chat.Error] code where ModeTemplate finds no chat template.
const codeNoTemplate = "no_chat_template"

// omitsTools reports whether the template leaves out what this request has of tools.
func (r *run) omitsTools() bool {
	rules := &r.template.Rules
	return len(r.tools) > 0 && (rules.NoTools || rules.NoTool) || rules.NoTool && usesTools(r.req)
}

// rules returns what is known of the order of messages that the model takes.
func (r *run) rules() chat.Rules {
	if r.o.Mode == ModeTemplate {
		return r.template.Rules
	}
	return r.o.Support.Rules(r.req.Model)
}

// inText reports whether calls are part of the text that the model writes.
func (r *run) inText() bool { return r.mode == ModeText || r.mode == ModeTemplate }

// taught returns the dialect that the model is expected to write.
func (r *run) taught() string {
	if r.mode == ModeTemplate {
		return r.reads()
	}
	return r.o.Prompt.Taught()
}

// reads returns the dialect that has priority in reading; "" or "auto": none has.
func (r *run) reads() string {
	if r.mode == ModeTemplate && (r.o.Decode.Dialect == "" || r.o.Decode.Dialect == "auto") {
		return r.template.Dialect
	}
	return r.o.Decode.Dialect
}

// prompted returns req with its prompt as the model's template writes it. An answer that has to be a call, and that the
// backend is not held to, begins with the opening of one.
func (r *run) prompted(req *chat.Request) (*chat.Request, error) {
	if r.mode != ModeTemplate {
		return req, nil
	}
	out := *req
	if r.template.Rules.NoCalls {
		out.Messages = r.written(req.Messages)
	}
	text, err := r.o.Template.Render(&out)
	if err != nil {
		return nil, &chat.Error{Kind: chat.ErrBadRequest, Param: "messages", Cause: err,
			Message: "mode template: " + err.Error()}
	}
	if r.must && r.constrained == nil && !r.opens() {
		r.turn.opening = r.opening()
	}
	out.Prompt = text + r.turn.opening
	return &out, nil
}

// written returns messages whose calls are part of their text, for templates that leave calls out.
func (r *run) written(messages []chat.Message) []chat.Message {
	d, ok := dialect.Lookup(r.taught())
	if !ok {
		return messages
	}
	out := slices.Clone(messages)
	for i := range out {
		m := &out[i]
		if len(m.Calls) == 0 {
			continue
		}
		if text, err := d.AppendCalls(nil, m.Calls); err == nil {
			m.Parts = append(slices.Clip(m.Parts), chat.Part{Text: string(text)})
			m.Calls = nil
		}
	}
	return out
}

// opening returns what all calls of the tools on offer begin with; "" if that is not known.
func (r *run) opening() string {
	g, err := grammar.New(r.grammarOptions(cachedGrammar{must: true, most: r.most()}))
	if err != nil {
		return ""
	}
	return g.Opening()
}

// open takes in what the answer was begun with, in front of what the model writes.
func (r *run) open() {
	if s := r.turn.opening; s != "" {
		r.turn.opening = ""
		r.take(chat.Event{Kind: chat.KindText, Text: s})
	}
}

// offering returns req with the tools that the model may call, for the template.
func (r *run) offering(req *chat.Request) (*chat.Request, error) {
	tools, err := prompt.Offered(r.req)
	if err != nil {
		return nil, err
	}
	out := *req
	out.Tools = tools
	return &out, nil
}
