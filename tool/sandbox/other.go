//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"
)

// Main does nothing: only Linux has supervisors.
func Main() {}

// plant starts the program as a child. Elsewhere than on Linux no level above limits can be given; what holds of
// limits is time, output and, where there are process groups, the end of the group.
func plant(_ context.Context, p *Process, c Command, program string, s *streams) (tree, error) {
	if c.Level.atLeast(Workspace) {
		return nil, &Error{Kind: ErrLevel, Text: string(c.Level), Missing: missing()}
	}
	cmd := &exec.Cmd{Path: program, Args: c.Argv, Dir: c.Dir,
		Env: append(c.Env[:len(c.Env):len(c.Env)], marker+"="+p.id), Stdin: s.stdin, Stdout: s.stdout,
		Stderr: s.stderr, SysProcAttr: grouped()}
	if err := cmd.Start(); err != nil {
		return nil, &Error{Kind: ErrCommand, Err: err}
	}
	p.pid = cmd.Process.Pid
	p.effective = Effective{Level: c.Level, Layers: []Layer{{"tree", treeDetail}, {"limits", "time and output only"}}}
	return &groupTree{cmd: cmd, stopped: make(chan struct{})}, nil
}

func missing() []Missing {
	return []Missing{{"walls around processes on " + runtime.GOOS,
		"wield builds them on Linux only; use the level limits, or run wield in a container or a virtual machine"}}
}

// A groupTree is a process and what the system lets us reach with it.
type groupTree struct {
	cmd     *exec.Cmd
	stopped chan struct{}
}

func (t *groupTree) stop(grace time.Duration) {
	askGroup(t.cmd.Process)
	go func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			killGroup(t.cmd.Process)
		case <-t.stopped:
		}
	}()
}

func (t *groupTree) kill() { killGroup(t.cmd.Process) }

func (t *groupTree) wait() report {
	err := t.cmd.Wait()
	close(t.stopped)
	killGroup(t.cmd.Process) // what the program left behind in its group
	r := report{Code: -1}
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		r.Code = t.cmd.ProcessState.ExitCode()
		r.User, r.System = t.cmd.ProcessState.UserTime(), t.cmd.ProcessState.SystemTime()
	}
	return r
}

func (t *groupTree) sweep() int {
	killGroup(t.cmd.Process)
	return 0
}

func (t *groupTree) cleanup() {}

// Probe tells what the machine gives.
func Probe() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH}
	for _, l := range Levels() {
		r := LevelReport{Level: l, OK: !l.atLeast(Workspace)}
		if !r.OK {
			r.Missing = missing()
		}
		m.Levels = append(m.Levels, r)
	}
	m.Layers = []LayerReport{{Name: "tree", OK: true, Detail: treeDetail}}
	return m
}
