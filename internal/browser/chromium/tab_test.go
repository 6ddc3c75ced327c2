package chromium

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto"
)

// TestExplain: whatever is heard first of the end of a tab, the error is the same. The connection to a browser that
// was killed is lost before its context ends, and a call to a tab that crashed may be answered before the tab is
// closed.
func TestExplain(t *testing.T) {
	lost := make(chan struct{})
	close(lost)
	ended, end := context.WithCancel(t.Context())
	end()
	alive := func() *Browser { return &Browser{ctx: t.Context(), lost: make(chan struct{})} }
	crashed := &Tab{ctx: t.Context(), browser: alive()}
	crashed.crashed.Store(true)
	open := &Tab{ctx: t.Context(), browser: alive()}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		tab       *Tab
		ctx       context.Context
		err, want error
	}{
		"lost": {&Tab{ctx: t.Context(), browser: &Browser{ctx: t.Context(), lost: lost}}, t.Context(), failed,
			ErrTabClosed},
		"ended": {&Tab{ctx: t.Context(), browser: &Browser{ctx: ended, lost: make(chan struct{})}}, t.Context(),
			failed, ErrTabClosed},
		"closed":  {&Tab{ctx: ended, browser: alive()}, t.Context(), failed, ErrTabClosed},
		"crashed": {crashed, t.Context(), failed, ErrTabClosed},
		"forgotten": {open, t.Context(),
			fmt.Errorf("call: %w", &cdproto.Error{Code: codeNoSession, Message: "Session with given id not found."}),
			ErrTabClosed},
		"given up":   {open, ended, failed, context.Canceled},
		"open still": {open, t.Context(), failed, failed},
		"no error":   {open, t.Context(), nil, nil},
	} {
		if got := c.tab.explain(c.ctx, c.err); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
