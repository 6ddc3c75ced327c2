package compose

import (
	"context"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/gateway"
)

// A middleware sees all that a model answers, and may change it.
type middleware struct {
	chat.Model
	see func(chat.Event) (chat.Event, bool)
}

func (m middleware) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for e, err := range m.Model.Stream(ctx, req) {
			keep := true
			if err == nil {
				e, keep = m.see(e)
			}
			if keep && !yield(e, err) {
				return
			}
		}
	}
}

// TestMiddlewareSeesNativeTools_A19_A20: the calls that Lumo runs itself and their results pass through a model that
// stands around the bridge, which sees them, may change a result or keep a call from the client, and sees the client's
// own calls beside.
func TestMiddlewareSeesNativeTools_A19_A20(t *testing.T) {
	const scenario = `wield: scenario/v1
name: native
backend: {speaks: lumo}
turns:
  - id: news
    reply:
      - target: {tool_call: '{"name":"web_search","parameters":{"query":"rain"}}'}
      - target: {tool_result: '{"results":[{"title":"secret rain","url":"https://news.example/1"}]}'}
      - target: {tool_call: '{"name":"stock","parameters":{"symbol":"X"}}'}
      - target: {tool_result: '{"price":1}'}
      - text: "It rains.\n"
      - {fence: json, call: {name: "user:get_weather", args: {city: Rome}}}
`
	file := filepath.Join(t.TempDir(), "native.scenario.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	service, err := compose(t, "backends: {b: {kind: lumo, url: \""+scripted(t, file)+
		"\", lumo: {enableWebSearch: true}}}\nmodels: {m: {backend: b, native: {annotations: true}}}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	o := service.Gateway
	o.Models[0].Model = middleware{o.Models[0].Model, func(e chat.Event) (chat.Event, bool) {
		switch e.Kind {
		case chat.KindNativeCall:
			seen = append(seen, "call "+e.Name+strings.ReplaceAll(e.Text, " ", ""))
			return e, e.Name != "stock"
		case chat.KindNativeResult:
			seen = append(seen, "result "+e.Name+strings.ReplaceAll(e.Text, " ", ""))
			e.Text = strings.ReplaceAll(e.Text, "secret ", "")
			return e, e.Name != "stock"
		case chat.KindCallEnd:
			seen = append(seen, "own "+e.Name+strings.ReplaceAll(e.Detail.(*chat.Call).Arguments, " ", ""))
		}
		return e, true
	}}
	front := httptest.NewServer(gateway.New(o))
	t.Cleanup(front.Close)
	const want = `call web_search{"query":"rain"} | result web_search{"results":[{"title":"secretrain","url":"https://news.example/1"}]} | ` +
		`call stock{"symbol":"X"} | result stock{"price":1} | own get_weather{"city":"Rome"}`
	for _, stream := range []bool{false, true} {
		seen = nil
		body := chatBody(told{question: "does it rain?"})
		body["model"], body["stream"] = "m", stream
		h := post(t, front.URL+"/v1/chat/completions", body, hearChat)
		if got := strings.Join(seen, " | "); got != want {
			t.Errorf("stream %v: the middleware sees\n%s\nwant\n%s", stream, got, want)
		}
		if h.name != "get_weather" || !strings.Contains(h.body, `"url":"https://news.example/1"`) ||
			strings.Contains(h.body, "secret") || strings.Contains(h.body, "stock") {
			t.Errorf("stream %v: the client gets %s", stream, h.body)
		}
	}
}
