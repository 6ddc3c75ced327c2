package chattemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"wield/chat"
)

// Prompt renders the messages and tools of a request, up to where the model's turn begins. The token with which every
// text begins is left to the server, which adds it to all that it completes.
//
// What the template asks of the time gets now. Calls have ids that any template takes, the same for the same
// conversation. A message with anything but text is an error.
func (t *Template) Prompt(req *chat.Request, found *Found, now time.Time) (string, error) {
	c := conversation{Generate: true, EOS: t.eos}
	for i := range req.Tools {
		f := &req.Tools[i]
		params := f.Parameters
		if len(params) == 0 {
			params = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		c.Tools = append(c.Tools,
			tool{"function", function{Name: f.Name, Description: f.Description, Parameters: params}})
	}
	ids := callIDs{}
	for i := range req.Messages {
		m, err := ids.message(&req.Messages[i], found.Quoted)
		if err != nil {
			return "", fmt.Errorf("messages[%d]: %w", i, err)
		}
		c.Messages = append(c.Messages, m)
	}
	return t.render(c, now)
}

// callIDs are the ids of calls as the template gets them: nine letters and digits, which is what some insist on.
type callIDs map[string]string

func (ids callIDs) of(id string) string {
	if ids[id] == "" {
		ids[id] = fmt.Sprintf("call%05d", len(ids)+1)
	}
	return ids[id]
}

func (ids callIDs) message(m *chat.Message, quotes bool) (message, error) {
	out := message{Role: string(m.Role), Name: m.Name, Reasoning: m.Reasoning}
	if m.Role == chat.RoleDeveloper {
		out.Role = string(chat.RoleSystem)
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case chat.PartText:
			out.Content += p.Text
		case chat.PartOpaque: // which only the server that it came from can read
		default:
			return out, fmt.Errorf("a prompt is text and cannot hold %s", p.Describe())
		}
	}
	if m.Role == chat.RoleTool {
		out.CallID = ids.of(m.CallID)
	}
	for i := range m.Calls {
		call := &m.Calls[i]
		arguments := json.RawMessage(call.Arguments)
		if !json.Valid(arguments) {
			return out, errors.New("the arguments of a call are not JSON")
		}
		if quotes {
			arguments = quoted(arguments)
		}
		c := called(arguments).Calls[0]
		c.ID, c.Function.Name = ids.of(call.ID), call.Name
		out.Calls = append(out.Calls, c)
	}
	return out, nil
}

// header returns how the template begins the user's turn behind the model's; "" if that is no marker.
func (t *Template) header() string {
	alone, err := t.render(conversation{Messages: []message{user, assistant}}, anyDay)
	if err != nil {
		return ""
	}
	both, err := t.render(conversation{Messages: []message{user, assistant, user2}}, anyDay)
	if err != nil {
		return ""
	}
	_, end, _ := strings.Cut(alone, spoken)
	_, rest, _ := strings.Cut(both, spoken)
	between, _, ok := strings.Cut(rest, asked2)
	if !ok {
		return ""
	}
	header := strings.TrimSpace(strings.TrimPrefix(between, end))
	header = header[strings.LastIndexByte(header, '\n')+1:]
	if header == "" || header[0] != '<' && header[0] != '[' {
		return "" // words that an answer may hold
	}
	return header
}
