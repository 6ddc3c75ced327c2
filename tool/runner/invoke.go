package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/internal/host"
	"wield/tool/internal/value"
)

// invoke runs the handler within its time, again if it failed and may be tried again. Whatever happens, there is a
// result.
func (x *execution) invoke(ctx context.Context, red *redactor) tool.Result {
	ctx, cancel := withTimeout(ctx, x.limits.Timeout)
	defer cancel()
	if x.cancel = cancel; x.stopped {
		cancel()
	}
	handler := x.handler()
	tries := 1
	if t := x.plan.entry.Tool; t.Idempotent {
		tries += t.Retries
	}
	x.form = nil
	for attempt := 1; ; attempt++ {
		result, err := x.attempt(ctx, handler, attempt, red)
		if asks := (*tool.InputError)(nil); errors.As(err, &asks) {
			x.form = &asks.Form
			return tool.Result{OK: true}
		}
		result = x.judge(ctx, result, err)
		if result.OK || attempt >= tries || ctx.Err() != nil || !retriable[result.ErrorType] || !pause(ctx, attempt) {
			return result
		}
	}
}

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d > 0 {
		return context.WithTimeoutCause(ctx, d, errTime)
	}
	return context.WithCancel(ctx)
}

// errTime ends the context of a call when its time is up.
var errTime = errors.New("tool: time is up")

// retriable are the failures that may pass.
var retriable = map[tool.ErrorKind]bool{tool.ErrTool: true, tool.ErrTimeout: true, tool.ErrUnexpected: true}

// retryPause is the first pause between two tries. Each is twice as long as the one before.
const retryPause = 100 * time.Millisecond

func pause(ctx context.Context, attempt int) bool {
	t := time.NewTimer(retryPause << min(attempt-1, 6))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// handler returns the tool's handler with the middleware around it.
func (x *execution) handler() tool.Handler {
	h := x.plan.entry.Tool.Handler
	if x.group != nil || h == nil {
		h = tool.HandlerFunc(x.joined)
	}
	for i := len(x.runner.s.Middleware) - 1; i >= 0; i-- {
		h = x.runner.s.Middleware[i](h)
	}
	return h
}

// call returns what the handler sees.
func (x *execution) call(attempt int) *tool.Call {
	r, box := x.runner, &x.runner.s.Sandbox
	c := &tool.Call{Call: x.plan.Call, Tool: x.plan.entry.Tool, Guard: x.plan.entry.Guard, Limits: x.limits,
		Attempt: attempt, Root: r.s.Root, Dir: x.plan.Dir, Temp: r.s.Temp, Env: r.s.Env, Scope: r.s.Scope,
		Asks: r.s.Approvals != nil, Reply: x.reply}
	*c.Host() = host.Host{Policy: r.s.Policy, Records: r.s.Records, Watcher: watcher{box}, Level: box.Level,
		Limits: box.Limits, Readable: box.Readable, Writable: box.Writable, Cache: box.Cache, Guarded: box.Guarded}
	if attempt == 1 {
		c.Detached = x.kept
	}
	return c
}

// A watcher makes watches of a box for calls.
type watcher struct{ box *Box }

func (w watcher) Watch(root string, writable ...string) host.Watch {
	return w.box.Watch(root, writable...)
}

// An outcome holds the return values of a handler.
type outcome struct {
	result tool.Result
	err    error
}

// attempt runs the handler once, in a goroutine of its own, since nothing else can tell a model that a tool does not
// come back. Events of the tool are passed on from here, so that they all come from one goroutine.
func (x *execution) attempt(ctx context.Context, h tool.Handler, attempt int, red *redactor) (tool.Result, error) {
	events, gone, done := make(chan chat.Event), make(chan struct{}), make(chan outcome, 1)
	defer close(gone)
	c := x.call(attempt)
	c.Host().Tell = func(stream, text string, done, total float64) {
		e := chat.Event{Kind: chat.KindProgress, Index: c.Index, ID: c.ID, Name: c.Name, Text: text,
			Detail: &ProgressDetail{CallID: c.ID, Stream: stream, Text: text, Done: done, Total: total}}
		select {
		case <-gone:
		default:
			select {
			case events <- e:
			case <-gone:
			}
		}
	}
	go protect(done, func() (tool.Result, error) { return h.Run(ctx, c) })
	ended := ctx.Done()
	var grace <-chan time.Time
	for {
		select {
		case e := <-events:
			red.progress(e, x.emit)
		case o := <-done:
			red.flush(x.emit)
			return o.result, o.err
		case <-ended:
			ended = nil
			t := time.NewTimer(x.limits.Grace)
			defer t.Stop()
			grace = t.C
		case <-grace:
			red.flush(x.emit)
			x.lost = true
			return tool.Result{}, &tool.Error{Kind: tool.ErrInterrupted, Tool: x.plan.Call.Name}
		}
	}
}

// protect sends what f returns to done, whatever f does. The stack of a panic goes into the error's cause, for the
// log, and not to the model.
func protect(done chan<- outcome, f func() (tool.Result, error)) {
	var o outcome
	returned := false
	defer func() {
		if p := recover(); p != nil {
			o.err = &tool.Error{Kind: tool.ErrUnexpected,
				Cause: &PanicError{Value: fmt.Sprint(p), Stack: debug.Stack()}}
		} else if !returned { // runtime.Goexit, as a test that fails in a handler calls it
			o.err = &tool.Error{Kind: tool.ErrUnexpected, Message: "Unexpected error: the tool ended its goroutine"}
		}
		done <- o
	}()
	o.result, o.err = f()
	returned = true
}

// A PanicError is a panic of a tool.
type PanicError struct {
	Value string
	Stack []byte
}

// Error returns what the tool panicked with.
func (e *PanicError) Error() string { return e.Value }

// judge makes one result of what a handler returned. When the time was up or somebody went away, that is the reason
// of a failure, whatever words the handler found for it.
func (x *execution) judge(ctx context.Context, result tool.Result, err error) tool.Result {
	switch {
	case err == nil && (result.OK || result.Error != ""):
		return x.sound(result)
	case err == nil:
		err = tool.Errorf(tool.ErrUnexpected, "Unexpected error: the tool gave no result")
	}
	e := *failureOf(err)
	if ctx.Err() != nil && e.Kind != tool.ErrUnexpected {
		e = tool.Error{Kind: tool.ErrCanceled, Details: e.Details}
		switch {
		case errors.Is(context.Cause(ctx), errTime):
			e.Kind, e.Timeout = tool.ErrTimeout, x.limits.Timeout
		case errors.Is(ctx.Err(), context.DeadlineExceeded): // the time of whoever asked, not that of the tool
			e.Kind = tool.ErrTimeout
		}
		if x.lost {
			e.Details = []byte(`{"note":"the tool did not stop, so that it is not known what it has done"}`)
		}
	}
	e.Tool = x.plan.Call.Name
	failed := tool.Failure(&e)
	failed.Data, failed.Parts = result.Data, result.Parts // what came out before it failed
	return x.sound(failed)
}

// sound makes sure that data is JSON, which all that follows relies on.
func (x *execution) sound(result tool.Result) tool.Result {
	if len(result.Data) > 0 && !validJSON(result.Data) {
		result.Data = value.Quote(string(result.Data))
	}
	if len(result.Details) > 0 && !isObject(result.Details) {
		result.Details = nil
	}
	if !result.OK && result.ErrorType == "" {
		result.ErrorType = tool.ErrTool
	}
	return result
}
