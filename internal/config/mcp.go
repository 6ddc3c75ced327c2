package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// MCPSuffix ends the name of a file that holds one MCPServer, in a directory of tools.
const MCPSuffix = ".mcp.yaml"

// PinsFile is the name of the file in the data directory that keeps what MCP servers said of their tools at first.
const PinsFile = "mcp.json"

// MCP lists servers of the Model Context Protocol, whose tools wield uses.
type MCP struct {
	Servers map[string]MCPServer `key:"servers" doc:"MCP servers by name. Tools are called NAME__TOOL."`
	Serve   MCPServe             `key:"serve" doc:"MCP server of wield serve."`
}

// An MCPServer is a program or a service that offers tools by the Model Context Protocol.
type MCPServer struct {
	Command  []string         `key:"command" doc:"Program and arguments, run in the workspace in the sandbox."`
	Env      map[string]Value `key:"env" doc:"Environment of the program, as text, env:NAME or file:PATH."`
	Net      bool             `key:"net" doc:"Allow network access in the sandbox."`
	Writable []string         `key:"writable" doc:"Directories and files it may change."`
	Readable []string         `key:"readable" doc:"Further directories and files it may read."`

	URL     URL              `key:"url" doc:"Address of an HTTP server."`
	Login   MCPLogin         `key:"login" doc:"OAuth; see wield mcp login."`
	Token   Secret           `key:"token" doc:"Bearer token, as env:NAME or file:PATH."`
	Headers map[string]Value `key:"headers" doc:"Additional headers; secrets as env:NAME or file:PATH."`

	Allow     []string `key:"allow" doc:"Tools to use, by the server's names; * is a wildcard. Empty: all."`
	Deny      []string `key:"deny" doc:"Tools not to use."`
	Shared    bool     `key:"shared" doc:"One connection and login for all keys. false: one for each."`
	Prompts   bool     `key:"prompts" doc:"Offer its prompts to MCP clients, and to models as list_prompts and get_prompt."`
	Resources bool     `key:"resources" doc:"Offer its resources to MCP clients, and to models as list_resources and read_resource."`
	Apps      bool     `key:"apps" doc:"Show its apps (HTML for results) in wield's page, in a frame without rights."`
	Protocol  string   `key:"protocol" enum:"|2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28" doc:"Revision to ask for. Empty: the newest."`
	Trust     []string `key:"trust" doc:"Tools that run without approval if there are no policies; * is a wildcard. Not in NAME.mcp.yaml."`
	Start     Duration `key:"start" min:"1s" max:"300s" doc:"Timeout for connecting and listing tools."`

	Enabled          bool     `key:"enabled" doc:"Offer it."`
	Auto             []string `key:"auto" doc:"Offer only if the user's message contains one of these words."`
	Timeout          Duration `key:"timeout" min:"1s" max:"24h" doc:"Timeout of one call."`
	Cache            Duration `key:"cache" doc:"Reuse results of identical calls for this long; 0s: never."`
	RequiresApproval bool     `key:"requires_approval" doc:"Ask a person before each call. Destructive tools always ask."`
}

// MCPLogin says who wield is to a service that it logs in to.
type MCPLogin struct {
	ClientID     string `key:"client_id" doc:"Id of a registered client. Empty: wield registers itself."`
	ClientSecret Secret `key:"client_secret" doc:"Its secret, as env:NAME or file:PATH."`
	Metadata     URL    `key:"client_metadata" doc:"Address of your Client ID Metadata Document, used as id."`
}

func (m *MCPServer) setDefaults() {
	m.Shared = true
	m.Enabled = true                // a server is named to be used
	m.Start = Duration(time.Minute) // npx first fetches what it runs
	m.Timeout = Duration(defaultToolTimeout)
}

var mcpName = regexp.MustCompile(`^[A-Za-z0-9]+([_-]?[A-Za-z0-9]+)*$`)

// CheckMCPName says what is wrong with the name of a server.
func CheckMCPName(name string) error {
	if !mcpName.MatchString(name) || len(name) > 32 {
		return fmt.Errorf("%q is no name for a server: at most 32 letters and digits, with single - and _ between "+
			"them", name)
	}
	return nil
}

func (m *MCPServer) check(d *decoder, path string) {
	switch {
	case len(m.Command) == 0 && m.URL == "":
		d.at(path, "the server has neither a command nor a url")
	case len(m.Command) > 0 && m.URL != "":
		d.at(join(path, "url"), "a server is a program (command) or a service (url), not both")
	}
	for _, key := range []string{"env", "net", "writable", "readable"} {
		if len(m.Command) == 0 && d.has(join(path, key)) {
			d.warn(join(path, key), "no effect: this is for programs")
		}
	}
	for _, key := range []string{"token", "headers", "login"} {
		if m.URL == "" && d.has(join(path, key)) {
			d.warn(join(path, key), "no effect: this is for services")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		checkHeader(d, join(path, "headers."+name), name, m.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		if v := m.Env[name]; secretHeader.MatchString(name) && !v.IsSecret() && v.String() != "" {
			d.at(join(path, "env."+name),
				"by its name this variable is a secret, which does not stand in the file: write env:NAME or file:PATH")
			d.hide(d.places[join(path, "env."+name)].value)
		}
	}
}

// ReadMCPServer reads a file of one server.
func ReadMCPServer(file string) (*MCPServer, error) {
	data, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &MCPServer{}
	if err := ReadEntry(file, data, m); err != nil {
		return nil, err
	}
	if len(m.Trust) > 0 {
		return nil, errors.New("trust is for mcp.servers in the configuration: what lies among tools allows nothing")
	}
	return m, nil
}

// CheckMCPServer says what is wrong with the text of a file of one server.
func CheckMCPServer(file string, text []byte) error {
	return ReadEntry(file, text, &MCPServer{})
}

// NamesSecret reports whether a value is a secret by its name.
func NamesSecret(name string) bool { return secretHeader.MatchString(name) }

// TokensFile is the name of the file in the data directory that keeps what logins to MCP servers have given.
const TokensFile = "mcp-tokens.json"
