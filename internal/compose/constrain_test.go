package compose

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/internal/config"
)

// TestConstrain: what each kind of server is sent for a client's response_format and for a required call.
func TestConstrain(t *testing.T) {
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		answer := `{\"city\":\"Rome\"}`
		if strings.Contains(body, "get_weather") {
			answer = `{\"tool_calls\":[{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`+
			answer+`"}}]}`)
	}))
	t.Cleanup(srv.Close)
	city := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	for _, tc := range []struct{ constrain, form, calls string }{
		{"auto", `"response_format":{"type":"json_schema"`, `"response_format":{"type":"json_schema"`},
		{"openai", `"response_format":{"type":"json_schema"`, `"response_format":{"type":"json_schema"`},
		{"vllm", `"structured_outputs":{"json":{"type":"object"`, `"response_format":{"type":"structural_tag"`},
		{"llamacpp", `"json_schema":{"type":"object"`, `"grammar":"root ::= `},
		{"sglang", `"response_format":{"type":"json_schema"`, `"response_format":{"type":"structural_tag"`},
		{"ollama", `"response_format":{"type":"json_schema"`, `"schema":{"type":"array"`},
		{"none", "", ""},
	} {
		s, err := compose(t, `
backends: {s: {url: "URL", constrain: `+tc.constrain+`}}
models: {a: {backend: s, mode: text}}
`, srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		req := &chat.Request{Model: "a", Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hello")}},
			Format: &chat.Format{Kind: chat.FormatSchema, Name: "city", Schema: city}}
		check := func(what, want string) {
			t.Helper()
			for e, err := range modelOf(t, s, "a").Model.Stream(t.Context(), req) {
				if err != nil {
					t.Fatalf("%s: %v", tc.constrain, err)
				}
				if e.Kind == chat.KindBounce {
					t.Errorf("%s, %s: bounced: %+v", tc.constrain, what, e.Detail.(*chat.BounceDetail))
				}
			}
			if want != "" && !strings.Contains(body, want) {
				t.Errorf("%s, %s: %s is not in %s", tc.constrain, what, want, body)
			}
			for _, key := range []string{`"response_format"`, `"structured_outputs"`,
				`,"json_schema":{"type":"object"`} {
				if strings.Contains(body, key) &&
					!strings.Contains(","+want+`"response_format" structural_tag,"json_schema":{"type":"object"`,
						key) || want == "" && strings.Contains(body, key) {
					t.Errorf("%s, %s: %s in %s", tc.constrain, what, key, body)
				}
			}
		}
		check("form", tc.form)
		req.Format = nil
		req.Tools = []chat.Tool{{Name: "get_weather", Parameters: city}}
		req.Choice.Mode = chat.ChoiceRequired
		check("calls", tc.calls)
	}
}

// TestConstrainKinds: how a backend of each kind is held if the file does not say.
func TestConstrainKinds(t *testing.T) {
	for kind, want := range map[string]bridge.Constraint{"openai": bridge.ConstraintAuto,
		"anthropic": bridge.ConstraintAuto, "ollama": bridge.ConstraintOllama, "script": bridge.ConstraintNone,
		"lumo": bridge.ConstraintNone} {
		b := config.DefaultBackend()
		b.Kind = kind
		if got := holdOf(&b); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
		b.Constrain = "none"
		if got := holdOf(&b); got != bridge.ConstraintNone {
			t.Errorf("%s, none: %s", kind, got)
		}
	}
}
