package main

import (
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// A plainWriter writes text of others so that a terminal shows it and does nothing else: characters that move the cursor, write
// the clipboard or cannot be seen are spelled. New lines and tabs stay.
type plainWriter struct {
	w    io.Writer
	rest []byte // of a character that came in parts
}

func (p *plainWriter) Write(b []byte) (int, error) {
	text := append(p.rest, b...)
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(text):
			p.rest = append([]byte(nil), text...)
			_, err := p.w.Write(out)
			return len(b), err
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r) || r == ' ':
			out = append(out, text[:size]...)
		case r < 0x80:
			out = fmt.Appendf(out, `\x%02x`, r)
		default:
			out = fmt.Appendf(out, `\u{%x}`, r)
		}
		text = text[size:]
	}
	p.rest = nil
	_, err := p.w.Write(out)
	return len(b), err
}

// end writes the beginning of a character that never came.
func (p *plainWriter) end() {
	for _, c := range p.rest {
		fmt.Fprintf(p.w, `\x%02x`, c)
	}
	p.rest = nil
}

// shown returns a writer that spares a terminal, and w itself where that is a file or a pipe, which get what there is.
func shown(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice == 0 {
		return w
	}
	return &plainWriter{w: w}
}
