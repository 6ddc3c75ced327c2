// Package servertools carries out the tools that servers of a protocol run (web search, web fetch, code execution) with
// tools that wield runs, for models whose server does not.
package servertools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/hosted"
	"wield/tool"
	"wield/tool/runner"
)

// A Kind names what a server tool does. It is the name of the function that the model sees.
type Kind string

// The kinds.
const (
	WebSearch     Kind = "web_search"
	WebFetch      Kind = "web_fetch"
	CodeExecution Kind = "code_execution"
)

// Options of New.
type Options struct {
	Tools  map[Kind]string // by which tool each kind is carried out
	Runner *runner.Runner  // has these tools; whatever needs an approval is refused, since nobody can be asked
	Log    *slog.Logger    // nil: none
}

// New returns a model that asks m and carries out server tools.
func New(m chat.Model, o Options) chat.Model {
	return hosted.New(m, &host{o}, hosted.Options{Log: o.Log})
}

// kinds say how the model sees each kind, and what the protocols call it.
var kinds = map[Kind]struct {
	argument, about, tells string
	names                  []string // in requests
}{
	WebSearch: {"query", "Searches the web.", "What to search for",
		[]string{"web_search", "web_search_preview", "web_search_options", "googleSearch", "googleSearchRetrieval"}},
	WebFetch: {"url", "Fetches a web page.", "The address of the page", []string{"web_fetch", "urlContext"}},
	CodeExecution: {"code", "Runs code and returns what it writes.", "The program",
		[]string{"code_execution", "code_interpreter", "codeExecution"}},
}

// kindOf returns the kind of a tool that a protocol's server runs; "" if it is of none.
func kindOf(name string) Kind {
	for k, v := range kinds {
		for _, n := range v.names {
			rest, ok := strings.CutPrefix(name, n)
			if ok && strings.Trim(rest, "_0123456789") == "" { // a date
				return k
			}
		}
	}
	return ""
}

type host struct{ o Options }

// Begin implements hosted.Host.
func (h *host) Begin(_ context.Context, req *chat.Request) (*hosted.Session, error) {
	s := &session{host: h, req: *req, by: map[string]*served{}}
	if err := s.replace(req); err != nil {
		return nil, err
	}
	messages, changed := recall(req.Messages)
	if s.req.Messages = messages; len(s.by) == 0 && !changed {
		return nil, nil
	}
	return &hosted.Session{Request: s.req, Runner: s, Opening: s.notes}, nil
}

// A session is the answer to one request.
type session struct {
	*host
	req   chat.Request
	by    map[string]*served // by the name that the model sees
	notes []chat.Event
	seen  grounding
}

// A served is a server tool of the request.
type served struct {
	kind     Kind
	asked    string // its name in the request
	protocol chat.Protocol
	tool     chat.Tool // that carries it out
	limits
	uses int
}

// limits are what a definition says about the calls of a tool.
type limits struct {
	MaxUses int      `json:"max_uses"`
	Allowed []string `json:"allowed_domains"`
	Blocked []string `json:"blocked_domains"`
}

// replace replaces the server tools of a request by functions.
func (s *session) replace(req *chat.Request) error {
	s.req.Tools = make([]chat.Tool, 0, len(req.Tools))
	for i := range req.Tools {
		t := &req.Tools[i]
		if k := kindOf(t.Name); t.Hosted == chat.HostedNot || s.o.Tools[k] == "" {
			s.req.Tools = append(s.req.Tools, *t)
		} else if err := s.serve(k, t.Name, t.Protocol, t.Raw); err != nil {
			return err
		}
	}
	for _, x := range req.Extra { // the search of chat completions is no tool there
		if x.Protocol != chat.ProtocolOpenAI || x.Key != "web_search_options" || s.o.Tools[WebSearch] == "" {
			continue
		}
		if err := s.serve(WebSearch, x.Key, x.Protocol, x.Value); err != nil {
			return err
		}
		s.req.Extra = slices.DeleteFunc(slices.Clone(req.Extra), func(y chat.Extra) bool {
			return y.Key == x.Key && y.Protocol == x.Protocol
		})
		break
	}
	c := &s.req.Choice
	c.Name, c.Allowed = s.named(c.Name), slices.Clone(c.Allowed)
	for i, name := range c.Allowed {
		c.Allowed[i] = s.named(name)
	}
	return nil
}

// named returns the name that the model sees for one of the request.
func (s *session) named(asked string) string {
	for name, v := range s.by {
		if v.asked == asked {
			return name
		}
	}
	return asked
}

// serve offers the function for a server tool.
func (s *session) serve(k Kind, asked string, p chat.Protocol, raw json.RawMessage) error {
	for _, other := range s.by {
		if other.kind == k {
			return nil
		}
	}
	name := s.o.Tools[k]
	offered := s.o.Runner.Offered("")
	i := slices.IndexFunc(offered, func(t chat.Tool) bool { return t.Name == name })
	if i < 0 {
		return &chat.Error{Kind: chat.ErrUnavailable, Param: "tools", Message: fmt.Sprintf(
			"%s is carried out by the tool %q, which is not available: it does not exist, "+
				"its MCP server does not answer, or the policy denies it", asked, name)}
	}
	v := &served{kind: k, asked: asked, protocol: p, tool: offered[i]}
	json.Unmarshal(raw, &v.limits)
	s.note(v, raw)
	seen := string(k)
	for s.taken(seen) {
		seen += "_"
	}
	schema, _ := json.Marshal(object{"type": "object", "required": []string{kinds[k].argument},
		"properties": object{kinds[k].argument: object{"type": "string", "description": kinds[k].tells}}})
	s.req.Tools = append(s.req.Tools, chat.Tool{Name: seen, Parameters: schema,
		Description: cmp.Or(v.tool.Description, kinds[k].about)})
	s.by[seen] = v
	return nil
}

func (s *session) taken(name string) bool {
	return slices.ContainsFunc(s.req.Tools, func(t chat.Tool) bool {
		return t.Name == name && t.Hosted == chat.HostedNot
	})
}

// honoured are the fields of definitions that need no note: what they say is done, or there is nothing to do.
var honoured = map[string]bool{"type": true, "name": true, "max_uses": true, "cache_control": true,
	"defer_loading": true, "strict": true, "allowed_callers": true}

// note reports which fields of a definition are not honoured.
func (s *session) note(v *served, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	json.Unmarshal(raw, &fields)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[key])
		domains := v.kind == WebFetch && (key == "allowed_domains" || key == "blocked_domains")
		auto := key == "container" && !strings.Contains(value, "file_ids") // there is none
		if honoured[key] || value == "null" || domains || auto {
			continue
		}
		path := "tools." + key
		if v.protocol == chat.ProtocolOpenAI {
			path = v.asked + "." + key
		}
		n := &chat.NoteDetail{Kind: chat.NoteUnsent, Path: path}
		s.notes = append(s.notes, chat.Event{Kind: chat.KindNote, Detail: n})
	}
}

// Runs implements hosted.Runner.
func (s *session) Runs(name string) bool { return s.by[name] != nil }

// Shown implements hosted.Runner.
func (s *session) Shown(_ context.Context, c *chat.Call) chat.Detail {
	v := s.by[c.Name]
	switch v.protocol {
	case chat.ProtocolAnthropic:
		return useBlock(v, c)
	case chat.ProtocolGemini:
		return codePart(v, c)
	}
	return nil
}

// Run implements hosted.Runner.
func (s *session) Run(ctx context.Context, c *chat.Call) (hosted.Outcome, error) {
	v := s.by[c.Name]
	r := s.call(ctx, v, c)
	if err := ctx.Err(); err != nil {
		return hosted.Outcome{}, chat.AsError(err)
	}
	o := hosted.Outcome{Result: r.chat}
	switch v.protocol {
	case chat.ProtocolAnthropic:
		o.Detail = resultBlock(v, c, &r)
	case chat.ProtocolResponses:
		o.Detail = item(v, c, &r)
	case chat.ProtocolGemini:
		o.Detail = s.seen.metadata(v, c, &r)
	}
	return o, nil
}

// A result holds the output or the error of a call.
type result struct {
	chat  chat.Result
	pages []searchHit // of a search
	fault string      // code of the protocol for what went wrong; empty: nothing
}

// text returns the result as the model reads it.
func (r *result) text() string {
	m := r.chat.Message()
	return m.Text()
}

// The codes of failures, as the Messages protocol has them.
const (
	faultInput     = "invalid_tool_input"
	faultMany      = "max_uses_exceeded"
	faultFailed    = "unavailable"
	faultForbidden = "url_not_allowed"
)

func failed(code, why string) result {
	return result{chat: chat.Result{Parts: chat.Text("Error: " + why), IsError: true}, fault: code}
}

// call carries out a call.
func (s *session) call(ctx context.Context, v *served, c *chat.Call) result {
	value, name := v.argument(c), kinds[v.kind].argument
	switch {
	case value == "":
		return failed(faultInput, "the call needs the argument "+name)
	case v.MaxUses > 0 && v.uses >= v.MaxUses:
		return failed(faultMany, fmt.Sprintf(
			"this tool can be used %d times in an answer, and was: answer with what is known", v.MaxUses))
	case v.kind == WebFetch && !v.permits(value):
		return failed(faultForbidden, "pages of this domain cannot be fetched")
	}
	v.uses++
	parameter := parameterFor(v.tool.Parameters, name)
	if parameter == "" {
		return failed(faultFailed, fmt.Sprintf("the tool %s has no parameter for the %s", v.tool.Name, name))
	}
	arguments, _ := json.Marshal(map[string]string{parameter: value})
	out, err := s.o.Runner.Call(ctx, v.tool.Name, string(arguments))
	if err != nil {
		return failed(faultFailed, err.Error())
	}
	r := result{chat: out.Chat(c, tool.StylePlain)}
	if !out.OK {
		r.fault = faultFailed
	} else if v.kind == WebSearch {
		r.pages = pagesOf(r.text())
	}
	return r
}

// argument returns the one argument of a call.
func (v *served) argument(c *chat.Call) string {
	var all map[string]json.RawMessage
	var value string
	if json.Unmarshal([]byte(c.Arguments), &all) == nil {
		json.Unmarshal(all[kinds[v.kind].argument], &value)
	}
	return value
}

// parameterFor returns the parameter of a tool that takes an argument: the one of that name, or the only text that is
// required, or the only text; "" if there is none.
func parameterFor(schema json.RawMessage, name string) string {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		}
		Required []string
	}
	json.Unmarshal(schema, &s)
	if _, ok := s.Properties[name]; ok {
		return name
	}
	var texts, required []string
	for key, p := range s.Properties {
		if p.Type == "string" {
			texts = append(texts, key)
			if slices.Contains(s.Required, key) {
				required = append(required, key)
			}
		}
	}
	switch {
	case len(required) == 1 && len(s.Required) == 1:
		return required[0]
	case len(texts) == 1 && len(s.Required) == 0:
		return texts[0]
	}
	return ""
}
