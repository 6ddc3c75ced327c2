package compose

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/internal/gateway"
)

// TestCustomTools: a tool that takes plain text reaches a server of OpenAI that knows it as such a tool, whichever of
// the two protocols client and server speak, and its call comes back to the client as the call of one.
func TestCustomTools(t *testing.T) {
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		frames := []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"custom",` +
				`"custom":{"name":"patch","input":"x = "}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"custom":{"input":"\"y\""}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]",
		}
		if strings.HasSuffix(r.URL.Path, "/responses") {
			item := `{"type":"custom_tool_call","id":"i","call_id":"a","name":"patch","input":`
			frames = []string{
				`{"type":"response.output_item.added","output_index":0,"item":` + item + `""}}`,
				`{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"x = \"y\""}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + item + `"x = \"y\""}}`,
				`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`,
			}
		}
		for _, f := range frames {
			io.WriteString(w, "data: "+f+"\n\n")
		}
	}))
	t.Cleanup(srv.Close)
	s, err := compose(t, `
backends:
  chat: {kind: openai, url: "URL", forward: [custom]}
  items: {kind: responses, url: "URL"}
models:
  chat: {backend: chat, mode: native}
  items: {backend: items, mode: native}
`, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(front.Close)
	const (
		chatTool = `{"type":"custom","custom":{"name":"patch","format":{"type":"grammar",` +
			`"grammar":{"syntax":"regex","definition":"x.+"}}}}`
		itemTool = `{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"regex","definition":"x.+"}}`
	)
	sent := map[string]string{"chat": chatTool, "items": itemTool}
	for model, want := range sent {
		for _, tt := range []struct{ path, request, whole, stream string }{
			{"/v1/chat/completions", `"messages":[{"role":"user","content":"go"}],"tools":[` + chatTool + `]`,
				`"type":"custom","custom":{"name":"patch","input":"x = \"y\""}`,
				`"type":"custom","custom":{"name":"patch","input":""}`},
			{"/v1/responses", `"input":"go","tools":[` + itemTool + `]`,
				`"name":"patch","input":"x = \"y\""`, `"type":"response.custom_tool_call_input.done"`},
		} {
			for _, stream := range []bool{false, true} {
				request := `{"model":"` + model + `",` + tt.request + `}`
				if stream {
					request = strings.Replace(request, "{", `{"stream":true,`, 1)
					tt.whole = tt.stream
				}
				resp, err := front.Client().Post(front.URL+tt.path, "application/json", strings.NewReader(request))
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || !strings.Contains(string(answer), tt.whole) {
					t.Errorf("%s at %s: %v %s, want %s", model, tt.path, err, answer, tt.whole)
				}
				if !strings.Contains(body, `"tools":[`+want+`]`) {
					t.Errorf("%s at %s: %s was sent, want %s", model, tt.path, body, want)
				}
			}
		}
	}
}

// TestCustomGrammar: what servers that take grammars are sent for tools whose text follows one, in mode text.
func TestCustomGrammar(t *testing.T) {
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}`)
	}))
	t.Cleanup(srv.Close)
	const written = `\" [0-9]`
	for _, tt := range []struct{ constrain, grammar, want string }{
		{"llamacpp", `{"syntax":"lark","definition":"start: /x[0-9]/"}`, `"grammar":"root ::= `},
		{"llamacpp", `{"syntax":"regex","definition":"x[0-9]"}`, `"grammar":"root ::= `},
		{"vllm", `{"syntax":"lark","definition":"start: /x[0-9]/"}`,
			`"content":{"type":"grammar","grammar":"root ::= `},
		{"sglang", `{"syntax":"regex","definition":"x[0-9]"}`, `"content":{"type":"grammar","grammar":"root ::= `},
	} {
		s, err := compose(t, `
backends: {s: {url: "URL", constrain: `+tt.constrain+`}}
models: {a: {backend: s, mode: text, dialect: hermes}}
`, srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		front := httptest.NewServer(gateway.New(s.Gateway))
		for path, tool := range map[string]string{
			"/v1/chat/completions": `"messages":[{"role":"user","content":"go"}],"tools":[{"type":"custom",` +
				`"custom":{"name":"p","format":{"type":"grammar","grammar":` + tt.grammar + `}}}]`,
			"/v1/responses": `"input":"go","tools":[{"type":"custom","name":"p","format":{"type":"grammar",` +
				tt.grammar[1:] + `}]`,
		} {
			resp, err := front.Client().Post(front.URL+path, "application/json",
				strings.NewReader(`{"model":"a",`+tool+`}`))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 || !strings.Contains(body, tt.want) || !strings.Contains(body, written) {
				t.Errorf("%s at %s: %d, %s was sent, want %s and %s", tt.constrain, path, resp.StatusCode, body,
					tt.want, written)
			}
		}
		front.Close()
	}
}
