package policy

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFields limits the words that the braces of one word may make.
const maxFields = 256

// word does what the shell does with a word: braces, then quotes. What else it would do is not known here, so
// that the word is not; commands in it are judged.
func (e *eval) word(w *syntax.Word, sc scope) []field {
	if lit := w.Lit(); lit != "" && !strings.ContainsAny(lit, "\\{~*?[") && isASCII(lit) {
		return []field{{text: lit, known: true}}
	}
	split := &syntax.Word{Parts: w.Parts} // a copy: what SplitBraces makes has no places in the text
	if syntax.SplitBraces(split) {
		fields := e.braces(split.Parts, sc)
		if fields == nil {
			e.undecidable(w, "braces that make too many words")
			return []field{{}}
		}
		if !hasQuotes(w) { // {,rm} is rm: an empty word is none without quotes
			fields = slices.DeleteFunc(fields, func(f field) bool { return f.known && f.text == "" })
		}
		return fields
	}
	return []field{e.parts(w.Parts, sc, false)}
}

// hasQuotes reports whether a part of a word is quoted.
func hasQuotes(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			found = true
		}
		return !found
	})
	return found
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// braces makes the words that braces stand for; nil if they are too many.
func (e *eval) braces(parts []syntax.WordPart, sc scope) []field {
	fields := []field{{known: true}}
	for i, p := range parts {
		var alternatives []field
		if b, ok := p.(*syntax.BraceExp); ok {
			alternatives = e.brace(b, sc)
		} else {
			f := e.parts([]syntax.WordPart{p}, sc, false)
			f.tilde = f.tilde && i == 0
			alternatives = []field{f}
		}
		if len(alternatives) == 0 || len(fields)*len(alternatives) > maxFields {
			return nil
		}
		var next []field
		for _, f := range fields {
			for _, a := range alternatives {
				next = append(next, field{text: f.text + a.text, known: f.known && a.known, glob: f.glob || a.glob,
					tilde: f.tilde || f.text == "" && a.tilde, shown: (f.known || f.shown) && (a.known || a.shown),
					held: f.held || a.held})
			}
		}
		fields = next
	}
	return fields
}

func (e *eval) brace(b *syntax.BraceExp, sc scope) []field {
	if b.Sequence {
		return sequence(b)
	}
	var fields []field
	for _, w := range b.Elems {
		more := e.braces(w.Parts, sc)
		if more == nil {
			return nil
		}
		fields = append(fields, more...)
	}
	return fields
}

// sequence makes the words of {1..3}. Letters and padding are not worked out, but may be shown.
func sequence(b *syntax.BraceExp) []field {
	from, err1 := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	if err1 != nil || err2 != nil || len(b.Elems) > 2 || strings.HasPrefix(b.Elems[0].Lit(), "0") && from != 0 ||
		strings.HasPrefix(b.Elems[1].Lit(), "0") && to != 0 {
		return []field{{shown: b.Elems[0].Lit() != "" && b.Elems[1].Lit() != ""}}
	}
	step := 1
	if to < from {
		step = -1
	}
	if (to-from)*step >= maxFields {
		return nil
	}
	var fields []field
	for i := from; ; i += step {
		fields = append(fields, field{text: strconv.Itoa(i), known: true})
		if i == to {
			return fields
		}
	}
}

// parts removes the quotes of a word without braces. In a here-document nothing is quoted but by backslashes.
func (e *eval) parts(parts []syntax.WordPart, sc scope, document bool) field {
	f := field{known: true, shown: true, whole: true}
	var b strings.Builder
	for i, p := range parts {
		if _, quoted := p.(*syntax.DblQuoted); !quoted {
			f.whole = false
		}
		switch p := p.(type) {
		case *syntax.Lit:
			if document {
				b.WriteString(p.Value)
				continue
			}
			if !isASCII(p.Value) {
				e.undecidable(p, "letters beyond ASCII outside of quotes, which may be mistaken for others")
			}
			text, glob := unescape(p.Value)
			f.tilde = f.tilde || i == 0 && strings.HasPrefix(p.Value, "~")
			f.glob = f.glob || glob
			b.WriteString(text)
		case *syntax.SglQuoted:
			text, ok := p.Value, true
			if p.Dollar {
				text, ok = ansiC(p.Value)
			}
			f.known = f.known && ok
			if !ok {
				e.undecidable(p, "an escape that is not known")
			}
			b.WriteString(text)
		case *syntax.DblQuoted:
			if p.Dollar {
				f.known, f.shown = false, false
				e.undecidable(p, "a text that the system may translate")
			}
			in := e.quoted(p.Parts, sc)
			f.known, f.shown, f.held = f.known && in.known, f.shown && (in.known || in.shown), f.held || in.held
			f.number = in.number && len(parts) == 1
			b.WriteString(in.text)
		default:
			f.held = true
			in := e.expanded(p, sc)
			f.number = in.number && len(parts) == 1
			switch {
			case !in.known || plainWord.MatchString(in.text):
			case patternWord.MatchString(in.text):
				f.glob = true
			default: // a shell cuts it into words
				e.undecidable(p, expansionWhy(p))
				in = field{}
			}
			f.known, f.shown = f.known && in.known, f.shown && (in.known || in.shown)
			b.WriteString(in.text)
		}
	}
	f.text = b.String()
	return f
}

// quoted removes the quotes inside of double ones.
func (e *eval) quoted(parts []syntax.WordPart, sc scope) field {
	f := field{known: true, shown: true}
	for _, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok {
			f.text += unescapeQuoted(lit.Value)
			continue
		}
		in := e.expanded(p, sc)
		f.held, f.number = true, in.number && len(parts) == 1
		f.known, f.shown = f.known && in.known, f.shown && (in.known || in.shown)
		f.text += in.text
	}
	return f
}

// plainWord is a value that stays one word without quotes.
var plainWord = lazily(`^[A-Za-z0-9_./:@%+=,-]+$`)

// patternWord is a value that stands for names of files without quotes.
var patternWord = lazily(`^[A-Za-z0-9_./:@%+=,*?-]+$`)

// expansion judges the commands in an expansion.
func (e *eval) expansion(p syntax.WordPart, sc scope) {
	switch p := p.(type) {
	case *syntax.CmdSubst:
		e.branch(func() scope { return e.stmts(p.Stmts, sc) })
	case *syntax.ProcSubst:
		e.branch(func() scope { return e.stmts(p.Stmts, sc) })
	case *syntax.ExtGlob: // where these patterns are off, !(x) runs x
		e.shell(p.Pattern.Value, sc)
	default:
		e.inside(p, sc)
	}
}

func expansionWhy(p syntax.WordPart) string {
	switch p.(type) {
	case *syntax.ParamExp:
		return "the value of the variable is known only at run time"
	case *syntax.CmdSubst, *syntax.ProcSubst:
		return "the output of the command is known only at run time"
	case *syntax.ArithmExp:
		return "arithmetic of the shell can run commands in a subscript"
	}
	return "the word is known only at run time"
}

// unescape removes the backslashes of a word without quotes, and tells whether a pattern is in it.
func unescape(s string) (text string, glob bool) {
	if !strings.ContainsAny(s, `\*?[`) || s == "[" || s == "[[" {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[':
			glob = true
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), glob
}

// unescapeQuoted removes the backslashes that count between double quotes.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiEscapes are the escapes of one letter in $'..'.
var ansiEscapes = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11,
	'\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansiC reads the escapes of $'..'. What it does not know, or would make a NUL, is no text.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i >= len(s) {
			return "", false
		}
		if c, ok := ansiEscapes[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		n, size, unicode := ansiNumber(s[i:])
		if size == 0 || n == 0 {
			return "", false
		}
		if unicode {
			b.WriteRune(rune(n))
		} else {
			b.WriteByte(byte(n))
		}
		i += size - 1
	}
	return b.String(), true
}

// ansiNumber reads x41, u00e9, U0001f600 or 101 at the beginning of s, and returns how long it is.
func ansiNumber(s string) (n uint64, size int, unicode bool) {
	digits, start, base, most := "0123456789abcdefABCDEF", 1, 16, 2
	switch s[0] {
	case 'x':
	case 'u':
		most, unicode = 4, true
	case 'U':
		most, unicode = 8, true
	default:
		digits, start, base, most = "01234567", 0, 8, 3
	}
	end := start
	for end < len(s) && end-start < most && strings.IndexByte(digits, s[end]) >= 0 {
		end++
	}
	if end == start {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(s[start:end], base, 32)
	if err != nil {
		return 0, 0, false
	}
	return n, end, unicode
}
