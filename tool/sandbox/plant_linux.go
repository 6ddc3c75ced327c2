package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// self is the program that runs, whatever has become of its file.
const self = "/proc/self/exe"

// A supervisorTree is a tree with its supervisor, seen from the caller.
type supervisorTree struct {
	supervisor *os.Process
	mu         sync.Mutex
	reaped     bool // the number of its process may be another one's
	control    *os.File
	status     *os.File
	lines      *bufio.Reader
	id         string
	temp       string
	group      *group
}

// patience limits how long a supervisor may take to start the program.
const patience = 30 * time.Second

// plant starts a supervisor and has it start the program.
func plant(ctx context.Context, p *Process, c Command, program string, s *streams) (tree, error) {
	if helping() {
		return nil, &Error{Kind: ErrHelper,
			Text: "this process is itself a supervisor: its program does not call sandbox.Main first"}
	}
	sp, err := p.spec(c, program)
	if err != nil {
		return nil, err
	}
	t := &supervisorTree{id: p.id, temp: sp.Walls.Temp, group: sp.Group}
	defer func() {
		if err != nil {
			t.abandon()
		}
	}()
	if err = t.start(s, sp); err != nil {
		return nil, &Error{Kind: ErrHelper, Err: err}
	}
	stop := context.AfterFunc(ctx, func() { t.status.SetReadDeadline(time.Now()) })
	st, err := t.order(sp, time.Now().Add(patience))
	// Stopped before the context is looked at: an end that comes behind the look must not keep anybody from reading on.
	unended := stop()
	switch {
	case !unended:
		err = &Error{Kind: contextKind(ctx), Err: context.Cause(ctx)}
		return nil, err
	case err != nil:
		err = &Error{Kind: ErrHelper, Text: "does the program call sandbox.Main at the start of main?", Err: err}
		return nil, err
	case st.Failed != nil:
		err = startError(c, sp, st.Failed, s)
		return nil, err
	case st.Started == nil:
		err = &Error{Kind: ErrHelper, Text: "it told nothing"}
		return nil, err
	}
	t.status.SetReadDeadline(time.Time{})
	p.pid = st.Started.Pid
	p.effective = Effective{Level: sp.Level, Layers: st.Started.Layers}
	return t, nil
}

// spec decides by which means the level is given.
func (p *Process) spec(c Command, program string) (*spec, error) {
	level, bubblewrap, err := look().means(c.Level)
	if err != nil {
		return nil, err
	}
	sp := &spec{ID: p.id, Program: program, Argv: c.Argv, Dir: c.Dir, Env: c.Env, Level: level, Net: c.Net,
		Limits: c.Limits, Bubblewrap: bubblewrap, Protected: c.Protected}
	if level.atLeast(Workspace) {
		if sp.Walls, err = newWalls(c, program); err != nil {
			return nil, &Error{Kind: ErrHelper, Text: "no private directory in " + os.TempDir() + ", as TMPDIR says",
				Err: err}
		}
		sp.Env = sp.Walls.environ(sp.Env)
	}
	if level == Limits {
		sp.Walls.Writable = append(slices.Clone(c.Writable), "/") // for what is protected: no wall closes anything else
	}
	sp.Env = setenv(sp.Env, marker, p.id)
	if c.Limits.Processes > 0 {
		sp.Group = newGroup(p.id, c.Limits)
	}
	return sp, nil
}

// setenv returns the environment with one more variable, and no second one of that name: programs differ in
// which they see.
func setenv(env []string, name, value string) []string {
	set := make([]string, 0, len(env)+1)
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			set = append(set, v)
		}
	}
	return append(set, name+"="+value)
}

// start starts the supervisor.
func (t *supervisorTree) start(s *streams, sp *spec) error {
	controlTheirs, control, err := os.Pipe()
	if err != nil {
		return err
	}
	defer controlTheirs.Close()
	t.control = control
	stat, statusTheirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer statusTheirs.Close()
	t.status, t.lines = stat, bufio.NewReader(stat)
	attr := &os.ProcAttr{Dir: "/", Env: []string{marker + "=" + t.id},
		Files: append(s.theirs(), controlTheirs, statusTheirs)}
	for _, attr.Sys = range sp.starts() {
		if t.supervisor, err = os.StartProcess(self, []string{"wield-sandbox", hidden}, attr); err == nil {
			return nil
		}
	}
	return err
}

// order tells the supervisor what to do and waits for its first word, until the deadline.
func (t *supervisorTree) order(sp *spec, deadline time.Time) (st status, err error) {
	b, err := json.Marshal(sp)
	if err != nil {
		return st, err
	}
	b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	t.control.SetWriteDeadline(deadline)
	defer t.control.SetWriteDeadline(time.Time{}) // orders come at any time
	t.status.SetReadDeadline(deadline)
	if _, err := t.control.Write(b); err != nil {
		return st, err
	}
	return t.line()
}

func (t *supervisorTree) line() (st status, err error) {
	line, err := t.lines.ReadBytes('\n')
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(line, &st)
}

// startError tells why the supervisor could not start the program.
func startError(c Command, sp *spec, f *failure, s *streams) error {
	e := &Error{Kind: ErrHelper, Text: f.Layer, Err: errors.New(f.Text)}
	switch {
	case f.Layer == "exec" && f.Errno == syscall.ENOENT:
		e.Kind, e.Text = ErrNotFound, fmt.Sprintf("%q, or the interpreter it names", c.Argv[0])
	case f.Layer == "exec":
		e.Kind, e.Text = ErrCommand, fmt.Sprintf("%q", c.Argv[0])
		if f.Errno == syscall.EACCES && sp.Level.atLeast(Workspace) {
			e.Missing = []Missing{{"the level " + string(sp.Level) + " may not allow the program's directory, or " +
				"that of its interpreter", "let " + filepath.Dir(sp.Program) + " be read, and put the interpreter's " +
				"directory into PATH"}}
		}
	case fixes[f.Layer] != "":
		e.Kind = ErrLevel
		e.Missing = []Missing{{string(sp.Level) + " needs " + f.Layer, fixes[f.Layer]}}
	}
	if f.Errno != 0 {
		e.Err = fmt.Errorf("%w", f.Errno)
	}
	if text := s.complaint(); f.Layer != "exec" && text != "" {
		e.Err = fmt.Errorf("%w: %s", e.Err, text)
	}
	return e
}

// complaint reads what was written to the error stream before the program ran.
func (s *streams) complaint() string {
	s.closeTheirs()
	pipe := s.out[len(s.out)-1].pipe
	pipe.SetReadDeadline(time.Now().Add(time.Second))
	b := make([]byte, 1024)
	n, _ := pipe.Read(b)
	return strings.TrimSpace(strings.ToValidUTF8(string(b[:n]), "?"))
}

func (t *supervisorTree) say(order byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.control != nil {
		t.control.Write([]byte{order})       // if the supervisor is gone, wait knows
		t.supervisor.Signal(syscall.SIGCONT) // the program may have stopped it
	}
}

func (t *supervisorTree) stop(time.Duration) { t.say(orderStop) }
func (t *supervisorTree) kill()              { t.say(orderKill) }

func (t *supervisorTree) wait() report {
	st, err := t.line()
	r := report{Code: -1, lost: true}
	if err == nil && st.Ended != nil {
		r = *st.Ended
	} else {
		t.supervisor.Kill() // what it has left to tell cannot be believed
	}
	t.mu.Lock()
	t.reaped = true
	t.mu.Unlock()
	t.supervisor.Wait()
	t.close()
	return r
}

// closeControl is the last order: the supervisor ends the tree and then itself.
func (t *supervisorTree) closeControl() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.control != nil {
		t.control.Close()
		t.control = nil
		if t.supervisor != nil {
			t.supervisor.Signal(syscall.SIGCONT)
		}
	}
}

func (t *supervisorTree) close() {
	t.closeControl()
	if t.status != nil {
		t.status.Close()
	}
}

// sweep ends what is below the supervisor before the supervisor itself: a program may keep that one stopped, but as
// long as it is there, nothing of the tree gets away from it.
func (t *supervisorTree) sweep() int {
	t.mu.Lock()
	if !t.reaped {
		killBelow(t.supervisor.Pid, nil)
	}
	t.mu.Unlock()
	t.supervisor.Kill()
	return sweepMarked(t.id)
}

// cleanup removes what a supervisor that was lost has left.
func (t *supervisorTree) cleanup() {
	if t.temp != "" {
		removeTree(t.temp)
	}
	if t.group != nil {
		t.group.remove()
	}
}

// abandon takes everything back if the program did not start, or may have started while nobody wanted it any
// more. The supervisor is not simply killed: it alone knows a tree that has thrown its environment away.
func (t *supervisorTree) abandon() {
	if t.supervisor != nil {
		t.closeControl()
		dead := time.AfterFunc(late, func() { t.supervisor.Kill() })
		state, err := t.supervisor.Wait()
		if !dead.Stop() || err != nil || state.ExitCode() < 0 || state.ExitCode() > supervisorFailed {
			sweepMarked(t.id) // it was ended, or broke down, in the middle of its work
		}
	}
	t.close()
	t.cleanup()
}

// runnable reports whether a file is a program.
func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }

// candidates are the files that a name in a directory may mean.
func candidates(file string) []string { return []string{filepath.Clean(file)} }
