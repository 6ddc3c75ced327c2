package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/schema"
)

// TestImportServers makes files of what other clients have, without their secrets.
func TestImportServers(t *testing.T) {
	const claude = `{
	  // a comment
	  "mcpServers": {
	    "My Server!": {"command": "prog", "args": ["--fast"], "env": {"API_KEY": "s3cret", "LEVEL": "debug", "OTHER_TOKEN": "env:MINE"}},
	    "off": {"command": "x", "disabled": true}
	  }
	}`
	files, notes, err := importServers([]byte(strings.ReplaceAll(claude, "// a comment", "# a comment")))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text := files[0].text
	if files[0].name != "My-Server.mcp.yaml" || strings.Contains(text, "s3cret") {
		t.Errorf("%s:\n%s", files[0].name, text)
	}
	for _, part := range []string{"prog", "--fast", "env:API_KEY", "LEVEL: debug", "env:MINE"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nhas no %s", text, part)
		}
	}
	all := strings.Join(notes, "\n")
	if len(notes) != 2 || !strings.Contains(all, "off is switched off") ||
		!strings.Contains(all, "API_KEY was not copied") {
		t.Errorf("notes: %s", all)
	}
	if _, _, err := importServers([]byte(`{"mcpServers": {}}`)); err == nil ||
		!strings.Contains(err.Error(), "mcpServers") {
		t.Errorf("no servers: %v", err)
	}
}

func TestImportCodex(t *testing.T) {
	const config = "[mcp_servers.docs]\nurl = \"https://example.com/mcp\"\nbearer_token_env_var = \"DOCS_TOKEN\"\ndisabled_tools = [\"drop\"]\n" +
		"[mcp_servers.docs.env_http_headers]\nX-Team = \"TEAM\"\n[mcp_servers.gone]\ncommand = \"x\"\nenabled = false\n"
	files, notes, err := importCodex([]byte(config))
	if err != nil || len(files) != 1 || len(notes) != 1 {
		t.Fatalf("%d files, %v, %v", len(files), notes, err)
	}
	for _, part := range []string{"https://example.com/mcp", "env:DOCS_TOKEN", "X-Team: env:TEAM", "drop"} {
		if !strings.Contains(files[0].text, part) {
			t.Errorf("%s\nhas no %s", files[0].text, part)
		}
	}
}

// TestCallArguments reads NAME=VALUE as the tool's parameters want it.
func TestCallArguments(t *testing.T) {
	s, err := schema.Compile(
		[]byte(
			`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"l":{"type":"array","items":{"type":"string"}},"any":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string // "": an error
	}{
		{nil, `{}`},
		{[]string{`{"n": 1}`}, `{"n": 1}`},
		{[]string{"-"}, `{"from":"input"}`},
		{[]string{"n=5", "s=5"}, `{"n":5,"s":"5"}`},
		{[]string{"l=a"}, `{"l":["a"]}`},
		{[]string{`l=["a","b"]`}, `{"l":["a","b"]}`},
		{[]string{"any=[1]", "other=a=b"}, `{"any":[1],"other":"a=b"}`},
		{[]string{`s=say "hi"`}, `{"s":"say \"hi\""}`},
		{[]string{"n=5", "rubbish"}, ""},
		{[]string{"=5"}, ""},
	} {
		got, err := callArguments(strings.NewReader(`{"from":"input"}`), tt.args, s.Shape())
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q are %s, %v, want %s", tt.args, got, err, tt.want)
		}
	}
}

// TestDeclare: a place in a template is a parameter, whether or not it is described.
func TestDeclare(t *testing.T) {
	params, example, err := declare([]string{"limit:integer=at most so many"},
		[]string{"https://example.com/{city_name}?n={limit}"})
	if err != nil || len(params) != 2 || params[0].Key != "limit" || params[1].Key != "city_name" {
		t.Fatalf("%v, %v", params, err)
	}
	if want := `{"limit": 1, "city_name": "city name"}`; example != want {
		t.Errorf("the example is %s, want %s", example, want)
	}
	_, _, err = declare([]string{"limit"}, nil)
	if code, _ := cli.ExitCode(t.Context(), err); code != cli.ExitUsage {
		t.Errorf("a parameter without a text: %v", err)
	}
}

func TestSameJSON(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true]}`, `{ "b": [true], "a": 1 }`, true},
		{`1`, `1.0`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{`, `{`, false},
	} {
		if got := sameJSON(json.RawMessage(tt.a), json.RawMessage(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
		}
	}
}

// TestJSONPlace: a mistake in a file is told with its line.
func TestJSONPlace(t *testing.T) {
	data := []byte("[\n  {\"name\": \"a\"},\n  {\"name\": }\n]")
	err := jsonPlace(data, json.Unmarshal(data, new([]map[string]string)))
	if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Error(err)
	}
}

// TestReadsFrom: a program of a virtual environment reads all of it.
func TestReadsFrom(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"venv/bin/server", "venv/pyvenv.cfg", "plain/bin/server", "node_modules/x/index.js"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for arg, want := range map[string]string{
		"venv/bin/server": "venv", "plain/bin/server": "plain/bin", "plain": "plain",
		"node_modules/x/index.js": "node_modules",
	} {
		if got := readsFrom(filepath.Join(dir, arg)); got != filepath.Join(dir, want) {
			t.Errorf("%s reads %s, want %s", arg, got, want)
		}
	}
	if got := readsFrom("venv/bin/server"); got != "" {
		t.Errorf("a relative name reads %s", got)
	}
}
