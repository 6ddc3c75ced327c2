package terminal

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
)

// raw makes the console send every key as it is pressed, and understand the sequences that are written.
func raw(in, out *os.File) (restore func(), err error) {
	var mode uint32
	handle := windows.Handle(out.Fd())
	if err := windows.GetConsoleMode(handle, &mode); err != nil {
		return nil, err
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	back := func() { _ = term.Restore(int(in.Fd()), state) }
	if err := windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		back()
		return nil, errors.Join(errors.New("this console is too old"), err)
	}
	return func() {
		back()
		_ = windows.SetConsoleMode(handle, mode)
	}, nil
}

// watchSize asks for a look at the size now and then: consoles do not tell.
func watchSize() (<-chan struct{}, func()) {
	resized, done, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				select {
				case resized <- struct{}{}:
				default:
				}
			case <-done:
				return
			}
		}
	}()
	return resized, func() { close(done); <-ended }
}

var suspend func()
