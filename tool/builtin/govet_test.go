package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVetTool: what go vet finds through the stand-in is what it finds by itself, and Go's own packages are not read.
func TestVetTool(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here")
	}
	vet, err := writeVetTool()
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(filepath.Dir(vet))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module m\n\ngo 1.24\n",
		"say/say.go":  "package say\n\nimport \"fmt\"\n\nfunc Sayf(f string, a ...any) { fmt.Printf(f, a...) }\n",
		"fine/a.go":   "package fine\n\nimport (\n\t\"context\"\n\t\"log\"\n)\n\nfunc F(c context.Context) {\n\t_, cancel := context.WithCancel(c)\n\tif c == nil {\n\t\tlog.Fatal(1)\n\t}\n\tcancel()\n}\n",
		"wrong/a.go":  "package wrong\n\nimport (\n\t\"context\"\n\t\"m/say\"\n)\n\nfunc F(c context.Context) {\n\tc, cancel := context.WithCancel(c)\n\tif c == nil {\n\t\treturn\n\t}\n\tcancel()\n\tsay.Sayf(\"%d\", \"x\")\n}\n",
		"wrong/b.go":  "package wrong\n\nimport \"errors\"\n\nfunc G() { errors.New(\"unused\") }\n",
		"t/t_test.go": "package t\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Errorf(\"%d\", \"x\") }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found := func(args ...string) string {
		cmd := exec.Command("go", append(append([]string{"vet"}, args...), "-trimpath=false", "-json", "./...")...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all := readVet("go vet", dir, string(out), "")
		sortDiagnostics(all)
		return fmt.Sprint(all)
	}
	want := found()
	if strings.Count(want, "go vet}") != 5 || strings.Contains(want, "fine/") {
		t.Fatalf("go vet alone: %s", want)
	}
	if got := found("-vettool=" + vet); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, tt := range []struct {
		pkg, module, only string
		skipped           bool
	}{
		{"strings", "", "true", true},
		{"log", "", "true", false},
		{"testing", "", "true", false},
		{"strings", "", "false", false},
		{"example.com/m", "example.com/m", "true", false},
	} {
		config, written := filepath.Join(t.TempDir(), "vet.cfg"), filepath.Join(t.TempDir(), "vet.out")
		text := fmt.Sprintf(
			"{\n\t\"ImportPath\": %q,\n\t\"ModulePath\": %q,\n\t\"VetxOnly\": %s,\n\t\"VetxOutput\": %q,\n\t\"GoFiles\": [\"none.go\"]\n}\n", tt.pkg, tt.module, tt.only, written)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := exec.Command(vet, config).Run()
		if _, missing := os.Stat(written); (err == nil && missing == nil) != tt.skipped {
			t.Errorf("%+v: %v, %v", tt, err, missing)
		}
	}
}
