package terminal

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"
)

// Open prepares the streams of a process for a conversation: a terminal, where both are one, else plain lines. The
// function that it returns makes the terminal what it was.
func Open(in, out *os.File, getenv func(string) string) (TTY, func(), error) {
	t := TTY{In: in, Out: out, Plain: true}
	name := getenv("TERM")
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return t, func() {}, nil
	}
	t.Color = getenv("NO_COLOR") == "" && name != "dumb"
	if name == "dumb" {
		return t, func() {}, nil
	}
	t.Plain = false
	t.Size = func() (int, int) {
		w, h, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 80, 24
		}
		return w, h
	}
	cooked, err := raw(in, out)
	if err != nil {
		return TTY{}, nil, fmt.Errorf("the terminal: %w", err)
	}
	resized, unwatch := watchSize()
	t.Resized = resized
	var mu sync.Mutex
	t.Release = func() (func(), error) {
		mu.Lock()
		defer mu.Unlock()
		cooked()
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if again, err := raw(in, out); err == nil {
				cooked = again
			}
		}, nil
	}
	t.Suspend = suspend
	return t, func() {
		unwatch()
		mu.Lock()
		defer mu.Unlock()
		cooked()
	}, nil
}
