package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// TestA18: in a stream of the Responses protocol an item has one id, from its first event to the last object, and no
// other item has it. An answer of calls alone has no empty message, and a stream that fails says response.failed.
func TestA18(t *testing.T) {
	type item struct{ ID, Type, Name, Status string }
	type event struct {
		Type     string
		ItemID   string `json:"item_id"`
		Item     *item
		Response *struct {
			ID     string
			Output []item
		}
	}
	read := func(body string) (events []event) {
		for _, f := range strings.Split(body, "\n") {
			f, ok := strings.CutPrefix(f, "data: ")
			if !ok || f == "[DONE]" {
				continue
			}
			var e event
			if err := json.Unmarshal([]byte(f), &e); err != nil {
				t.Fatalf("%v in %s", err, f)
			}
			events = append(events, e)
		}
		return events
	}
	const asked = `{"model":"m","stream":true,"input":"hi","tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}`
	calls := `{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}},{"index":1,"id":"b","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]}`
	for name, deltas := range map[string][]string{"calls": {calls},
		"text and calls": {`{"content":"I look."}`, calls}} {
		srv, _ := spoken(t, bridge.Options{Mode: bridge.ModeNative}, deltas)
		_, body := send(t, srv, http.MethodPost, "/v1/responses", asked)
		begun := map[string]string{} // type by id
		var order []string
		var last *event
		for _, e := range read(body) {
			switch {
			case e.Type == "response.output_item.added":
				if begun[e.Item.ID] != "" || e.Item.ID == "" {
					t.Errorf("%s: the id %q begins twice", name, e.Item.ID)
				}
				begun[e.Item.ID] = e.Item.Type
				order = append(order, e.Item.ID)
			case e.ItemID != "" && begun[e.ItemID] == "", e.Item != nil && begun[e.Item.ID] != e.Item.Type:
				t.Errorf("%s: %s of an item that never began", name, e.Type)
			case e.Type == "response.completed":
				last = &e
			}
		}
		if last == nil {
			t.Fatalf("%s: no response.completed in %s", name, body)
		}
		var final []string
		for _, it := range last.Response.Output {
			final = append(final, it.ID)
			if it.ID == last.Response.ID || begun[it.ID] != it.Type {
				t.Errorf("%s: the item %+v of the response %s", name, it, last.Response.ID)
			}
		}
		want := 2 + strings.Count(name, "text")
		if len(final) != want || strings.Join(final, " ") != strings.Join(order, " ") {
			t.Errorf("%s: the items are %q, in the stream %q; want %d", name, final, order, want)
		}
	}
	srv := serve(t, one(fails(chat.Errorf(chat.ErrUnavailable, "gone"), text("Hel"), idle())))
	_, body := send(t, srv, http.MethodPost, "/v1/responses", asked)
	if !strings.Contains(body, "event: response.failed") {
		t.Errorf("a failure is told as %s", body)
	}
}
