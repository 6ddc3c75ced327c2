package bridge_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// TestBrokenHistory: the arguments of earlier calls reach a server with function calling as an object, whatever the
// client kept of them. The client's own request stays as it is.
func TestBrokenHistory(t *testing.T) {
	large := "{" + strings.Repeat("a:1,", 1<<18) + "}" // more than is repaired
	for _, tt := range []struct{ args, want string }{
		{`{"city": "Paris"}`, `{"city": "Paris"}`},
		{``, `{}`},
		{`{'city': 'Paris',}`, `{"city": "Paris"}`},
		{`{"city": "Par`, `{"arguments":"{\"city\": \"Par"}`},
		{`"{\"city\": \"Paris\"}"`, `{"city": "Paris"}`},
		{`[1, 2]`, `{"arguments":"[1, 2]"}`},
		{`I want the weather`, `{"arguments":"I want the weather"}`},
		{large, `{"arguments":"` + large + `"}`},
		{large[:1<<19] + "}", `{"a":1}`},
	} {
		req := with(ask(weather), func(r *chat.Request) {
			r.Messages = append(r.Messages,
				chat.Message{Role: chat.RoleAssistant,
					Calls: []chat.Call{{ID: "a", Name: "get_weather", Arguments: `{"city":"Rome"}`},
						{ID: "b", Name: "get_weather", Arguments: tt.args}}},
				chat.Message{Role: chat.RoleTool, CallID: "a", Parts: chat.Text("1")},
				chat.Message{Role: chat.RoleTool, CallID: "b", Parts: chat.Text("2")})
		})
		at := len(req.Messages) - 3
		_, model := play(t, bridge.Options{Mode: bridge.ModeNative}, req, answer{text("ok"), finish(chat.FinishStop)})
		calls := model.requests[0].Messages[at].Calls
		if calls[0].Arguments != `{"city":"Rome"}` || calls[1].Arguments != tt.want {
			t.Errorf("%.99s reaches the model as %.99s, want %.99s; the call before it as %s", tt.args, calls[1].Arguments,
				tt.want, calls[0].Arguments)
		}
		if !json.Valid([]byte(calls[1].Arguments)) {
			t.Errorf("%.99s is no JSON", calls[1].Arguments)
		}
		if got := req.Messages[at].Calls[1].Arguments; got != tt.args {
			t.Errorf("the client's request was changed to %.99s", got)
		}
	}
}

// TestPairedHistory: each call that a server with function calling is shown has its result behind it, and each result a
// call.
func TestPairedHistory(t *testing.T) {
	// A history in short: u a user's message, a(x y) an assistant's with the calls x and y, x=1 the result of x.
	for _, tt := range []struct{ name, history, want string }{
		{"in order", "u a(x y) x=1 y=2 u", "u a(x y) x=1 y=2 u"},
		{"in another order", "u a(x y) y=2 x=1 u", "u a(x y) y=2 x=1 u"},
		{"no result", "u a(x) u", "u a(x) x=none u"},
		{"one of two", "u a(x y) y=2 u", "u a(x y) x=none y=2 u"},
		{"at the end", "u a(x)", "u a(x) x=none"},
		{"late", "u a(x) u x=1", "u a(x) x=1 u"},
		{"cut off in front", "x=1 u", "u:x=1 u"},
		{"twice", "u a(x) x=1 x=2 u", "u a(x) x=1 u:x=2 u"},
		{"another's", "u a(x) z=3 u", "u a(x) x=none u:z=3 u"},
		{"an id that came back", "u a(x) u a(x) x=2", "u a(x) x=none u a(x) x=2"},
		{"two calls under one id", "u a(x x) x=1 x=2", "u a(x x) x=1 x=2"},
		{"an assistant between", "u a(x) a x=1", "u a(x) x=1 a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := with(ask(weather), func(r *chat.Request) { r.Messages = readHistory(tt.history) })
			_, model := play(t, bridge.Options{Mode: bridge.ModeNative}, req,
				answer{text("ok"), finish(chat.FinishStop)})
			if got := writeHistory(model.requests[0].Messages); got != tt.want {
				t.Errorf("the model is shown %q, want %q", got, tt.want)
			}
			if got := writeHistory(req.Messages); got != tt.history {
				t.Errorf("the client's request became %q", got)
			}
		})
	}
}

var historyWord = regexp.MustCompile(`u|a(?:\(([a-z ]+)\))?|([a-z])=(\d)`)

func readHistory(short string) (messages []chat.Message) {
	for _, word := range historyWord.FindAllStringSubmatch(short, -1) {
		switch {
		case word[2] != "":
			messages = append(messages, chat.Message{Role: chat.RoleTool, CallID: word[2], Name: "get_weather",
				Parts: chat.Text(word[3])})
		case word[0] == "u":
			messages = append(messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text("u")})
		default:
			m := chat.Message{Role: chat.RoleAssistant}
			for id := range strings.FieldsSeq(word[1]) {
				m.Calls = append(m.Calls, chat.Call{ID: id, Name: "get_weather", Arguments: `{"city":"Rome"}`})
			}
			messages = append(messages, m)
		}
	}
	return messages
}

func writeHistory(messages []chat.Message) string {
	var words []string
	for _, m := range messages {
		switch m.Role {
		case chat.RoleTool:
			words = append(words, m.CallID+"="+strings.Replace(m.Text(), "There is no result of this call.", "none", 1))
		case chat.RoleUser:
			word := "u"
			if len(m.Parts) > 1 { // a result that became one
				word += ":" + string(m.Parts[0].Text[len("Result of get_weather (")]) + "=" + m.Parts[1].Text
			}
			words = append(words, word)
		default:
			word := "a"
			if len(m.Calls) > 0 {
				var ids []string
				for _, c := range m.Calls {
					ids = append(ids, c.ID)
				}
				word += "(" + strings.Join(ids, " ") + ")"
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
