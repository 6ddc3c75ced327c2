package mcpconnector

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool/mcp"
)

// named returns a request with tools of a protocol, and with mcp_servers if there are any.
func named(p chat.Protocol, name, servers string, tools ...string) *chat.Request {
	req := &chat.Request{}
	for _, raw := range tools {
		req.Tools = append(req.Tools, chat.Tool{Name: name, Protocol: p, Hosted: chat.HostedRequired,
			Raw: json.RawMessage(raw)})
	}
	if servers != "" {
		req.Extra = []chat.Extra{{Protocol: chat.ProtocolAnthropic, Key: keyServers, Value: json.RawMessage(servers)}}
	}
	return req
}

// TestServers: what a request says of servers is read, and the fields of it that are not used are named.
func TestServers(t *testing.T) {
	responses := func(tools ...string) *chat.Request { return named(chat.ProtocolResponses, typeTool, "", tools...) }
	messages := func(servers string, sets ...string) *chat.Request {
		return named(chat.ProtocolAnthropic, typeToolset, servers, sets...)
	}
	const dice = `[{"type":"url","url":"https://example.com/mcp","name":"dice"}]`
	for name, tt := range map[string]struct {
		req    *chat.Request
		unread string // fields
		fault  string
		wants  string // the one of roll, ask and write that is wanted; empty: all
	}{
		"a label": {req: responses(`{"server_label":"dice"}`)},
		"a description": {req: responses(`{"server_label":"dice","server_description":"d"}`),
			unread: "tools.server_description"},
		"deferred": {req: responses(`{"server_label":"dice","defer_loading":true}`),
			unread: "tools.defer_loading"},
		"not deferred": {req: responses(`{"server_label":"dice","defer_loading":false}`)},
		"names":        {req: responses(`{"server_label":"dice","allowed_tools":["ask"]}`), wants: "ask"},
		"read-only": {req: responses(`{"server_label":"dice","allowed_tools":{"read_only":true}}`),
			wants: "roll"},
		"a connector": {req: responses(`{"server_label":"x","connector_id":"connector_gmail"}`),
			fault: "connector_id"},
		"a tunnel": {req: responses(`{"server_label":"x","tunnel_id":"t"}`), fault: "tunnel_id"},
		"no label": {req: responses(`{}`), fault: "needs a label"},
		"a long label": {req: responses(`{"server_label":"` + strings.Repeat("x", 65) + `"}`),
			fault: "at most 64"},
		"labels twice": {req: responses(`{"server_label":"a"}`, `{"server_label":"a"}`), fault: "another server"},
		"labels alike": {req: responses(`{"server_label":"a-b"}`, `{"server_label":"A_b"}`),
			fault: "look the same"},
		"an unknown gate": {req: responses(`{"server_label":"a","require_approval":"maybe"}`),
			fault: "require_approval"},
		"Messages": {req: messages(dice)},
		"a toolset": {
			req: messages(dice,
				`{"mcp_server_name":"dice","default_config":{"enabled":false},"configs":{"ask":{"enabled":true}}}`),
			wants: "ask"},
		"a deferred set": {
			req:    messages(dice, `{"mcp_server_name":"dice","default_config":{"defer_loading":true}}`),
			unread: "tools.defer_loading"},
		"a deferred tool": {
			req:    messages(dice, `{"mcp_server_name":"dice","configs":{"ask":{"defer_loading":true}}}`),
			unread: "tools.defer_loading"},
		"two toolsets": {req: messages(dice, `{"mcp_server_name":"dice"}`, `{"mcp_server_name":"dice"}`),
			fault: "another toolset"},
		"a set of nobody":   {req: messages(dice, `{"mcp_server_name":"cards"}`), fault: "not among mcp_servers"},
		"another transport": {req: messages(`[{"type":"stdio","name":"dice"}]`), fault: "the type is url"},
	} {
		s := &session{host: &host{}, req: *tt.req}
		list, err := s.servers(tt.req)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(list) != 1 || len(s.req.Tools) != 0 || len(s.req.Extra) != 0 {
			t.Errorf("%s: %d servers, %d tools left: %v", name, len(list), len(s.req.Tools), err)
			continue
		}
		if got := strings.Join(s.req.Unread, " "); got != tt.unread {
			t.Errorf("%s: unread is %q, not %q", name, got, tt.unread)
		}
		if len(tt.req.Unread) != 0 {
			t.Errorf("%s: the caller's request was changed", name)
		}
		var wanted []string
		for _, d := range []mcp.Definition{{Name: "roll", Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
			{Name: "ask"}, {Name: "write"}} {
			if list[0].wants(&d) {
				wanted = append(wanted, d.Name)
			}
		}
		all := []string{"roll", "ask", "write"}
		if tt.wants != "" {
			all = []string{tt.wants}
		}
		if !slices.Equal(wanted, all) {
			t.Errorf("%s: wants %q", name, wanted)
		}
	}
}

// TestGate: the client approves all calls unless it says otherwise, and what it always wants to see wins.
func TestGate(t *testing.T) {
	for raw, want := range map[string][2]bool{ // whether roll and ask need an approval
		`{}`:                                {true, true},
		`"always"`:                          {true, true},
		`"never"`:                           {false, false},
		`{"never":{"tool_names":["roll"]}}`: {false, true},
		`{"never":{"read_only":true}}`:      {false, true},
		`{"always":{"tool_names":["roll"]},"never":{"tool_names":["roll"]}}`: {true, true},
	} {
		var g gate
		if err := json.Unmarshal([]byte(raw), &g); err != nil {
			t.Fatal(err)
		}
		roll := mcp.Definition{Name: "roll", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}
		if got := [2]bool{g.needs(&roll), g.needs(&mcp.Definition{Name: "ask"})}; got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// TestSpace: a label becomes part of the names of tools, in which the separator cannot stand.
func TestSpace(t *testing.T) {
	for label, want := range map[string]string{
		"dice": "dice", "my server": "my_server", "api.example.com": "api_example_com", "a__b": "a_b", "_x_": "x",
		"._.": "", "a___b____c": "a_b_c", "ümlaut": "mlaut", strings.Repeat("x", 50): strings.Repeat("x", maxSpace),
	} {
		if got := space(label); got != want {
			t.Errorf("%q becomes %q", label, got)
		}
	}
}
