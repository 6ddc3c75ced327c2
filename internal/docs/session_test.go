//go:build unix

package docs

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wield/internal/testport"
)

// blockTime is how long one block may take. A page's commands are done in a moment; the limit is for what hangs.
const blockTime = 2 * time.Minute

// A session serves a reader who follows one page from top to bottom: a shell whose directory and variables last,
// and other terminals in which servers run. It begins in an empty directory with an empty home.
type session struct {
	t     *testing.T
	root  string // of the checkout
	home  string
	dir   string // where the reader's shell starts
	state string // file that carries variables and directory from block to block
	env   []string
	ports map[string]string // address that the page shows -> address in use here
}

// goVariables are those settings of the go command that are this machine's, not the reader's.
var goVariables = []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN", "GOPROXY", "GOSUMDB", "GONOSUMDB",
	"GOFLAGS"}

// goSettings returns them as they are in an environment.
var goSettings = sync.OnceValues(func() ([]string, error) {
	out, err := exec.Command("go", append([]string{"env"}, goVariables...)...).Output()
	if err != nil {
		return nil, err
	}
	var settings []string
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		settings = append(settings, goVariables[i]+"="+value)
	}
	return settings, nil
})

// newSession returns the session of a page; program is the directory that wield was built into.
func newSession(t *testing.T, root, program string) *session {
	t.Helper()
	base := t.TempDir()
	s := &session{
		t:     t,
		root:  root,
		home:  filepath.Join(base, "home"),
		dir:   filepath.Join(base, "work"),
		state: filepath.Join(base, "state"),
		ports: make(map[string]string),
	}
	for _, dir := range []string{s.home, s.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The pages that import the packages say that the checkout is ~/wield.
	if err := os.Symlink(root, filepath.Join(s.home, "wield")); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"PATH=" + program + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + s.home,
		"XDG_CONFIG_HOME=" + filepath.Join(s.home, "config"),
		"XDG_STATE_HOME=" + filepath.Join(s.home, "state"),
		"TMPDIR=" + base,
		"GOBIN=" + program,
		"LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"GOGC=400", // most processes of the pages end before there is anything to collect
	}
	if mark := os.Getenv("WIELD_CI"); mark != "" {
		s.env = append(s.env, "WIELD_CI="+mark)
	}
	settings, err := goSettings()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	s.env = append(s.env, settings...)
	s.env = append(s.env, "WIELD_LISTEN="+s.local("127.0.0.1:8420"))
	return s
}

// address finds the addresses that pages use: those of the default port and its neighbours.
var address = regexp.MustCompile(`(127\.0\.0\.1|localhost):84[0-9]{2}\b`)

// local replaces each address of a page by one that is free here, the same one wherever the page names it again, so
// that pages can be run beside a running wield. A module that is replaced by the checkout at ~/wield is replaced by
// the checkout's own path: to the go command the same files at another path are others, and it would compile all of
// wield for each page.
func (s *session) local(text string) string {
	text = strings.ReplaceAll(text, `"wield=$HOME/wield"`, quote("wield="+s.root))
	return address.ReplaceAllStringFunc(text, func(shown string) string {
		_, port, _ := strings.Cut(shown, ":")
		if s.ports[port] == "" {
			s.ports[port] = testport.Reserve(s.t)
		}
		return s.ports[port]
	})
}

// shown makes output look as if the page's own addresses and an unnamed directory had been used.
func (s *session) shown(text string) string {
	for port, real := range s.ports {
		text = strings.ReplaceAll(text, real, "127.0.0.1:"+port)
	}
	return strings.ReplaceAll(text, s.dir+"/", "")
}

// write puts a file of the page where the reader would put it.
func (s *session) write(name, text string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%s leaves the reader's directory", name)
	}
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(s.local(text)), 0o644)
}

// command returns a shell that is to run text as the reader's next input.
func (s *session) command(text string, strict bool) *exec.Cmd {
	var script strings.Builder
	fmt.Fprintf(&script, "cd %s\n[ ! -e %[2]s ] || . %[2]s\n", quote(s.dir), quote(s.state))
	fmt.Fprintf(&script,
		"trap 'status=$?; { export -p; printf \"cd %%q\\n(exit %%d)\\n\" \"$PWD\" \"$status\"; } >%s' EXIT\n", s.state)
	if strict {
		script.WriteString("true\nset -euo pipefail\n")
	} else {
		fmt.Fprintf(&script, "[ ! -e %[1]s ] || . %[1]s\n", quote(s.state))
	}
	script.WriteString(s.local(text))
	cmd := exec.Command("bash", "-c", script.String())
	cmd.Env = s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// run carries out text and returns what it printed on both streams, and its exit status. What it left running in the
// background is ended: a server that is to stay has a block of its own.
func (s *session) run(text string, strict bool) (string, int, error) {
	// A file, not a pipe: Wait would wait for everybody who holds the other end of a pipe.
	file, err := os.CreateTemp(filepath.Dir(s.state), "output")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	cmd := s.command(text, strict)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	timer := time.AfterFunc(blockTime, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err = cmd.Wait()
	inTime := timer.Stop()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	if !inTime {
		err = fmt.Errorf("still running after %v", blockTime)
	}
	out, readErr := os.ReadFile(file.Name())
	return string(out), cmd.ProcessState.ExitCode(), errors.Join(err, readErr)
}

// announced finds the address that a server says it listens on.
var announced = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]+`)

// serve starts text in another terminal and waits until what it started can be reached. The end of the test stops it.
func (s *session) serve(t *testing.T, text string) error {
	text = strings.TrimSpace(text)
	cmd := s.command("trap - EXIT\n"+text, false)
	cmd.WaitDelay = 10 * time.Second
	out := new(buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stopped := false
	t.Cleanup(func() {
		if stopped {
			return
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(blockTime):
			t.Errorf("%s: does not stop when interrupted\n%s", text, out)
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	for deadline := time.Now().Add(blockTime); time.Now().Before(deadline); {
		select {
		case err := <-ended:
			stopped = true
			return fmt.Errorf("the server ended (%v):\n%s", err, out)
		case <-time.After(20 * time.Millisecond):
		}
		if addr := announced.FindString(out.String()); addr != "" {
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				return nil
			}
		}
	}
	return fmt.Errorf("the server cannot be reached after %v:\n%s", blockTime, out)
}

// A buffer is a bytes.Buffer that is written by one goroutine and read by another.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
