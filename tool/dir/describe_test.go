package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

// answers is a program that answers to "describe" with a text and greets otherwise.
func answers(text string) string {
	return "#!/bin/sh\nif [ \"$1\" = describe ]; then cat <<'END'\n" + text +
		"\nEND\nexit; fi\necho \"hello $ARG_name\"\n"
}

func TestDescribe(t *testing.T) {
	const params = `{"type":"object","properties":{"name":{"type":"string","description":"who"},"file":{"type":"string"}},"required":["name"]}`
	for _, form := range []string{
		`{"name":"greet","description":"Greets.","parameters":` + params +
			`,"paths":{"read":["file"]},"timeout":"55s","network":true,"changes":false}`,
		`{"type":"function","function":{"name":"greet","description":"Greets.","parameters":` + params +
			`,"strict":true},"paths":{"read":["file"]},"timeout":"55s","network":true,"changes":false}`,
	} {
		dir := write(t, map[string]string{"any+": answers(form)})
		all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d tools, %v", len(all), err)
		}
		got := all[0]
		if got.Name() != "greet" || got.Definition.Description != "Greets." ||
			string(got.Definition.Parameters) != params || len(got.Facts.Paths) != 1 ||
			got.Facts.Paths[0] != (tool.PathFact{Argument: "file", Op: policy.OpRead}) || !got.Facts.Network ||
			!got.Facts.ReadOnly || got.Limits.Timeout != 55*time.Second {
			t.Errorf("%+v", got)
		}
		res := callOf(t, got, `{"name":"Ann"}`)
		if !res.OK || string(res.Data) != `"hello Ann"` {
			t.Errorf("%+v", res)
		}
	}
}

// TestDescribeSeveral: one bad definition of a program that gives several tools costs one tool.
func TestDescribeSeveral(t *testing.T) {
	program := "#!/bin/sh\nif [ \"$1\" = describe ]; then cat <<'END'\n" +
		`[{"name":"one","description":"The first."},{"name":"","description":"No name."},{"name":"two","description":"The second."},{"name":"bad"}]` +
		"\nEND\nexit; fi\necho \"called as $1\"\n"
	dir := write(t, map[string]string{"several+": program})
	all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
	if len(all) != 2 || err == nil || !strings.Contains(err.Error(), "number 2: it has no name") ||
		!strings.Contains(err.Error(), "number 4: it has no description") {
		t.Fatalf("%d tools, %v", len(all), err)
	}
	for _, one := range all {
		if res := callOf(t, one, `{}`); string(res.Data) != `"called as `+one.Name()+`"` {
			t.Errorf("%s: %+v", one.Name(), res)
		}
	}
}

// callOf runs one call of a tool.
func callOf(t *testing.T, one *tool.Tool, args string) tool.Result {
	t.Helper()
	var reg runner.Registry
	if err := reg.Add(one); err != nil {
		t.Fatal(err)
	}
	if err := reg.Set(one.Name(), tool.StateEnabled); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg, Root: t.TempDir(), Temp: t.TempDir(),
		Limits: tool.CallLimits{Timeout: 30 * time.Second}})
	r = r.With(func(s *runner.Settings) { s.Sandbox.Level = sandbox.None })
	res, err := r.Call(t.Context(), one.Name(), args)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestDescribeThatIsWrong(t *testing.T) {
	for _, tt := range []struct{ program, says string }{
		{"#!/bin/sh\necho 'no such option' >&2; exit 2\n", "no such option"},
		{"#!/bin/sh\nexit 3\n", "status 3"},
		{"#!/bin/sh\n", "prints nothing"},
		{answers(`usage: any`), "invalid character"},
		{answers(`{"name":"x","description":"d","colour":"red"}`), `unknown field "colour"`},
		{answers(`{"name":"x","description":"d"} {}`), "something follows"},
		{answers(`{"description":"d"}`), "no name"},
		{answers(`{"name":"x"}`), "no description"},
		{answers(`{"name":"x","description":"d","parameters":{"type":"string"}}`), "no schema of an object"},
		{answers(`{"name":"x","description":"d","paths":{"read":["file"]}}`), `no parameter "file"`},
		{answers(`{"name":"x","description":"d","paths":{"open":["file"]}}`), "read, write, list and delete"},
		{answers(`{"name":"x","description":"d","timeout":"1h"}`), "from 1s to 300s"},
		{answers(`{"type":"thing","function":{"name":"x","description":"d"}}`), "it is function"},
		{"\x7fELF no program at all", "has no tags"},
	} {
		dir := write(t, map[string]string{"bad+": tt.program, "good+": answers(`{"name":"good","description":"d"}`)})
		all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
		var e *Error
		if len(all) != 1 || !errors.As(err, &e) || !strings.Contains(e.Msg, tt.says) ||
			!strings.HasSuffix(e.File, "bad") {
			t.Errorf("%q: %d tools, %v; want %q", tt.program, len(all), err, tt.says)
		}
	}
}

// change writes a file anew, with a time that differs from the one before however coarse the clock of the
// file system is.
func change(t *testing.T, file, text string, mode os.FileMode, version int) {
	t.Helper()
	if err := errors.Join(os.WriteFile(file, []byte(text), mode), os.Chmod(file, mode)); err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1_700_000_000+int64(version), 0)
	if err := os.Chtimes(file, when, when); err != nil {
		t.Fatal(err)
	}
}

// TestSet follows a directory through changes: what stays is the same tool, what is new is there, what is
// broken stays as it was and is told, what is gone is gone.
func TestSet(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.sh"), filepath.Join(dir, "two.sh")
	script := func(says string) string { return "#!/bin/sh\n# description: " + says + "\n" }
	s := &Set{Options: Options{Level: sandbox.None}, Dirs: []string{dir}}
	state := func() string {
		tools, errs := s.Load(t.Context())
		var b strings.Builder
		for _, tl := range tools {
			fmt.Fprintf(&b, "%s %s; ", tl.Name(), tl.Definition.Description)
		}
		for _, err := range errs {
			b.WriteString(strings.ReplaceAll(err.Error(), dir+"/", "") + "; ")
		}
		return b.String()
	}
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, ""},
		{func() { change(t, one, script("first"), 0o755, 1) }, "one first; "},
		{func() { change(t, two, script("other"), 0o755, 2) }, "one first; two other; "},
		{func() { change(t, one, script("second"), 0o755, 3) }, "one second; two other; "},
		{func() { change(t, one, "#!/bin/sh\n# desciption: broken\n", 0o755, 4) },
			`one second; two other; one.sh:2: there is no tag "desciption"; did you mean "description"?; what it was before stays in force; `},
		{func() { change(t, one, script("third"), 0o755, 5) }, "one third; two other; "},
		{func() { os.Remove(two) }, "one third; "},
		{func() { os.Chmod(one, 0o644) }, "one.sh has the comments of a tool and is not executable: chmod +x one.sh; "},
	}
	for i, step := range steps {
		step.do()
		if got := state(); got != step.want {
			t.Fatalf("step %d: %q; want %q", i, got, step.want)
		}
		before, _ := s.Load(t.Context())
		after, _ := s.Load(t.Context())
		for k := range before {
			if before[k] != after[k] {
				t.Errorf("step %d: %s was read again", i, before[k].Name())
			}
		}
	}
	change(t, one, script("third"), 0o755, 6)
	state()
	s.Dirs = []string{filepath.Join(dir, "none"), dir}
	if got := state(); !strings.HasPrefix(got, "one third; tools: open ") {
		t.Errorf("%q", got)
	}
}
