//lint:file-ignore SA1019 revisions before 2026-07-28 have logging, roots and sampling

package mcp

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
)

// A Peer is a client of wield's own in whose name a connection is made: what the server asks of its client goes
// to it. The zero value is nobody, and refuses everything.
type Peer struct {
	Capabilities *sdk.ClientCapabilities // that the client has; nil: none

	Elicit  func(context.Context, *sdk.ElicitParams) (*sdk.ElicitResult, error)
	Sample  func(context.Context, *sdk.CreateMessageWithToolsParams) (*sdk.CreateMessageWithToolsResult, error)
	Log     func(*sdk.LoggingMessageParams)
	Updated func(*sdk.ResourceUpdatedNotificationParams)
}

// options are those of the client that speaks for the peer.
func (p *Peer) options() *sdk.ClientOptions {
	o := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}}
	if p.Capabilities != nil {
		o.Capabilities = p.Capabilities
	}
	if p.Sample != nil && o.Capabilities.Sampling != nil {
		o.CreateMessageWithToolsHandler = func(ctx context.Context,
			r *sdk.CreateMessageWithToolsRequest) (*sdk.CreateMessageWithToolsResult, error) {
			return p.Sample(ctx, r.Params)
		}
	}
	if p.Log != nil {
		o.LoggingMessageHandler = func(_ context.Context, r *sdk.LoggingMessageRequest) { p.Log(r.Params) }
	}
	if p.Updated != nil {
		o.ResourceUpdatedHandler = func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			p.Updated(r.Params)
		}
	}
	return o
}

// elicits answers what a server asks a person for. It stands in front of the library's own handler, which refuses
// forms that the revision 2025-11-25 has.
func (p *Peer) elicits(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		params, ok := r.GetParams().(*sdk.ElicitParams)
		if !ok || p.Elicit == nil {
			return next(ctx, method, r)
		}
		return p.Elicit(ctx, params)
	}
}

// A Relay carries one call for a client of wield's own, which answers what the server asks for.
type Relay struct {
	Through   *Server              // the connection that the client has for itself; nil: the one that all share
	Meta      sdk.Meta             // what the client says of itself with the call
	Responses sdk.InputResponseMap // answers to what the server asked for, when the call is sent again
	State     string               // of the server, which goes with them

	Needs   *sdk.CallToolResult // set by the call: what the server asks for in place of a result
	Refused *jsonrpc.Error      // set by the call: the error of the protocol that the server answered with
}

// Relayed returns a tool of a server that carries its one call with a relay. It reports false for other tools.
func Relayed(t *tool.Tool, r *Relay) (*tool.Tool, bool) {
	h, ok := t.Handler.(*handler)
	if !ok {
		return nil, false
	}
	own := *t
	bound := *h
	bound.relay = r
	own.Handler = &bound
	return &own, true
}

// metaKey is the member of _meta with the idempotency key of a call.
const metaKey = "wield/idempotency-key"

// params are those of a call of the handler's tool.
func (h *handler) params(c *tool.Call) *sdk.CallToolParams {
	p := &sdk.CallToolParams{Name: h.name, Arguments: json.RawMessage(c.Arguments)}
	if r := h.relay; r != nil {
		p.Meta, p.InputResponses, p.RequestState = maps.Clone(h.server.Passes(r.Meta)), r.Responses, r.State
	}
	if key := c.Key(); key != "" {
		if p.Meta == nil {
			p.Meta = sdk.Meta{}
		}
		p.Meta[metaKey] = key
	}
	return p
}

// Session returns the connection to the server for requests other than calls, and makes it if need be.
func (s *Server) Session(ctx context.Context) (*sdk.ClientSession, error) {
	c, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	return c.session, nil
}

// DefinitionOf returns what a server says of a tool. It reports false for tools of another kind.
func DefinitionOf(t *tool.Tool) (Definition, bool) {
	h, ok := t.Handler.(*handler)
	if !ok {
		return Definition{}, false
	}
	return h.def, true
}

// NameFor returns the name under which something of the server's is offered beside that of other servers.
func (s *Server) NameFor(own string) string { return OfferedName(s.o.Name, own) }

// stateless is the first revision in which a client says with each request what it can do.
const stateless = "2026-07-28"

// Passes returns what of a client's words about itself the server understands.
func (s *Server) Passes(meta sdk.Meta) sdk.Meta {
	if s.Status().Protocol < stateless {
		return nil
	}
	return meta
}

// Sessions reports whether the server keeps sessions, so that it may ask something of its client in the middle of a
// call.
func (s *Server) Sessions() bool {
	p := s.Status().Protocol
	return p != "" && p < stateless
}

// For returns a connection of its own to the same server, in the name of a peer.
func (s *Server) For(p Peer) *Server {
	o := s.o
	o.Peer, o.Each = p, false
	return New(o)
}
