package mcpconnector

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/internal/hosted"
	"wield/tool/mcp"
)

// A past holds what the history of a request says of calls.
type past struct {
	known   map[string]bool           // labels of the servers whose tools the client has been shown
	asked   []chat.Call               // that wait, and go on in this answer
	answers map[string]*approvalReply // of the client, by the id of the question
	results map[string]*chat.Result   // by the id of the call or of the question
}

// An approvalReply holds a client's answer to a question.
type approvalReply struct {
	approve bool
	reason  string
}

// A block is an item of the Responses protocol or a block of the Messages protocol.
type block struct {
	ID        string
	Label     string `json:"server_label"`
	Server    string `json:"server_name"`
	Name      string
	Arguments string
	Input     json.RawMessage
	Output    *string
	Error     json.RawMessage
	Question  *string `json:"approval_request_id"`
	Approve   bool
	Reason    string
	UseID     string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
	Content   json.RawMessage
}

// look notes what the history says of servers and of the results of calls.
func (s *session) look(messages []chat.Message) {
	s.known, s.answers, s.results = map[string]bool{}, map[string]*approvalReply{}, map[string]*chat.Result{}
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Kind == chat.PartOpaque {
				s.learn(p)
			}
		}
	}
}

// recall takes calls out of the history, as calls and results that the model reads. It reports false if there are none.
func (s *session) recall(messages []chat.Message) (changed bool) {
	last := [2]int{-1, -1} // place of what the model said last
	for i := range messages {
		m := &messages[i]
		if m.Role != chat.RoleAssistant {
			continue
		}
		for j := range m.Parts {
			if m.Parts[j].Kind != chat.PartOpaque {
				last = [2]int{i, j}
			}
		}
		if len(m.Calls) > 0 && last[0] < i { // questions of the same turn wait for the client as these calls do
			last = [2]int{i, -1}
		}
	}
	s.req.Messages, changed = hosted.Recall(messages, func(i, j int) hosted.Recalled {
		waits := i > last[0] || i == last[0] && j > last[1]
		return s.read(&messages[i].Parts[j], waits)
	})
	return changed
}

// learn notes what a part says of others.
func (s *session) learn(p *chat.Part) {
	var b block
	if json.Unmarshal(p.Raw, &b) != nil {
		return
	}
	switch p.Name {
	case typeList:
		s.known[b.Label] = true
	case typeResponse:
		if b.Question != nil {
			s.answers[*b.Question] = &approvalReply{b.Approve, b.Reason}
		}
	case typeCall:
		if b.Question != nil {
			s.results[*b.Question] = b.outcome()
		}
	case typeResult:
		s.results[b.UseID] = &chat.Result{Parts: chat.Text(textOf(b.Content)), IsError: b.IsError}
	}
}

// read returns what a part stands for. A call without a result waits, unless the model has gone on since.
func (s *session) read(p *chat.Part, waits bool) hosted.Recalled {
	if p.Kind != chat.PartOpaque || p.Protocol != chat.ProtocolResponses && p.Protocol != chat.ProtocolAnthropic {
		return hosted.Recalled{}
	}
	var b block
	json.Unmarshal(p.Raw, &b) // it came as JSON; what does not fit has no name
	switch p.Name {
	case typeList, typeResponse, typeResult:
		return hosted.Recalled{Drop: true}
	case typeCall:
		return hosted.Recalled{Call: s.callOf(&b, b.Label, b.Arguments), Result: b.outcome()}
	case typeRequest:
		if s.results[b.ID] != nil {
			return hosted.Recalled{Drop: true} // the call follows
		}
		return s.waiting(&b, s.callOf(&b, b.Label, b.Arguments), waits)
	case typeUse:
		c := s.callOf(&b, b.Server, string(b.Input))
		if r := s.results[b.ID]; r != nil {
			return hosted.Recalled{Call: c, Result: r}
		}
		return s.waiting(&b, c, waits)
	}
	return hosted.Recalled{}
}

// waiting returns what a call without a result stands for.
func (s *session) waiting(b *block, c *chat.Call, waits bool) hosted.Recalled {
	if waits {
		s.asked = append(s.asked, *c)
		return hosted.Recalled{Drop: true}
	}
	text := "Error: the call was not run"
	if a := s.answers[b.ID]; a != nil && a.reason != "" {
		text += ": " + a.reason
	}
	return hosted.Recalled{Call: c, Result: &chat.Result{Parts: chat.Text(text), IsError: true}}
}

// callOf returns the call of a block, by the name under which its tool is offered.
func (s *session) callOf(b *block, label, arguments string) *chat.Call {
	if arguments == "" {
		arguments = "{}"
	}
	name := mcp.OfferedName(space(label), b.Name)
	for seen, v := range s.by {
		if v.server.label == label && v.own == b.Name {
			name = seen
		}
	}
	return &chat.Call{ID: b.ID, Name: name, Arguments: arguments, Complete: true}
}

// outcome returns the result in an item.
func (b *block) outcome() *chat.Result {
	if b.Output != nil {
		return &chat.Result{Parts: chat.Text(*b.Output)}
	}
	var failed executionError
	text := ""
	if json.Unmarshal(b.Error, &text) != nil && json.Unmarshal(b.Error, &failed) == nil {
		raw, _ := json.Marshal(failed.Content)
		text = textOf(raw)
	}
	if text == "" {
		text = "Error: no result is known"
	}
	return &chat.Result{Parts: chat.Text(text), IsError: true}
}

// textOf returns the text of a content that is a string or a list of blocks.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []textBlock
	json.Unmarshal(raw, &list)
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.Text)
	}
	return b.String()
}
