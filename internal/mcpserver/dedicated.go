//lint:file-ignore SA1019 revisions before 2026-07-28 have logging, roots and sampling

package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool/mcp"
)

// A dedicated is the connection to a server behind wield that a client's session has for itself, since the server
// may ask something of its client in the middle of a call. In the revision 2026-07-28 there are no sessions, and
// what a server asks for is a result.
type dedicated struct {
	server *mcp.Server
	client *sdk.ServerSession

	mu    sync.Mutex
	calls []*context.Context // under way, the last one at the end: what the server asks for goes the way of its answer
}

// dedicated returns the connection of a client's session, and makes it if need be; nil: it has none for itself.
func (s *Server) dedicated(client *sdk.ServerSession) *dedicated {
	if s.o.Dedicated == nil || client == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own != nil {
		return s.own
	}
	d := &dedicated{client: client}
	d.server = s.o.Dedicated(s.peer(d))
	if d.server == nil {
		return nil
	}
	s.own = d
	go func() {
		client.Wait()
		d.server.Close()
	}()
	return d
}

// peer returns the client as the servers behind it see it.
func (s *Server) peer(d *dedicated) mcp.Peer {
	p := mcp.Peer{
		Elicit: func(_ context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
			return d.client.Elicit(d.way(), p)
		},
		Sample: func(_ context.Context, p *sdk.CreateMessageWithToolsParams) (*sdk.CreateMessageWithToolsResult,
			error) {
			return d.client.CreateMessageWithTools(d.way(), p)
		},
		Log:     func(p *sdk.LoggingMessageParams) { d.client.Log(d.way(), p) },
		Updated: func(p *sdk.ResourceUpdatedNotificationParams) { s.SDK.ResourceUpdated(context.Background(), p) },
	}
	p.Capabilities = &sdk.ClientCapabilities{}
	if i := d.client.InitializeParams(); i != nil && i.Capabilities != nil {
		p.Capabilities = &sdk.ClientCapabilities{Elicitation: i.Capabilities.Elicitation,
			Sampling: i.Capabilities.Sampling}
	}
	return p
}

// enter notes a call, until the function that it returns is called.
func (d *dedicated) enter(ctx context.Context) (leave func()) {
	d.mu.Lock()
	d.calls = append(d.calls, &ctx)
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		d.calls = slices.DeleteFunc(d.calls, func(c *context.Context) bool { return c == &ctx })
		d.mu.Unlock()
	}
}

// errNoCall ends what a server asks for while no call is under way.
var errNoCall = errors.New("no call is under way")

// way returns the context of the last call under way, along which the client is reached.
func (d *dedicated) way() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.calls); n > 0 {
		return *d.calls[n-1]
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNoCall)
	return ctx
}
