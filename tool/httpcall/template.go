package httpcall

import (
	"errors"
	"fmt"
	"strings"
)

// A template is a text with places for arguments.
type template []part

// A part is a piece of text, or the place of an argument.
type part struct {
	text string
	name string // of the argument; empty: it is text
}

// parse takes a text apart. Braces that hold no name are text.
func parse(text string) template {
	var t template
	for text != "" {
		at, end, ok := place(text)
		if !ok {
			return append(t, part{text: text})
		}
		if at > 0 {
			t = append(t, part{text: text[:at]})
		}
		t = append(t, part{name: text[at+1 : end]})
		text = text[end+1:]
	}
	return t
}

// place finds the first {NAME}: where its braces stand.
func place(text string) (at, end int, ok bool) {
	for at < len(text) {
		open := strings.IndexByte(text[at:], '{')
		if open < 0 {
			break
		}
		at += open
		end = at + 1
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		if end > at+1 && end < len(text) && text[end] == '}' {
			return at, end, true
		}
		at = end
	}
	return 0, 0, false
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

// names returns the arguments that have a place in the template.
func (t template) names() []string {
	var list []string
	for _, p := range t {
		if p.name != "" {
			list = append(list, p.name)
		}
	}
	return list
}

// alone returns the argument whose place is all of the template.
func (t template) alone() (name string, ok bool) {
	if len(t) == 1 && t[0].name != "" {
		return t[0].name, true
	}
	return "", false
}

// fixed returns the text of the template without its places.
func (t template) fixed() string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.text)
	}
	return b.String()
}

// errAbsent says that an argument is not there for which a text has a place.
var errAbsent = errors.New("absent")

// expand writes the template with the values of arguments, each escaped. Its own text stays as it is.
func (t template) expand(args arguments, escape func(string) string) (string, error) {
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		value, ok := args.text(p.name)
		if !ok {
			return "", fmt.Errorf("%s: %w", p.name, errAbsent)
		}
		b.WriteString(escape(value))
	}
	return b.String(), nil
}

func plain(s string) string { return s }

// Places returns the names of the arguments that have a place in a text.
func Places(text string) []string { return parse(text).names() }
