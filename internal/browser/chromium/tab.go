package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// ErrTabClosed is the error of a tab that was closed, crashed, or went with its browser.
var ErrTabClosed = errors.New("the page was closed")

// errMute is the error of a page that does not answer.
var errMute = errors.New("the page did not react")

// callTime bounds one call to a page, unless Options.Patience does. A page that does not answer for so long hangs.
const callTime = 30 * time.Second

// openTries is how many tabs are opened until one answers: on a busy machine a browser may never finish to make one,
// and one that shares its process with a page that crashes is lost with it.
const openTries = 3

// A Tab is one page. Its calls are made one after the other.
type Tab struct {
	ctx      context.Context
	cancel   func()
	browser  *Browser
	patience time.Duration
	library  string
	world    runtime.ExecutionContextID
	loaded   atomic.Bool // the library is in the world
	crashed  atomic.Bool

	work sync.WaitGroup // begun by events
}

// Open opens a tab with an address. The library is an expression in JavaScript: what it is, Call finds under the name
// wield. The context bounds the opening alone.
func (b *Browser) Open(ctx context.Context, address, library string) (*Tab, error) {
	return b.open(ctx, address, library)
}

func (b *Browser) open(ctx context.Context, address, library string, more ...chromedp.ContextOption) (*Tab, error) {
	var t *Tab
	var err error
	for range openTries {
		if t, err = b.tab(ctx, library, more); !errors.Is(err, errMute) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if err := t.navigate(ctx, address); err != nil {
		if errors.Is(t.evaluate(ctx, "0", nil), ErrTabClosed) {
			// a page that crashed is told as one that was not loaded
			err = ErrTabClosed
		}
		t.Close()
		return nil, err
	}
	return t, nil
}

// tab opens an empty tab.
func (b *Browser) tab(ctx context.Context, library string, more []chromedp.ContextOption) (*Tab, error) {
	inner, cancel := chromedp.NewContext(b.ctx, append(slices.Clone(more), chromedp.WithNewWindow(false))...)
	t := &Tab{ctx: inner, cancel: cancel, browser: b, patience: b.patience, library: library}
	limited, end := context.WithTimeout(ctx, t.patience)
	defer end()
	stop := context.AfterFunc(limited, cancel)
	defer stop()
	var crashed atomic.Bool
	listening, deafen := context.WithCancel(inner)
	defer deafen()
	err := chromedp.ListenBrowser(listening, crashes(func() { crashed.Store(true); end() }))
	if err == nil {
		err = chromedp.Do(inner)
	}
	if err == nil {
		err = chromedp.Listen(inner, t.listen)
	}
	if err == nil && stop() {
		return t, nil
	}
	late := limited.Err()
	t.Close()
	switch {
	case crashed.Load() && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: it crashed", errMute)
	case late != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%w for %v", errMute, t.patience)
	case err == nil: // and too late
		return nil, ctx.Err()
	}
	return nil, t.explain(ctx, err)
}

// crashes returns a listener to a browser that tells of the crash of a tab that was made since. A tab that is being
// opened does not tell of its own: calls to it are left without an answer.
func crashes(tell func()) func(ev any) {
	made := map[target.ID]bool{}
	return func(ev any) {
		switch ev := ev.(type) {
		case *target.EventTargetCreated:
			made[ev.TargetInfo.TargetID] = true
		case *target.EventTargetCrashed:
			if made[ev.TargetID] {
				tell()
			}
		}
	}
}

// navigate asks for an address. That the page is there is known from its elements, not from events: many pages never
// stop loading.
func (t *Tab) navigate(ctx context.Context, address string) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		r, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: address})
		if err == nil && r.ErrorText != "" {
			return fmt.Errorf("cannot load the page: %s", r.ErrorText)
		}
		return err
	})
}

// Before has a script run in each page that the tab loads from now on, among the page's own scripts and before them.
func (t *Tab) Before(ctx context.Context, script string) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// listen hears of what would otherwise stop the page or leave calls without an answer.
func (t *Tab) listen(ev any) {
	switch ev.(type) {
	case *page.EventJavascriptDialogOpening:
		t.work.Go(func() {
			_ = t.do(t.ctx, func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, page.HandleJavaScriptDialog,
					page.HandleJavaScriptDialogParams{Accept: true})
				return err
			})
		})
	case *inspector.EventTargetCrashed:
		t.crashed.Store(true)
		t.work.Go(t.cancel) // not here: it waits for the page, and further events wait for this function
	}
}

// Close closes the tab.
func (t *Tab) Close() {
	t.cancel()
	t.work.Wait()
}

// Closed reports whether the tab is known to be of no more use.
func (t *Tab) Closed() bool {
	return t.crashed.Load() || t.ctx.Err() != nil || t.browser.gone() // of which the context hears a moment later
}

// do runs f on the page until ctx, the tab or its time ends.
func (t *Tab) do(ctx context.Context, f func(context.Context, *chromedp.Target) error) error {
	inner, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	err := chromedp.Do(inner, chromedp.Func(f))
	return t.explain(ctx, err)
}

// explain returns what an error of a call means.
func (t *Tab) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !t.crashed.Load():
		return ctx.Err()
	case t.Closed(), errors.Is(err, chromedp.ErrTargetDetached), noSession(err):
		return ErrTabClosed
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w for %v", errMute, t.patience)
	}
	return err
}

// noSession reports whether the browser does not know the tab: it has closed it, and what it says of that comes later.
func noSession(err error) bool {
	var e *cdproto.Error
	return errors.As(err, &e) && e.Code == codeNoSession
}

// codeNoSession is the code of the protocol's error "Session with given id not found".
const codeNoSession = -32001

// Insert types text into the element that has the focus, in one go.
func (t *Tab) Insert(ctx context.Context, text string) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// Enter presses the Enter key.
func (t *Tab) Enter(ctx context.Context) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.KeyEvent("\r")(ctx, target)
		return err
	})
}

// Call calls a function of the library with arguments that can be JSON, and stores what it returns in result, unless
// that is nil. Fresh reports that the page has a new world, because it was loaded anew: nothing is left in it of what
// calls before have set.
func (t *Tab) Call(ctx context.Context, result any, function string, args ...any) (fresh bool, err error) {
	list, err := json.Marshal(append([]any{}, args...)) // a list even if there are none
	if err != nil {
		return false, err
	}
	for range 3 {
		made, err := t.enter(ctx)
		fresh = fresh || made
		if err == nil {
			err = t.evaluate(ctx, "wield."+function+"(..."+string(list)+")", result)
		}
		if err == nil || !lostWorld(err) {
			return fresh, err
		}
		t.loaded.Store(false) // the page was loaded anew while it was asked
	}
	return fresh, errors.New("the page is loaded again and again")
}

// lostWorld reports whether the page that an evaluation was for is no longer shown.
func lostWorld(err error) bool {
	s := err.Error()
	return strings.Contains(s, "Cannot find context") || strings.Contains(s, "Execution context was destroyed") ||
		strings.Contains(s, "uniqueContextId not found") || strings.Contains(s, "No frame for given id") ||
		strings.Contains(s, "wield is not defined") || strings.Contains(s, "Inspected target navigated or closed")
}

// enter makes the world, if there is none.
func (t *Tab) enter(ctx context.Context) (made bool, err error) {
	if t.loaded.Load() {
		return false, nil
	}
	err = t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		tree, err := cdp.Call(ctx, target, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return err
		}
		w, err := cdp.Call(ctx, target, page.CreateIsolatedWorld,
			page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "wield"})
		t.world = w.ExecutionContextID
		return err
	})
	if err == nil {
		err = t.evaluate(ctx, "void (globalThis.wield = "+t.library+")", nil)
	}
	t.loaded.Store(err == nil)
	return true, err
}

// evaluate evaluates an expression in the world.
func (t *Tab) evaluate(ctx context.Context, expression string, result any) error {
	return t.do(ctx, func(ctx context.Context, target *chromedp.Target) error {
		yes := true
		r, err := cdp.Call(ctx, target, runtime.Evaluate,
			runtime.EvaluateParams{Expression: expression, ContextID: t.world,
				ReturnByValue: &yes, AwaitPromise: &yes})
		if err != nil {
			return err
		}
		if e := r.ExceptionDetails; e != nil {
			if e.Exception != nil && e.Exception.Description != "" {
				return errors.New(e.Exception.Description)
			}
			return errors.New(e.Text)
		}
		if result == nil || r.Result == nil || len(r.Result.Value) == 0 {
			return nil
		}
		return json.Unmarshal(r.Result.Value, result)
	})
}
