package compose

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/internal/config"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// TestRequestTools: a tool of the configuration and one of a file send what they say, their secrets too, and show them
// nowhere.
func TestRequestTools(t *testing.T) {
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Authorization"),
			r.Header.Get("X-Key")))
		fmt.Fprintf(w, "you are %s%s", r.Header.Get("Authorization"), r.Header.Get("X-Key"))
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("put_note.http.yaml", `
description: Keep a note.
method: PUT
url: `+s.URL+`/notes/{id}
params: {id: {}, text: {required: true}}
basic: {user: ann, password: env:KEY}
`)
	write("wrong.http.yaml", "description: d\nurl: "+s.URL+"/{x}\n")
	write("unknown.http.yaml", "description: d\nurll: x\n")
	box := toolboxOf(t, `
tools:
  dirs: [`+dir+`]
  http:
    get_note:
      description: Read a note.
      url: `+s.URL+`/notes/{id}?raw={raw}
      params: {id: {type: integer, enum: ["1", "2"]}, raw: {type: boolean}, tags: {type: array, items: string}}
      query: {tag: '{tags}', key: env:KEY}
      bearer: env:KEY
      enabled: true
      auto: [note]
      timeout: 95s
    secret_note: {description: Read a secret note., url: `+s.URL+`, headers: {X-Key: env:NO_SUCH}}
policies: {default: {default: allow, rules: [{allow: {host: ["`+s.Listener.Addr().String()+`"]}}]}}
`, t.TempDir())
	get, put := entryOf(t, box, "get_note"), entryOf(t, box, "put_note")
	if get.State != tool.StateAuto || get.Guard.Timeout != 95*time.Second || get.Guard.Mode != tool.ModeRO ||
		!get.Tool.Facts.ReadOnly || get.Tool.Source != "tools.http.get_note" {
		t.Errorf("%+v %+v", get, get.Tool)
	}
	if put.State != tool.StateDisabled || put.Tool.Facts.ReadOnly ||
		put.Tool.Source != filepath.Join(dir, "put_note.http.yaml") {
		t.Errorf("%+v %+v", put, put.Tool)
	}
	if want := `{"type":"object","properties":{"id":{"type":"integer","enum":[1,2]},"raw":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}}},"required":["id"],"additionalProperties":false}`; string(get.Tool.Definition.Parameters) != want {
		t.Errorf("%s", get.Tool.Definition.Parameters)
	}
	var problems []string
	for _, p := range box.Problems {
		problems = append(problems, p.Error())
	}
	for _, want := range []string{"wrong.http.yaml:2:6: url: the place {x}: there is no parameter x",
		`unknown.http.yaml:2:1: urll: unknown key; did you mean "url"?`,
		"tools.http.secret_note: X-Key: env:NO_SUCH: the variable is not set"} {
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("no problem says %q:\n%s", want, strings.Join(problems, "\n"))
		}
	}
	for _, name := range []string{"get_note", "put_note"} {
		if err := box.Registry.Set(name, tool.StateEnabled); err != nil {
			t.Fatal(err)
		}
	}
	guard := *put.Guard
	guard.Mode = tool.ModeRW
	if err := box.Registry.SetGuard("put_note", &guard); err != nil {
		t.Fatal(err)
	}
	box.Runner = box.Runner.With(func(set *runner.Settings) { set.Policy = openPolicy(t, s) })
	for _, tt := range []struct{ name, args, want, saw string }{
		{"get_note", `{"id":1,"raw":true,"tags":["a","b"]}`, "you are [redacted]",
			"GET /notes/1?raw=true&key=s3cret-key&tag=a&tag=b Bearer s3cret-key"},
		{"put_note", `{"id":"a/b","text":"hi"}`, "you are [redacted]", "PUT /notes/a%2Fb Basic YW5uOnMzY3JldC1rZXk="},
	} {
		seen = nil
		res, err := box.Runner.Call(t.Context(), tt.name, tt.args)
		if err != nil || string(res.Data) != `"`+tt.want+`"` || len(seen) != 1 || seen[0] != tt.saw {
			t.Errorf("%s: %s %q %v, the server saw %q", tt.name, res.Data, res.Error, err, seen)
		}
	}
}

// TestRequestToolWrong: what is wrong in the configuration is told with its place.
func TestRequestToolWrong(t *testing.T) {
	for text, says := range map[string]string{
		"url: 'https://{host}/', params: {host: {}}":                                               `tools.http.try_it.url: the host "{host}" has a place for an argument`,
		"url: 'https://x.example/', params: {a: {}}":                                               "tools.http.try_it.url: the parameter a has no place",
		"url: 'https://x.example/', params: {a: {items: string}}":                                  "tools.http.try_it.params.a.items: only an array has items",
		"url: 'https://x.example/', headers: {Authorization: Bearer 1234567}":                      "by its name this header carries a secret",
		"url: 'https://x.example/', bearer: env:A, basic: {user: u, password: env:B}":              "choose one",
		"url: 'https://x.example/', params: {a: {type: integer, enum: [x]}}, method: POST":         `enum: "x" is no integer`,
		"url: 'https://x.example/', timeout: 400s":                                                 "must be at most 300s",
		"url: 'https://x.example/', method: POST, body: '{\"a\": {a}}', params: {a: {}}, mode: rw": "the body is no JSON",
	} {
		_, err := config.Parse("config.yaml",
			[]byte("wield: config/v1\ntools: {http: {try_it: {description: d, "+text+"}}}\n"),
			config.Options{Getenv: env()})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "config.yaml:2:") {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}

// openPolicy lets calls go to a server on this machine.
func openPolicy(t *testing.T, s *httptest.Server) *policy.Policy {
	t.Helper()
	p, err := policy.New(policy.Definition{Name: "test", Default: chat.DecisionAllow,
		Rules: []policy.Rule{{Decision: chat.DecisionAllow,
			Selector: policy.Selector{Host: []string{s.Listener.Addr().String()}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
