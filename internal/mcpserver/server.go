// Package mcpserver offers the tools of a runner to clients of the Model Context Protocol, and passes on what
// MCP servers behind it have beside tools.
package mcpserver

//lint:file-ignore SA1019 revisions before 2026-07-28 have logging, roots and sampling

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/policy"
	"wield/tool/runner"
)

// Options say what a Server offers.
type Options struct {
	Runner  *runner.Runner // carries out calls
	Servers []*mcp.Server  // whose prompts and resources are passed on
	Own     bool           // tools and prompts have the names that their one server gave them

	// Dedicated makes a connection to the one server in the name of a client that has a session, so that what the
	// server asks for reaches that client; nil: all clients share the server's connection.
	Dedicated func(mcp.Peer) *mcp.Server

	Approvals Asking // who is asked about calls that need an approval

	Journal journal.Store // where each call and its questions are recorded, as a run; nil: nowhere
	By      string        // whose key it is, in the journal

	Tasks  TaskOptions // calls that their clients ask about later
	Others Others      // that may carry out tasks of the journal; nil: none
	tasks  *tasks      // nil: of this server alone

	Version string       // of wield
	Log     *slog.Logger // nil: none
}

// A Server offers the tools that a runner has on offer. Calls go through every stage of the runner: schema,
// policy, approvals, sandbox, limits.
type Server struct {
	SDK *sdk.Server // to be run over a transport

	o     Options
	calls atomic.Int64
	asked approvals

	mu      sync.Mutex
	offered map[string]string // hashes of what is offered, by kind and name
	names   map[string]string // the runner's names of tools, by those that clients use
	own     *dedicated        // nil: there is none yet
	logged  string            // the session of the journal that calls are in; empty: there was none yet
}

// New returns a server with what is on offer now.
func New(o Options) *Server {
	s := &Server{o: o, offered: map[string]string{}, names: map[string]string{}}
	so := &sdk.ServerOptions{
		Logger:       o.Log,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
		SetCacheable: cacheable,
	}
	if o.Dedicated != nil {
		so.Capabilities.Logging = &sdk.LoggingCapabilities{}
		so.SubscribeHandler = s.subscribe
		so.UnsubscribeHandler = s.unsubscribe
	}
	for _, upstream := range o.Servers {
		if upstream.Offers().Completes {
			so.CompletionHandler = s.complete
		}
	}
	if o.Tasks.After > 0 {
		so.Capabilities.AddExtension(extension, nil)
	}
	s.SDK = sdk.NewServer(&sdk.Implementation{Name: "wield", Version: o.Version}, so)
	if o.Dedicated != nil {
		s.SDK.AddReceivingMiddleware(s.levels)
	}
	if o.Tasks.After > 0 {
		s.offerTasks()
		if o.tasks == nil {
			s.o.tasks = newTasks()
		}
	}
	s.Sync()
	return s
}

// cacheable keeps lists from being shared: what is offered depends on the key.
func cacheable(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }

// An offer is one thing that clients can see.
type offer struct {
	hash string
	add  func()
}

// Sync offers what there is now. Clients are told if that is something else than before.
func (s *Server) Sync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	offers := map[string]offer{}
	s.tools(offers)
	for _, upstream := range s.o.Servers {
		s.prompts(upstream, offers)
		s.resources(upstream, offers)
	}
	now := make(map[string]string, len(offers))
	for key, o := range offers {
		if now[key] = o.hash; s.offered[key] != o.hash {
			o.add()
		}
	}
	for key := range s.offered {
		if _, ok := offers[key]; !ok {
			kind, name, _ := strings.Cut(key, " ")
			s.removers()[kind](name)
		}
	}
	s.offered = now
}

// removers take back what is offered no more, by kind.
func (s *Server) removers() map[string]func(...string) {
	return map[string]func(...string){"tool": s.SDK.RemoveTools, "prompt": s.SDK.RemovePrompts,
		"resource": s.SDK.RemoveResources, "template": s.SDK.RemoveResourceTemplates}
}

// tools notes the tools that are on offer.
func (s *Server) tools(offers map[string]offer) {
	s.names = map[string]string{}
	for _, d := range s.o.Runner.Offered("") {
		t := definition(d)
		if e, ok := s.o.Runner.Settings().Tools.Lookup(d.Name); ok {
			if mcp.ForModels(e.Tool) {
				continue
			}
			s.describe(t, e.Tool)
		}
		s.names[t.Name] = d.Name
		offers["tool "+t.Name] = offer{hash: runner.Hash(d), add: func() { s.addTool(t) }}
	}
}

// addTool offers a tool. The library refuses schemas by a panic; such a tool is left out, and the others are served.
func (s *Server) addTool(t *sdk.Tool) {
	defer func() {
		if r := recover(); r != nil && s.o.Log != nil {
			s.o.Log.Warn("cannot offer a tool by MCP", "tool", t.Name, "error", fmt.Sprint(r))
		}
	}()
	s.SDK.AddTool(t, s.call)
}

// definition returns a tool as the protocol has it. The schema of its arguments is an object's.
func definition(d chat.Tool) *sdk.Tool {
	var object struct{ Type string }
	parameters := d.Parameters
	if json.Unmarshal(parameters, &object) != nil || object.Type != "object" {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	return &sdk.Tool{Name: d.Name, Description: d.Description, InputSchema: parameters}
}

// describe adds what is known of a tool beside what models are told. Of a server's tool that is what the server says.
func (s *Server) describe(t *sdk.Tool, known *tool.Tool) {
	if d, ok := mcp.DefinitionOf(known); ok {
		if s.o.Own {
			t.Name = d.Name
		}
		t.Title = d.Title
		json.Unmarshal(d.Annotations, &t.Annotations) // they were made of these
		if d.Output != nil {
			t.OutputSchema = d.Output
		}
		return
	}
	reaches := known.Facts.Network || len(known.Facts.URLs) > 0 || len(known.Facts.Sites) > 0
	t.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: known.Facts.ReadOnly, IdempotentHint: known.Idempotent,
		DestructiveHint: &known.Dangerous, OpenWorldHint: &reaches}
}

// named returns the call of a request, under the runner's name of its tool.
func (s *Server) named(r *sdk.CallToolRequest) chat.Call {
	arguments := string(r.Params.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	s.mu.Lock()
	name := s.names[r.Params.Name]
	s.mu.Unlock()
	return chat.Call{ID: fmt.Sprint("mcp_", s.calls.Add(1)), Name: name, Arguments: arguments, Complete: true}
}

// carry carries out one call. What it says of its progress goes to progress, or to the client where that reports false.
func (s *Server) carry(
	ctx context.Context, r *sdk.CallToolRequest, call chat.Call, log *log, progress func(*runner.ProgressDetail) bool,
) (*sdk.CallToolResult, error) {
	relay := &mcp.Relay{Meta: passed(r.Params.Meta), Responses: r.Params.InputResponses, State: r.Params.RequestState}
	if denied, err := s.answer(ctx, relay, log); denied != nil || err != nil {
		return denied, err
	}
	runner := s.o.Runner.With(func(set *runner.Settings) {
		set.Records, set.Tools = log.records(), relayed{set.Tools, relay}
		if s.o.Approvals != AskNobody {
			set.Approvals = s.questions(log)
		}
	})
	if own := s.dedicated(r.Session); own != nil {
		relay.Through = own.server
		defer own.enter(ctx)()
	}
	for {
		result, pending, err := s.attempt(ctx, r, runner, call, log, progress)
		switch {
		case err != nil:
			return nil, err
		case pending != "" && result == nil:
			if answer, err := s.approve(ctx, r, pending, relay, log, progress != nil); answer != nil || err != nil {
				return answer, err
			}
			continue
		case relay.Needs != nil:
			return &sdk.CallToolResult{InputRequests: relay.Needs.InputRequests,
				RequestState: relay.Needs.RequestState}, nil
		case relay.Refused != nil:
			return nil, relay.Refused
		case result == nil:
			return nil, fmt.Errorf("the call of %s ended without a result", r.Params.Name)
		}
		return content(result), nil
	}
}

// attempt runs a call until it has a result or waits for an approval, whose id it returns then.
func (s *Server) attempt(
	ctx context.Context, r *sdk.CallToolRequest, rnr *runner.Runner, call chat.Call, log *log, progress func(
		*runner.ProgressDetail) bool,
) (result *chat.Result, pending string, err error) {
	steps := 0.0
	for e, err := range rnr.RunAll(ctx, []chat.Call{call}) {
		if err != nil {
			return nil, "", err
		}
		switch e.Kind {
		case chat.KindPolicy:
			log.note(ctx, record.Record{Kind: record.KindPolicy, Policy: e.Detail.(*policy.Detail)})
		case chat.KindProgress:
			p := e.Detail.(*runner.ProgressDetail)
			if progress != nil && progress(p) {
				continue
			}
			if token := r.Params.GetProgressToken(); token != nil {
				steps = max(steps+1, p.Done) // it must grow
				r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
					ProgressToken: token, Progress: steps, Total: p.Total, Message: p.Text,
				})
			}
		case chat.KindApproval:
			if pending = ""; e.Detail.(*runner.ApprovalDetail).State == runner.ApprovalPending {
				pending = e.Detail.(*runner.ApprovalDetail).ID
			}
		case chat.KindResult:
			result = e.Detail.(*chat.Result)
		}
	}
	return result, pending, nil
}

// relayed is a source of tools whose calls a relay carries, where they are those of a server.
type relayed struct {
	runner.Source
	relay *mcp.Relay
}

func (s relayed) Lookup(name string) (*runner.Entry, bool) {
	e, ok := s.Source.Lookup(name)
	if !ok {
		return nil, false
	}
	t, ok := mcp.Relayed(e.Tool, s.relay)
	if !ok {
		return e, true
	}
	own := *e
	own.Tool = t
	return &own, true
}

// passed returns what of a client's own words about itself a server behind wield is told. A client's extensions are
// between it and wield.
func passed(meta sdk.Meta) sdk.Meta {
	out := sdk.Meta{}
	for _, key := range []string{sdk.MetaKeyClientCapabilities, sdk.MetaKeyLogLevel} {
		if v, ok := meta[key]; ok {
			out[key] = v
		}
	}
	if c, ok := out[sdk.MetaKeyClientCapabilities].(map[string]any); ok {
		own := maps.Clone(c)
		delete(own, "extensions")
		out[sdk.MetaKeyClientCapabilities] = own
	}
	return out
}

// content returns a result as the protocol has it.
func content(r *chat.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: r.IsError, Content: []sdk.Content{}}
	for i := range r.Parts {
		out.Content = append(out.Content, part(&r.Parts[i]))
	}
	if len(r.Parts) > 0 && r.Parts[0].Kind == chat.PartText && !r.IsError {
		var object map[string]json.RawMessage
		if text := r.Parts[0].Text; json.Unmarshal([]byte(text), &object) == nil {
			out.StructuredContent = json.RawMessage(text)
		}
	}
	return out
}

// part returns one part of a result as the protocol has it.
func part(p *chat.Part) sdk.Content {
	if c, ok := mcp.Content(p); ok {
		return c
	}
	switch {
	case p.Kind == chat.PartImage && p.Data != nil:
		return &sdk.ImageContent{MIMEType: p.MediaType, Data: p.Data}
	case p.Kind != chat.PartText && p.URL != "":
		return &sdk.ResourceLink{URI: p.URL, Name: p.Name, MIMEType: p.MediaType}
	}
	return &sdk.TextContent{Text: p.Text}
}

// refused is the error of the protocol for what does not exist.
func refused(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
