package main

import (
	"context"
	"net/http"

	"wield/internal/cli"
	"wield/internal/cli/tools"
	"wield/internal/gateway"
	"wield/internal/mcpserver"
)

// frontMCP returns where tools are offered by MCP. It answers from the service in force.
func (s *site) frontMCP() []gateway.Mount {
	if s.mcp == nil {
		s.mcp = mcpserver.NewFront(mcpserver.FrontOptions{Log: s.environment.Log, Open: func(key, server string) (mcpserver.Options, bool) {
			service, _ := s.inForce()
			if service == nil {
				return mcpserver.Options{}, false
			}
			o, ok := service.MCP(key, server)
			o.Version, o.Journal, o.By = cli.ThisBuild().String(), s.journal, key
			if s.environment.Cluster != nil {
				o.Others = s.environment.Cluster
			}
			return o, ok
		}})
	}
	serve := func(w http.ResponseWriter, r *http.Request, by gateway.Caller) { s.mcp.Serve(w, r, by.Name) }
	roles := []gateway.Role{gateway.RoleClient, gateway.RoleAdmin}
	m := gateway.Mount{Prefix: mcpserver.Root, Roles: roles, Whole: true, Counted: "tools/call", Serve: serve}
	below := m
	below.Prefix += "/"
	return []gateway.Mount{m, below}
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
