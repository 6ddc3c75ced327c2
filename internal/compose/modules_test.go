package compose

import (
	"strings"
	"testing"
)

// TestModules asks models whose texts modules change on both ways.
func TestModules(t *testing.T) {
	srv := newServer(t, "# The *answer*\n\nis ACME-12 and opensesame\n")
	s, err := compose(t, `
backends: {s: {url: "URL"}}
models:
  a: {backend: s, mode: native, agent: {modules: [tidy, hush]}}
  b: {backend: s, mode: native, agent: {modules: [inward]}}
  c: {backend: s, mode: native, agent: {modules: [de]}}
modules:
  hush: {kind: redact, words: ["env:WORD"], patterns: ["ACME-[0-9]+"], with: "***"}
  inward: {kind: redact, words: ["env:WORD"], direction: in}
  tidy: {kind: format, markdown: plain, trim: true, order: 9}
  de: {kind: translate, model: b, people: German}
`, srv.URL, "WORD", "opensesame")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ask(t, s, "a", "say opensesame"), "The answer\n\nis *** and ***\n"; got != want {
		t.Errorf("a answered %q, want %q", got, want)
	}
	if got, want := srv.requests[0].Messages[0].Content, "say ***"; got != want {
		t.Errorf("a's model read %q, want %q", got, want)
	}
	if got, want := ask(t, s, "b", "say opensesame"), "# The *answer*\n\nis ACME-12 and opensesame\n"; got != want {
		t.Errorf("b answered %q, want %q", got, want)
	}
	ask(t, s, "c", "")
	n := len(srv.requests)
	for i, want := range []string{"English", "hello", "German"} {
		// the question is translated, the model is asked, the answer is translated
		r := srv.requests[n-3+i]
		if len(r.Messages) == 0 || !strings.Contains(r.Messages[0].Content, want) && i != 1 {
			t.Errorf("request %d for c is %+v, want one about %s", i, r, want)
		}
	}
}

func TestModuleErrors(t *testing.T) {
	for _, tt := range []struct{ module, want string }{
		{`{kind: redact, words: ["env:NONE"]}`, "modules.m: words: env:NONE: the variable is not set"},
		{`{kind: redact, words: ["env:LINES"]}`, "modules.m: words: env:LINES holds a line break"},
		{"{kind: exec, command: [./none], hooks: [on_message]}", "modules.m: command: "},
	} {
		_, err := compose(t,
			"backends: {s: {kind: script, scenario: success}}\nmodels: {a: {backend: s, agent: {modules: [m]}}}\nmodules: {m: "+tt.module+"}\n", "", "LINES", "a\nb")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.module, err, tt.want)
		}
	}
}
