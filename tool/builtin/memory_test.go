package builtin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"wield/internal/testlevel"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// mostMemory limits the peak memory of a process, whatever the size of what it read, if it collects
// its garbage early.
const mostMemory = 56 << 20

// memoryArg makes this test binary a program that makes one call of a tool and tells how much memory that took.
const memoryArg = "memory"

func memoryMain() {
	if len(os.Args) < 6 || os.Args[1] != memoryArg {
		return
	}
	rules := []policy.Rule{{Decision: "allow", Selector: policy.Selector{Path: []string{"**"}}}}
	if host := os.Args[5]; host != "" {
		rules = append(rules, policy.Rule{Decision: "allow", Selector: policy.Selector{Host: []string{host}}})
	}
	p, err := policy.New(policy.Definition{Default: "allow", Rules: rules})
	if err != nil {
		panic(err)
	}
	var reg runner.Registry
	for _, b := range Tools(Options{}) {
		b.State = tool.StateEnabled
		if err := reg.Add(b); err != nil {
			panic(err)
		}
	}
	res, err := (runner.New(runner.Settings{Tools: &reg, Policy: p, Root: os.Args[4]})).Call(context.Background(),
		os.Args[2], os.Args[3])
	fmt.Printf("%s %s %v\n", res.Data, res.Error, err)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Print(line)
		}
	}
	syscall.Exit(0)
}

// checkMemory makes a call in a process of its own that may reach one host, and checks what it gives and how much
// memory it had at most. When garbage is collected depends on the machine, which may let the collector wait for its
// turn while the program goes on: so it begins early, and the least of a few runs counts.
func checkMemory(t *testing.T, name, args, dir, host, want string) {
	t.Helper()
	if runtime.GOOS != "linux" || testlevel.Race {
		t.Logf("%s: memory is not measured here", name)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var peak int64
	for range 3 {
		cmd := exec.Command(exe, memoryArg, name, args, dir, host)
		cmd.Env = append(os.Environ(), "GOGC=20")
		out, err := cmd.CombinedOutput()
		said, status, _ := strings.Cut(string(out), "VmHWM:")
		if err != nil || !strings.Contains(said, want) {
			t.Fatalf("%s: %v: %.400s", name, err, out)
		}
		if _, err := fmt.Sscanf(status, "%d kB", &peak); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if peak <<= 10; peak <= mostMemory {
			t.Logf("%s: %d MiB", name, peak>>20)
			return
		}
	}
	t.Errorf("%s %s: a process had %d MiB", name, args, peak>>20)
}

// holesDir returns a directory in which a hole in a file costs little to read: one in memory, where there is such a
// thing. Other file systems fill memory with the zeros first, which takes most of the time.
func holesDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "wield-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestLarge reads and searches a file of 2 GB, most of which is a hole, with little memory.
func TestLarge(t *testing.T) {
	if testing.Short() || testlevel.Race {
		t.Skip("reads 2 GB, for which there is no time here")
	}
	dir := holesDir(t)
	f, err := os.Create(filepath.Join(dir, "", "large.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := strings.Repeat("a line of text that is not the one\n", 300)
	for range 100 {
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(2 << 30); err != nil {
		t.Skip("no room for a file of 2 GB: ", err)
	}
	if _, err := f.WriteAt([]byte("\nneedle\n"), 2<<30); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, "search_code", `{"query":"needle"}`, dir, "", `"line":30002`)
	checkMemory(t, "read_file", `{"path":"large.txt","offset":30002}`, dir, "", "needle")
	if _, err := run(t, dir, "file_access", `{"operation":"read","path":"large.txt"}`, Options{}); err == nil {
		t.Error("a file of 2 GB was read as a whole")
	}
}
