//lint:file-ignore SA1019 revisions before 2026-07-28 have logging, roots and sampling

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool/mcp"
)

// prompts notes the prompts of a server behind wield.
func (s *Server) prompts(upstream *mcp.Server, offers map[string]offer) {
	for _, p := range upstream.Offers().Prompts {
		own := *p
		if !s.o.Own {
			own.Name = upstream.NameFor(p.Name)
		}
		if _, taken := offers["prompt "+own.Name]; taken {
			continue
		}
		offers["prompt "+own.Name] = offer{hash: hashed(own), add: func() {
			s.SDK.AddPrompt(&own, func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				session, err := s.session(ctx, r.Session, upstream)
				if err != nil {
					return nil, err
				}
				params := *r.Params
				params.Name, params.Meta = p.Name, upstream.Passes(passed(params.Meta))
				return session.GetPrompt(ctx, &params)
			})
		}}
	}
}

// resources notes the resources of a server behind wield, and the templates of some. Of two servers with the same
// address of a resource the first has it.
func (s *Server) resources(upstream *mcp.Server, offers map[string]offer) {
	read := func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		session, err := s.session(ctx, r.Session, upstream)
		if err != nil {
			return nil, err
		}
		params := *r.Params
		params.Meta = upstream.Passes(passed(params.Meta))
		return session.ReadResource(ctx, &params)
	}
	all := upstream.Offers()
	for _, one := range all.Resources {
		if _, taken := offers["resource "+one.URI]; !taken {
			offers["resource "+one.URI] = offer{hash: hashed(one),
				add: s.guarded(one.URI, func() { s.SDK.AddResource(one, read) })}
		}
	}
	for _, one := range all.Templates {
		if _, taken := offers["template "+one.URITemplate]; !taken {
			offers["template "+one.URITemplate] = offer{hash: hashed(one),
				add: s.guarded(one.URITemplate, func() { s.SDK.AddResourceTemplate(one, read) })}
		}
	}
}

// guarded adds a resource that the library may refuse by a panic, as it does one whose address is none.
func (s *Server) guarded(uri string, add func()) func() {
	return func() {
		defer func() {
			if r := recover(); r != nil && s.o.Log != nil {
				s.o.Log.Warn("cannot offer a resource by MCP", "resource", uri, "error", fmt.Sprint(r))
			}
		}()
		add()
	}
}

func hashed(v any) string {
	text, _ := json.Marshal(v) // it came as JSON
	return string(text)
}

// session returns the connection to a server behind wield: that of the client's own session, if it has one.
func (s *Server) session(ctx context.Context, client *sdk.ServerSession, upstream *mcp.Server) (
	*sdk.ClientSession, error) {
	if own := s.dedicated(client); own != nil {
		upstream = own.server
	}
	return upstream.Session(ctx)
}

// complete asks the server behind wield that a completion is about.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	params := *r.Params
	ref := *params.Ref
	params.Ref, params.Meta = &ref, nil
	for _, upstream := range s.o.Servers {
		all := upstream.Offers()
		found := false
		for _, p := range all.Prompts {
			if ref.Type == "ref/prompt" && (s.o.Own && p.Name == ref.Name || !s.o.Own &&
				upstream.NameFor(p.Name) == ref.Name) {
				found, ref.Name = true, p.Name
				break
			}
		}
		for _, t := range all.Templates {
			found = found || ref.URI != "" && t.URITemplate == ref.URI
		}
		for _, one := range all.Resources {
			found = found || ref.URI != "" && one.URI == ref.URI
		}
		if !found || !all.Completes {
			continue
		}
		session, err := s.session(ctx, r.Session, upstream)
		if err != nil {
			return nil, err
		}
		return session.Complete(ctx, &params)
	}
	return nil, refused("nothing is called %q%s that could be completed", ref.Name, ref.URI)
}

// subscribe has the client's own connection tell of changes of a resource.
func (s *Server) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	own := s.dedicated(r.Session)
	if own == nil {
		return refused("changes of resources are told only in a session")
	}
	session, err := own.server.Session(ctx)
	if err != nil {
		return err
	}
	return session.Subscribe(ctx, &sdk.SubscribeParams{URI: r.Params.URI})
}

func (s *Server) unsubscribe(ctx context.Context, r *sdk.UnsubscribeRequest) error {
	own := s.dedicated(r.Session)
	if own == nil {
		return nil
	}
	session, err := own.server.Session(ctx)
	if err != nil {
		return err
	}
	return session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: r.Params.URI})
}

// levels passes on how much of its log a client wants to see.
func (s *Server) levels(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		params, ok := r.GetParams().(*sdk.SetLoggingLevelParams)
		client, _ := r.GetSession().(*sdk.ServerSession)
		if err != nil || !ok || client == nil {
			return result, err
		}
		if own := s.dedicated(client); own != nil {
			if session, err := own.server.Session(ctx); err == nil {
				// a server may have no log
				session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: params.Level})
			}
		}
		return result, nil
	}
}
