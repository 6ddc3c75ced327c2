package compose

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/runner"
)

const notesDocument = `openapi: 3.0.3
servers: [{url: SERVER}]
security: [{key: []}, {login: []}]
paths:
  /notes/{id}:
    get: {operationId: getNote, summary: Read one note by its number, parameters: [{name: id, in: path, required: true, schema: {type: integer}}]}
    delete: {operationId: dropNote, parameters: [{name: id, in: path, required: true, schema: {type: integer}}]}
  /broken/{x}: {get: {operationId: broken}}
components:
  securitySchemes:
    key: {type: apiKey, in: query, name: key}
    login: {type: http, scheme: basic}
`

// TestOpenAPITools: the operations of a document are tools, from the configuration and from a file beside the document.
func TestOpenAPITools(t *testing.T) {
	var saw string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		saw = fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"key":%q}`, r.URL.Query().Get("key"))
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes.yaml", strings.Replace(notesDocument, "SERVER", s.URL, 1))
	write("mine.openapi.yaml",
		"document: notes.yaml\nprefix: my_\nmethods: [DELETE]\nmode: rw\nenabled: true\nauth: {login: {user: ann, password: env:KEY}}\n")
	write("lost.openapi.yaml", "document: nowhere.yaml\n")
	write("unset.openapi.yaml", "document: notes.yaml\nauth: {key: {token: env:NO_SUCH}}\n")
	box := toolboxOf(t, `
tools:
  dirs: [`+dir+`]
  openapi:
    notes: {document: `+filepath.Join(dir, "notes.yaml")+`, enabled: true, timeout: 95s, auth: {key: {token: env:KEY}}}
`, t.TempDir())
	if document := filepath.Join(dir, "notes.yaml"); !slices.Contains(box.Dirs, document) {
		t.Errorf("%s is not kept from tools: %q", document, box.Dirs)
	}
	if !slices.Contains(box.Runner.Settings().Redact, "s3cret-key") {
		t.Errorf("the secret is not known to the runner: %q", box.Runner.Settings().Redact)
	}
	for name, want := range map[string]string{"get_note": "enabled ro true", "drop_note": "enabled ro false",
		"my_drop_note": "enabled rw false"} {
		e := entryOf(t, box, name)
		if got := fmt.Sprint(e.State, " ", e.Guard.Mode, " ", e.Tool.Facts.ReadOnly); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var problems []string
	for _, p := range box.Problems {
		problems = append(problems, p.Error())
	}
	for _, want := range []string{`notes.yaml:8: the path /broken/{x}: there is no parameter "x"`,
		"lost.openapi.yaml: " + filepath.Join(dir, "nowhere.yaml") + ": ",
		"unset.openapi.yaml: auth.key.token: env:NO_SUCH: the variable is not set"} {
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("no problem says %q:\n%s", want, strings.Join(problems, "\n"))
		}
	}
	box.Runner = box.Runner.With(func(set *runner.Settings) { set.Policy = openPolicy(t, s) })
	for _, tt := range []struct{ name, want, saw string }{
		{"get_note", `{"key":"[redacted]"}`, "GET /notes/7?key=s3cret-key "},
		{"my_drop_note", `{"key":""}`, "DELETE /notes/7 Basic YW5uOnMzY3JldC1rZXk="},
		{"drop_note", "", ""},
	} {
		saw = ""
		res, err := box.Runner.Call(t.Context(), tt.name, `{"id":7}`)
		if err != nil || string(res.Data) != tt.want || saw != tt.saw ||
			tt.want == "" && res.ErrorType != tool.ErrSecurity {
			t.Errorf("%s: %s %q %v, the server saw %q", tt.name, res.Data, res.Error, err, saw)
		}
	}
}

// TestRequestsReload: what has not changed is the same tool, and what has is another.
func TestRequestsReload(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ask_it.http.yaml", "description: d\nurl: https://a.example/\n")
	write("notes.yaml", strings.Replace(notesDocument, "SERVER", "https://a.example", 1))
	write("n.openapi.yaml", "document: notes.yaml\noperations: [getNote]\nauth: {key: {token: env:KEY}}\n")
	c := config.Default()
	c.Tools.HTTP = map[string]config.HTTPTool{"fixed": {Method: "GET", URL: "https://a.example/"}}
	source, err := requestTools(&Toolbox{Dirs: []string{dir}}, c,
		&ToolEnvironment{Getenv: func(string) string { return "k-secret" }})
	if err != nil {
		t.Fatal(err)
	}
	load := func() map[string]*tool.Tool {
		tools, problems := source.Load(t.Context())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		all := map[string]*tool.Tool{}
		for _, one := range tools {
			all[one.Name()] = one
		}
		return all
	}
	first, again := load(), load()
	if len(first) != 3 || first["ask_it"] != again["ask_it"] || first["get_note"] != again["get_note"] ||
		first["fixed"] != again["fixed"] {
		t.Errorf("%v, then %v", first, again)
	}
	write("ask_it.http.yaml", "description: other\nurl: https://a.example/\n")
	write("notes.yaml", strings.Replace(notesDocument, "SERVER", "https://b.example", 1))
	changed := load()
	if changed["ask_it"].Definition.Description != "other" ||
		changed["get_note"].Facts.Sites[0] != "https://b.example" || changed["fixed"] != first["fixed"] {
		t.Errorf("%v", changed)
	}
	if err := os.Remove(filepath.Join(dir, "ask_it.http.yaml")); err != nil {
		t.Fatal(err)
	}
	if left := load(); left["ask_it"] != nil || len(left) != 2 {
		t.Errorf("%v", left)
	}
}
