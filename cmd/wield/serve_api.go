package main

import (
	"context"
	"crypto/sha256"
	"net/http"

	"wield/agent"
	"wield/internal/api"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/web"
	"wield/tool/runner"
)

// addAPI mounts the interface over runs, and the page that stands on it. It is made with the first service
// and answers from the one in force.
func (s *site) addAPI(c *config.Result, service *compose.Service) error {
	if s.api == nil {
		var err error
		if s.sender, err = compose.Sender(c.Config, s.environment.Getenv, s.journal, s.environment.Log); err != nil {
			return err
		}
		s.api, err = api.New(api.Options{
			Journal: s.journal, Hub: s.environment.Hub, Captures: s.environment.Capture, Holder: s.holder,
			Tools: s.tools, MCP: s.servers, Models: s.models, Settings: s.settings, Cluster: s.clusterStatus,
			Prices: s.prices, Probe: s.probe, Lines: s.lines, Stats: s.environment.Stats, Links: s.sender,
			Connector: connector{s}, Version: cli.ThisBuild().Version, Log: s.environment.Log,
		})
		if err != nil {
			return err
		}
		if s.page, err = web.New(); err != nil {
			return err
		}
	}
	if !s.forgets { // that one has no bounds, and the gateway's own memory has
		service.Gateway.Journal = s.journal
	}
	page := func(w http.ResponseWriter, r *http.Request, _ gateway.Caller) { s.page.ServeHTTP(w, r) }
	service.Gateway.Mounts = append(service.Gateway.Mounts,
		gateway.Mount{Prefix: api.Prefix + "/", Login: api.Prefix + "/login",
			Serve: func(w http.ResponseWriter, r *http.Request, _ gateway.Caller) { s.api.ServeHTTP(w, r) }},
		gateway.Mount{Prefix: web.Root, Linked: true, Serve: page},
		gateway.Mount{Prefix: web.Prefix, Serve: page})
	service.Gateway.Mounts = append(append(service.Gateway.Mounts, s.frontMCP()...), s.frontWorkers(c)...)
	return nil
}

// holder returns who has the key with a hash.
func (s *site) holder(hash [sha256.Size]byte) (api.Caller, bool) {
	g := s.gateway.Load()
	if g == nil {
		return api.Caller{}, false
	}
	who, ok := g.WhoHas(hash)
	return api.Caller{Name: who.Name, Role: api.Role(who.Role),
		Sees: func(model string) bool { return g.Sees(who.Name, model) }}, ok
}

// tools returns the tools of the service in force.
func (s *site) tools() []*runner.Entry {
	if service, _ := s.inForce(); service != nil && service.Tools != nil {
		return service.Tools.Registry.Entries()
	}
	return nil
}

// servers returns the MCP servers of the service in force.
func (s *site) servers() api.MCP {
	if service, _ := s.inForce(); service != nil && service.Tools != nil {
		return service.Tools
	}
	return nil
}

// prices tells what the answers of a model cost by the configuration in force.
func (s *site) prices(model string) agent.Prices {
	_, c := s.inForce()
	if c == nil {
		return agent.Prices{}
	}
	return compose.AgentPrices(c.Config, model)
}

// probe tries the server behind a model of the configuration in force.
func (s *site) probe(ctx context.Context, model string) error {
	_, c := s.inForce()
	if c == nil {
		return nil
	}
	return compose.Reach(c.Config, ctx, model)
}

// models returns the models of the service in force.
func (s *site) models() []api.Model {
	service, _ := s.inForce()
	if service == nil {
		return nil
	}
	tools := map[string][]string{}
	for i := range service.Agents {
		a := &service.Agents[i]
		tools[a.Name] = []string{}
		for _, t := range a.Runner.Offered("") {
			tools[a.Name] = append(tools[a.Name], t.Name)
		}
	}
	var list []api.Model
	for i := range service.Gateway.Models {
		name := service.Gateway.Models[i].Name
		names, ok := tools[name]
		m := api.Model{Name: name, Agent: ok, Tools: names}
		if s.demoDir != "" && name == demoAgent {
			m.Try = demoTries()
		}
		list = append(list, m)
	}
	return list
}

// tellOthers sends what happens to runs to other services, until ctx ends. The channel is closed when it is over.
func (s *site) tellOthers(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := s.sender.Run(ctx); err != nil && ctx.Err() == nil {
			s.environment.Log.Error("events no longer reach other services", "error", err)
		}
	}()
	return over
}
