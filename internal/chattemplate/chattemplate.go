// Package chattemplate finds out from the chat template of a model what is not said anywhere else: in which dialect
// the model writes its calls, and which sequences of messages it takes. Nothing is guessed from the source of a
// template: conversations are rendered with it, and what comes out, or is refused, is looked at.
package chattemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"wield/chat"
	"wield/dialect"
	"wield/internal/jinja"
	"wield/internal/shorten"
)

// A Template renders conversations as one prompt.
type Template struct {
	render func(conversation, time.Time) (string, error)
	parser string // Ollama's word for how the answers are to be read
	eos    string // end of an answer, where it is known beside the template
}

// Found holds the facts about a template.
type Found struct {
	Dialect string     `json:"dialect,omitempty"` // "": the template teaches none that is known
	By      Evidence   `json:"by,omitempty"`
	Example string     `json:"example,omitempty"` // a call as the template writes it, or the opener that it speaks of
	Rules   chat.Rules `json:"rules"`
	Opens   string     `json:"opens,omitempty"`  // the tag of reasoning that the prompt ends with
	Header  string     `json:"header,omitempty"` // of the user's turn behind the model's
	Quoted  bool       `json:"quoted,omitempty"` // it takes the arguments of calls as text only
}

// Evidence says where a dialect was seen.
type Evidence string

// The kinds of evidence, the best first.
const (
	ByCall   Evidence = "call"   // a call of the conversation was written in it
	ByPrompt Evidence = "prompt" // what is said about the tools holds its opener
	ByParser Evidence = "parser" // the server names the parser of its answers
)

// ErrNoTemplate says that a file or a server's answer holds no chat template.
var ErrNoTemplate = errors.New("there is no chat template in it")

// Jinja returns the template with this source, which is in the language of Transformers, vLLM, SGLang and llama.cpp.
func Jinja(source string) (*Template, error) {
	t, err := jinja.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{render: func(c conversation, now time.Time) (string, error) {
		context, err := json.Marshal(c)
		if err != nil {
			return "", err
		}
		return t.Render(context, now)
	}}, nil
}

// Read returns the template in a file: a tokenizer_config.json, a chat_template.json, what llama.cpp's /props or
// Ollama's /api/show answers, or the template alone.
func Read(data []byte) (*Template, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "{{") ||
		strings.HasPrefix(trimmed, "{%") || strings.HasPrefix(trimmed, "{#") {
		if isOllama(text) {
			return Ollama(strings.TrimSuffix(text, "\n"), "") // which an editor put there
		}
		return Jinja(text)
	}
	var file struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
		EOS          json.RawMessage `json:"eos_token"`
		ToolUse      string          `json:"chat_template_tool_use"`
		Template     string          `json:"template"`
		Modelfile    string          `json:"modelfile"`
		Parser       string          `json:"parser"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return nil, fmt.Errorf("the file is neither JSON nor a chat template: %w", err)
	}
	switch {
	case file.ToolUse != "":
		return jinjaWith(file.ToolUse, file.EOS)
	case len(file.ChatTemplate) > 0 && string(file.ChatTemplate) != "null":
		source, err := choose(file.ChatTemplate)
		if err != nil {
			return nil, err
		}
		return jinjaWith(source, file.EOS)
	case file.Template != "":
		return Ollama(file.Template, parserOf(file.Parser, file.Modelfile))
	}
	return nil, ErrNoTemplate
}

// jinjaWith returns a template with the token that ends its answers: a text, or an object with one.
func jinjaWith(source string, eos json.RawMessage) (*Template, error) {
	t, err := Jinja(source)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(eos, &t.eos) != nil {
		var token struct{ Content string }
		if json.Unmarshal(eos, &token) == nil {
			t.eos = token.Content
		}
	}
	return t, nil
}

// choose returns the template for tools of those that a file has: one text, a list of names and templates, or an
// object.
func choose(raw json.RawMessage) (string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	named := map[string]string{}
	var list []struct{ Name, Template string }
	if json.Unmarshal(raw, &list) == nil {
		for _, t := range list {
			named[t.Name] = t.Template
		}
	} else if err := json.Unmarshal(raw, &named); err != nil {
		return "", errors.New("chat_template is neither a text nor a list of named templates")
	}
	for _, name := range []string{"tool_use", "default"} {
		if named[name] != "" {
			return named[name], nil
		}
	}
	return "", ErrNoTemplate
}

// Inspect finds out what the template says. The error tells why a plain question cannot be rendered.
func (t *Template) Inspect() (Found, error) {
	var f Found
	prompt, err := t.render(conversation{Messages: []message{user}, Generate: true}, anyDay)
	if err != nil {
		return f, fmt.Errorf("the chat template cannot render a question: %w", err)
	}
	f.Opens, f.Header = opened(prompt), t.header()
	f.Rules = t.rules()
	if f.Dialect, f.Example, f.Quoted = t.written(); f.Dialect != "" {
		f.By = ByCall
	} else if name, ok := parsers[t.parser]; ok {
		f.Dialect, f.By, f.Example = name, ByParser, t.parser
	} else if f.Dialect, f.Example = t.shownDialect(prompt); f.Dialect != "" {
		f.By = ByPrompt
	}
	return f, nil
}

// opened returns the tag of reasoning that a prompt ends with.
func opened(prompt string) string {
	prompt = strings.TrimRight(prompt, " \n")
	for _, tag := range []string{"<think>", "<thinking>", "<thought>", "[THINK]", "<seed:think>", "<|START_THINKING|>",
		"<longcat_think>", "<mm:think>", "<|inner_prefix|>"} {
		if strings.HasSuffix(prompt, tag) {
			return tag
		}
	}
	return ""
}

// written renders a call in the conversation, reads what was rendered, and returns the dialect that it is in.
func (t *Template) written() (name, example string, quotes bool) {
	for i, args := range []json.RawMessage{callArguments, quoted(callArguments)} {
		for _, lead := range []string{"", spoken} {
			c := called(args)
			c.Content = lead
			before, err := t.render(conversation{Messages: []message{user}, Tools: tools, Generate: true}, anyDay)
			if err != nil {
				continue
			}
			after, err := t.render(conversation{Messages: []message{user, c}, Tools: tools}, anyDay)
			if err != nil {
				continue
			}
			text := after[shared(before, after):]
			if _, rest, ok := strings.Cut(text, spoken); ok {
				text = rest
			}
			if name = read(text); name != "" {
				return name, shorten.Text(strings.TrimSpace(text), 400), i > 0
			}
		}
	}
	return "", "", false
}

// shared returns the length of what two prompts begin with, up to the last token that begins in both.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) {
		return n
	}
	// Behind the question the prompts part in the middle of a token or of a header: the line has to be read whole.
	if k := strings.LastIndexAny(b[:n], "\n<[{"); k >= 0 {
		return k
	}
	return n
}

// read returns the dialect of the one call in the text, if it is the call that was rendered.
func read(text string) string {
	out, err := dialect.Parse(text, dialect.Options{Tools: shapes, Repair: dialect.RepairSafe,
		Thinking: dialect.Thinking{Calls: dialect.CallsAlways}})
	if err != nil || len(out.Calls) != 1 || out.Calls[0].Name != toolName {
		return ""
	}
	var args struct {
		City string `json:"city"`
		Days int    `json:"days"`
	}
	if json.Unmarshal([]byte(out.Calls[0].Arguments), &args) != nil || args.City != city || args.Days != 3 {
		return ""
	}
	return likeliest(text, out.Calls[0].Dialect)
}

// likeliest returns the dialect that writes the call as it stands in the text, where several read it: the one of
// those that writes the most of the text. It is the one in which it was read if there is none.
func likeliest(text, read string) string {
	text = squeeze(text)
	if strings.HasPrefix(text, `{"name":"`+toolName+`","parameters":`) {
		return "llama3-json" // which is written with its token elsewhere
	}
	name, most := read, 0
	for _, d := range dialect.Names() {
		row, _ := dialect.Lookup(d)
		written, err := row.AppendCalls(nil,
			[]chat.Call{{Name: toolName, Arguments: string(callArguments), Complete: true}})
		n := len(squeeze(string(written)))
		if err == nil && !row.ByName && (n > most || n == most && d == read) &&
			strings.Contains(text, squeeze(string(written))) {
			name, most = d, n
		}
	}
	return name
}

// squeeze takes the white space out of a text.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// shownDialect returns the dialect whose opener stands in what a prompt with tools says more than one without them. The
// longest opener counts.
func (t *Template) shownDialect(plain string) (name, opener string) {
	with, err := t.render(conversation{Messages: []message{user}, Tools: tools, Generate: true}, anyDay)
	if err != nil {
		return "", ""
	}
	for _, d := range dialect.Names() {
		row, _ := dialect.Lookup(d)
		if mark := row.Mentioned(with); len(mark) > len(opener) && row.Mentioned(plain) == "" {
			name, opener = d, mark
		}
	}
	return name, opener
}
