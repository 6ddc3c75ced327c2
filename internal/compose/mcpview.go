package compose

import (
	"context"
	"errors"
	"maps"
	"slices"

	"wield/internal/api"
	"wield/internal/config"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/policy"
)

var _ api.MCP = (*Toolbox)(nil)

// MCPServers returns the MCP servers in the order of their names, without asking them.
func (t *Toolbox) MCPServers() []api.MCPServer {
	servers := t.Servers()
	list := make([]api.MCPServer, 0, len(servers))
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		list = append(list, t.mcpServer(servers[name]))
	}
	return list
}

func (t *Toolbox) mcpServer(s *mcp.Server) api.MCPServer {
	st := s.Status()
	out := api.MCPServer{
		Name: s.Name(), Place: s.Place(), Connected: st.Connected, Protocol: st.Protocol, Version: st.Server,
		Tools: []api.MCPTool{}, Changed: []api.ChangedTool{}, Problems: []string{},
	}
	tools, problems := s.Known()
	for _, one := range tools {
		out.Tools = append(out.Tools, api.MCPTool{Name: one.Name(), Description: one.Definition.Description})
	}
	if t.Pins != nil {
		changed, err := t.Pins.Changed(s.Name())
		if err != nil {
			problems = append(slices.Clone(problems), err)
		}
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			pin := changed[name]
			out.Changed = append(out.Changed, api.ChangedTool{Name: name, Was: pin.Agreed.String(),
				Now: pin.Now.String(), Hash: pin.Now.Hash()})
		}
	}
	for _, p := range problems {
		if of := (*mcp.ServerError)(nil); errors.As(p, &of) {
			p = of.Err
		}
		out.Problems = append(out.Problems, policy.Visible(p.Error()))
	}
	return out
}

// AcceptMCP agrees to the changed definition of a tool, and offers it again.
func (t *Toolbox) AcceptMCP(ctx context.Context, server string, c api.AcceptedTool) error {
	s := t.Servers()[server]
	if s == nil || t.Pins == nil {
		return &api.Fault{Kind: api.KindNotFound, Message: "there is no MCP server " + server}
	}
	ok, err := t.Pins.AcceptExactly(server, c.Name, c.Hash)
	if err != nil {
		return err
	}
	if !ok {
		return &api.Fault{Kind: api.KindConflict, Fix: "look at it again",
			Message: "the definition of " + c.Name + " is not the one that you looked at"}
	}
	s.Again()
	s.Tools(ctx)
	t.Refresh(ctx)
	return nil
}

// AppMCP returns the document that shows the results of a tool that is enabled, to a key that may call it.
func (t *Toolbox) AppMCP(ctx context.Context, name, by string) (string, error) {
	barred := func(k config.Key) bool { return k.Name == by && len(k.Tools) > 0 && !named(k.Tools, name) }
	e, ok := t.Registry.Lookup(name)
	if ok && e.State != tool.StateDisabled && e.Tool.App != "" && !slices.ContainsFunc(t.config.Keys, barred) {
		for _, s := range t.Servers() {
			tools, _ := s.Known()
			if !slices.ContainsFunc(tools, func(one *tool.Tool) bool { return one.Name() == e.Tool.Name() }) {
				continue
			}
			text, err := s.App(ctx, e.Tool, by)
			if err != nil {
				return "", &api.Fault{Kind: api.KindUnavailable, Message: policy.Visible(err.Error()),
					Fix: "look at the MCP server's settings"}
			}
			return text, nil
		}
	}
	return "", &api.Fault{Kind: api.KindNotFound, Message: "there is no tool with an app of this name"}
}
