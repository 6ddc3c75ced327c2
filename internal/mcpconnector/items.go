package mcpconnector

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/journal"
)

// The types of items and blocks.
const (
	typeList     = "mcp_list_tools"
	typeCall     = "mcp_call"
	typeRequest  = "mcp_approval_request"
	typeResponse = "mcp_approval_response"
	typeUse      = "mcp_tool_use"
	typeResult   = "mcp_tool_result"
)

// Ids of items and blocks that are wield's. Where the policy asks, the id of the approval follows.
const (
	requestPrefix = "mcpr_"
	usePrefix     = "mcptoolu_"
)

// newID returns the id of a call that the policy does not ask about.
func newID(prefix string) string { return journal.NewID(prefix + "w") }

// approvalOf returns the id of the approval in the id of an item or a block; empty: there is none.
func approvalOf(id string) string {
	for _, prefix := range []string{requestPrefix, usePrefix} {
		if rest, ok := strings.CutPrefix(id, prefix); ok && strings.HasPrefix(rest, "apr_") {
			return rest
		}
	}
	return ""
}

func opaque(p chat.Protocol, key string, value any) chat.Detail {
	raw, _ := json.Marshal(value) // of texts and of JSON
	return chat.Opaque{{Protocol: p, Key: key, Value: raw}}
}

// listItem is the list of a server's tools.
func listItem(v *server, list []listed) chat.Detail {
	return opaque(chat.ProtocolResponses, "item", struct {
		ID    string   `json:"id"`
		Type  string   `json:"type"`
		Label string   `json:"server_label"`
		Tools []listed `json:"tools"`
		Error *string  `json:"error"`
	}{journal.NewID("mcpl"), typeList, v.label, list, nil})
}

// A callItem is a call in the Responses protocol.
type callItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Label     string          `json:"server_label"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    *string         `json:"output"`
	Error     json.RawMessage `json:"error"`
	Status    string          `json:"status"`
	Approval  *string         `json:"approval_request_id"`
}

// item is a call in the Responses protocol, with its result once there is one.
func (x *runningCall) item(result *chat.Result) chat.Detail {
	it := callItem{ID: x.callID, Type: typeCall, Label: x.by.server.label, Name: x.by.own, Arguments: x.arguments,
		Error: json.RawMessage("null"), Status: "in_progress"}
	if x.resumed {
		it.Approval = &x.id
	}
	key := "item.begun"
	if result != nil {
		m := result.Message()
		text := m.Text()
		key, it.Status, it.Output = "item", "completed", &text
		if result.IsError {
			it.Status, it.Output = "failed", nil
			it.Error, _ = json.Marshal(executionError{"mcp_tool_execution_error", []textBlock{{"text", text}}})
		}
	}
	return opaque(chat.ProtocolResponses, key, it)
}

// An executionError is the error of a call in the Responses protocol.
type executionError struct {
	Type    string      `json:"type"`
	Content []textBlock `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// request asks the client to approve a call.
func (x *runningCall) request() chat.Detail {
	return opaque(chat.ProtocolResponses, "item", struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Label     string `json:"server_label"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}{x.id, typeRequest, x.by.server.label, x.by.own, x.arguments})
}

// use is a call in the Messages protocol.
func (x *runningCall) use() chat.Detail {
	input := json.RawMessage(x.arguments)
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	return opaque(chat.ProtocolAnthropic, typeUse, struct {
		Type   string          `json:"type"`
		ID     string          `json:"id"`
		Name   string          `json:"name"`
		Server string          `json:"server_name"`
		Input  json.RawMessage `json:"input"`
	}{typeUse, x.id, x.by.own, x.by.server.label, input})
}

// result is the result of a call in the Messages protocol.
func (x *runningCall) result(r *chat.Result) chat.Detail {
	m := r.Message()
	return opaque(chat.ProtocolAnthropic, typeResult, struct {
		Type    string      `json:"type"`
		ID      string      `json:"tool_use_id"`
		IsError bool        `json:"is_error"`
		Content []textBlock `json:"content"`
	}{typeResult, x.id, r.IsError, []textBlock{{"text", m.Text()}}})
}
