package bridge_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/wire/openai"
)

// A strict model refuses sequences of messages as the chat template of a family does.
type strict struct {
	refuses func(roles []chat.Role) string
	last    *chat.Request
	refused int
}

func (s *strict) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		var roles []chat.Role
		for _, m := range req.Messages {
			roles = append(roles, m.Role)
		}
		s.last = req
		if why := s.refuses(roles); why != "" {
			s.refused++
			yield(chat.Event{},
				openai.DecodeError(500, nil, []byte(`{"error":{"message":"`+why+`","type":"internal_server_error"}}`)))
			return
		}
		_ = yield(chat.Event{Kind: chat.KindText, Text: "ok"}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

func alternating(roles []chat.Role) string {
	for i, r := range roles {
		if (r == chat.RoleUser) != (i%2 == 0) {
			return "Conversation Roles must Alternate User/Assistant/user/assistant/..."
		}
	}
	return ""
}

func withoutSystem(roles []chat.Role) []chat.Role {
	if len(roles) > 0 && roles[0] == chat.RoleSystem {
		return roles[1:]
	}
	return roles
}

// templates are the rules of families' templates, with their words.
var templates = map[string]func([]chat.Role) string{
	"gemma 2": func(roles []chat.Role) string {
		if len(roles) > 0 && roles[0] == chat.RoleSystem {
			return "System role not supported"
		}
		return alternating(roles)
	},
	"gemma 3": func(roles []chat.Role) string { return alternating(withoutSystem(roles)) },
	"mistral": func(roles []chat.Role) string {
		if alternating(withoutSystem(roles)) != "" {
			return "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
		}
		return ""
	},
	"qwen": func(roles []chat.Role) string {
		for i, r := range roles {
			if r == chat.RoleSystem && i > 0 {
				return "System message must be at the beginning."
			}
		}
		return ""
	},
}

// sequences are what clients send: s system, d developer, u user, a assistant, c an assistant's call, t its result.
var sequences = []string{"u", "su", "du", "us", "ssu", "sus", "usu", "uau", "suau", "uu", "suu", "uaau", "au", "sau",
	"sa", "uct", "suct", "uctu", "uctau", "succttau", "uactu", "uausu", "ucsct"}

// TestTemplateRules: sequences of messages that a template refuses reach the model all the same, with all their text,
// and what was learnt is kept.
func TestTemplateRules(t *testing.T) {
	for family, refuses := range templates {
		for _, tools := range []bool{false, true} {
			for _, mode := range []bridge.Mode{bridge.ModeAuto, bridge.ModeText} {
				s := &strict{refuses: refuses}
				b := bridge.New(s, bridge.Options{Mode: mode})
				for _, seq := range sequences {
					req := conversation(seq)
					if tools {
						req.Tools = []chat.Tool{weather}
					}
					for _, err := range b.Stream(t.Context(), req) {
						if err != nil {
							t.Fatalf("%s, %s, tools %v, %s: %v", family, mode, tools, seq, err)
						}
					}
					all := told(s.last)
					for _, m := range req.Messages {
						if text := m.Text(); text != "" && !strings.Contains(all, text) {
							t.Errorf("%s, %s: %q is lost in %q", family, seq, text, all)
						}
					}
				}
				if s.refused > 4 {
					t.Errorf("%s, %s: refused %d times", family, mode, s.refused)
				}
			}
		}
	}
}

func conversation(seq string) *chat.Request {
	req := &chat.Request{Model: "m"}
	id := ""
	for i, c := range seq {
		text := chat.Text("text " + string(rune('A'+i)) + ".")
		m := chat.Message{Parts: text}
		switch c {
		case 's':
			m.Role = chat.RoleSystem
		case 'd':
			m.Role = chat.RoleDeveloper
		case 'u':
			m.Role = chat.RoleUser
		case 'a':
			m.Role = chat.RoleAssistant
		case 'c':
			id = "call_" + string(rune('A'+i))
			m = chat.Message{Role: chat.RoleAssistant,
				Calls: []chat.Call{{ID: id, Name: "get_weather", Arguments: `{"city":"Rome"}`}}}
		case 't':
			m.Role, m.CallID = chat.RoleTool, id
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}
