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
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/model/hosted"
	"wield/schema/near"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/policy"
)

// Options of New.
type Options struct {
	Servers []string                      // configured servers that requests may name; * is all
	Known   func() map[string]*mcp.Server // all configured servers
	Runner  *tool.Runner                  // has their tools, and the policy for all calls
	Egress  *policy.Egress                // to servers that requests name by address; nil: none
	Journal journal.Store                 // of questions, and of the calls that they are about
	Hold    time.Duration                 // how long an answer waits for an approval that its client cannot give
	Log     *slog.Logger                  // nil: none
}

// Prefix begins the names of the tools of servers that requests name by address, so that no rule about configured
// servers fits them.
const Prefix = "client-"

const (
	maxServers = 16               // in a request
	startTime  = 10 * time.Second // for connecting to a server and listing its tools
	maxLabel   = 64
)

// New returns a model that asks m and runs tools of MCP servers.
func New(m chat.Model, o Options) chat.Model {
	return hosted.New(m, &host{o}, hosted.Options{Log: o.Log})
}

type host struct{ o Options }

// Begin implements hosted.Host.
func (h *host) Begin(ctx context.Context, req *chat.Request) (*hosted.Session, error) {
	s := &session{host: h, req: *req, by: map[string]*served{}, calls: map[string]*call{}, own: &tool.Registry{}}
	servers, err := s.servers(req)
	if err != nil {
		return nil, err
	}
	s.look(req.Messages)
	s.runner = h.o.Runner.With(func(set *tool.Settings) {
		set.Tools, set.Scope.By = &source{set.Tools, s.own}, req.Caller
		set.Redact = slices.Clip(set.Redact)
		for _, v := range servers {
			set.Redact = append(set.Redact, v.secrets...)
		}
	})
	for _, v := range servers {
		if err := s.serve(ctx, v); err != nil {
			s.close()
			return nil, err
		}
	}
	if err := s.choose(); err != nil {
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
	runner  *tool.Runner
	own     *tool.Registry     // tools of servers that the request names by address
	live    []*mcp.Server      // these servers
	by      map[string]*served // by the name that the model sees
	calls   map[string]*call   // by the id of the model's call
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
	tool.Source
	own *tool.Registry
}

// Lookup implements tool.Source.
func (s *source) Lookup(name string) (*tool.Entry, bool) {
	if e, ok := s.own.Lookup(name); ok {
		return e, true
	}
	return s.Source.Lookup(name)
}

// Offered implements tool.Source.
func (s *source) Offered(text string) []chat.Tool {
	return append(s.Source.Offered(text), s.own.Offered(text)...)
}

func (s *session) close() {
	for _, m := range s.live {
		m.Close()
	}
}

// serve offers the tools of one server.
func (s *session) serve(ctx context.Context, v *server) error {
	space, err := s.connect(ctx, v)
	if err != nil {
		return err
	}
	list := []listed{}
	for _, t := range s.runner.Offered("") {
		e, ok := s.runner.Settings().Tools.Lookup(t.Name)
		if !ok || e.Tool.Namespace != space {
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
		e := chat.Event{Kind: chat.KindNativeResult, Origin: chat.OriginNative, Name: typeList, Detail: listItem(v, list)}
		s.opening = append(s.opening, e)
	}
	return nil
}

func (s *session) taken(name string) bool { return s.req.Tool(name) != nil }

// connect makes the tools of a server known, and returns the namespace that they are in.
func (s *session) connect(ctx context.Context, v *server) (space string, err error) {
	known := s.o.Known()
	mine := known[v.label]
	listed := mine != nil && (slices.Contains(s.o.Servers, v.label) || slices.Contains(s.o.Servers, "*"))
	switch {
	case listed && (v.url == "" || v.url == mine.Place()):
		if len(v.header) > 0 {
			return "", v.refuse("the server %q is configured in wield, with its own token: "+
				"leave authorization and headers out", v.label)
		}
		return v.label, s.reached(mine, v)
	case listed:
		return "", v.refuse("the server %q is configured in wield, with another address: leave the address out", v.label)
	case v.url == "":
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool {
			return !slices.Contains(s.o.Servers, n) && !slices.Contains(s.o.Servers, "*")
		})
		return "", v.refuse("requests to this model may not name the MCP server %q%s (server_tools.mcp_servers)", v.label,
			near.Hint(v.label, names))
	case s.o.Egress == nil:
		return "", v.refuse("requests to this model may name MCP servers only by label, not %s (server_tools.mcp_hosts)",
			policy.Visible(v.url))
	}
	if err := s.o.Egress.CheckURL(v.url); err != nil {
		return "", v.refuse("%v (server_tools.mcp_hosts)", err)
	}
	m := mcp.New(mcp.Options{Name: Prefix + v.label, URL: v.url, Header: v.header, Client: s.o.Egress.Client(),
		Start: startTime, Log: s.o.Log})
	s.live = append(s.live, m)
	tools, problems := m.Tools(ctx)
	if len(tools) == 0 && len(problems) > 0 {
		return "", v.failed(problems[0])
	}
	return m.Name(), s.own.Add(tools...)
}

// reached reports why a configured server has no tools.
func (s *session) reached(m *mcp.Server, v *server) error {
	s.runner.Offered("") // waits for servers that have not listed their tools yet
	if tools, problems := m.Known(); len(tools) == 0 && len(problems) > 0 {
		return v.failed(problems[0])
	}
	return nil
}

// choose makes a choice that names an MCP tool or all of them one of the names that the model sees.
func (s *session) choose() error {
	c := &s.req.Choice
	seen := func(name string) (list []string) {
		for n, v := range s.by {
			if name == typeTool || v.own == name && s.req.Tool(name) == nil {
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
		case c.Name == typeTool:
			return &chat.Error{Kind: chat.ErrBadRequest, Param: "tool_choice",
				Message: "tool_choice: a call of an MCP tool is required, but the servers offer none"}
		}
	}
	var allowed []string
	for _, name := range c.Allowed {
		if list := seen(name); len(list) > 0 {
			allowed = append(allowed, list...)
		} else {
			allowed = append(allowed, name)
		}
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
