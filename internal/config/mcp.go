package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// MCPSuffix is how the name of a file ends that holds one MCPServer, in a directory of tools.
const MCPSuffix = ".mcp.yaml"

// PinsFile is the name of the file in the data directory that keeps what MCP servers said of their tools at first.
const PinsFile = "mcp.json"

// MCP lists servers of the Model Context Protocol, whose tools wield uses.
type MCP struct {
	Servers map[string]MCPServer `key:"servers" doc:"Servers, by a name that stands in front of the names of their tools: NAME__TOOL."`
	Serve   MCPServe             `key:"serve" doc:"What wield serve offers by the protocol."`
}

// An MCPServer is a program or a service that offers tools by the Model Context Protocol.
type MCPServer struct {
	Command  []string         `key:"command" doc:"Program of the server and its arguments. It runs in the workspace, in the sandbox of sandbox.level."`
	Env      map[string]Value `key:"env" doc:"Variables of the program, as text, env:NAME or file:PATH. It gets no others than PATH, HOME and the like."`
	Net      bool             `key:"net" doc:"Whether the program may use the network, at the sandbox levels workspace and strict."`
	Writable []string         `key:"writable" doc:"Directories and files that the program may change, at those levels."`
	Readable []string         `key:"readable" doc:"Directories and files that it may read there, beside the workspace and the system's own."`

	URL     URL              `key:"url" doc:"Address of the server, for one that is a service."`
	Login   MCPLogin         `key:"login" doc:"How wield logs in to a service that wants it; see wield mcp login."`
	Token   Secret           `key:"token" doc:"Token for the header Authorization, as env:NAME or file:PATH."`
	Headers map[string]Value `key:"headers" doc:"Headers of each request; secrets as env:NAME or file:PATH."`

	Allow     []string `key:"allow" doc:"Tools that are used, by the server's own names; * stands for any characters. Empty: all."`
	Deny      []string `key:"deny" doc:"Tools that are not used."`
	Shared    bool     `key:"shared" doc:"Whether all keys of wield use one connection, with one program or one login. false: each key has its own."`
	Prompts   bool     `key:"prompts" doc:"Whether its prompts are used: by MCP clients of wield as such, by models with the tools list_prompts and get_prompt."`
	Resources bool     `key:"resources" doc:"Whether its resources are used: by MCP clients of wield as such, by models with the tools list_resources and read_resource."`
	Trust     []string `key:"trust" doc:"Tools that run without a question where no policies are configured; * stands for any characters. Not in a file NAME.mcp.yaml."`
	Start     Duration `key:"start" min:"1s" max:"300s" doc:"How long connecting and listing the tools may take."`

	Enabled          bool     `key:"enabled" doc:"Whether the tools are offered."`
	Auto             []string `key:"auto" doc:"Words: the tools are offered only when one of them stands in the user's message. Goes with enabled."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run. Tools that a server calls destructive always ask."`
}

// MCPLogin says who wield is to a service that it logs in to.
type MCPLogin struct {
	ClientID     string `key:"client_id" doc:"Id of a client that was registered by hand. Empty: wield registers itself."`
	ClientSecret Secret `key:"client_secret" doc:"Its secret, as env:NAME or file:PATH."`
	Metadata     URL    `key:"client_metadata" doc:"Address of a Client ID Metadata Document that you publish, which is then the client's id."`
}

func (m *MCPServer) setDefaults() {
	m.Shared = true
	m.Enabled = true // a server is named to be used
	m.Start = Duration(30 * time.Second)
	m.Timeout = Duration(defaultToolTimeout)
}

var mcpName = regexp.MustCompile(`^[A-Za-z0-9]+([_-]?[A-Za-z0-9]+)*$`)

// CheckMCPName says what is wrong with the name of a server.
func CheckMCPName(name string) error {
	if !mcpName.MatchString(name) || len(name) > 32 {
		return fmt.Errorf("%q is no name for a server: at most 32 letters and digits, with single - and _ between them", name)
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
