package api

import (
	"context"
	"net/http"
)

// MCP are the MCP servers whose tools a service runs.
type MCP interface {
	// MCPServers returns them in the order of their names, without asking them.
	MCPServers() []MCPServer
	// AcceptMCP agrees to a changed definition, if it is still the one with the hash, and offers the tool again. It
	// fails with a Fault if there is no such definition.
	AcceptMCP(ctx context.Context, server string, c AcceptedTool) error
}

// MCPServers are all of them.
type MCPServers struct {
	Items []MCPServer `json:"items"`
}

// An MCPServer is one that the service uses.
type MCPServer struct {
	Name      string        `json:"name"`
	Place     string        `json:"place" jsonschema:"the program and its arguments, or the address"`
	Connected bool          `json:"connected"`
	Protocol  string        `json:"protocol,omitempty" jsonschema:"the revision that is spoken"`
	Version   string        `json:"version,omitempty" jsonschema:"the name and version that the server gives itself"`
	Tools     []MCPTool     `json:"tools" jsonschema:"that are offered"`
	Changed   []ChangedTool `json:"changed" jsonschema:"tools that are withheld, since their definitions have changed"`
	Problems  []string      `json:"problems" jsonschema:"what is wrong with the server or with single tools"`
}

// An MCPTool is a tool that a server offers.
type MCPTool struct {
	Name        string `json:"name" jsonschema:"that models see"`
	Description string `json:"description,omitempty"`
}

// A ChangedTool is withheld until somebody accepts its definition.
type ChangedTool struct {
	Name string `json:"name" jsonschema:"the server's own"`
	Was  string `json:"was" jsonschema:"the definition that was accepted, as JSON in lines"`
	Now  string `json:"now" jsonschema:"the one that the server gives now"`
	Hash string `json:"hash" jsonschema:"of the latter"`
}

// An AcceptedTool is one whose changed definition is accepted.
type AcceptedTool struct {
	Name string `json:"name" jsonschema:"the server's own"`
	Hash string `json:"hash" jsonschema:"of the definition that was looked at"`
}

// mcpRoutes returns the routes of MCP servers.
func mcpRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/mcp", name: "listMCPServers", may: onlyAdmin, out: of(MCPServers{}),
			serve: (*call).listMCP,
			doc:   "List the MCP servers whose tools the service runs, with what they offer and what is withheld."},
		{method: http.MethodPost, path: "/mcp/{server}/accept", name: "acceptMCPTool", may: onlyAdmin,
			in:    of(AcceptedTool{}),
			fails: []Kind{KindNotFound, KindConflict}, serve: (*call).acceptMCP,
			doc: "Accept the changed definition of a tool, which is offered again."},
	}
}

// listMCP answers GET /mcp.
func (x *call) listMCP() (any, error) {
	list := &MCPServers{Items: []MCPServer{}}
	if m := x.mcp(); m != nil {
		list.Items = append(list.Items, m.MCPServers()...)
	}
	return list, nil
}

// acceptMCP answers POST /mcp/{server}/accept.
func (x *call) acceptMCP() (any, error) {
	m := x.mcp()
	if m == nil {
		return nil, notFound("MCP server", x.arg("server"))
	}
	return nil, m.AcceptMCP(x.r.Context(), x.arg("server"), *x.body.(*AcceptedTool))
}

func (x *call) mcp() MCP {
	if x.s.o.MCP == nil {
		return nil
	}
	return x.s.o.MCP()
}
