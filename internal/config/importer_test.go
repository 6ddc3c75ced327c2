package config

import (
	"strings"
	"testing"
)

// TestImport reads files of other programs, and the configuration that comes out of them. Secrets do not come along.
func TestImport(t *testing.T) {
	text, notes, err := Import(LumoTamer, []byte(`
server:
  port: 3003
  apiKey: sk-hush
  bodyLimit: 360kb
  enableWebSearch: true
  apiModelName: tamed
  customTools: {enabled: true, prefix: "user:"}
  instructions:
    injectInto: last
    forTools: "Use the tools: {{prefix}}\n  now."
    replacePatterns: [{pattern: "a.b", replacement: x}]
conversations: {deriveIdFromUser: true}
commands: {enabled: true}
log: {level: debug}
cli: {instructions: {fallback: Short.}, localActions: {enabled: true, fileReads: {enabled: true, maxFileSize: 512kb}, executors: {bash: [bash, -c], python: [python3, -c]}}}
auth: {password: hush}
`))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, err := Parse("f.yaml", []byte(text), Options{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Models["lumo-max"]
	if r.Listen != "127.0.0.1:3003" || r.Limits.Body != 360e3 || !r.Backends["lumo"].Lumo.EnableWebSearch ||
		m.Calls.Prefix != "user:" || m.Instructions.InjectInto != "last" ||
		m.Instructions.ForTools != "Use the tools: {{prefix}}\n  now." || !m.Talk.FromUser || !m.Commands.Enabled ||
		len(m.Instructions.ReplacePatterns) != 1 || m.Instructions.ReplacePatterns[0].Replacement != "x" ||
		len(r.Keys) != 1 {
		t.Errorf("%s", text)
	}
	if l := r.Tools.Local; !l.Enabled || !l.FileReads.Enabled || l.FileReads.MaxFileSize != 512e3 ||
		len(l.Executors["bash"]) != 2 || l.Executors["python"][0] != "python3" {
		t.Errorf("local actions: %+v", l)
	}
	if m := r.Models["terminal"]; m.Dialect != "cli-block" || m.Model != "lumo" ||
		m.Instructions.Fallback != "Short." || r.Models["lumo"].Instructions.Fallback == "Short." {
		t.Errorf("the model of the terminal: %+v", m)
	}
	if m := r.Models["tamed"]; m.Backend != "lumo" || m.Model != "lumo" || m.Calls.Prefix != "user:" {
		t.Errorf("the name that clients know: %+v", m)
	}
	said := strings.Join(notes, "\n")
	if strings.Contains(said, "localActions") || strings.Contains(said, "cli.") ||
		strings.Contains(said, "apiModelName") || strings.Contains(text, "hush") ||
		!strings.Contains(said, "WIELD_KEY") || !strings.Contains(said, "not taken over: log.level") ||
		!strings.Contains(said, "auth.password") {
		t.Errorf("%s\n%s", text, said)
	}

	text, notes, err = Import(LLF,
		[]byte(
			`{"llm_endpoint": {"api_base_url": "http://127.0.0.1:1234/v1", "api_key": "hush", "model_name": "qwen"}, "tools": [
		{"name": "file_access", "type": "llm_invokable", "enabled": "auto", "metadata": {"mode": "ro", "whitelist": ["*.txt"], "requires_approval": true}},
		{"name": "command_exec", "type": "llm_invokable", "enabled": false, "metadata": {"whitelist": ["ls"], "permissions": {"max_timeout": "300s"}}},
		{"name": "shaper", "type": "postprocessor", "enabled": true}]}`))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if r, err = Parse("f.yaml", []byte(text), Options{Getenv: env()}); err != nil {
		t.Fatal(err)
	}
	file, command := r.Tools.Builtin["file_access"], r.Tools.Builtin["command_exec"]
	if r.Backends["llf"].URL != "http://127.0.0.1:1234/v1" || r.Models["qwen"].Backend != "llf" || !file.Enabled ||
		!file.RequiresApproval || len(file.Whitelist) != 1 || command.Enabled || command.Timeout.String() != "5m" {
		t.Errorf("%s", text)
	}
	if said := strings.Join(notes, "\n"); strings.Contains(text, "hush") ||
		!strings.Contains(said, "shaper, which is a postprocessor; write it as a module") ||
		!strings.Contains(said, "its rule matched") {
		t.Errorf("%s", said)
	}
	for mode, want := range map[string]string{"single_pass": "", "dual_pass_all": "asks the model twice",
		"dual_pass_write_only": "asks the model twice", "thrice": "none of single_pass"} {
		_, notes, err := Import(LLF,
			[]byte(`{"llm_endpoint": {"api_base_url": "http://127.0.0.1:1234/v1", "tool_execution_mode": "`+mode+`"}}`))
		if said := strings.Join(notes, "\n"); err != nil || !strings.Contains(said, want) ||
			strings.Contains(said, "execution") != (want != "") {
			t.Errorf("%s: %v, %s", mode, err, said)
		}
	}
	for _, bad := range []struct{ from, data, want string }{
		{"other", "a: 1", "none of"}, {"llf", "[1]", "no keys"}, {"llf", "{", "cannot be read"},
		{"lumo-tamer", "server: {port: x y}", "has problems"},
	} {
		if _, _, err := Import(Source(bad.from), []byte(bad.data)); err == nil ||
			!strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %s", bad.data, err, bad.want)
		}
	}
}
