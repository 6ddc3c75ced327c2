package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/model/exchange"
)

// What package exchange allows for the end of a stream behind its finish reason, and of an answer behind its
// terminator.
const (
	finishGrace = 5 * time.Second
	drainGrace  = 20 * time.Millisecond
)

// roundTripper is a server without a network, so that time can be that of a test.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// script answers with pieces, each after a pause. The body ends when the request does.
func script(status int, pieces ...any) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		pr, pw := io.Pipe()
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: pr, Request: r}
		if d, ok := pieces[0].(time.Duration); ok { // before the header
			pieces = pieces[1:]
			select {
			case <-time.After(d):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		go func() {
			for _, p := range pieces {
				switch p := p.(type) {
				case string:
					io.WriteString(pw, p)
				case time.Duration:
					select {
					case <-time.After(p):
					case <-r.Context().Done():
						pw.CloseWithError(r.Context().Err())
						return
					}
				}
			}
			pw.Close()
		}()
		return resp, nil
	}
}

func TestTimeouts(t *testing.T) {
	o := Options{URL: "http://server",
		Connection: exchange.Connection{FirstByte: 10 * time.Minute, Idle: 2 * time.Minute}}
	for _, c := range []struct {
		name   string
		status int
		pieces []any
		want   string
		fails  string
		took   time.Duration
	}{
		{"slow but in time", 200, []any{9 * time.Minute, hello, 119 * time.Second, ": ping\n\n", 119 * time.Second,
			hello + finish, time.Second, usage + done},
			`"Hello" "Hello" usage:3/2 finish:stop`, "", 9*time.Minute + 239*time.Second},
		{"no header", 200, []any{time.Hour}, "", "timeout: the server did not begin to answer within 10m0s",
			10 * time.Minute},
		{"no first byte", 200, []any{time.Minute, time.Hour}, "",
			"timeout: the server did not begin to answer within 10m0s", 10 * time.Minute},
		{"header and body together in time", 200, []any{6 * time.Minute, 3 * time.Minute, hello + finish + done},
			`"Hello" finish:stop`, "", 9 * time.Minute},
		{"stalled", 200, []any{0 * time.Second, hello, time.Hour}, `"Hello"`,
			"timeout: the server sent nothing more within 2m0s", 2 * time.Minute},
		{"stalled inside a frame", 200, []any{0 * time.Second, hello + "data: {", time.Hour}, `"Hello"`,
			"timeout: the server sent nothing more within 2m0s", 2 * time.Minute},
		{"stalled behind the finish reason", 200, []any{0 * time.Second, hello + finish, time.Hour},
			`"Hello" finish:stop`, "", finishGrace},
		{"open behind the terminator", 200, []any{0 * time.Second, hello + finish + done, time.Hour},
			`"Hello" finish:stop`, "", drainGrace},
		{"stalled body", 200, []any{0 * time.Second, `{"choices":[`, time.Hour}, "",
			"timeout: the server sent nothing more within 2m0s", 2 * time.Minute},
		{"stalled error", 429, []any{0 * time.Second, "slow", time.Hour}, "", "rate_limit: slow", 2 * time.Minute},
		{"error without body", 500, []any{0 * time.Second, time.Hour}, "",
			"timeout: the server did not begin to answer within 10m0s", 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := o
				o.Transport = script(c.status, c.pieces...)
				begin := time.Now()
				log, err := play(t.Context(), New(o), ask())
				if got := withoutIdle(log); got != c.want {
					t.Errorf("events %s, want %s", got, c.want)
				}
				checkError(t, err, c.fails)
				if took := time.Since(begin); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func TestConnectError(t *testing.T) {
	o := Options{URL: "http://server",
		Connection: exchange.Connection{
			Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, timeoutError{} })}}
	_, err := play(t.Context(), New(o), ask())
	if !errors.Is(err, chat.ErrTimeout) || !strings.Contains(err.Error(), "cannot reach the server") {
		t.Errorf("error %v", err)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "dial: i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
