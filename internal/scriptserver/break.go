package scriptserver

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"time"

	"wield/internal/script"
)

// ending says how a body ends.
type ending uint8

const (
	endWell      ending = iota // as HTTP demands
	endCut                     // the connection is closed without a terminator
	endReset                   // the connection is reset
	endHalfClose               // the write side is closed
)

// An httpResponse is all that is sent for one request.
type httpResponse struct {
	status      int
	header      http.Header
	headersWait time.Duration // before the status line
	body        []piece
	end         ending
}

// breakAnswer applies faults, in order.
func breakAnswer(a *httpResponse, faults []script.Fault, f framing, errorBody func(status int, message string) []byte) {
	for i := range faults {
		do := &faults[i].Do
		a.headersWait += do.SlowHeaders
		if do.ContentType != "" {
			a.header.Set("Content-Type", do.ContentType)
		}
		if do.Status != 0 || do.HTML502 {
			a.fail(do, errorBody)
		}
		a.breakFrames(do, f)
	}
}

const html502 = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad " +
	"Gateway</h1></center>\r\n</body>\r\n</html>\r\n"

// fail replaces the answer by an error.
func (a *httpResponse) fail(do *script.Do, errorBody func(int, string) []byte) {
	if do.HTML502 {
		a.status = http.StatusBadGateway
		a.header.Set("Content-Type", "text/html")
		a.body = []piece{{data: []byte(html502)}}
		return
	}
	a.status = do.Status
	a.header.Set("Content-Type", "application/json")
	if do.RetryAfter > 0 {
		// The header counts whole seconds.
		a.header.Set("Retry-After", strconv.Itoa(int((do.RetryAfter+time.Second-1)/time.Second)))
	}
	body := errorBody(do.Status, "the scenario answers with this status")
	if do.Body != nil {
		body = []byte(*do.Body)
		if t := bytes.TrimSpace(body); len(t) == 0 || t[0] != '{' {
			a.header.Set("Content-Type", "text/plain; charset=utf-8")
		}
	}
	a.body = []piece{{data: body}}
}

func (a *httpResponse) breakFrames(do *script.Do, f framing) {
	if do.DropDone {
		a.body = without(a.body, func(fr *piece) bool { return fr.done })
	}
	a.swap(do)
	if do.BadUTF8 {
		badUTF8(a.body)
	}
	if do.HugeLine > 0 {
		a.body = hugeLine(a.body, f, do.HugeLine)
	}
	if do.BadSSE {
		a.body = slices.Insert(a.body, a.point(do), piece{data: []byte(brokenFrame[f])})
	}
	if do.Cut != nil || do.Reset || do.HalfClose {
		a.cut(do)
	}
	if do.Stall > 0 {
		a.stall(do)
	}
	if do.Drip > 0 {
		a.body = drip(a.body, do.Drip)
	}
}

var brokenFrame = map[framing]string{framingSSE: "data: {\"choices\":[{\n\n", framingLines: "{\"message\":{\n",
	framingNone: "{"}

// stall puts a silence before the cut if there is one, else into the middle: of the chunks, or of a body of one frame.
func (a *httpResponse) stall(do *script.Do) {
	if do.Cut != nil {
		a.body = append(a.body, piece{wait: do.Stall})
		return
	}
	at := a.point(do)
	if len(a.body) == 1 {
		first, second := a.body[0], a.body[0]
		half := len(first.data) / 2
		first.data, second.data, second.wait = first.data[:half], second.data[half:], do.Stall
		a.body = []piece{first, second}
		return
	}
	a.body = slices.Insert(a.body, at, piece{wait: do.Stall})
}

// cut ends the body at the fault's point, or after the last frame, and says how the connection ends there.
func (a *httpResponse) cut(do *script.Do) {
	switch {
	case do.Reset:
		a.end = endReset
	case do.HalfClose:
		a.end = endHalfClose
	default:
		a.end = endCut
	}
	switch {
	case do.Cut == nil:
	case do.Cut.Unit == script.CutBytes:
		a.body = firstBytes(a.body, do.Cut.N)
	default:
		a.body = a.body[:a.point(do)]
	}
}

func firstBytes(body []piece, n int) []piece {
	for i := range body {
		if n <= len(body[i].data) {
			last := body[i]
			last.data = last.data[:n]
			return append(body[:i:i], last)
		}
		n -= len(body[i].data)
	}
	return body
}

// point returns the index of the frame before which a fault strikes.
func (a *httpResponse) point(do *script.Do) int { return do.Point(a.pieces()) }

// pieces tells what faults need to know of the frames.
func (a *httpResponse) pieces() []script.Piece {
	list := make([]script.Piece, len(a.body))
	for i := range a.body {
		list[i] = script.Piece{Chunk: a.body[i].chunk, Wait: a.body[i].wait, Size: len(a.body[i].data)}
	}
	return list
}

// swap carries out dup_chunk and reorder. What is sent again does not wait again.
func (a *httpResponse) swap(do *script.Do) {
	var out []piece
	sent := make([]bool, len(a.body))
	for _, i := range do.Order(a.pieces()) {
		f := a.body[i]
		if sent[i] {
			f.wait = 0
		}
		sent[i] = true
		out = append(out, f)
	}
	a.body = out
}

func without(body []piece, drop func(*piece) bool) []piece {
	var out []piece
	for i := range body {
		if !drop(&body[i]) {
			out = append(out, body[i])
		}
	}
	return out
}

// badUTF8 takes a byte out of the first character of several bytes, or puts a byte that UTF-8 never has behind the
// first text.
func badUTF8(body []piece) {
	for i := range body {
		if s, ok := script.BreakUTF8(string(body[i].data)); ok && body[i].chunk {
			body[i].data = []byte(s)
			return
		}
	}
	for i := range body {
		if f := &body[i]; f.text > 0 {
			f.data = append(append(append([]byte{}, f.data[:f.text]...), 0xff), f.data[f.text:]...)
			return
		}
	}
}

// hugeLine makes the line of the first chunk n bytes long by blanks inside its JSON, which change nothing that it says.
// A body without JSON gets a line of its own.
func hugeLine(body []piece, f framing, n int) []piece {
	for i := range body {
		open := bytes.IndexByte(body[i].data, '{')
		if !body[i].chunk && len(body) > 1 || open < 0 || f == framingNone && len(body) > 1 {
			continue
		}
		start := bytes.LastIndexByte(body[i].data[:open], '\n') + 1
		end := bytes.IndexByte(body[i].data[open:], '\n')
		if end < 0 {
			end = len(body[i].data) - open
		}
		if pad := n - (open + end - start); pad > 0 {
			data := append([]byte{}, body[i].data[:open+1]...)
			data = append(data, bytes.Repeat([]byte(" "), pad)...)
			body[i].data = append(data, body[i].data[open+1:]...)
			body[i].text += pad
		}
		return body
	}
	return slices.Insert(body, 0, piece{data: append(bytes.Repeat([]byte("x"), max(n-1, 0)), '\n')})
}

// drip makes a frame of every byte.
func drip(body []piece, d time.Duration) []piece {
	var out []piece
	for _, f := range body {
		for i := range f.data {
			out = append(out, piece{data: f.data[i : i+1], wait: f.wait + d})
			f.wait = 0
		}
	}
	return out
}
