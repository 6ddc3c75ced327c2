package openai

import (
	"fmt"
	"strings"
	"testing"

	"wield/chat"
)

// TestL09_NineLettersAndDigits: a server that takes only such ids gets them, of one id always the same, of two never
// one.
func TestL09_NineLettersAndDigits(t *testing.T) {
	var s shortener
	seen := map[string]string{}
	for i := range 100_000 {
		id := fmt.Sprintf("call_%d", i)
		short := s.of(id)
		if !isShortID(short) || seen[short] != "" || s.of(id) != short {
			t.Fatalf("%s becomes %q, as %q does", id, short, seen[short])
		}
		seen[short] = id
	}
	for _, id := range []string{"a", "", "search:0", "toolu_01", "abcdefghi", "ABCdef123", "abcdefgh!",
		strings.Repeat("x", 200)} {
		var one, two shortener
		two.of("call_1")
		got := one.of(id)
		if got != two.of(id) || (got == id) != isShortID(id) {
			t.Errorf("%q becomes %q and %q", id, got, two.of(id))
		}
	}
}

// TestL09_CallIDsNine: a call and its result go out under one id.
func TestL09_CallIDsNine(t *testing.T) {
	req := &chat.Request{Model: "m", Messages: []chat.Message{
		{Role: chat.RoleUser, Parts: chat.Text("x")},
		{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "toolu_w_1", Name: "f", Arguments: "{}"},
			{ID: "abcdef123", Name: "f", Arguments: "{}"}}},
		{Role: chat.RoleTool, CallID: "toolu_w_1", Parts: chat.Text("1")},
		{Role: chat.RoleTool, CallID: "abcdef123", Parts: chat.Text("2")},
	}}
	body, err := AppendRequest(nil, req, RequestOptions{CallIDs: CallIDsNine})
	if err != nil {
		t.Fatal(err)
	}
	short := (&shortener{}).of("toolu_w_1")
	for _, want := range []string{`{"id":"` + short + `",`, `"tool_call_id":"` + short + `"`, `{"id":"abcdef123",`,
		`"tool_call_id":"abcdef123"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	if body, _ := AppendRequest(nil, req, RequestOptions{}); !strings.Contains(string(body),
		`"tool_call_id":"toolu_w_1"`) {
		t.Errorf("other servers get %s", body)
	}
}
