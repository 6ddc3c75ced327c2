package dialect

import (
	"slices"
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// readElements reads the inside of an element that holds others, in the form f, as JSON of the shape s: several items
// are an array, everything else is an object, in which an element that is repeated is one as well. It reports whether
// the text is that.
func readElements(text string, f *form.Tags, s *shape.Shape) (string, bool) {
	out, rest, ok := appendElements(nil, strings.TrimSpace(text), f, s, 0)
	return string(out), ok && rest == ""
}

// An elementList is the elements of one name.
type elementList struct {
	name  string
	texts []string
}

func appendElements(dst []byte, text string, f *form.Tags, s *shape.Shape, depth int) (out []byte, rest string,
	ok bool) {
	var lists []elementList
	at := map[string]int{} // of each name in lists
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, inner, behind, ok := cutElement(text, f)
		if !ok || depth >= value.MaxDepth {
			return dst, text, false
		}
		text = behind
		k, seen := at[name]
		if !seen {
			k = len(lists)
			at[name], lists = k, append(lists, elementList{name: name})
		}
		lists[k].texts = append(lists[k].texts, inner)
	}
	if len(lists) == 0 {
		return dst, "", false
	}
	if len(lists) == 1 && (lists[0].name == "item" || s.Type().Has(shape.Array) && !s.Type().Has(shape.Object)) {
		return appendItems(dst, lists[0].texts, f, s.Item(), depth), "", true
	}
	dst = append(dst, '{')
	for i, l := range lists {
		if i > 0 {
			dst = append(dst, ',')
		}
		prop, _ := s.Prop(l.name)
		dst = append(shape.AppendQuoted(dst, l.name), ':')
		if len(l.texts) > 1 {
			dst = appendItems(dst, l.texts, f, prop.Item(), depth)
		} else {
			dst = appendElement(dst, l.texts[0], f, prop, depth)
		}
	}
	return append(dst, '}'), "", true
}

func appendItems(dst []byte, texts []string, f *form.Tags, s *shape.Shape, depth int) []byte {
	dst = append(dst, '[')
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendElement(dst, t, f, s, depth)
	}
	return append(dst, ']')
}

// appendElement writes the inside of one element: others, or text.
func appendElement(dst []byte, text string, f *form.Tags, s *shape.Shape, depth int) []byte {
	if n := len(dst); strings.HasPrefix(strings.TrimSpace(text), f.ParamOpen) {
		if out, _, ok := appendElements(dst, text, f, s, depth+1); ok {
			return out
		}
		dst = dst[:n]
	}
	if empty := emptyText(text, s); empty != "" {
		return append(dst, empty...)
	}
	out, _ := shape.Coerce(trimZeros(text, s), s, shape.CoerceOptions{Untyped: f.Untyped})
	return append(dst, out...)
}

// emptyText returns what an element with nothing in it is under a schema that wants a container, else "".
func emptyText(text string, s *shape.Shape) string {
	switch t := s.Type(); {
	case t.Has(shape.String) || strings.TrimSpace(text) != "":
	case t.Has(shape.Array):
		return "[]"
	case t.Has(shape.Object):
		return "{}"
	}
	return ""
}

// trimZeros returns the text of a number without the zeros it begins with.
func trimZeros(text string, s *shape.Shape) string {
	if t := s.Type(); t == 0 || t&^(shape.Integer|shape.Number) != 0 {
		return text
	}
	number := strings.TrimSpace(text)
	for len(number) > 1 && number[0] == '0' && chars.IsDigit(number[1]) {
		number = number[1:]
	}
	return number
}

// cutElement cuts the element that text begins with. One of the same name inside is part of it.
func cutElement(text string, f *form.Tags) (name, inner, behind string, ok bool) {
	text, ok = strings.CutPrefix(text, f.ParamOpen)
	if !ok {
		return "", "", "", false
	}
	name, text, ok = strings.Cut(text, ">")
	if !ok || name == "" || len(name) > maxHeader || strings.ContainsAny(name, "/ \n") {
		return "", "", "", false
	}
	open, end := f.ParamOpen+name+">", f.ParamClose+name+">"
	for depth, at := 1, 0; ; {
		k := strings.Index(text[at:], end)
		if k < 0 {
			return "", "", "", false
		}
		depth += strings.Count(text[at:at+k], open) - 1
		if depth == 0 {
			return name, text[:at+k], text[at+k+len(end):], true
		}
		at += k + len(end)
	}
}

// closeElements adds the closing tags that are missing: of an element before another one of its name, and before the
// end of the one around it.
func closeElements(text string, f *form.Tags) string {
	var out strings.Builder
	var open []string
	end := func() {
		out.WriteString(f.ParamClose + open[len(open)-1] + ">")
		open = open[:len(open)-1]
	}
	for {
		before, rest, found := strings.Cut(text, f.ParamOpen)
		out.WriteString(before)
		name, behind, whole := strings.Cut(rest, ">")
		if !found || !whole {
			break
		}
		closed, closes := strings.CutPrefix(name, "/")
		switch {
		case closes && slices.Contains(open, closed):
			for open[len(open)-1] != closed {
				end()
			}
			end()
		case closes:
			return text
		default:
			if len(open) > 0 && open[len(open)-1] == name && strings.TrimSpace(before) != "" {
				end()
			}
			open = append(open, name)
			out.WriteString(f.ParamOpen + name + ">")
		}
		text = behind
	}
	for len(open) > 0 {
		end()
	}
	return out.String()
}
