package chromium

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// A Guest is somebody else at a browser: what its tabs keep, such as cookies, is apart from the profile and from
// other guests, and is gone with it. Its tabs have a window of their own. It costs far less than a browser.
type Guest struct {
	b  *Browser
	id cdp.BrowserContextID
}

// Guest lets a guest in. The context bounds that alone.
func (b *Browser) Guest(ctx context.Context) (*Guest, error) {
	g := &Guest{b: b}
	err := b.do(ctx, func(ctx context.Context, browser *chromedp.Browser) error {
		yes := true
		r, err := cdp.Call(ctx, browser, target.CreateBrowserContext,
			target.CreateBrowserContextParams{DisposeOnDetach: &yes})
		g.id = r.BrowserContextID
		return err
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Open opens a tab of the guest's, as Browser.Open does.
func (g *Guest) Open(ctx context.Context, address, library string) (*Tab, error) {
	return g.b.open(ctx, address, library, chromedp.WithExistingBrowserContext(g.id))
}

// Close ends the guest and all of its tabs.
func (g *Guest) Close() {
	_ = g.b.do(context.Background(), func(ctx context.Context, browser *chromedp.Browser) error {
		// a browser that is gone has no guests
		_, err := cdp.Call(ctx, browser, target.DisposeBrowserContext,
			target.DisposeBrowserContextParams{BrowserContextID: g.id})
		return err
	})
}

// do runs f on the browser until ctx, the browser or its time ends.
func (b *Browser) do(ctx context.Context, f func(context.Context, *chromedp.Browser) error) error {
	inner, cancel := context.WithTimeout(b.ctx, b.patience)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	err := f(inner, chromedp.FromContext(b.ctx).Browser)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case b.gone():
		return ErrClosed
	}
	return err
}
