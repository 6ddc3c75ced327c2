package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"first", "the second, which is longer", ""} {
		if err := Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if err != nil || err2 != nil || string(got) != text ||
			runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%q, %v, %v, %v", got, info.Mode(), err, err2)
		}
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "in it"), 0o755); err != nil {
		t.Fatal(err)
	}
	if Write(taken, nil, 0o600) == nil {
		t.Error("a directory was replaced")
	}
	if Write(filepath.Join(dir, "none", "file"), nil, 0o600) == nil {
		t.Error("a file stands in a directory that there is not")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%d entries, %v", len(left), err)
	}
}
