// Package browser is the model behind a web page, in a real Chromium: what a person would type is typed into the
// page's prompt field, and what the page shows as the answer is read.
//
// Words:
//
//   - A selector is a CSS selector of elements of the page. What a page is made of is known from selectors alone.
//   - A page is one tab with one conversation. It knows what has been said in it, so that only new turns are typed.
//   - An answer is the newest element of its selector. The page shows Markdown as elements, and the text is made from
//     them again: what is in code blocks is exact to the byte, the rest but for white space between blocks. Tags that
//     the page does not know are gone, so that calls are best written in fenced code blocks.
//   - Settled text is what no longer changes while the page goes on writing. Only that is handed on before the end.
//
// A page takes no definitions of tools: a request with some is refused with the code chat.CodeToolsUnsupported, so
// that whoever stands before the model describes them in text. Of the settings of a request, such as a temperature,
// none reaches the page.
package browser

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/browser/chromium"
)

// The codes of errors that tell more than their kind.
const (
	CodeBrowser  = "browser_start"    // there is no browser, or it does not start
	CodeSandbox  = "browser_sandbox"  // the browser cannot set up its sandbox
	CodeInUse    = "browser_profile"  // the profile is in use by another browser
	CodeLoad     = "page_load"        // the page cannot be loaded
	CodeLogin    = "page_login"       // the page asks to log in
	CodeSelector = "page_selector"    // the page has no element for a selector
	CodeSend     = "page_send"        // the page did not take the prompt
	CodeClosed   = "page_closed"      // the page was closed, loaded anew, or crashed
	CodeTooLong  = "answer_too_long"  // the answer is longer than Options.MaxAnswer
	CodeChanged  = "answer_rewritten" // the page changed what it had long written
)

// Selectors say what a page is made of. Only Prompt and Answer are needed.
type Selectors struct {
	Prompt string `json:"prompt"` // the field that prompts are typed into
	Answer string `json:"answer"` // the answers; the last one is the newest
	Send   string `json:"send"`   // the button that sends the prompt; "": the Enter key does
	Stop   string `json:"stop"`   // the button that stops the answer, there only while it is written
	Done   string `json:"done"`   // something that is in or behind an answer that is whole
	// the button that begins a conversation; "": a page that was just loaded has none yet
	NewChat string `json:"new_chat"`
	Login   string `json:"login"`  // something that is there only when nobody is logged in
	Ignore  string `json:"ignore"` // what is in answers but is no part of them
}

// Defaults of Options.
const (
	DefaultLoad      = 30 * time.Second
	DefaultFirst     = 10 * time.Minute
	DefaultIdle      = 2 * time.Minute
	DefaultSettle    = 2 * time.Second
	DefaultKeep      = 10 * time.Minute
	DefaultPages     = 4
	DefaultMaxAnswer = 8 << 20
)

// Options describe a page and the browser that shows it.
type Options struct {
	URL       string
	Selectors Selectors
	Browser   chromium.Options

	Load   time.Duration // until a page has its prompt field, and until it has taken a prompt; 0: DefaultLoad
	First  time.Duration // from the prompt to the first sign of an answer; 0: DefaultFirst
	Idle   time.Duration // between two changes of an answer that is not whole; 0: DefaultIdle
	Settle time.Duration // without a change, after which an answer is whole if nothing else says so; 0: DefaultSettle
	Keep   time.Duration // that a page stays open after an answer; 0: DefaultKeep

	Pages     int // at a time, in use or kept; 0: DefaultPages
	MaxAnswer int // bytes of an answer; 0: DefaultMaxAnswer
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	o     Options
	slots chan struct{} // as many as there may be pages in use

	mu      sync.Mutex
	browser *chromium.Browser // nil: none runs
	pages   []*page           // all that are open
	timer   *time.Timer       // closes pages that nobody came back to
	closed  bool
	start   sync.Mutex // of browsers, one at a time
}

// New returns a model. Its browser is started by the first request.
func New(o Options) *Model {
	o.Load = orDefault(o.Load, DefaultLoad)
	o.First = orDefault(o.First, DefaultFirst)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	o.Settle = orDefault(o.Settle, DefaultSettle)
	o.Keep = orDefault(o.Keep, DefaultKeep)
	o.Pages = orDefault(o.Pages, DefaultPages)
	o.MaxAnswer = orDefault(o.MaxAnswer, DefaultMaxAnswer)
	return &Model{o: o, slots: make(chan struct{}, o.Pages)}
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}

// Stream implements chat.Model. Its errors have one of the codes of this package where the page or the browser is to
// blame.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if err := m.stream(ctx, req, yield); err != nil && err != errGone {
			yield(chat.Event{}, asError(ctx, err))
		}
	}
}

// errGone says that nobody reads on.
var errGone = errors.New("nobody reads on")

func (m *Model) stream(ctx context.Context, req *chat.Request, yield func(chat.Event, error) bool) error {
	talk, err := talkOf(req)
	if err != nil {
		return err
	}
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	a := pageAnswer{o: &m.o, yield: yield, whole: !req.Stream}
	p, err := m.converse(ctx, talk, &a)
	if err != nil {
		return err
	}
	p.said = append(talk, pageMessage{role: chat.RoleAssistant, words: wordsOf(a.text)})
	for i := range p.said {
		p.said[i].text = ""
	}
	m.release(p)
	if !yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil) {
		return errGone
	}
	return nil
}

// converse asks a page for the next turn of a conversation. A page that went away before the prompt was sent is
// replaced once: it may have gone before the request came, with a browser that crashed, and nobody has heard of it
// until now.
func (m *Model) converse(ctx context.Context, t talk, a *pageAnswer) (*page, error) {
	for again := true; ; again = false {
		p, known, err := m.take(ctx, t)
		if err == nil {
			a.p = p
			if err = p.ask(ctx, t[known:].prompt(), a); err == nil {
				return p, nil
			}
			p.abandon()
			m.drop(p)
		}
		if !again || ctx.Err() != nil || p != nil && p.asked || !errors.Is(err, chromium.ErrTabClosed) {
			return nil, err
		}
	}
}

// take returns a page for a conversation, and how many of its turns the page has had: the one that knows most of it,
// or a new one.
func (m *Model) take(ctx context.Context, t talk) (*page, int, error) {
	for {
		best := m.knowing(t)
		if best == nil {
			break
		}
		if best.stands(ctx) {
			return best, len(best.said), nil
		}
		m.drop(best)
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
	}
	m.mu.Lock()
	oldest := m.oldest()
	m.mu.Unlock()
	if oldest != nil {
		m.drop(oldest)
	}
	p, err := m.open(ctx)
	return p, 0, err
}

// knowing returns the page that knows most of a conversation, or nil. It is busy from then on.
func (m *Model) knowing(t talk) *page {
	m.mu.Lock()
	defer m.mu.Unlock()
	var best *page
	for _, p := range m.pages {
		if !p.busy && !p.tab.Closed() && t.goesOn(p.said) && (best == nil || len(p.said) > len(best.said)) {
			best = p
		}
	}
	if best != nil {
		best.busy = true
	}
	return best
}

// oldest returns the page to close before another is opened, or nil if there is room. It is busy from then on.
func (m *Model) oldest() *page {
	if len(m.pages) < m.o.Pages {
		return nil
	}
	var oldest *page
	for _, p := range m.pages {
		if !p.busy && (oldest == nil || p.used.Before(oldest.used)) {
			oldest = p
		}
	}
	if oldest != nil {
		oldest.busy = true
	}
	return oldest
}

// open opens a page in the browser, which it starts if there is none.
func (m *Model) open(ctx context.Context) (*page, error) {
	b, err := m.running(ctx)
	if err != nil {
		return nil, err
	}
	tab, err := b.Open(ctx, m.o.URL, pageScript)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, chromium.ErrTabClosed) {
			err = &chat.Error{Kind: chat.ErrUnavailable, Code: CodeLoad,
				Message: "the page at " + m.o.URL + " cannot be loaded: " + err.Error(), Cause: err}
		}
		m.idle() // a browser without pages ends
		return nil, err
	}
	p := &page{o: &m.o, tab: tab, busy: true, fresh: true}
	m.mu.Lock()
	m.pages = append(m.pages, p)
	m.mu.Unlock()
	return p, nil
}

// running returns the browser.
func (m *Model) running(ctx context.Context) (*chromium.Browser, error) {
	m.start.Lock()
	defer m.start.Unlock()
	m.mu.Lock()
	b, closed := m.browser, m.closed
	m.mu.Unlock()
	if closed {
		return nil, &chat.Error{Kind: chat.ErrUnavailable, Code: CodeBrowser,
			Message: "the browser of this service has been closed"}
	}
	if b != nil {
		select {
		case <-b.Done(): // it crashed, or somebody ended it
			b.Close()
		default:
			return b, nil
		}
	}
	b, err := chromium.Start(ctx, m.o.Browser)
	if err != nil {
		b = nil
	}
	m.mu.Lock()
	m.browser = b
	m.mu.Unlock()
	return b, err
}

// release keeps a page for the next turn of its conversation.
func (m *Model) release(p *page) {
	m.mu.Lock()
	p.busy, p.used = false, time.Now()
	closed := m.closed
	if !closed {
		m.watch()
	}
	m.mu.Unlock()
	if closed {
		m.drop(p)
	}
}

// drop closes a page, and the browser if a closed model has no other.
func (m *Model) drop(p *page) {
	p.tab.Close()
	m.mu.Lock()
	m.pages = slices.DeleteFunc(m.pages, func(other *page) bool { return other == p })
	m.mu.Unlock()
	m.idle()
}

// idle ends the browser of a model that is closed and has no page, and sees to it that one without pages ends in time.
func (m *Model) idle() {
	m.mu.Lock()
	if len(m.pages) > 0 || m.browser == nil {
		m.mu.Unlock()
		return
	}
	if !m.closed {
		m.watch()
		m.mu.Unlock()
		return
	}
	b := m.browser
	m.browser = nil
	m.mu.Unlock()
	b.Close()
}

// watch looks again when the next page has been left alone for long enough. The caller holds the lock.
func (m *Model) watch() {
	if m.timer == nil {
		m.timer = time.AfterFunc(m.o.Keep, m.sweep)
	}
}

// sweep closes pages that nobody came back to, and the browser after the last.
func (m *Model) sweep() {
	m.start.Lock() // no browser is about to be used for a page that is not in the list yet
	defer m.start.Unlock()
	m.mu.Lock()
	m.timer = nil
	if m.closed {
		m.mu.Unlock()
		return
	}
	var old []*page
	for _, p := range m.pages {
		if !p.busy && time.Since(p.used) >= m.o.Keep {
			p.busy = true
			old = append(old, p)
		}
	}
	m.pages = slices.DeleteFunc(m.pages, func(p *page) bool { return slices.Contains(old, p) })
	var b *chromium.Browser
	switch {
	case len(m.pages) > 0 || len(m.slots) > 0:
		m.watch()
	case m.browser != nil:
		b, m.browser = m.browser, nil
	}
	m.mu.Unlock()
	for _, p := range old {
		p.tab.Close()
	}
	if b != nil {
		b.Close()
	}
}

// Close closes the pages that no stream uses. The last stream closes its page and the browser with it.
func (m *Model) Close() {
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	var unused []*page
	for _, p := range m.pages {
		if !p.busy {
			p.busy = true
			unused = append(unused, p)
		}
	}
	m.mu.Unlock()
	for _, p := range unused {
		m.drop(p)
	}
	m.idle()
}

// starts are the reasons for which there is no browser.
var starts = []struct {
	err  error
	code string
	fix  string
}{
	{chromium.ErrMissing, CodeBrowser,
		"install Chromium (on Debian: apt-get install chromium), or put the path of one under browser.program"},
	{chromium.ErrSandbox, CodeSandbox, "run wield as a user other than root where user namespaces are allowed, or, " +
		"if nothing but pages that you trust are " +
		"opened, set browser.sandbox: false, which takes down the wall between a page and this machine"},
	{chromium.ErrInUse, CodeInUse, "close the other browser, such as the window of wield browser login, or give this " +
		"backend a profile of its own"},
	{chromium.ErrDisplay, CodeBrowser, "set browser.visible: false, or run wield where there is a desktop"},
	{chromium.ErrTabClosed, CodeClosed, ""},
	{chromium.ErrClosed, CodeClosed, ""},
}

// asError returns an error of the package as a *chat.Error.
func asError(ctx context.Context, err error) error {
	var e *chat.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return chat.AsError(ctx.Err())
	}
	for _, s := range starts {
		if errors.Is(err, s.err) {
			message := err.Error()
			if s.fix != "" {
				message += ": " + s.fix
			}
			return &chat.Error{Kind: chat.ErrUnavailable, Code: s.code, Message: message, Cause: err}
		}
	}
	return &chat.Error{Kind: chat.ErrUnavailable, Code: CodeBrowser, Message: err.Error(), Cause: err}
}

// unsupported refuses what a page cannot be given.
func unsupported(req *chat.Request) error {
	if len(req.Tools) > 0 {
		return &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeToolsUnsupported, Param: "tools",
			Message: "a web page takes no tools: describe them in the text"}
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if k := req.Messages[i].Parts[j].Kind; k != chat.PartText {
				return &chat.Error{Kind: chat.ErrBadRequest, Param: "messages",
					Message: "a model behind a web page takes text alone, no images and no files"}
			}
		}
	}
	return nil
}
