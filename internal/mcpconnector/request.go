package mcpconnector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"wield/chat"
	"wield/tool/mcp"
)

const (
	typeTool    = "mcp"         // of a tool in the Responses protocol
	typeToolset = "mcp_toolset" // in the Messages protocol
	keyServers  = "mcp_servers" // field of the Messages protocol
)

// A server is one that a request names.
type server struct {
	protocol   chat.Protocol
	param      string // its place in the request
	label, url string
	header     http.Header
	secrets    []string // in it
	allowed    *filter  // nil: all tools
	gate       *gate    // nil: the client approves no calls
	set        *toolset // nil: there is none
	at         *mcp.Server
}

// wants reports whether the request wants a tool of the server.
func (v *server) wants(d *mcp.Definition) bool {
	return v.allowed.fits(d) && v.set.enabled(d.Name)
}

// A filter selects tools.
type filter struct {
	Names    []string `json:"tool_names"`
	ReadOnly *bool    `json:"read_only"`
}

// UnmarshalJSON reads a list of names, or an object.
func (f *filter) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, &f.Names)
	}
	type plain filter
	return json.Unmarshal(raw, (*plain)(f))
}

func (f *filter) fits(d *mcp.Definition) bool {
	if f == nil {
		return true
	}
	var hints struct {
		ReadOnly bool `json:"readOnlyHint"`
	}
	json.Unmarshal(d.Annotations, &hints) // what cannot be read is not read-only
	return (f.Names == nil || slices.Contains(f.Names, d.Name)) && (f.ReadOnly == nil || *f.ReadOnly == hints.ReadOnly)
}

// A gate says which calls the client wants to approve: all, unless it says otherwise.
type gate struct {
	Always, Never *filter
	never         bool
}

// UnmarshalJSON reads a word, or an object of filters.
func (g *gate) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '"' {
		type plain gate
		return json.Unmarshal(raw, (*plain)(g))
	}
	var word string
	if err := json.Unmarshal(raw, &word); err != nil {
		return err
	}
	if g.never = word == "never"; !g.never && word != "always" {
		return fmt.Errorf("require_approval is always, never, or an object, not %q", word)
	}
	return nil
}

func (g *gate) needs(d *mcp.Definition) bool {
	switch {
	case g.Always != nil && g.Always.fits(d):
		return true
	case g.Never != nil && g.Never.fits(d):
		return false
	}
	return !g.never
}

// A toolset says which tools of a server a request of the Messages protocol wants.
type toolset struct {
	Server  string `json:"mcp_server_name"`
	Default use    `json:"default_config"`
	Configs map[string]use
}

type use struct {
	Enabled  *bool
	Deferred bool `json:"defer_loading"`
}

// deferred reports whether tools of the set need not be described at once.
func (t *toolset) deferred() bool {
	own := slices.Collect(maps.Values(t.Configs))
	return t.Default.Deferred || slices.ContainsFunc(own, func(u use) bool { return u.Deferred })
}

func (t *toolset) enabled(name string) bool {
	if t == nil {
		return true
	}
	if own := t.Configs[name]; own.Enabled != nil {
		return *own.Enabled
	}
	return t.Default.Enabled == nil || *t.Default.Enabled
}

// servers takes the servers that a request names out of it.
func (s *session) servers(req *chat.Request) (list []*server, err error) {
	s.req.Tools = make([]chat.Tool, 0, len(req.Tools))
	sets := map[string]*toolset{}
	for i := range req.Tools {
		t := &req.Tools[i]
		param := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Hosted != chat.HostedNot && t.Protocol == chat.ProtocolResponses && t.Name == typeTool:
			v, err := s.defined(param, t.Raw)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		case t.Hosted != chat.HostedNot && t.Protocol == chat.ProtocolAnthropic && t.Name == typeToolset:
			set := &toolset{}
			if err := json.Unmarshal(t.Raw, set); err != nil {
				return nil, badRequest(param, err)
			}
			if sets[set.Server] != nil {
				return nil, badRequest(param, fmt.Errorf("there is another toolset of the server %q", set.Server))
			}
			if sets[set.Server] = set; set.deferred() {
				s.unread("tools.defer_loading")
			}
		default:
			s.req.Tools = append(s.req.Tools, *t)
		}
	}
	for _, x := range req.Extra {
		if x.Protocol != chat.ProtocolAnthropic || x.Key != keyServers {
			continue
		}
		if list, err = urlServers(x.Value, sets); err != nil {
			return nil, err
		}
		s.req.Extra = slices.DeleteFunc(slices.Clone(req.Extra), func(y chat.Extra) bool {
			return y.Protocol == x.Protocol && y.Key == x.Key
		})
		break
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if !slices.ContainsFunc(list, func(v *server) bool { return v.label == name }) {
			return nil, badRequest("tools", fmt.Errorf("the toolset's server %q is not among mcp_servers", name))
		}
	}
	return list, check(list)
}

// unread has the client told that a field is not used.
func (s *session) unread(field string) { s.req.Unread = append(slices.Clip(s.req.Unread), field) }

// check reports servers that cannot be told from each other, and too many.
func check(list []*server) error {
	labels := map[string]string{} // by what they are in the names of tools, which are compared without case
	for i, v := range list {
		folded := strings.ToLower(strings.ReplaceAll(space(v.label), "-", "_"))
		before, taken := labels[folded]
		switch {
		case v.label == "" || len(v.label) > maxLabel:
			return badRequest(v.param, fmt.Errorf("the server needs a label of at most %d bytes", maxLabel))
		case folded == "":
			return badRequest(v.param, fmt.Errorf("the label %q of the server needs a letter or a digit", v.label))
		case taken && before == v.label:
			return badRequest(v.param, fmt.Errorf("there is another server of the label %q", v.label))
		case taken:
			return badRequest(v.param, fmt.Errorf("the labels %q and %q look the same in the names of tools", before,
				v.label))
		case i == maxServers:
			return badRequest(v.param, fmt.Errorf("a request names at most %d MCP servers", maxServers))
		}
		labels[folded] = v.label
	}
	return nil
}

// defined reads a tool of the Responses protocol.
func (s *session) defined(param string, raw json.RawMessage) (*server, error) {
	var d struct {
		Label         string            `json:"server_label"`
		URL           string            `json:"server_url"`
		Connector     string            `json:"connector_id"`
		Tunnel        string            `json:"tunnel_id"`
		Authorization string            `json:"authorization"`
		Headers       map[string]string `json:"headers"`
		Allowed       *filter           `json:"allowed_tools"`
		Approval      gate              `json:"require_approval"`
		Description   string            `json:"server_description"`
		Deferred      bool              `json:"defer_loading"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, badRequest(param, err)
	}
	if d.Connector != "" || d.Tunnel != "" {
		return nil, badRequest(param, fmt.Errorf("connector_id and tunnel_id are of OpenAI's servers: give server_url"))
	}
	if d.Description != "" {
		s.unread("tools.server_description")
	}
	if d.Deferred {
		s.unread("tools.defer_loading")
	}
	v := &server{protocol: chat.ProtocolResponses, param: param, label: d.Label, url: d.URL, allowed: d.Allowed,
		gate: &d.Approval}
	v.authorize(d.Authorization, d.Headers)
	return v, nil
}

// urlServers reads mcp_servers of the Messages protocol.
func urlServers(raw json.RawMessage, sets map[string]*toolset) (list []*server, err error) {
	var defs []struct {
		Type, URL, Name string
		Token           string `json:"authorization_token"`
		Configuration   *struct {
			Enabled *bool
			Allowed []string `json:"allowed_tools"`
		} `json:"tool_configuration"`
	}
	if err := json.Unmarshal(raw, &defs); err != nil {
		return nil, badRequest(keyServers, err)
	}
	for i, d := range defs {
		v := &server{protocol: chat.ProtocolAnthropic, param: fmt.Sprintf("%s[%d]", keyServers, i), label: d.Name,
			url: d.URL, set: sets[d.Name]}
		v.authorize(d.Token, nil)
		if d.Type != "url" {
			return nil, badRequest(v.param, fmt.Errorf("the type is url, not %q", d.Type))
		}
		if c := d.Configuration; c != nil && c.Allowed != nil {
			v.allowed = &filter{Names: c.Allowed}
		}
		if c := d.Configuration; c != nil && v.set == nil {
			v.set = &toolset{Default: use{Enabled: c.Enabled}}
		}
		list = append(list, v)
	}
	return list, nil
}

func badRequest(param string, err error) error {
	return &chat.Error{Kind: chat.ErrBadRequest, Param: param, Message: param + ": " + err.Error(), Cause: err}
}
