package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"wield/chat"
	"wield/tool/sandbox"
)

// A Box says how the processes of tools are held.
type Box struct {
	Level    sandbox.Level // empty: workspace
	Limits   sandbox.Limit // for what a tool does not limit itself
	Readable []string      // what processes may read beyond the workspace and the system's own
	Writable []string      // what they may change beyond the workspace and the temporary directory
}

// Command returns a command that is held as the call allows: in its directory, with its environment, within its limits. It may
// reach the network only if the tool's facts say that it does, and change files only if they do not say that it changes
// nothing. Who runs it adds where its output goes.
func (c *Call) Command(argv ...string) sandbox.Command {
	cmd := sandbox.Command{
		Argv:     argv,
		Dir:      c.Dir,
		Env:      append(sandbox.Environ(), c.Env...),
		Level:    c.box.Level,
		Limits:   c.box.Limits,
		Readable: c.box.Readable,
	}
	var may []string
	if c.Tool != nil {
		cmd.Net = c.Tool.Facts.Network
		if !c.Tool.Facts.ReadOnly && (c.Guard == nil || c.Guard.Mode == ModeRW) {
			may = append(may, c.Root)
			may = append(may, c.box.Writable...)
		}
	}
	for _, dir := range append(may, c.Temp) {
		if dir != "" {
			cmd.Writable = append(cmd.Writable, dir)
		}
	}
	if c.Root != "" {
		cmd.Readable = append([]string{c.Root}, cmd.Readable...)
	}
	if cmd.Limits.Output == 0 {
		cmd.Limits.Output = int64(max(c.Limits.Spill, 0))
	}
	if cmd.Limits.Grace == 0 {
		cmd.Limits.Grace = c.Limits.Grace / 2 // so that the tree has ended before the call gives up on it
	}
	return cmd
}

// Exec runs a command to its end and tells how it is held. Its output is shown while it is written, beside where the command
// itself sends it. When ctx ends, the whole tree of processes ends.
func (c *Call) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Exit, error) {
	return c.exec(ctx, cmd, true)
}

// Ask is Exec for a command whose standard output is an answer to a program, which nobody wants to see: only what it writes to its
// standard error is shown.
func (c *Call) Ask(ctx context.Context, cmd sandbox.Command) (sandbox.Exit, error) {
	return c.exec(ctx, cmd, false)
}

func (c *Call) exec(ctx context.Context, cmd sandbox.Command, output bool) (sandbox.Exit, error) {
	told := make(chan struct{}) // how it is held is told before anything that it says
	if output {
		cmd.Stdout = tee(cmd.Stdout, gate{told, c.Output("stdout")})
	}
	cmd.Stderr = tee(cmd.Stderr, gate{told, c.Output("stderr")})
	p, err := sandbox.Start(ctx, cmd)
	if err != nil {
		close(told)
		return sandbox.Exit{Code: -1}, processError(err)
	}
	c.progress(&chat.ProgressDetail{CallID: c.ID, Stream: "sandbox", Text: held(p.Effective())})
	close(told)
	exit, err := p.Wait()
	return exit, processError(err)
}

// A gate is a writer that waits until it is opened.
type gate struct {
	open <-chan struct{}
	w    io.Writer
}

func (g gate) Write(p []byte) (int, error) {
	<-g.open
	return g.w.Write(p)
}

// tee returns a writer to both; w may be nil.
func tee(w, shown io.Writer) io.Writer {
	if w == nil {
		return shown
	}
	return io.MultiWriter(w, shown)
}

// held describes how a process is held, such as "workspace: landlock, seccomp".
func held(e sandbox.Effective) string {
	var layers []string
	for _, l := range e.Layers {
		layers = append(layers, l.Name)
	}
	return fmt.Sprintf("%s: %s", e.Level, strings.Join(layers, ", "))
}

// processErrors says what an end of a process means for its call.
var processErrors = []struct {
	is   error
	kind ErrorKind
}{
	{sandbox.ErrTimeout, ErrTimeout},
	{sandbox.ErrCanceled, ErrCanceled},
	{sandbox.ErrLevel, ErrNotAvailable},
	{sandbox.ErrHelper, ErrNotAvailable},
	{sandbox.ErrOutput, ErrLimit},
	{sandbox.ErrMemory, ErrLimit},
	{sandbox.ErrProcesses, ErrLimit},
	{sandbox.ErrCPU, ErrLimit},
	{sandbox.ErrFileSize, ErrLimit},
}

func processError(err error) error {
	if err == nil {
		return nil
	}
	for _, e := range processErrors {
		if errors.Is(err, e.is) {
			return &Error{Kind: e.kind, Message: err.Error(), Cause: err}
		}
	}
	return err
}
