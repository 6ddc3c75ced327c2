// Package prompt tells a model that knows nothing of tools how to use them. [Render] is a pure function from
// a request to a request: tools become instructions, earlier calls become the text that the model would have
// written, and results become user turns. The same input gives the same bytes, so that prompt caches hold.
//
// Words:
//
//   - The tool block is the text that describes the tools on offer and the rules of the dialect.
//   - The client's instructions are its system and developer messages.
//   - The instructions that the model gets are the client's and the tool block, laid out by a template.
//   - Injection is where the instructions go: a system message, or a bracket in front of a user turn for backends that
//     have no system messages.
//   - An orphan is a result that answers no call of the turn before it.
//
// Nothing that a client puts in a tool's name, description or schema can leave its line in the tool block or
// be read as a call there; nothing in instructions can close the bracket that they are injected in.
package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema"
)

// Inject says where instructions go.
type Inject string

// The places.
const (
	InjectSystem Inject = "system" // a system message at the front; the default
	InjectFirst  Inject = "first"  // in front of the first user turn, in brackets
	InjectLast   Inject = "last"   // in front of the last user turn, in brackets
)

// Options say how a request is rendered. The zero value is ready.
//
// Template and ForTools are templates: {{name}} is replaced by a variable, {{#if name}}..{{else}}..{{/if}} chooses by
// whether it is empty. What a variable holds is never read as a template. Runs of more than two newlines become two.
// The variables are tools (the definitions), forTools, clientInstructions, fallback and prefix.
type Options struct {
	Dialect   string // that the tools are taught in; "" or "auto": json-fence
	Prefix    string // put in front of every tool name that the model sees
	MaxCalls  int    // calls a turn; 1 makes the rules say so
	OnlyCalls string // example of a response of calls alone, where the backend lets the model write nothing else
	Template  string // of all instructions; "": the built-in one
	// of the rules for tools; "": those of the dialect. Definitions follow where it does not name {{tools}}
	ForTools      string
	ForToolBounce string        // text that corrects a call through the wrong channel, see [Options.Bounce]
	Fallback      string        // instructions for requests that have none of their own
	InjectInto    Inject        // where the instructions go; "": InjectSystem
	Replace       []Pattern     // changes to the client's own instructions, in order
	Alternate     bool          // merge neighbours so that user and assistant alternate strictly
	DropOrphans   bool          // leave out orphans; otherwise they are shown like any result
	Cache         *Cache        // of tool blocks; may be nil
	Schemas       *schema.Cache // may be nil
}

// Render returns req as a request for a model that takes nothing but text. req is not changed; what needs no change is
// shared with it. The tools and the choice are gone from the returned request. It fails with a *[chat.Error] of kind
// [chat.ErrBadRequest] when the choice names a tool that is not offered, and with the error of ctx when that ends.
func Render(ctx context.Context, req *chat.Request, o Options) (*chat.Request, error) {
	d, ok := variantOf(o.dialect())
	if !ok {
		return nil, fmt.Errorf("prompt: unknown dialect %q", o.Dialect)
	}
	tools, err := Offered(req)
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 && o.plain(req) {
		return req, nil
	}
	out := *req
	out.Tools, out.Choice, out.Parallel = nil, chat.Choice{}, nil
	h := history{o: &o, d: d, prefix: o.Prefix, tools: req.Tools}
	if err := h.add(ctx, req.Messages); err != nil {
		return nil, err
	}
	text := o.instructions(d, h.instructions.String(), described(tools), req)
	out.Messages = inject(h.out, text, o.InjectInto)
	if o.Alternate {
		out.Messages = alternate(out.Messages)
	}
	return &out, nil
}

// described returns the tools that the prompt describes: all that the conversation does not.
func described(tools []chat.Tool) []chat.Tool {
	deferred := func(t chat.Tool) bool { return t.Deferred }
	if !slices.ContainsFunc(tools, deferred) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), deferred)
}

// Missing returns which of the variables that a template of all instructions should have it does not name: without them
// the client's own words, the tools or the fallback never reach the model.
func Missing(template string) []string {
	var names []string
	template = strings.ReplaceAll(template, " ", "")
	for _, name := range []string{"clientInstructions", "tools", "fallback"} {
		if !strings.Contains(template, "{{"+name+"}}") &&
			(name != "tools" || !strings.Contains(template, "{{forTools}}")) {
			names = append(names, name)
		}
	}
	return names
}

// Taught returns the name of the dialect that tools are taught in.
func (o *Options) Taught() string { return o.dialect() }

// ResultOpener returns what the results of tools begin with in the text that a model reads; "" for dialects whose
// results cannot be told from other text by it. A model that writes it invents a result.
func (o *Options) ResultOpener() string {
	d, ok := variantOf(o.dialect())
	if !ok {
		return ""
	}
	text := string(d.AppendResultsAmong(nil, []chat.Result{{Parts: chat.Text("x")}}, nil))
	head, _, ok := strings.Cut(text, "{")
	head = strings.TrimRight(head, " \n[")
	switch {
	case !ok || head == "":
		return ""
	case head[0] == '<' || head[0] == '[':
		return head
	}
	return "\n" + head
}

// dialect returns the name of the dialect to teach. Among the dialects that any instructed model can write, a
// fenced JSON object is the one that most of them get right without an example.
func (o *Options) dialect() string {
	if o.Dialect == "" || o.Dialect == "auto" {
		return "json-fence"
	}
	return o.Dialect
}

// plain reports whether a request without tools can go out as it is.
func (o *Options) plain(req *chat.Request) bool {
	if o.Template != "" || o.Fallback != "" || len(o.Replace) > 0 || o.Alternate || len(req.Tools) > 0 ||
		o.InjectInto != "" && o.InjectInto != InjectSystem || req.Choice.Mode != chat.ChoiceAuto ||
		req.Parallel != nil {
		return false
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role == chat.RoleTool || m.Role == chat.RoleDeveloper || len(m.Calls) > 0 {
			return false
		}
	}
	return true
}

// Offered returns the tools that the model may call under the request's choice: all, those allowed, the one
// named, or none.
func Offered(req *chat.Request) ([]chat.Tool, error) {
	c := &req.Choice
	switch {
	case c.Mode == chat.ChoiceNone:
		return nil, nil
	case c.Mode == chat.ChoiceNamed:
		t := req.Tool(c.Name)
		if t == nil {
			return nil, &chat.Error{Kind: chat.ErrBadRequest, Param: "tool_choice",
				Message: fmt.Sprintf("tool_choice names %q, which is not among the tools", c.Name)}
		}
		return []chat.Tool{*t}, nil
	case len(c.Allowed) > 0:
		allows := c.Allows()
		return slices.DeleteFunc(slices.Clone(req.Tools), func(t chat.Tool) bool { return !allows(t.Name) }), nil
	}
	return req.Tools, nil
}

// instructions returns what the model is told besides the conversation.
func (o *Options) instructions(d variant, client string, tools []chat.Tool, req *chat.Request) string {
	for i := range o.Replace {
		client = o.Replace[i].apply(client)
	}
	if o.Prefix != "" {
		client = prefixNames(client, tools, o.Prefix)
	}
	block := o.Cache.block(o, d, tools, client == "")
	if block.rules == "" && o.Template == "" && client == "" {
		return o.Fallback
	}
	template := o.Template
	if template == "" {
		template = defaultTemplate
	}
	text := expand(template, variables{"clientInstructions": client, "fallback": o.Fallback, "prefix": o.Prefix,
		"tools": block.tools, "forTools": block.rules})
	if choice := choiceRule(req, o.Prefix, len(tools) > 0); choice != "" {
		text += "\n\n" + choice
		if o.OnlyCalls != "" {
			text += " This time write it as JSON of this shape, and nothing else: " + o.OnlyCalls
		}
	}
	return tidy(text)
}

// defaultTemplate puts the client's own instructions first, so that the tool block stands next to the conversation.
const defaultTemplate = "{{#if clientInstructions}}{{clientInstructions}}{{else}}{{fallback}}{{/if}}\n\n{{forTools}}"

// choiceRule returns the sentence that demands a call where the request does.
func choiceRule(req *chat.Request, prefix string, offered bool) string {
	switch {
	case !offered:
	case req.Choice.Mode == chat.ChoiceRequired:
		return "Your next response MUST contain a tool call."
	case req.Choice.Mode == chat.ChoiceNamed:
		return "Your next response MUST contain a call of the tool " + inline(prefix+req.Choice.Name) + "."
	}
	return ""
}

// tidy trims the text and leaves at most one empty line in a row.
func tidy(s string) string {
	s = strings.TrimSpace(s)
	for strings.Contains(s, "\n\n\n") {
		s = strings.ReplaceAll(s, "\n\n\n", "\n\n")
	}
	return s
}
