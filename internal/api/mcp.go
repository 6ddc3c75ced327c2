package api

import (
	"context"
	"io"
	"net/http"
)

// MCP are the MCP servers whose tools a service runs.
type MCP interface {
	// MCPServers returns them in the order of their names, without asking them.
	MCPServers() []MCPServer
	// AcceptMCP agrees to a changed definition, if it is still the one with the hash, and offers the tool again. It
	// fails with a Fault if there is no such definition.
	AcceptMCP(ctx context.Context, server string, c AcceptedTool) error
	// AppMCP returns the document that shows the results of a tool, read on behalf of somebody. It fails with a Fault
	// if there is none.
	AppMCP(ctx context.Context, tool, by string) (string, error)
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
			serve: (*exchange).listMCP,
			doc:   "List the MCP servers whose tools the service runs, with what they offer and what is withheld."},
		{method: http.MethodPost, path: "/mcp/{server}/accept", name: "acceptMCPTool", may: onlyAdmin,
			in:    of(AcceptedTool{}),
			fails: []Kind{KindNotFound, KindConflict}, serve: (*exchange).acceptMCP,
			doc: "Accept the changed definition of a tool, which is offered again."},
		{method: http.MethodGet, path: "/tools/{tool}/app", name: "showApp", may: asking, media: mediaHTML,
			write: (*exchange).showApp, fails: []Kind{KindUnavailable},
			doc: "Read the document with which an MCP server shows the results of a tool, for a frame of wield's " +
				"page."},
	}
}

// listMCP answers GET /mcp.
func (x *exchange) listMCP() (any, error) {
	list := &MCPServers{Items: []MCPServer{}}
	if m := x.mcp(); m != nil {
		list.Items = append(list.Items, m.MCPServers()...)
	}
	return list, nil
}

// acceptMCP answers POST /mcp/{server}/accept.
func (x *exchange) acceptMCP() (any, error) {
	m := x.mcp()
	if m == nil {
		return nil, notFound("MCP server", x.arg("server"))
	}
	return nil, m.AcceptMCP(x.r.Context(), x.arg("server"), *x.body.(*AcceptedTool))
}

func (x *exchange) mcp() MCP {
	if x.s.o.MCP == nil {
		return nil
	}
	return x.s.o.MCP()
}

// mediaHTML is the content type of apps.
const mediaHTML = "text/html"

// appPolicy is the Content-Security-Policy of apps. The document has an origin of its own, wherever it is opened, and
// reaches nothing: what its server's metadata asks for is not granted. It names no 'self', which would be this service.
const appPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
	"img-src data: blob:; font-src data:; media-src data: blob:; form-action 'none'; base-uri 'none'; " +
	"frame-ancestors 'self'"

// showApp answers GET /tools/{tool}/app. In a tab of its own an app could say that it is wield, and go where it likes;
// within a frame it could lead to another app. Browsers say what asks only over https and on this machine.
func (x *exchange) showApp() error {
	dest, site := x.r.Header.Get("Sec-Fetch-Dest"), x.r.Header.Get("Sec-Fetch-Site")
	if dest != "" && dest != "iframe" || site != "" && site != "same-origin" {
		return fault(KindForbidden, "an app is shown in wield's page alone").with("open the run in wield's page")
	}
	m := x.mcp()
	if m == nil {
		return notFound("app of a tool", x.arg("tool"))
	}
	text, err := m.AppMCP(x.r.Context(), x.arg("tool"), x.caller.Name)
	if err != nil {
		return err
	}
	h := x.w.Header()
	h.Set("Content-Type", mediaHTML+"; charset=utf-8")
	h.Set("Content-Security-Policy", appPolicy)
	h.Set("Connection-Allowlist", "()") // closes WebRTC, which the policy above does not know
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	x.begun = true
	x.deadline()
	_, _ = io.WriteString(x.w, text)
	return nil
}
