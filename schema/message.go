package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"wield/schema/shape"
)

// maxPreview limits the bytes of a value in a message.
const maxPreview = 60

// preview shortens JSON text for a message.
func preview(text string) string {
	if len(text) <= maxPreview {
		return text
	}
	end := maxPreview
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

func quoted(s string) string { return strconv.Quote(s) }

// describe names a value for a message: its type, and for scalars its text.
func (t *tape) describe(i int) string {
	switch tok := &t.tokens[i]; tok.kind {
	case shape.Null:
		return "null"
	case shape.Boolean:
		return t.text(i)
	case shape.Number:
		return "number " + preview(t.text(i))
	case shape.String:
		return "string " + preview(t.text(i))
	case shape.Array:
		return "an array of " + count(tok.n, "item")
	default:
		return "an object"
	}
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if base, ok := strings.CutSuffix(thing, "y"); ok {
		return itoa(n) + " " + base + "ies"
	}
	return itoa(n) + " " + thing + "s"
}

// list writes the values of an enum.
func (e *enum) list() string {
	const most = 20
	var words []string
	for _, v := range e.values[:min(most, len(e.values))] {
		words = append(words, preview(e.tape.text(v)))
	}
	switch {
	case len(words) == 0:
		return "nothing, since the list of values is empty"
	case len(e.values) > most:
		return "one of " + strings.Join(words, ", ") + ", ..."
	case len(words) == 1:
		return words[0]
	}
	return "one of " + listOr(words)
}
