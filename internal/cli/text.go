package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// YesNo returns yes or no.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Mistake says in the words of JSON what is wrong with a value that cannot be read. path is where it stands;
// "" is the record.
func Mistake(path string, err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		if path != "" {
			path += ": "
		}
		return fmt.Errorf("%snot JSON: %w", path, err)
	case path == "":
		path = wrong.Field
	case wrong.Field != "":
		path += ": " + wrong.Field
	}
	found, _, _ := strings.Cut(wrong.Value, " ") // numbers stand behind it
	want, ok := jsonKinds[wrong.Type.Kind()]
	if !ok {
		want = wrong.Type.Kind().String()
	}
	if path == "" {
		path = "the record"
	}
	return fmt.Errorf("%s: want %s, not %s", path, want, article(found))
}

// jsonKinds are the names that JSON has for the kinds of the fields above.
var jsonKinds = map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false",
	reflect.Slice: "an array", reflect.Struct: "an object"}

// A PlainWriter writes text of others so that a terminal shows it and does nothing else: characters that move the
// cursor, write the clipboard or cannot be seen are spelled. New lines and tabs stay.
type PlainWriter struct {
	W    io.Writer
	rest []byte // of a character that came in parts
}

func (p *PlainWriter) Write(b []byte) (int, error) {
	text := append(p.rest, b...)
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(text):
			p.rest = append([]byte(nil), text...)
			_, err := p.W.Write(out)
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
	_, err := p.W.Write(out)
	return len(b), err
}

// End writes the beginning of a character that never came.
func (p *PlainWriter) End() {
	for _, c := range p.rest {
		fmt.Fprintf(p.W, `\x%02x`, c)
	}
	p.rest = nil
}

// Shown returns a writer that spares a terminal, and w itself where that is a file or a pipe, which get what there is.
func Shown(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice == 0 {
		return w
	}
	return &PlainWriter{W: w}
}

// longest limits the characters of a text in a line.
const longest = 300

// Plain makes text of a model or a tool fit for a line of a terminal: nothing in it moves the cursor or hides the rest.
func Plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, text)
	if short := []rune(text); len(short) > longest {
		return string(short[:longest]) + "…"
	}
	return text
}

func PrintLines[T any](w io.Writer, rows []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// ListOr writes a list; none if it is nil, empty if there is nothing in it.
func ListOr(list []string, none, empty string) string {
	switch {
	case list == nil:
		return none
	case len(list) == 0:
		return empty
	}
	return strings.Join(list, ", ")
}

func Quoted(s string) string {
	raw, _ := json.Marshal(s) // a string can always be written
	return string(raw)
}

// Table lines up the cells of the rows that fill adds.
func Table(fill func(row func(cells ...string))) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fill(func(cells ...string) { fmt.Fprintln(w, "  "+strings.Join(cells, "\t")) })
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

func article(noun string) string {
	switch noun {
	case "array", "object":
		return "an " + noun
	case "bool":
		return "a boolean"
	}
	return "a " + noun
}
