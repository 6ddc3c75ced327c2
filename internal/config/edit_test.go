package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetModel(t *testing.T) {
	const head = "wield: config/v1\n# The harbour's models.\nbackends:\n  local: {kind: openai, url: \"http://127.0.0.1:1/v1\"}\n"
	keys := [][2]string{{"mode", "text"}, {"dialect", "hermes"}}
	for _, tc := range []struct{ name, text, want, err string }{
		{
			name: "new keys come first",
			text: head +
				"models:\n  # the fast one\n  coder:\n    backend: local   # on this machine\n\n  other: {backend: local}\n",
			want: head +
				"models:\n  # the fast one\n  coder:\n    mode: text\n    dialect: hermes\n    backend: local   # on this machine\n\n  other: {backend: local}\n",
		},
		{
			name: "old ones are replaced in their place",
			text: head +
				"models:\n  coder:\n    backend: local\n    dialect: \"auto\" # for now\n    mode: native\n  text: {backend: local, mode: text}\n",
			want: head +
				"models:\n  coder:\n    backend: local\n    dialect: hermes # for now\n    mode: text\n  text: {backend: local, mode: text}\n",
		},
		{
			name: "lines end as they did",
			text: strings.ReplaceAll(head+"models:\n  coder:\n    backend: local\n", "\n", "\r\n"),
			want: strings.ReplaceAll(head+
				"models:\n  coder:\n    mode: text\n    dialect: hermes\n    backend: local\n", "\n", "\r\n"),
		},
		{
			name: "in braces",
			text: head +
				"models:\n  other: {backend: local}\n  coder: {backend: local, calls: {prefix: \"user:\"}}   # fast\n",
			want: head +
				"models:\n  other: {backend: local}\n  coder: {mode: text, dialect: hermes, backend: local, calls: {prefix: \"user:\"}}   # fast\n",
		},
		{
			name: "in braces, one key there, behind letters of several bytes",
			text: head + "models:\n  coder: { model: \"größe\", mode: 'native', backend: local }\n",
			want: head + "models:\n  coder: { dialect: hermes, model: \"größe\", mode: text, backend: local }\n",
		},
		{
			name: "in braces on several lines, both there on one",
			text: head + "models:\n  coder: {\n    backend: local,\n    mode: native, dialect: auto,   # both\n  }\n",
			want: head + "models:\n  coder: {\n    backend: local,\n    mode: text, dialect: hermes,   # both\n  }\n",
		},
		{
			name: "all in braces",
			text: "{wield: config/v1, backends: {local: {kind: openai, url: \"http://127.0.0.1:1/v1\"}}, models: {coder: {backend: local}}}\n",
			want: "{wield: config/v1, backends: {local: {kind: openai, url: \"http://127.0.0.1:1/v1\"}}, models: {coder: {mode: text, dialect: hermes, backend: local}}}\n",
		},
		{
			name: "the first key is there already",
			text: head + "models:\n  coder:\n    mode: auto\n    backend: local",
			want: head + "models:\n  coder:\n    dialect: hermes\n    mode: text\n    backend: local",
		},
		{
			name: "behind a byte order mark",
			text: "\ufeff" + head + "models:\n  coder:\n    backend: local\n",
			want: "\ufeff" + head + "models:\n  coder:\n    mode: text\n    dialect: hermes\n    backend: local\n",
		},
		{name: "a value that others use",
			text: head +
				"models:\n  coder:\n    backend: local\n    mode: &m native\n  other: {backend: local, mode: *m}\n",
			err: "is no plain text"},
		{name: "an alias", text: head + "models:\n  other: &o {backend: local}\n  coder: *o\n", err: "no models.coder"},
		{name: "another model", text: head + "models:\n  drawer:\n    backend: local\n", err: "no models.coder"},
		{name: "an anchor that others use", text: head + "models:\n  coder: &c\n    backend: local\n  other: *c\n",
			err: "more than it says"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := errors.Join(os.WriteFile(file, []byte(tc.text), 0o640), os.Chmod(file, 0o640)); err != nil {
				// whatever the umask says
				t.Fatal(err)
			}
			err := SetModel(file, "coder", keys, func(string) string { return "" })
			want := tc.want
			if tc.err != "" {
				want = tc.text
				if !errors.Is(err, ErrNotWritten) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want one with %q", err, tc.err)
				}
			} else if err != nil {
				t.Errorf("%v", err)
			}
			got, _ := os.ReadFile(file)
			if d := cmp.Diff(want, string(got)); d != "" {
				t.Error(d)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info, err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if err := SetModel(filepath.Join(t.TempDir(), "none.yaml"), "coder", keys, os.Getenv); !errors.Is(err,
		ErrNotWritten) {
		t.Errorf("no file: %v", err)
	}
}

// TestAddLine adds below keys that are there, that are not, in blocks and in braces; what is there keeps its bytes.
func TestAddLine(t *testing.T) {
	for _, tt := range []struct{ name, text, path, line, want string }{
		{"nothing", "", "a b", "- x: 1", "a:\n  b:\n    - x: 1\n"},
		{"a comment", "# only this", "a", "x: 1", "# only this\na:\n  x: 1\n"},
		{"another key", "z: 1\n", "a b", "x: 1", "z: 1\na:\n  b:\n    x: 1\n"},
		{"a block", "a:\n    z: 1 # one\n", "a", "x: 1", "a:\n    x: 1\n    z: 1 # one\n"},
		{"a key in a block", "a:\n  z: 1\n", "a b", "- x: 1", "a:\n  b:\n    - x: 1\n  z: 1\n"},
		{"a list", "a:\n  - z: 1\n  - z: 2\n", "a", "- x: 1", "a:\n  - x: 1\n  - z: 1\n  - z: 2\n"},
		{"a list at the margin", "a:\n- z: 1\n", "a", "- x: 1", "a:\n- x: 1\n- z: 1\n"},
		{"braces", "a: {z: 1}\n", "a b c", "x: 1", "a: {b: {c: {x: 1}}, z: 1}\n"},
		{"brackets", "a: [{z: 1}]\n", "a", "- x: 1", "a: [{x: 1}, {z: 1}]\n"},
		{"a list in braces", "é: 1\na: {z: 1}\n", "a b", "- x: 1", "é: 1\na: {b: [{x: 1}], z: 1}\n"},
		{"ends of lines of Windows", "a:\r\n  z: 1\r\n", "a", "x: 1", "a:\r\n  x: 1\r\n  z: 1\r\n"},
		{"a mark at the beginning", "\ufeffa:\n  z: 1\n", "a", "x: 1", "\ufeffa:\n  x: 1\n  z: 1\n"},
		{"empty braces", "a: {}\n", "a", "x: 1", ""},
		{"a key without a value", "a:\n", "a", "x: 1", ""},
		{"two documents", "a: 1\n---\nb: 1\n", "a", "x: 1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := addLine(tt.text, strings.Fields(tt.path), tt.line)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// TestSetModelAboveRules: rules of a policy below the model move by a line, and are the same rules.
func TestSetModelAboveRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wield.yaml")
	text := "wield: config/v1\nbackends: {b: {kind: script, scenario: demo}}\nmodels:\n  m:\n    backend: b\npolicies:\n  default:\n    rules:\n      - deny: {command: [rm]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SetModel(file, "m", [][2]string{{"dialect", "hermes"}}, func(string) string { return "" }); err != nil {
		t.Error(err)
	}
}
