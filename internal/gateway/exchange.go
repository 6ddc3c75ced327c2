package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/capture"
	"wield/internal/metrics"
	"wield/internal/shorten"
)

// An exchange is one request and its answer.
type exchange struct {
	g     *Gateway
	w     http.ResponseWriter
	rc    http.ResponseController
	r     *http.Request
	start time.Time
	id    string

	front    *clientProtocol // whose protocol the client speaks
	path     string          // pattern of the endpoint; empty: there is none
	arg      string          // what stands for the * in the endpoint's path
	holder   *holder
	placed   bool // it has a place within the holder's limits
	lent     bool // that place belongs to a job
	bodyRead bool
	live     *stream // the stream that answers, once there is one
	status   int     // that was sent; 0: nothing was yet
	written  int64   // bytes of the body
	armed    time.Time
	values   [4]string // of headers
	valued   int       // how many of them are set

	// For the log.
	model   string
	thread  string // id of the conversation, if it was recognised
	bounces int
	dropped []string // fields of the request that the backend was not sent
	err     *chat.Error

	heard *capture.Record // of what is captured or logged; nil: nothing is
}

// Values of headers that every answer of a kind shares. Nobody changes them.
var (
	jsonType   = []string{"application/json"}
	noCache    = []string{"no-cache"}
	unbuffered = []string{"no"}
)

// set sets a header of the answer to one value. The name is in canonical form.
func (x *exchange) set(name, value string) {
	if x.valued == len(x.values) {
		x.w.Header()[name] = []string{value}
		return
	}
	n := x.valued
	x.valued++
	x.values[n] = value
	x.w.Header()[name] = x.values[n : n+1 : n+1]
}

// requestID returns the id under which a client knows its request, if it is fit for a header and a log, or makes one.
func requestID(h http.Header) string {
	id := h.Get("X-Request-Id")
	if id == "" || len(id) > 128 {
		return newID("req_")
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return newID("req_")
		}
	}
	return id
}

// newID returns an id that is unique, and no secret.
func newID(prefix string) string {
	const digits = "0123456789abcdefghijklmnopqrstuv"
	b := make([]byte, 0, 40)
	b = append(b, prefix...)
	for range 2 {
		for v, i := rand.Uint64(), 0; i < 12; i++ {
			b = append(b, digits[v&31])
			v >>= 5
		}
	}
	return string(b)
}

// end closes an exchange: a panic becomes an answer, and the log gets its line.
func (x *exchange) end() {
	p := recover()
	switch {
	case p == http.ErrAbortHandler:
		defer panic(p)
	case p != nil:
		x.g.opts.Log.LogAttrs(x.r.Context(), slog.LevelError, "panic", slog.String("request", x.id),
			slog.String("model", x.model), slog.String("panic", fmt.Sprint(p)),
			slog.String("stack", string(debug.Stack())))
		x.fail(refuse(http.StatusInternalServerError, chat.ErrUnavailable, codeInternal,
			"an internal error ended this request; the log has the details under "+x.id))
	}
	if x.live != nil {
		x.live.release()
	}
	now := time.Now()
	x.count(now)
	x.log(now)
	x.capture(now)
}

func (x *exchange) count(now time.Time) {
	e := metrics.HTTPRequest{Endpoint: x.path, Method: x.r.Method, Status: x.status, Streaming: x.live != nil,
		Took: now.Sub(x.start)}
	if x.err != nil {
		e.Error = string(x.err.Kind)
	}
	x.g.opts.Metrics.Exchange(e)
}

func (x *exchange) log(now time.Time) {
	ctx, log := x.r.Context(), x.g.opts.Log.Handler()
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	var room [16]slog.Attr
	attrs := append(room[:0], slog.String("method", x.r.Method), slog.String("path", shownPath(x.r.URL.Path)),
		slog.Int("status", x.status), slog.Int64("bytes", x.written), slog.Duration("took", now.Sub(x.start)),
		slog.String("request", x.id))
	if x.model != "" {
		attrs = append(attrs, slog.String("model", x.model), slog.Bool("stream", x.live != nil))
	}
	if x.holder != nil {
		attrs = append(attrs, slog.String("key", x.holder.Name))
	}
	if x.thread != "" {
		attrs = append(attrs, slog.String("conversation", x.thread))
	}
	if x.bounces > 0 {
		attrs = append(attrs, slog.Int("bounces", x.bounces))
	}
	if names := x.g.logged.first(x.model, x.dropped); len(names) > 0 {
		attrs = append(attrs, slog.String("dropped", strings.Join(names, ", ")))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", string(x.err.Kind)), slog.String("code", x.err.Code))
		if x.err.Status != 0 {
			attrs = append(attrs, slog.Int("backend_status", x.err.Status))
		}
	}
	record := slog.NewRecord(now, slog.LevelInfo, "request", 0) // a Logger would look for the place in the source
	record.AddAttrs(attrs...)
	log.Handle(ctx, record)
}

// authenticate finds out whose request it is, and whether they may use models.
func (x *exchange) authenticate() *failure {
	h, f := x.g.identify(x.r)
	if f != nil {
		return f
	}
	if !h.mayAsk() {
		return forbidden("insufficient_permissions", "a key of the role "+string(h.Role)+" may not use models")
	}
	x.holder = h
	return nil
}

// head begins the answer. Without it nothing may be written.
func (x *exchange) head(status int) {
	if x.r.ContentLength != 0 && !x.bodyRead {
		// net/http reads and drops what is left of the body, before it answers or after. It shall not wait for ever.
		x.rc.SetReadDeadline(time.Now().Add(lastWords))
	}
	x.deadline(time.Now())
	x.status = status
	x.w.WriteHeader(status)
}

// deadline gives the client its time, from now on, to take what is written next. The deadline outlives the
// answer on a connection that is kept, so that every answer sets its own. One that is still quite fresh is
// left as it is: a stream writes often.
func (x *exchange) deadline(now time.Time) {
	if limit := x.g.opts.WriteTimeout; now.Sub(x.armed) >= limit/4 {
		x.armed = now
		x.rc.SetWriteDeadline(now.Add(limit)) // not every ResponseWriter has deadlines
	}
}

// body answers with a whole JSON body.
func (x *exchange) body(status int, b []byte) { x.bodyOf(jsonType, status, b) }

// bodyOf answers with a whole body of a type.
func (x *exchange) bodyOf(contentType []string, status int, b []byte) {
	x.w.Header()["Content-Type"] = contentType
	x.set("Content-Length", strconv.Itoa(len(b)))
	x.head(status)
	if x.r.Method != http.MethodHead {
		n, _ := x.w.Write(b) // a client that does not take it is gone
		x.written += int64(n)
		x.keepAnswer(b)
	}
}

// fail answers with an error, in the form that is still possible.
func (x *exchange) fail(f *failure) {
	x.err = f.err
	switch {
	case x.live != nil && x.live.committed:
		x.live.end(f)
		return
	case x.status != 0:
		return
	case f.status == statusGone:
		x.status = f.status
		return
	}
	h := x.w.Header()
	switch {
	case f.err.RetryAfter > 0:
		h.Set("Retry-After", retryAfter(f.err.RetryAfter))
	case f.err.Kind == chat.ErrOverloaded:
		h.Set("Retry-After", "1") // places become free all the time, and clients without a hint come back at once
	}
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.hangUp {
		h.Set("Connection", "close")
	}
	x.body(f.status, x.front.appendError(nil, f.err))
	if f.status == http.StatusRequestEntityTooLarge {
		x.drain()
	}
}

// drain reads what a client goes on sending behind the answer that it sends too much, for a while and up to a
// measure. Most clients look at no answer before all is sent, and one whose connection is closed on it never
// sees why.
func (x *exchange) drain() {
	if x.r.Header.Get("Expect") != "" {
		return // it sends nothing before it is told to
	}
	x.rc.Flush()
	x.rc.SetReadDeadline(time.Now().Add(lastWords))
	io.CopyN(io.Discard, x.r.Body, maxDrained)
}

// maxDrained limits the bytes that are read and dropped.
const maxDrained = 256 << 20

// readBody reads the whole body of the request.
func (x *exchange) readBody() ([]byte, *failure) {
	limit := x.g.opts.MaxBody
	if x.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if enc := x.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, refuse(http.StatusUnsupportedMediaType, chat.ErrBadRequest, codeEncoding,
			"the content encoding "+shorten.Quoted(enc)+" is not understood here: send the body as it is")
	}
	x.rc.SetReadDeadline(time.Now().Add(x.g.opts.BodyTimeout))
	src := x.r.Body
	if x.r.ContentLength < 0 {
		src = http.MaxBytesReader(x.w, src, limit) // net/http itself sees to a length that was announced
	}
	body, err := readAll(src, x.r.ContentLength)
	var large *http.MaxBytesError
	switch {
	case err == nil:
		x.rc.SetReadDeadline(time.Time{}) // net/http goes on reading, to notice that the client goes
		x.bodyRead = true
		x.keepRequest(body)
		if more(body, "{", maxObjects) {
			return nil, refuse(http.StatusBadRequest, chat.ErrBadRequest, codeTooLarge,
				"the request holds more than "+strconv.Itoa(maxObjects)+" objects, such as messages, parts and "+
					"calls: send a shorter history")
		}
		return body, nil
	case errors.As(err, &large):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		f := refuse(http.StatusRequestTimeout, chat.ErrTimeout, codeSlow, "the request's body did not arrive within "+
			x.g.opts.BodyTimeout.String())
		f.hangUp = true
		return nil, f
	}
	f := refuse(http.StatusBadRequest, chat.ErrBadRequest, codeCutShort, "the request's body broke off: "+err.Error())
	f.hangUp = true
	return nil, f
}

// maxObjects is how many objects a body may hold: a message of one letter takes a hundred times as much
// memory as in the body.
const maxObjects = 50_000

// more reports whether a body of JSON holds more of some signs than n: braces begin objects, brackets and commas
// further values. What stands in strings does not count.
func more(body []byte, signs string, n int) bool { return len(body) > n && fewer(body, signs, n) < 0 }

// fewer returns n without the signs that a body holds, or what is below zero as soon as it is.
func fewer(body []byte, signs string, n int) int {
	signs += `"`
	for len(body) > 0 && n >= 0 {
		i := bytes.IndexAny(body, signs)
		if i < 0 {
			break
		}
		if body[i] != '"' {
			n--
			body = body[i+1:]
			continue
		}
		body = behindString(body[i+1:])
	}
	return n
}

// behindString returns what follows the quote that ends a string.
func behindString(rest []byte) []byte {
	for {
		i := bytes.IndexByte(rest, '"')
		if i < 0 {
			return nil
		}
		escapes := 0
		for escapes < i && rest[i-1-escapes] == '\\' {
			escapes++
		}
		rest = rest[i+1:]
		if escapes%2 == 0 {
			return rest
		}
	}
}

func tooLarge(limit int64) *failure {
	f := refuse(http.StatusRequestEntityTooLarge, chat.ErrBadRequest, codeTooLarge,
		"the request's body is larger than the "+strconv.FormatInt(limit, 10)+" bytes that this service takes")
	f.hangUp = true
	return f
}

// readAll reads r to its end. size is what it says of its length, negative if nothing.
func readAll(r io.Reader, size int64) ([]byte, error) {
	// A length that is only announced gets no more memory than this ahead of its bytes.
	const ahead = 1 << 20
	if size < 0 {
		size = 511
	}
	b := make([]byte, 0, min(size, ahead)+1) // the end is seen without more room
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			// Twice as much: append would copy a large body far more often. But no more than is announced.
			more := len(b)
			if left := int(size) + 1 - len(b); left > 0 {
				more = min(more, left)
			}
			b = slices.Grow(b, more)
		}
	}
}
