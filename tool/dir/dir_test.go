package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// write makes a directory of files; those whose names end in + are executable.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if cut, ok := strings.CutSuffix(name, "+"); ok {
			name, mode = cut, 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	dir := write(t, map[string]string{
		"greet.sh+": "#!/bin/sh\n# description: Greets\n# somebody: this is no tag\n# description: somebody. Example: {\"name\": \"Ann\"}\n" +
			"# param name string required: who\n# param loud boolean: whether loudly\n# timeout: 5s\n# changes: no\necho hello\n# param late string: too late\n",
		"other+":    "#!/bin/sh\n# tool: copy_file\n# description: Copies.\n# param from string: a\n# param to string: b\n# path read: from\n# path write: to\n",
		"notes.txt": "# description: not executable\n",
	})
	all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
	if err != nil || len(all) != 2 {
		t.Fatalf("%d tools, %v", len(all), err)
	}
	greet, other := all[0], all[1]
	if greet.Name() != "greet" || greet.Definition.Description != `Greets somebody. Example: {"name": "Ann"}` ||
		greet.Limits.Timeout.Seconds() != 5 || !greet.Facts.ReadOnly ||
		string(
			greet.Definition.Parameters) != `{"type":"object","properties":{"loud":{"type":"boolean","description":"whether loudly"},"name":{"type":"string","description":"who"}},"required":["name"],"additionalProperties":false}` {
		t.Errorf("%+v %s", greet, greet.Definition.Parameters)
	}
	if other.Name() != "copy_file" || len(other.Facts.Paths) != 2 ||
		other.Facts.Paths[1] != (tool.PathFact{Argument: "to", Op: policy.OpWrite}) || other.Guard == nil {
		t.Errorf("%+v", other)
	}
}

// TestWrong: what is wrong is told with its place, and nothing else is lost.
func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		tags string
		line int
		says string
	}{
		{"# param x string: a\n", 0, "no line"},
		{"# description: d\n# param x: a\n", 3, "is told as"},
		{"# description: d\n# param x text: a\n", 3, `no type "text"`},
		{"# description: d\n# param LD-PRELOAD string: a\n", 3, "no name for a parameter"},
		{"# description: d\n# param x string: a\n# param x string: b\n", 4, "stands twice"},
		{"# description: d\n# path read: x\n", 3, `no parameter "x"`},
		{"# description: d\n# param x string: a\n# path open: x\n", 4, "there are read, write"},
		{"# description: d\n# timeout: 400s\n", 3, "from 1s to 300s"},
		{"# description: d\n# changes: maybe\n", 3, "neither yes nor no"},
		{"# just a script\n", 0, "has no tags"},
		{"# desciption: d\n", 2, `did you mean "description"`},
		{"# description: d\n# parma x string: a\n", 3, `did you mean "param"`},
		{"# description: d\n# " + strings.Repeat("x", 5000) + "\n# param x string required: a\n", 3, "longer than"},
		{"# description: d\n" + strings.Repeat("# and\n", 300), 200, "go on beyond line 200"},
	} {
		dir := write(t, map[string]string{"bad.sh+": "#!/bin/sh\n" + tt.tags,
			"good.sh+": "#!/bin/sh\n# description: d\n"})
		all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
		var e *Error
		if len(all) != 1 || !errors.As(err, &e) || e.Line != tt.line || !strings.Contains(e.Msg, tt.says) ||
			!strings.HasSuffix(e.File, "bad.sh") {
			t.Errorf("%q: %d tools, %v; want line %d, %q", tt.tags, len(all), err, tt.line, tt.says)
		}
	}
	if _, err := Load(t.Context(), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestRun(t *testing.T) {
	dir := write(t, map[string]string{
		"echo_args.sh+": "#!/bin/sh\n# description: d\n# param text string: a\n# param n integer: b\ncat; echo; echo \"$ARG_text|$ARG_n\"\n",
		"make_json.sh+": "#!/bin/sh\n# description: d\necho '{\"a\": [1, 2.50]}'\n",
		"fail.sh+":      "#!/bin/sh\n# description: d\necho no such city >&2; exit 3\n",
		"silent.sh+":    "#!/bin/sh\n# description: d\nexit 1\n",
		"slow.sh+":      "#!/bin/sh\n# description: d\n# timeout: 1s\nsleep 30\n",
	})
	all, err := Load(t.Context(), dir, Options{Level: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	var reg runner.Registry
	if err := reg.Add(all...); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg, Root: t.TempDir(), Temp: t.TempDir()})
	r = r.With(func(s *runner.Settings) { s.Sandbox.Level, s.Limits.Output = sandbox.None, -1 })
	for _, tt := range []struct{ name, args, data, fails string }{
		{"echo_args", `{"text":"$(id) 'x'","n":5}`, `"{\"text\":\"$(id) 'x'\",\"n\":5}\n$(id) 'x'|5"`, ""},
		{"make_json", `{}`, `{"a": [1, 2.50]}`, ""},
		{"fail", `{}`, "", "no such city"},
		{"echo_args", `{"text":"` + strings.Repeat("x", 200_000) + `"}`,
			"\"{\\\"text\\\":\\\"" + strings.Repeat("x", 200_000) + "\\\"}\\n|\"", ""},
		{"silent", `{}`, "", "it ended with status 1"},
		{"slow", `{}`, "", "timed out"},
		{"echo_args", `{"more":1}`, "", "unknown property"},
	} {
		res, err := r.Call(t.Context(), tt.name, tt.args)
		if err != nil || string(res.Data) != tt.data || !strings.Contains(res.Error, tt.fails) ||
			res.OK != (tt.fails == "") {
			t.Errorf("%s: %.200s %q, %v; want %.200s %q", tt.name, res.Data, res.Error, err, tt.data, tt.fails)
		}
	}
}
