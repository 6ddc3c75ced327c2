package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"wield/chat"
)

// invoke runs the handler within its time, again if it failed and may be tried again. Whatever happens, there is a
// result.
func (x *execution) invoke(ctx context.Context, red *redactor) Result {
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
		if asks := (*InputError)(nil); errors.As(err, &asks) {
			x.form = &asks.Form
			return Result{OK: true}
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
var retriable = map[ErrorKind]bool{ErrTool: true, ErrTimeout: true, ErrUnexpected: true}

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
func (x *execution) handler() Handler {
	h := x.plan.entry.Tool.Handler
	if x.group != nil || h == nil {
		h = HandlerFunc(x.joined)
	}
	for i := len(x.runner.s.Middleware) - 1; i >= 0; i-- {
		h = x.runner.s.Middleware[i](h)
	}
	return h
}

// call returns what the handler sees.
func (x *execution) call(attempt int, emit func(chat.Event)) *Call {
	r := x.runner
	c := &Call{Call: x.plan.Call, Tool: x.plan.entry.Tool, Guard: x.plan.entry.Guard, Limits: x.limits,
		Attempt: attempt, Root: r.s.Root, Dir: x.plan.Dir, Temp: r.s.Temp, Env: r.s.Env, Scope: r.s.Scope,
		Asks: r.s.Approvals != nil, Reply: x.reply, box: r.s.Sandbox, emit: emit, decider: r.s.Policy,
		records: r.s.Records}
	if attempt == 1 {
		c.Kept = x.kept
	}
	return c
}

// An outcome holds the return values of a handler.
type outcome struct {
	result Result
	err    error
}

// attempt runs the handler once, in a goroutine of its own, since nothing else can tell a model that a tool does not
// come back. Events of the tool are passed on from here, so that they all come from one goroutine.
func (x *execution) attempt(ctx context.Context, h Handler, attempt int, red *redactor) (Result, error) {
	events, gone, done := make(chan chat.Event), make(chan struct{}), make(chan outcome, 1)
	defer close(gone)
	c := x.call(attempt, func(e chat.Event) {
		select {
		case <-gone:
		default:
			select {
			case events <- e:
			case <-gone:
			}
		}
	})
	go protect(done, func() (Result, error) { return h.Run(ctx, c) })
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
			return Result{}, &Error{Kind: ErrInterrupted, Tool: x.plan.Call.Name}
		}
	}
}

// protect sends what f returns to done, whatever f does. The stack of a panic goes into the error's cause, for the
// log, and not to the model.
func protect(done chan<- outcome, f func() (Result, error)) {
	var o outcome
	returned := false
	defer func() {
		if p := recover(); p != nil {
			o.err = &Error{Kind: ErrUnexpected, Cause: &PanicError{Value: fmt.Sprint(p), Stack: debug.Stack()}}
		} else if !returned { // runtime.Goexit, as a test that fails in a handler calls it
			o.err = &Error{Kind: ErrUnexpected, Message: "Unexpected error: the tool ended its goroutine"}
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
func (x *execution) judge(ctx context.Context, result Result, err error) Result {
	switch {
	case err == nil && (result.OK || result.Error != ""):
		return x.sound(result)
	case err == nil:
		err = Errorf(ErrUnexpected, "Unexpected error: the tool gave no result")
	}
	e := *asError(err)
	if ctx.Err() != nil && e.Kind != ErrUnexpected {
		e = Error{Kind: ErrCanceled, Details: e.Details}
		switch {
		case errors.Is(context.Cause(ctx), errTime):
			e.Kind, e.Timeout = ErrTimeout, x.limits.Timeout
		case errors.Is(ctx.Err(), context.DeadlineExceeded): // the time of whoever asked, not that of the tool
			e.Kind = ErrTimeout
		}
		if x.lost {
			e.Details = []byte(`{"note":"the tool did not stop, so that it is not known what it has done"}`)
		}
	}
	e.Tool = x.plan.Call.Name
	failed := Failure(&e)
	failed.Data, failed.Parts = result.Data, result.Parts // what came out before it failed
	return x.sound(failed)
}

// sound makes sure that data is JSON, which all that follows relies on.
func (x *execution) sound(result Result) Result {
	if len(result.Data) > 0 && !validJSON(result.Data) {
		result.Data = quote(string(result.Data))
	}
	if len(result.Details) > 0 && !isObject(result.Details) {
		result.Details = nil
	}
	if !result.OK && result.ErrorType == "" {
		result.ErrorType = ErrTool
	}
	return result
}
