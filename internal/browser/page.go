package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"wield/chat"
	"wield/internal/browser/chromium"
)

//go:embed page.js
var pageScript string

// How often a page is looked at.
const (
	glance    = 50 * time.Millisecond // for something to appear
	stopGrace = 2 * time.Second       // for an answer to stop
	tries     = 5                     // to type a prompt: a page that is still being made throws away what was typed
)

// A page is one conversation in one tab. Whoever has set busy alone uses the rest.
type page struct {
	o     *Options
	tab   *chromium.Tab
	said  talk // what has been said in it
	fresh bool // nothing has
	asked bool // the prompt of this turn may have been sent

	busy bool      // under the lock of the model, as used is
	used time.Time // when the last answer ended
}

// A view describes the look of a page.
type view struct {
	Login, Prompt, Empty, Send, Ready, Stop, Chat bool
	Title, URL                                    string
}

// ask types a prompt and reads the answer.
func (p *page) ask(ctx context.Context, prompt string, a *pageAnswer) error {
	p.asked = false
	if err := p.ready(ctx); err != nil {
		return err
	}
	if p.fresh && p.o.Selectors.NewChat != "" {
		if err := p.newChat(ctx); err != nil {
			return err
		}
	}
	p.fresh = false
	if err := p.call(ctx, nil, "mark"); err != nil {
		return err
	}
	if err := p.enter(ctx, prompt); err != nil {
		return err
	}
	return a.read(ctx)
}

// call calls a function of the page's script, which is given the selectors first wherever it is new.
func (p *page) call(ctx context.Context, result any, function string, args ...any) error {
	_, err := p.callAnew(ctx, result, function, args...)
	return err
}

// callAnew is call, and reports whether the page was loaded anew since the last one. It may be loaded anew between
// two calls made here, too, and then has no selectors.
func (p *page) callAnew(ctx context.Context, result any, function string, args ...any) (fresh bool, err error) {
	for {
		made, err := p.tab.Call(ctx, result, function, args...)
		if err != nil || !made {
			return fresh || made, err
		}
		fresh = true
		var bad string
		if _, err := p.tab.Call(ctx, &bad, "use", p.o.Selectors); err != nil {
			return fresh, err
		}
		if bad != "" {
			return fresh, &chat.Error{Kind: chat.ErrProtocol, Code: CodeSelector, Message: fmt.Sprintf(
				"browser.%s is no CSS selector: %s", bad, p.o.Selectors.named(bad))}
		}
	}
}

// stands reports whether a page is as its last answer left it: neither closed since, nor loaded anew.
func (p *page) stands(ctx context.Context) bool {
	fresh, err := p.callAnew(ctx, nil, "look")
	return err == nil && !fresh
}

// named returns the selector of a name.
func (s *Selectors) named(name string) string {
	return map[string]string{"prompt": s.Prompt, "answer": s.Answer, "send": s.Send, "stop": s.Stop, "done": s.Done,
		"new_chat": s.NewChat, "login": s.Login, "ignore": s.Ignore}[name]
}

// missing is the error of an element that is not there.
func (p *page) missing(name string, v view) error {
	where := v.URL
	if v.Title != "" {
		where += fmt.Sprintf(" (%.80q)", v.Title)
	}
	return &chat.Error{Kind: chat.ErrProtocol, Code: CodeSelector,
		Message: fmt.Sprintf("the page at %s has nothing for browser.%s: no element that can be seen matches %s",
			where, name, p.o.Selectors.named(name))}
}

func loginError(where string) error {
	return &chat.Error{Kind: chat.ErrAuth, Code: CodeLogin, Message: fmt.Sprintf("the page at %s asks to log in "+
		"(browser.login): run wield browser login, or log in again", where)}
}

// await looks at the page until it is as it should be. A page that asks to log in never will be.
func (p *page) await(ctx context.Context, within time.Duration, good func(view) bool) (v view, ok bool, err error) {
	for end := time.Now().Add(within); ; {
		if err := p.call(ctx, &v, "look"); err != nil {
			return v, false, err
		}
		switch {
		case v.Login:
			return v, false, loginError(v.URL)
		case good(v):
			return v, true, nil
		case time.Now().After(end):
			return v, false, nil
		}
		if err := sleep(ctx, glance); err != nil {
			return v, false, err
		}
	}
}

// ready waits until a prompt can be typed.
func (p *page) ready(ctx context.Context) error {
	v, ok, err := p.await(ctx, p.o.Load, func(v view) bool { return v.Prompt })
	if err == nil && !ok {
		err = p.missing("prompt", v)
	}
	return err
}

func (p *page) newChat(ctx context.Context) error {
	v, ok, err := p.await(ctx, p.o.Load, func(v view) bool { return v.Chat })
	switch {
	case err != nil:
		return err
	case !ok:
		return p.missing("new_chat", v)
	}
	if err := p.call(ctx, nil, "press", "new_chat"); err != nil {
		return err
	}
	if err := sleep(ctx, glance); err != nil {
		return err
	}
	return p.ready(ctx)
}

// enter types a prompt and sends it.
func (p *page) enter(ctx context.Context, prompt string) error {
	for try := 1; ; try++ {
		sent, err := p.insert(ctx, prompt)
		if err == nil && sent {
			sent, err = p.send(ctx, prompt)
		}
		if err != nil {
			return err
		}
		if sent {
			break
		}
		if try == tries {
			return &chat.Error{Kind: chat.ErrProtocol, Code: CodeSend,
				Message: fmt.Sprintf("the field of browser.prompt (%s) did not take the text as it was typed",
					p.o.Selectors.Prompt)}
		}
	}
	_, ok, err := p.await(ctx, p.o.Load, func(v view) bool { return v.Empty || !v.Prompt || v.Stop })
	if err == nil && !ok {
		how := "the Enter key"
		if p.o.Selectors.Send != "" {
			how = "browser.send (" + p.o.Selectors.Send + ")"
		}
		err = &chat.Error{Kind: chat.ErrProtocol, Code: CodeSend, Message: "the page did not take the prompt: " + how +
			" has no effect"}
	}
	return err
}

// insert types a text, and reports whether the field has it when the page has come to rest.
func (p *page) insert(ctx context.Context, text string) (held bool, err error) {
	if err := p.call(ctx, nil, "focus"); err != nil {
		return false, err
	}
	if err := p.tab.Insert(ctx, text); err != nil {
		return false, err
	}
	if err := sleep(ctx, glance); err != nil {
		return false, err
	}
	if p.o.Selectors.Send != "" { // the button is of use when the page has seen the text, unless it has thrown it away
		v, ok, err := p.await(ctx, p.o.Load/2, func(v view) bool { return v.Ready || v.Empty })
		if err != nil {
			return false, err
		}
		if !ok && !v.Send {
			return false, p.missing("send", v)
		}
	}
	err = p.call(ctx, &held, "holds", text)
	return held, err
}

// send presses the button, or the key. It reports whether the field still held the prompt: nothing is sent otherwise.
func (p *page) send(ctx context.Context, prompt string) (sent bool, err error) {
	p.asked = true
	if p.o.Selectors.Send == "" {
		return true, p.tab.Enter(ctx)
	}
	var is struct{ Held, Pressed bool }
	if err := p.call(ctx, &is, "send", prompt); err != nil {
		return false, err
	}
	if is.Pressed {
		return true, nil
	}
	p.asked = false
	if is.Held {
		err = &chat.Error{Kind: chat.ErrProtocol, Code: CodeSend, Message: fmt.Sprintf("the button of browser.send "+
			"(%s) cannot be pressed", p.o.Selectors.Send)}
	}
	return false, err
}

// abandon stops an answer that nobody waits for any more. What comes of it is not looked at: the page is closed next.
func (p *page) abandon() {
	if p.o.Selectors.Stop == "" || p.tab.Closed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	var pressed bool
	if p.call(ctx, &pressed, "press", "stop") != nil || !pressed {
		return
	}
	for { // until the page has told its server
		var v view
		if p.call(ctx, &v, "look") != nil || !v.Stop || sleep(ctx, glance) != nil {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closedError is the error of a page that went away while it answered.
func closedError(err error) error {
	if errors.Is(err, chromium.ErrTabClosed) {
		return &chat.Error{Kind: chat.ErrUnavailable, Code: CodeClosed,
			Message: "the page was closed, or crashed, before its answer was whole",
			Cause:   err}
	}
	return err
}
