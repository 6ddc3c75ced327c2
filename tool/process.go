package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"wield/tool/sandbox"
)

// Command returns a command that is held as the call allows: in its directory, with its environment, within
// its limits. It may reach the network only if the tool's facts say that it does, and change files only if
// they do not say that it changes nothing. Who runs it adds where its output goes.
func (c *Call) Command(argv ...string) sandbox.Command {
	cmd := sandbox.Command{
		Argv:     argv,
		Dir:      c.Dir,
		Env:      append(sandbox.Environ(), c.Env...),
		Level:    c.host.Level,
		Limits:   c.host.Limits,
		Readable: c.host.Readable,
	}
	var may []string
	if c.Tool != nil {
		cmd.Net = c.Tool.Facts.Network
		if c.changes() {
			may = append(may, c.Root)
			may = append(may, c.host.Writable...)
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

// changes reports whether processes of the call may change files.
func (c *Call) changes() bool {
	return c.Tool != nil && !c.Tool.Facts.ReadOnly && (c.Guard == nil || c.Guard.Mode == ModeRW)
}

// readOnlyCache is the part of a cache that calls keep their own in which change nothing: what they leave
// behind is never used by those that do.
const readOnlyCache = "read-only"

// cache returns the directory of what processes keep, and makes it; empty: there is none for this call.
func (c *Call) cache() string {
	dir := c.host.Cache
	if dir == "" {
		return ""
	}
	if !c.changes() {
		dir = filepath.Join(dir, readOnlyCache)
	}
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	now := time.Now()
	_ = os.Chtimes(c.host.Cache, now, now) // that it is in use; else it is the older one day
	return dir
}

// Keep lets a command keep what it builds for the next run: variables lead it into the cache of the runner, or
// into the private temporary directory, since nothing of the person's own may be changed.
func (c *Call) Keep(cmd *sandbox.Command) {
	dir := c.cache()
	switch {
	case dir != "":
		cmd.Writable = append(cmd.Writable, dir)
	case c.Temp != "":
		dir = filepath.Join(c.Temp, "cache")
	default:
		return
	}
	cmd.Env = append(cmd.Env, "GOTOOLCHAIN=local", "npm_config_update_notifier=false")
	for _, name := range []string{"GOCACHE", "XDG_CACHE_HOME", "npm_config_cache"} {
		cmd.Env = append(cmd.Env, name+"="+filepath.Join(dir, strings.ToLower(name)))
	}
}

// Exec runs a command to its end and tells how it is held. Its output is shown while it is written, beside
// where the command itself sends it. If its Stdout and Stderr are the same writer, their order is kept. When
// ctx ends, the whole tree of processes ends. Only a call that a runner has made starts processes, since the runner
// watches over them; a test of such a handler runs it through one.
func (c *Call) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Exit, error) {
	return c.exec(ctx, cmd, true)
}

// Ask is Exec for a command whose standard output is an answer to a program, which nobody wants to see: only
// what it writes to its standard error is shown. As Exec, it needs a runner.
func (c *Call) Ask(ctx context.Context, cmd sandbox.Command) (sandbox.Exit, error) {
	return c.exec(ctx, cmd, false)
}

func (c *Call) exec(ctx context.Context, cmd sandbox.Command, output bool) (sandbox.Exit, error) {
	if c.host.Watcher == nil {
		return sandbox.Exit{Code: -1}, Errorf(ErrNotAvailable, "A process is started only for a call of a runner")
	}
	told := make(chan struct{}) // how it is held is told before anything that it says
	switch {
	case output && same(cmd.Stdout, cmd.Stderr): // they stay one, so that the order is kept
		cmd.Stdout = tee(cmd.Stdout, gate{told, c.Output("stdout")})
		cmd.Stderr = cmd.Stdout
	case output:
		cmd.Stdout = tee(cmd.Stdout, gate{told, c.Output("stdout")})
		cmd.Stderr = tee(cmd.Stderr, gate{told, c.Output("stderr")})
	default:
		cmd.Stderr = tee(cmd.Stderr, gate{told, c.Output("stderr")})
	}
	w := c.host.Watcher.Watch(c.Root,
		slices.DeleteFunc(slices.Clone(cmd.Writable), func(dir string) bool { return dir == c.Temp })...)
	w.Begin(&cmd)
	p, err := sandbox.Start(ctx, cmd)
	if err != nil {
		close(told)
		return sandbox.Exit{Code: -1}, processError(err)
	}
	c.tell("sandbox", isolation(p.Effective()), 0, 0)
	close(told)
	exit, err := p.Wait()
	c.Told(w.End(c.Name))
	return exit, processError(err)
}

// same reports whether two writers are one.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
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

// isolation describes the isolation of a process, such as "workspace: landlock, seccomp".
func isolation(e sandbox.Effective) string {
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
