package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChatProject: the model is told what AGENTS.md says, and files that the project ignores are not offered behind @.
func TestChatProject(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Speak like a pirate.\n", ".gitignore": "secret*\n",
		"secret.txt": "x", "seen.txt": "y"} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	var f chatFlags
	f.system = "Be brief."
	text, err := f.instructions(dir)
	if err != nil || !strings.Contains(text, "Speak like a pirate.") || !strings.Contains(text, "Be brief.") ||
		!strings.Contains(text, dir) {
		t.Errorf("the model is told %q (%v)", text, err)
	}
	if files := strings.Join(mentionable(t.Context(), dir), " "); !strings.Contains(files, "seen.txt") ||
		strings.Contains(files, "secret.txt") {
		t.Errorf("the files %s are offered", files)
	}
	writeFile(t, filepath.Join(dir, "AGENTS.md"), strings.Repeat("x", maxInstructions+1))
	if _, err := f.instructions(dir); err == nil || !strings.Contains(err.Error(), "AGENTS.md") {
		t.Errorf("instructions that are too long: %v", err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
