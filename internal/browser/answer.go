package browser

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"wield/chat"
)

// Bounds of the time between two looks at an answer. In between, a look may take a fifth of the time: the longer an
// answer is, the longer it takes to make its text.
const (
	minLook = 80 * time.Millisecond
	maxLook = 2 * time.Second
	effort  = 5
	looks   = 2 // without a change, after which an answer that is said to be whole is taken for it
)

// A pageAnswer is one that is being read from a page.
type pageAnswer struct {
	p     *page
	o     *Options
	yield func(chat.Event, error) bool
	whole bool // hand it on in one piece

	text    string // as the page shows it now
	safe    int    // how much of it the page should not change any more
	before  string // what was so at the last look
	sent    string // what was handed on
	at      int    // of the next event
	running bool   // the stop button has been there
}

// A growth tells how an answer has grown: how many bytes of the text are as they were, and what follows them.
type growth struct {
	There, Marked, Stop, Login, Done bool
	Like                             bool // there is one, which is like the one before: it may be that one
	Keep, Safe                       int
	Tail                             string
}

// read reads the answer until it is whole, and hands it on.
func (a *pageAnswer) read(ctx context.Context) error {
	changed, same := time.Now(), 0
	for begun := false; ; {
		start := time.Now()
		r, moved, err := a.look(ctx, false)
		if err != nil {
			return err
		}
		begun = begun || r.There && a.text != "" || r.Stop
		if moved || r.Stop && !a.running {
			changed, same = time.Now(), 0
		} else {
			same++
		}
		a.running = a.running || r.Stop
		still := time.Since(changed)
		if a.isWhole(r, same, still) {
			return a.end(ctx, r)
		}
		if err := a.overdue(begun, still); err != nil {
			return err
		}
		if err := a.emit(); err != nil {
			return err
		}
		if err := sleep(ctx, min(max(minLook, effort*time.Since(start)), maxLook)); err != nil {
			return err
		}
	}
}

// look takes in what the page shows, and reports whether that has changed.
func (a *pageAnswer) look(ctx context.Context, settled bool) (r growth, moved bool, err error) {
	if err := a.p.call(ctx, &r, "read", settled); err != nil {
		return r, false, closedError(err)
	}
	switch {
	case r.Login:
		return r, false, loginError(a.o.URL)
	case !r.Marked:
		return r, false, &chat.Error{Kind: chat.ErrUnavailable, Code: CodeClosed,
			Message: "the page was loaded anew before its answer was whole"}
	case !r.There:
		return r, false, nil
	case r.Keep > len(a.text) || r.Safe > r.Keep+len(r.Tail):
		return r, false, &chat.Error{Kind: chat.ErrProtocol, Message: "the page's answer cannot be followed"}
	case r.Keep+len(r.Tail) > a.o.MaxAnswer:
		return r, false, &chat.Error{Kind: chat.ErrProtocol, Code: CodeTooLong,
			Message: fmt.Sprintf("the answer is longer than %d bytes (browser.max_answer)", a.o.MaxAnswer)}
	}
	moved = r.Tail != "" || r.Keep < len(a.text)
	if moved {
		a.text = a.text[:r.Keep] + r.Tail
	}
	a.safe = r.Safe
	return r, moved, nil
}

// isWhole reports whether an answer has come to its end: by what the page shows where there are selectors for that,
// by silence otherwise.
func (a *pageAnswer) isWhole(r growth, same int, still time.Duration) bool {
	s := &a.o.Selectors
	switch {
	case r.Stop:
		return false
	case s.Done != "" && r.There:
		return r.Done && same >= looks
	case a.running:
		return same >= looks && (a.text != "" || still >= a.o.Settle)
	}
	return (a.text != "" || r.Like) && still >= a.o.Settle
}

// overdue returns the error of a page that has been silent for too long.
func (a *pageAnswer) overdue(begun bool, still time.Duration) error {
	switch {
	case !begun && still >= a.o.First:
		return &chat.Error{Kind: chat.ErrTimeout, Message: fmt.Sprintf("the page showed no answer within %v: nothing "+
			"new matches browser.answer (%s)", a.o.First, a.o.Selectors.Answer)}
	case begun && still >= a.o.Idle:
		return &chat.Error{Kind: chat.ErrTimeout, Message: fmt.Sprintf("the page's answer stood still for %v and was "+
			"not whole", a.o.Idle)}
	}
	return nil
}

// emit hands on what has been so for two looks.
func (a *pageAnswer) emit() error {
	settled := a.text[:a.safe]
	n := common(settled, a.before)
	a.before = settled
	if a.whole || n <= len(a.sent) || !strings.HasPrefix(settled, a.sent) {
		return nil
	}
	if err := a.send(settled[len(a.sent):n]); err != nil {
		return err
	}
	a.sent = settled[:n]
	if !a.yield(chat.Event{Kind: chat.KindIdle}, nil) {
		return errGone
	}
	return nil
}

// end hands on the rest.
func (a *pageAnswer) end(ctx context.Context, r growth) error {
	if !r.There { // an answer like the one before is one now
		var err error
		if r, _, err = a.look(ctx, true); err != nil {
			return err
		}
		if !r.There {
			var v view
			if err := a.p.call(ctx, &v, "look"); err != nil {
				return closedError(err)
			}
			return a.p.missing("answer", v)
		}
	}
	rest, ok := after(a.text, a.sent)
	if !ok {
		return &chat.Error{Kind: chat.ErrProtocol, Code: CodeChanged,
			Message: "the page changed what it had long written, so that the rest of the answer fits nothing"}
	}
	return a.send(rest)
}

func (a *pageAnswer) send(text string) error {
	if text == "" {
		return nil
	}
	e := chat.Event{Kind: chat.KindText, Text: text, At: a.at, End: a.at + len(text)}
	a.at = e.End
	if !a.yield(e, nil) {
		return errGone
	}
	return nil
}

// common returns the length of the longest beginning that two texts share, in whole characters.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// after returns what follows in a text behind what was sent of it. Where the page has since made markup of some of
// that, a heading of a line for example, it goes by the letters.
func after(text, sent string) (rest string, ok bool) {
	if rest, ok := strings.CutPrefix(text, sent); ok {
		return rest, true
	}
	i := 0
	for _, want := range sent {
		if isMarkup(want) {
			continue
		}
		for {
			if i >= len(text) {
				return "", false
			}
			r, size := utf8.DecodeRuneInString(text[i:])
			i += size
			if r == want {
				break
			}
			if !isMarkup(r) {
				return "", false
			}
		}
	}
	return text[i:], true
}

// isMarkup reports whether a character may come and go when a page makes elements of a text.
func isMarkup(r rune) bool { return strings.ContainsRune("*_`~#>|-+=[]()!\\ \t\r\n", r) }
