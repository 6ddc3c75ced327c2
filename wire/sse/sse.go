// Package sse reads and writes server-sent events, the framing of streamed answers.
//
// Words:
//
//   - A line ends with LF, CR LF or CR. A line that begins with a colon is a comment; servers send them to keep a
//     connection alive.
//   - A frame is a group of lines ended by a blank one. Its data are those of its data lines, joined by newlines; its
//     name is that of its last event line.
//
// The format is that of the HTML standard (section "Server-sent events"), with one leniency: data that the end of the
// stream leaves without a blank line is a frame too, because servers are known to forget it.
//
// A Reader also reads streams whose frames are lines, which need the same care: see NewLineReader.
package sse

import (
	"bytes"
	"fmt"
	"io"
)

// defaultLimit is the greatest size of a frame that a Reader takes unless told otherwise.
const defaultLimit = 16 << 20

// A LimitError says that a line, or the data of a frame, is longer than the reader takes.
type LimitError struct{ Limit int }

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("server-sent event: a frame is longer than %d bytes", e.Limit)
}

// A Frame is one event of a stream that has data.
type Frame struct {
	Name string // of the event; empty: none was given
	Data []byte // valid until the next call of Next
}

// A Reader reads frames.
type Reader struct {
	src   io.Reader
	limit int
	lines bool // each line is a frame

	buf  []byte
	r, w int // buf[r:w] has been read from src and not yet used
	scan int // buf[r:scan] holds no line end
	err  error

	started bool // the place where a byte order mark may stand is behind
	skipLF  bool // the last line ended with CR: an LF right behind it belongs to it

	name    string
	known   string // the last name there was
	data    []byte
	hasData bool
}

// firstBuffer is the size of a reader's buffer before a longer line makes it grow.
const firstBuffer = 4 << 10

// NewReader returns a reader of src that refuses lines and data longer than limit bytes. A limit of 0 is DefaultLimit.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = defaultLimit
	}
	return &Reader{src: src, limit: limit, buf: make([]byte, firstBuffer)}
}

// NewLineReader returns a reader of a stream that is lines of data, such as JSON Lines: each line that is not blank
// is a frame. A limit of 0 is DefaultLimit.
func NewLineReader(src io.Reader, limit int) *Reader {
	r := NewReader(src, limit)
	r.lines = true
	return r
}

// keptBuffer is the size up to which Reset keeps a buffer.
const keptBuffer = 64 << 10

// Reset makes r a reader of src, with the limit and the buffers that it has.
func (r *Reader) Reset(src io.Reader) {
	buf, data := r.buf, r.data[:0]
	if len(buf) > keptBuffer || cap(data) > keptBuffer {
		buf, data = make([]byte, firstBuffer), nil
	}
	*r = Reader{src: src, limit: r.limit, lines: r.lines, buf: buf, data: data}
}

// Next returns the next frame that has data. The error at the end of the stream is io.EOF, that of an overlong frame a
// *LimitError, any other the source's own; all are final.
func (r *Reader) Next() (Frame, error) {
	r.name, r.data, r.hasData = "", r.data[:0], false
	for {
		line, ok, err := r.line()
		if err != nil {
			return Frame{}, err
		}
		if !ok { // the end of the stream
			if r.hasData {
				return Frame{Name: r.name, Data: r.data}, nil
			}
			return Frame{}, r.err
		}
		if r.lines {
			if len(bytes.TrimSpace(line)) > 0 {
				return Frame{Data: line}, nil
			}
			continue
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Frame{}, err
			}
			continue
		}
		if r.hasData {
			return Frame{Name: r.name, Data: r.data}, nil
		}
		r.name = "" // a frame without data is none
	}
}

// field takes in one line of a frame.
func (r *Reader) field(line []byte) error {
	key, value, found := bytes.Cut(line, colon)
	if found {
		value = bytes.TrimPrefix(value, space)
	}
	switch string(key) {
	case "data":
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		r.hasData = true
		if len(r.data) > r.limit {
			return r.fail(&LimitError{Limit: r.limit})
		}
	case "event":
		if string(value) != r.known { // streams use few names: keep the last one
			r.known = string(value)
		}
		r.name = r.known
	}
	return nil // comments, id, retry and what nobody knows
}

var (
	colon = []byte(":")
	space = []byte(" ")
	mark  = []byte("\ufeff")
)

// line returns the next line without its end. It is valid until the next call. ok is false at the end of the stream;
// what the stream holds behind its last line end is a line as well.
func (r *Reader) line() (line []byte, ok bool, err error) {
	for {
		if line, ok = r.buffered(); ok {
			return line, true, nil
		}
		if r.err != nil {
			if r.err != io.EOF {
				return nil, false, r.err
			}
			if r.r < r.w {
				line, r.r = r.buf[r.r:r.w], r.w
				return r.unmark(line), true, nil
			}
			return nil, false, nil
		}
		if r.w-r.r > r.limit+len("data: ") {
			return nil, false, r.fail(&LimitError{Limit: r.limit})
		}
		r.fill()
	}
}

// buffered returns the next line if the buffer holds all of it.
func (r *Reader) buffered() (line []byte, ok bool) {
	if r.skipLF && r.r < r.w {
		if r.buf[r.r] == '\n' {
			r.r++
			r.scan = max(r.scan, r.r)
		}
		r.skipLF = false
	}
	i := lineEnd(r.buf[r.scan:r.w])
	if i < 0 {
		r.scan = r.w
		return nil, false
	}
	i += r.scan
	line = r.unmark(r.buf[r.r:i])
	r.skipLF = r.buf[i] == '\r'
	r.r = i + 1
	r.scan = r.r
	return line, true
}

// lineEnd returns the place of the first LF or CR in b, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// unmark removes a byte order mark from the first line of the stream.
func (r *Reader) unmark(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, mark)
}

// Ready reports whether Next can return without reading from the source. It is what tells a model that its next read
// may block.
func (r *Reader) Ready() bool {
	if r.err != nil {
		return true
	}
	// A frame ends at two line ends in a row. Data lines of a frame under way are never kept between two calls of
	// Next, so looking at the buffer is enough.
	rest := r.buf[r.r:r.w]
	if r.skipLF && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	data := false
	for len(rest) > 0 {
		i := lineEnd(rest)
		if i < 0 {
			return false
		}
		if i == 0 && data || r.lines && len(bytes.TrimSpace(rest[:i])) > 0 {
			return true
		}
		data = data || bytes.HasPrefix(rest[:i], dataKey)
		if rest[i] == '\r' && i+1 < len(rest) && rest[i+1] == '\n' {
			i++
		}
		rest = rest[i+1:]
	}
	return false
}

var dataKey = []byte("data:")

// fill reads once from the source into the free end of the buffer, which it moves together or makes bigger first.
func (r *Reader) fill() {
	if r.r > 0 {
		copy(r.buf, r.buf[r.r:r.w])
		r.w -= r.r
		r.scan -= r.r
		r.r = 0
	}
	if r.w == len(r.buf) {
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if err != nil {
			r.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	r.err = io.ErrNoProgress
}

const maxEmptyReads = 100

// fail makes err final.
func (r *Reader) fail(err error) error {
	r.err, r.r, r.w, r.scan = err, 0, 0, 0
	return err
}

// AppendFrame appends a frame. An empty name is left out. Data of several lines becomes several data lines.
func AppendFrame(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	for {
		i := lineEnd(data)
		dst = append(dst, "data: "...)
		if i < 0 {
			dst = append(dst, data...)
			return append(dst, "\n\n"...)
		}
		dst = append(dst, data[:i]...)
		dst = append(dst, '\n')
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
}

// AppendComment appends a comment of one line, which readers ignore. It keeps a connection alive.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ": "...)
	for i := range len(text) {
		if c := text[i]; c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return append(dst, "\n\n"...)
}
