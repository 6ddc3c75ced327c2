package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"wield/internal/accesstoken"
	"wield/internal/cli"
	"wield/internal/cli/tools"
	"wield/internal/gateway"
	"wield/internal/mcpserver"
)

// frontMCP returns where tools are offered by MCP. It answers from the service in force.
func (s *site) frontMCP() []gateway.Mount {
	if s.mcp == nil {
		s.mcp = mcpserver.NewFront(mcpserver.FrontOptions{Log: s.environment.Log,
			Open: func(by mcpserver.Caller, server string) (mcpserver.Options, bool) {
				service, _ := s.inForce()
				if service == nil {
					return mcpserver.Options{}, false
				}
				o, ok := service.MCP(by, server)
				o.Version, o.Journal, o.By = cli.ThisBuild().String(), s.journal, by.Name
				if s.environment.Cluster != nil {
					o.Others = s.environment.Cluster
				}
				return o, ok
			}})
	}
	serve := func(w http.ResponseWriter, r *http.Request, by gateway.Caller) {
		s.mcp.Serve(w, r, mcpserver.Caller{Name: by.Name, Key: cmp.Or(by.Key, by.Name)})
	}
	roles := []gateway.Role{gateway.RoleClient, gateway.RoleAdmin}
	m := gateway.Mount{Prefix: mcpserver.Root, Roles: roles, Whole: true, Counted: "tools/call", Serve: serve,
		Tokens: s.passMCP}
	below := m
	below.Prefix += "/"
	meta := gateway.Mount{Prefix: accesstoken.WellKnown, Serve: s.describeMCP}
	metaBelow := meta
	metaBelow.Prefix += "/"
	return []gateway.Mount{m, below, meta, metaBelow}
}

// tokensMCP returns what checks access tokens; nil: none are taken.
func (s *site) tokensMCP() *accesstoken.Verifier {
	if service, _ := s.inForce(); service != nil {
		return service.Tokens
	}
	return nil
}

// passMCP says what an access token is worth.
func (s *site) passMCP(r *http.Request, token string) gateway.Pass {
	v := s.tokensMCP()
	if v == nil {
		return gateway.Pass{}
	}
	below := mcpserver.Below(r.URL.Path)
	holder, err := v.Check(r.Context(), token, below)
	var refused *accesstoken.Error
	if errors.As(err, &refused) {
		p := gateway.Pass{Status: refused.Status, Message: refused.Message}
		if refused.Status < http.StatusInternalServerError {
			p.Challenge = v.Challenge(below, refused)
		}
		return p
	}
	return gateway.Pass{Key: holder.Key, Name: holder.Name}
}

// describeMCP says whose tokens are taken, at the paths of RFC 9728.
func (s *site) describeMCP(w http.ResponseWriter, r *http.Request, _ gateway.Caller) {
	v := s.tokensMCP()
	if v == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(v.Metadata(v.Below(r.URL.Path))) // #nosec G705 -- it is JSON, with < and > escaped
}

// followMCP keeps what is offered by MCP up to date, until ctx ends. The channel is closed when it is over.
func (s *site) followMCP(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.mcp.Run(ctx, tools.SyncEvery)
	}()
	return over
}
