// Package mcpconnector runs tools of MCP servers that requests name: the tools of type mcp in the Responses protocol,
// and mcp_servers in the Messages protocol. The configuration says which servers may be named.
//
// A call that the policy asks about has a run in the journal. The question reaches the client as an
// mcp_approval_request, or pauses the answer where the protocol has no question, and it is on wield's page and in its
// API. The first answer counts, whichever way it comes.
package mcpconnector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/hosted"
	"wield/journal"
	"wield/schema/near"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/wire/responses"
)

// Options of New.
type Options struct {
	Servers []string                       // configured servers that requests may name; * is all
	Known   func() map[string]*mcp.Server  // all configured servers
	Runner  *runner.Runner                 // has their tools, and the policy for all calls
	Egress  *policy.Egress                 // to servers that requests name by address; nil: none
	May     func(caller, name string) bool // whether a caller may call a tool; nil: every caller may
	Journal journal.Store                  // of questions, and of the calls that they are about
	Hold    time.Duration                  // how long an answer waits for an approval that its client cannot give
	Log     *slog.Logger                   // nil: none
}

// Prefix begins the names of the tools of servers that requests name by address, so that no rule about configured
// servers fits them.
const Prefix = "client-"

const (
	maxServers = 16               // in a request
	startTime  = 10 * time.Second // for connecting to a server and listing its tools
	maxLabel   = 64
	maxSpace   = 40       // bytes of a label in the names of tools
	maxBody    = 16 << 20 // of each answer of a server that the request names by address
)

// New returns a model that asks m and runs tools of MCP servers.
func New(m chat.Model, o Options) chat.Model {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return hosted.New(m, &host{o}, hosted.Options{Log: o.Log})
}

type host struct{ o Options }

// Begin implements hosted.Host.
func (h *host) Begin(ctx context.Context, req *chat.Request) (*hosted.Session, error) {
	s := &session{host: h, req: *req, by: map[string]*served{}, calls: map[string]*runningCall{},
		own: &runner.Registry{}}
	servers, err := s.servers(req)
	if err != nil {
		return nil, err
	}
	s.look(req.Messages)
	s.runner = h.o.Runner.With(func(set *runner.Settings) {
		set.Tools, set.Scope.By = &source{set.Tools, s.own}, req.Caller
		set.Redact = slices.Clip(set.Redact)
		for _, v := range servers {
			set.Redact = append(set.Redact, v.secrets...)
		}
	})
	if err = s.connect(ctx, servers); err == nil {
		err = s.choose()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	if changed := s.recall(req.Messages); len(servers) == 0 && !changed {
		return nil, nil
	}
	return &hosted.Session{Request: s.req, Runner: s, Opening: s.opening, Asked: s.asked, Close: s.close}, nil
}

// A session is the answer to one request.
type session struct {
	*host
	req     chat.Request
	runner  *runner.Runner
	own     *runner.Registry        // tools of servers that the request names by address
	live    []*mcp.Server           // these servers
	by      map[string]*served      // by the name that the model sees
	calls   map[string]*runningCall // by the id of the model's call
	opening []chat.Event
	past
}

// A served is a tool of a server that the request names.
type served struct {
	server *server
	name   string // the runner's
	own    string // the server's
	asks   bool   // the client wants to approve each call
}

// source has the tools of configured servers and of those that the request names by address.
type source struct {
	runner.Source
	own *runner.Registry
}

// Lookup implements runner.Source.
func (s *source) Lookup(name string) (*runner.Entry, bool) {
	if e, ok := s.own.Lookup(name); ok {
		return e, true
	}
	return s.Source.Lookup(name)
}

// Offered implements runner.Source.
func (s *source) Offered(text string) []chat.Tool {
	return append(s.Source.Offered(text), s.own.Offered(text)...)
}

func (s *session) close() {
	var all sync.WaitGroup
	for _, m := range s.live {
		all.Go(func() { m.Close() })
	}
	all.Wait()
}

// connect connects to the servers at once, and offers their tools.
func (s *session) connect(ctx context.Context, servers []*server) error {
	for _, v := range servers {
		if err := s.find(v); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	for _, m := range s.live {
		all.Go(func() { m.Tools(ctx) })
	}
	all.Wait()
	for _, v := range servers {
		if err := s.serve(v); err != nil {
			return err
		}
	}
	return nil
}

// serve offers the tools of one server.
func (s *session) serve(v *server) error {
	if err := s.reached(v); err != nil {
		return err
	}
	list := []listed{}
	for _, t := range s.runner.Offered("") {
		e, ok := s.runner.Settings().Tools.Lookup(t.Name)
		if !ok || e.Tool.Namespace != v.at.Name() || s.o.May != nil && !s.o.May(s.req.Caller, t.Name) {
			continue
		}
		d, ok := mcp.DefinitionOf(e.Tool)
		if !ok || !v.wants(&d) {
			continue
		}
		list = append(list, listedOf(&d))
		seen := t.Name
		for s.taken(seen) {
			seen += "_"
		}
		s.by[seen] = &served{server: v, name: t.Name, own: d.Name, asks: v.gate != nil && v.gate.needs(&d)}
		t.Name = seen
		s.req.Tools = append(s.req.Tools, t)
	}
	if v.protocol == chat.ProtocolResponses && !s.known[v.label] {
		e := chat.Event{Kind: chat.KindNativeResult, Origin: chat.OriginNative, Name: typeList,
			Detail: listItem(v, list)}
		s.opening = append(s.opening, e)
	}
	return nil
}

func (s *session) taken(name string) bool { return s.req.Tool(name) != nil }

// find finds the server that the request means, or makes the client of one that it names by address.
func (s *session) find(v *server) error {
	known := s.o.Known()
	mine := known[v.label]
	listed := mine != nil && (slices.Contains(s.o.Servers, v.label) || slices.Contains(s.o.Servers, "*"))
	switch {
	case listed && (v.url == "" || v.url == mine.Place()):
		if len(v.header) > 0 {
			return v.refuse("the server %q is configured in wield, with its own token: "+
				"leave authorization and headers out", v.label)
		}
		v.at = mine
		return nil
	case listed:
		return v.refuse("the server %q is configured in wield, with another address: leave the address out", v.label)
	case v.url == "":
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool {
			return !slices.Contains(s.o.Servers, n) && !slices.Contains(s.o.Servers, "*")
		})
		return v.refuse("requests to this model may not name the MCP server %q%s (server_tools.mcp_servers)", v.label,
			near.Hint(v.label, names))
	case s.o.Egress == nil:
		return v.refuse("requests to this model may name MCP servers only by label, not %s (server_tools.mcp_hosts)",
			policy.Visible(v.url))
	}
	if err := s.o.Egress.CheckURL(v.url); err != nil {
		return v.refuse("%v (server_tools.mcp_hosts)", err)
	}
	client := s.o.Egress.Client()
	client.Transport = bounded{client.Transport}
	v.at = mcp.New(mcp.Options{Name: Prefix + space(v.label), URL: v.url, Header: v.header, Client: client,
		Start: startTime, Log: s.o.Log})
	s.live = append(s.live, v.at)
	return nil
}

// reached makes the tools of a server known, and reports why there are none.
func (s *session) reached(v *server) error {
	s.runner.Offered("") // waits for configured servers that have not listed their tools yet
	tools, problems := v.at.Known()
	works := len(tools) > 0
	if slices.Contains(s.live, v.at) {
		if err := s.own.Add(tools...); err != nil { // the others are added
			problems = append(slices.Clip(problems), err)
		}
		works = slices.ContainsFunc(s.own.Entries(),
			func(e *runner.Entry) bool { return e.Tool.Namespace == v.at.Name() })
		if works && len(problems) > 0 {
			s.o.Log.Warn("cannot use some tools of an MCP server that a request names", "server",
				policy.Visible(v.label), "error", errors.Join(problems...))
		}
	}
	if !works && len(problems) > 0 {
		return v.failed(problems[0])
	}
	return nil
}

// space returns the label in the names of tools.
func space(label string) string {
	clean := func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}
	label = strings.Map(clean, label)
	for strings.Contains(label, tool.Separator) {
		label = strings.ReplaceAll(label, tool.Separator, "_")
	}
	return strings.Trim(label[:min(len(label), maxSpace)], "_")
}

// bounded bounds the bodies of answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxBody)
	}
	return res, err
}

// choose makes a choice that names an MCP tool or all of them one of the names that the model sees.
func (s *session) choose() error {
	c := &s.req.Choice
	seen := func(name string) (list []string) {
		label, own, of := responses.ChosenMCP(name)
		for n, v := range s.by {
			if name == typeTool || of && v.server.label == label && (own == "" || v.own == own) ||
				v.own == name && s.req.Tool(name) == nil {
				list = append(list, n)
			}
		}
		slices.Sort(list)
		return list
	}
	if c.Mode == chat.ChoiceNamed {
		switch list := seen(c.Name); {
		case len(list) == 1:
			c.Name = list[0]
		case len(list) > 1:
			c.Mode, c.Name, c.Allowed = chat.ChoiceRequired, "", list
		case s.req.Tool(c.Name) == nil:
			return badRequest("tool_choice", fmt.Errorf("a call of %s is required, but the MCP servers do not offer it",
				strings.ReplaceAll(c.Name, "\x00", " ")))
		}
	}
	if c.Mode == chat.ChoiceRequired && len(s.req.Tools) == 0 {
		return badRequest("tool_choice", errors.New("a call is required, but the MCP servers offer no tools"))
	}
	var allowed []string
	for _, name := range c.Allowed {
		list := seen(name)
		if _, _, of := responses.ChosenMCP(name); len(list) == 0 && !of && name != typeTool {
			list = []string{name}
		}
		allowed = append(allowed, list...)
	}
	if len(allowed) == 0 && len(c.Allowed) > 0 {
		return badRequest("tool_choice", errors.New("the MCP servers offer none of the tools that may be called"))
	}
	c.Allowed = allowed
	return nil
}

// A listed is a tool in the list that clients of the Responses protocol get.
type listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Annotations json.RawMessage `json:"annotations"`
}

func listedOf(d *mcp.Definition) listed {
	l := listed{Name: d.Name, Description: d.Description, Input: d.Input, Annotations: d.Annotations}
	if l.Input == nil {
		l.Input = json.RawMessage(`{"type":"object"}`)
	}
	return l
}

// refuse returns the error of a request that names a server which it may not name.
func (v *server) refuse(format string, args ...any) error {
	return &chat.Error{Kind: chat.ErrBadRequest, Param: v.param, Message: v.param + ": " + fmt.Sprintf(format, args...)}
}

// failed returns the error of a request whose server cannot be used.
func (v *server) failed(err error) error {
	return &chat.Error{Kind: chat.ErrUnavailable, Param: v.param, Cause: err,
		Message: fmt.Sprintf("%s: the tools of the MCP server %q cannot be listed: %v", v.param, v.label, err)}
}

// authorize has a token and headers sent to the server, which no result shows.
func (v *server) authorize(token string, more map[string]string) {
	v.header = http.Header{}
	for name, value := range more {
		v.header.Set(name, value)
		v.secrets = append(v.secrets, value)
	}
	if token != "" {
		v.header.Set("Authorization", "Bearer "+token)
		v.secrets = append(v.secrets, token)
	}
}
