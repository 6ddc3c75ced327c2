package bridge_test

import (
	"encoding/json"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// TestBrokenHistory: the arguments of earlier calls reach a server with function calling as an object, whatever the client
// kept of them. The client's own request stays as it is.
func TestBrokenHistory(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{`{"city": "Paris"}`, `{"city": "Paris"}`},
		{``, `{}`},
		{`{'city': 'Paris',}`, `{"city": "Paris"}`},
		{`{"city": "Par`, `{"arguments":"{\"city\": \"Par"}`},
		{`"{\"city\": \"Paris\"}"`, `{"city": "Paris"}`},
		{`[1, 2]`, `{"arguments":"[1, 2]"}`},
		{`I want the weather`, `{"arguments":"I want the weather"}`},
	} {
		req := with(ask(weather), func(r *chat.Request) {
			r.Messages = append(r.Messages,
				chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "a", Name: "get_weather", Arguments: `{"city":"Rome"}`}, {ID: "b", Name: "get_weather", Arguments: tt.args}}},
				chat.Message{Role: chat.RoleTool, CallID: "a", Parts: chat.Text("1")}, chat.Message{Role: chat.RoleTool, CallID: "b", Parts: chat.Text("2")})
		})
		at := len(req.Messages) - 3
		_, model := play(t, bridge.Options{Mode: bridge.ModeNative}, req, answer{text("ok"), finish(chat.FinishStop)})
		calls := model.requests[0].Messages[at].Calls
		if calls[0].Arguments != `{"city":"Rome"}` || calls[1].Arguments != tt.want {
			t.Errorf("%s reaches the model as %s, want %s; the call before it as %s", tt.args, calls[1].Arguments, tt.want, calls[0].Arguments)
		}
		if !json.Valid([]byte(calls[1].Arguments)) {
			t.Errorf("%s is no JSON", calls[1].Arguments)
		}
		if got := req.Messages[at].Calls[1].Arguments; got != tt.args {
			t.Errorf("the client's request was changed to %s", got)
		}
	}
}
