package docs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// serverSchema has the rules of the MCP registry's schema (2025-12-11) for the members that server.json has, and no
// more.
const serverSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"required":["$schema","name","title","description","version","packages"],"additionalProperties":false,"properties":{
"$schema":{"const":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
"name":{"type":"string","minLength":3,"maxLength":200,"pattern":"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
"title":{"type":"string","minLength":1,"maxLength":100},
"description":{"type":"string","minLength":1,"maxLength":100},
"version":{"type":"string","maxLength":255,"not":{"pattern":"[~^<>*]|(^|[.])x($|[.])"}},
"packages":{"type":"array","minItems":1,"items":{"type":"object","additionalProperties":false,
"required":["registryType","identifier","version","fileSha256","transport"],"properties":{
"registryType":{"const":"mcpb"},
"identifier":{"type":"string","pattern":"^https://"},
"version":{"type":"string","minLength":1,"maxLength":255,"not":{"const":"latest"}},
"fileSha256":{"type":"string","pattern":"^[a-f0-9]{64}$"},
"transport":{"type":"object","required":["type"],"additionalProperties":false,"properties":{"type":{"const":"stdio"}}}}}}}}`

// TestServerJSON makes server.json as a release does, and checks it against the schema of the MCP registry.
func TestServerJSON(t *testing.T) {
	for _, program := range []string{"bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("server.json is made by %s, which is not here", program)
		}
	}
	script, err := os.ReadFile("../../.ci/release")
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(script), "\nregistered() {")
	function, _, ok := strings.Cut(function, "\n}\n")
	if !ok {
		t.Fatal("the release does not make server.json")
	}
	here, err := filepath.Abs("../../.ci/packaging")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, name := range []string{"wield_1.2.3_linux_amd64.mcpb", "wield_1.2.3_windows_amd64.mcpb"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "registered() {"+function+"\n}\nregistered")
	cmd.Env = append(os.Environ(), "here="+here, "out="+out, "version=1.2.3", "url=https://example.com/wield",
		"WIELD_REGISTRY_NAME=io.example/wield")
	made, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(serverSchema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("server.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("server.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); err != nil {
		t.Errorf("%v\n%s", err, made)
	}
	var server struct{ Packages []json.RawMessage }
	if json.Unmarshal(made, &server) != nil || len(server.Packages) != 2 {
		t.Errorf("not every bundle is a package:\n%s", made)
	}
	broken := bytes.Replace(made, []byte(`"stdio"`), []byte(`"http"`), 1)
	if value, _ := jsonschema.UnmarshalJSON(bytes.NewReader(broken)); s.Validate(value) == nil {
		t.Error("the schema takes any transport")
	}
}
