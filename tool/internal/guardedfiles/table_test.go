package guardedfiles

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for path, want := range map[string]Class{
		".git/hooks/pre-commit": Decides, "sub/.git": Decides, ".wield.yaml": Decides,
		"a/tools_registry.json": Decides, ".wield/x": Decides, ".github": Later, ".github/workflows": Later,
		".github/workflows/ci.yml": Later, "sub/.github/workflows/ci.yml": Later, ".gitattributes": Later,
		"src/agents.md": Later, "claude.md": Later, ".github/copilot-instructions.md": Later,
		"docs/agents.md.txt": Free, "conftest.py": Later, "a/b/conftest.py": Later, "x.pth": Later,
		".mocharc.json": Later, ".yarn/plugins/x.cjs": Later, ".github/issue_template.md": Free,
		"github/workflows/ci.yml": Free, "conftest.pyc": Free, "xconftest.py": Free, ".gitignore": Free,
		"a/.wield.yaml/b": Free, ".cargo/audit.toml": Free, "": Free,
	} {
		if got, part := Of(strings.Split(path, "/")); got != want {
			t.Errorf("%s: %d because of %q, want %d", path, got, part, want)
		}
	}
}

// TestTable checks that every name can fit: names are compared in lower case.
func TestTable(t *testing.T) {
	for _, p := range later {
		if p != strings.ToLower(p) {
			t.Errorf("%s is not in lower case", p)
		}
		name := strings.ReplaceAll(p, "*", "x")
		if c, _ := Of(strings.Split(name, "/")); c != Later {
			t.Errorf("%s has the class %d", name, c)
		}
	}
}
