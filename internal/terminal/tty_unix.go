//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// raw makes the terminal send every key as it is pressed.
func raw(in, _ *os.File) (restore func(), err error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(in.Fd()), state) }, nil
}

// watchSize tells when the size of the terminal may have changed.
func watchSize() (<-chan struct{}, func()) {
	signals, resized := make(chan os.Signal, 1), make(chan struct{}, 1)
	done, ended := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer close(ended)
		for {
			select {
			case <-signals:
				select {
				case resized <- struct{}{}:
				default: // it is told already
				}
			case <-done:
				return
			}
		}
	}()
	return resized, func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// suspend stops the process, as Ctrl-Z does where keys are not taken one by one.
func suspend() { _ = syscall.Kill(0, syscall.SIGTSTP) }
