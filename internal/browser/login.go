package browser

import (
	"context"
	"errors"
	"time"

	"wield/chat"
	"wield/internal/browser/chromium"
)

// loginRest is how long a page has to look logged in, since many show their fields for a moment before they ask.
const loginRest = 2 * time.Second

// Login shows the page in the browser, for a person to log in, and returns when the page no longer asks for that, or
// when the person closes it. The browser's profile keeps the login. In reports which of the two it was; without a
// selector for what is there only when nobody is logged in, it is always the second.
func Login(ctx context.Context, o Options) (in bool, err error) {
	o = New(o).o
	defer func() {
		if err != nil {
			err = asError(ctx, err)
		}
	}()
	b, err := chromium.Start(ctx, o.Browser)
	if err != nil {
		return false, err
	}
	defer b.Close()
	tab, err := b.Open(ctx, o.URL, pageScript)
	if err != nil {
		return false, err
	}
	defer tab.Close()
	p := &page{o: &o, tab: tab}
	for since := time.Now(); ; {
		var v view
		err := p.call(ctx, &v, "look")
		var e *chat.Error
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.Is(err, chromium.ErrTabClosed):
			return false, nil
		case errors.As(err, &e):
			return false, err // a selector that is none
		case err != nil, o.Selectors.Login == "", v.Login, !v.Prompt:
			since = time.Now() // a page that is just changing is looked at again
		case time.Since(since) >= loginRest:
			return true, nil
		}
		if err := sleep(ctx, 4*glance); err != nil {
			return false, err
		}
	}
}
