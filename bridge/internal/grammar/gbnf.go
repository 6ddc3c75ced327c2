package grammar

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A writer collects the rules of a grammar in the notation of llama.cpp.
type writer struct {
	rules []rule
	named map[string]bool
	size  int // bytes of the rules
}

// maxText limits the bytes of a grammar: no server reads larger ones in time.
const maxText = 1 << 20

type rule struct{ name, body string }

// add gives a body a name and returns it.
func (w *writer) add(name, body string) string {
	w.rules = append(w.rules, rule{name: name})
	w.set(len(w.rules)-1, body)
	return name
}

// set gives a rule that is there its body.
func (w *writer) set(at int, body string) {
	w.rules[at].body = body
	if w.size += len(w.rules[at].name) + len(body); w.size > maxText {
		panic(frameError{"the grammar is too large"})
	}
}

// once adds a rule of a fixed name if there is none yet.
func (w *writer) once(name, body string) string {
	if w.named == nil {
		w.named = map[string]bool{}
	}
	if !w.named[name] {
		w.named[name] = true
		w.add(name, body)
	}
	return name
}

// next returns a name for a rule that is not written yet.
func (w *writer) next(kind string) string { return kind + strconv.Itoa(len(w.rules)) }

// text returns the whole grammar, which begins with root.
func (w *writer) text(root string) string {
	var b strings.Builder
	b.WriteString("root ::= " + root + "\n")
	for _, r := range w.rules {
		b.WriteString(r.name + " ::= " + r.body + "\n")
	}
	return b.String()
}

// literal writes a text that stands as it is.
func literal(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == counter:
			b.WriteString(`" [0-9]{1,3} "`)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// class writes one character out of a set, or outside of it.
func class(set []rune, not bool) string {
	var b strings.Builder
	b.WriteByte('[')
	if not {
		b.WriteByte('^')
	}
	for _, r := range set {
		switch {
		case r < utf8.RuneSelf && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(']')
	return b.String()
}

// spaced writes the text around a JSON object: the blank behind a colon or a comma may be missing.
func spaced(s string) string {
	var parts []string
	for s != "" {
		i := len(s)
		for _, sign := range []string{`": `, `, "`} {
			if j := strings.Index(s, sign); j >= 0 {
				i = min(i, j+strings.IndexByte(sign, ' '))
			}
		}
		if i > 0 {
			parts = append(parts, literal(s[:i]))
		}
		if i < len(s) {
			parts, i = append(parts, `" "?`), i+1
		}
		s = s[i:]
	}
	return strings.Join(parts, " ")
}

// sequence joins what follows one another, choice what stands in place of one another.
func sequence(parts ...string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return `""`
	}
	return strings.Join(list, " ")
}

func choice(alternatives ...string) string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return "(" + strings.Join(alternatives, " | ") + ")"
}
