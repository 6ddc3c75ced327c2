package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/testlevel"
)

// TestDiagnosticsCompileNothingAgain: get_diagnostics reads what the person's go command has compiled, so that Go's
// own packages are not compiled once more, and leaves that as it was.
func TestDiagnosticsCompileNothingAgain(t *testing.T) {
	testlevel.Long(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here")
	}
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	person := strings.TrimSpace(string(out))
	home := t.TempDir()
	dir := filepath.Join(home, "work")
	for _, d := range []string{"work", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(home, d), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(home, d, "go.mod"), "module m\n\ngo 1.24\n")
		writeFile(t, filepath.Join(home, d, "m.go"),
			"package m\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\\n\", \"x\") }\n")
	}
	build := exec.Command("go", "build", "./...") // what fmt needs is there from now on
	build.Dir = filepath.Join(home, "elsewhere")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "GOCACHE=" + person,
		"PATH=" + os.Getenv("PATH")}
	var said []byte
	for _, verb := range []string{"enable", "run"} {
		cmd := exec.Command("wield", "tool", verb, "get_diagnostics")
		cmd.Dir, cmd.Env = dir, env
		if said, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", verb, err, said)
		}
	}
	if want := `"file":"m.go","line":5,"column":24,"severity":"warning"`; !strings.Contains(string(said), want) {
		t.Fatalf("%s\nwithout %s", said, want)
	}
	kept, large := 0, ""
	err = filepath.WalkDir(filepath.Join(home, "state"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(p, "gocache") {
			return err
		}
		kept++
		if info, err := d.Info(); err == nil && info.Size() > 400<<10 {
			large = p
		}
		return nil
	})
	if err != nil || kept == 0 || large != "" {
		t.Errorf("%d files are kept, among them %q, which is as large as a package of Go's own; %v", kept, large, err)
	}
}
