package grammar

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// larkToken matches a token of Lark's notation. A line that begins with | continues the rule before it.
var larkToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:[ \t\f]|//[^\n]*)+|(\s*\n\s*\|)|(\s*\n\s*)` +
		`|([?!]*[_a-zA-Z]\w*(?:\.-?\d+)?[ \t]*:)|([_a-zA-Z]\w*)` +
		`|("(?:[^"\\\n]|\\.)*"i?)|(/(?:[^/\\\n]|\\.)+/[imslux]*)|(\d+)|(%[a-z]+)|(->|\.\.|[.,|()\[\]?*+~]))`)
})

// The kinds of tokens, as groups of the expression.
const (
	larkOr = iota + 1
	larkLine
	larkRule
	larkName
	larkString
	larkRegexp
	larkNumber
	larkDirective
	larkSign
	larkEnd
)

type larkReader struct {
	rest  string
	kind  int
	token string
	depth int
}

// common are the terminals of Lark's own that grammars import.
var common = map[string]string{
	"DIGIT": `[0-9]`, "HEXDIGIT": `[0-9a-fA-F]`, "INT": `[0-9]+`, "SIGNED_INT": `[+-]?[0-9]+`,
	"DECIMAL": `[0-9]+\.[0-9]*|\.[0-9]+`,
	"FLOAT":   `[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`,
	"NUMBER":  `[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+`, "ESCAPED_STRING": `"(?:[^"\\\n]|\\.)*"`,
	"LCASE_LETTER": `[a-z]`, "UCASE_LETTER": `[A-Z]`, "LETTER": `[a-zA-Z]`, "WORD": `[a-zA-Z]+`,
	"CNAME": `[_a-zA-Z][_a-zA-Z0-9]*`, "WS_INLINE": `[ \t]+`, "WS": `[ \t\f\r\n]+`, "CR": `\r`, "LF": `\n`,
	"NEWLINE": `(?:\r?\n)+`,
}

// A larkError says what of a grammar cannot be held.
type larkError struct{ why string }

func (e larkError) Error() string { return e.why }

func (r *larkReader) fail(format string, args ...any) { panic(larkError{fmt.Sprintf(format, args...)}) }

// ofLark reads a grammar in Lark's notation. What the whole of it leaves out of a text, as %ignore does, and templates
// are not held.
func ofLark(text string) (g textGrammar, err error) {
	defer func() {
		if e, ok := recover().(larkError); ok {
			g, err = nil, e
		}
	}()
	r := &larkReader{rest: strings.ReplaceAll(text, "\r\n", "\n")}
	g = textGrammar{}
	for r.next(); r.kind != larkEnd; {
		switch {
		case r.kind == larkLine:
			r.next()
		case r.kind == larkDirective && r.token == "%import":
			r.imports(g)
		case r.kind == larkRule:
			name, _, _ := strings.Cut(strings.TrimLeft(strings.TrimRight(r.token, " \t:"), "?!"), ".")
			r.next()
			if g[name] != nil {
				r.fail("%s stands twice", name)
			}
			g[name] = r.choice()
			if r.kind != larkLine && r.kind != larkEnd {
				r.fail("%s: %q is not expected", name, r.token)
			}
		default:
			r.fail("%q cannot be held", r.token)
		}
	}
	return g, g.check()
}

// next reads a token.
func (r *larkReader) next() {
	for r.rest != "" {
		m := larkToken().FindStringSubmatchIndex(r.rest)
		if m == nil {
			r.fail("nothing begins with %.20q", r.rest)
		}
		r.token, r.rest = r.rest[:m[1]], r.rest[m[1]:]
		for kind := larkOr; kind < larkEnd; kind++ {
			if m[2*kind] >= 0 {
				r.kind = kind
				return
			}
		}
	}
	r.kind, r.token = larkEnd, ""
}

func (r *larkReader) sign(token string) bool {
	if r.kind != larkSign || r.token != token {
		return false
	}
	r.next()
	return true
}

func (r *larkReader) imports(g textGrammar) {
	r.next()
	if r.token != "common" {
		r.fail("%s is not known", r.token)
	}
	r.next()
	r.sign(".")
	many := r.sign("(")
	for {
		pattern, ok := common[r.token]
		if !ok {
			r.fail("common.%s is not known", r.token)
		}
		name := r.token
		if r.next(); r.sign("->") {
			name = r.token
			r.next()
		}
		g[name], _ = ofPattern(pattern, "")
		if !many || !r.sign(",") {
			break
		}
	}
	if many && !r.sign(")") {
		r.fail("%q is not expected", r.token)
	}
}

// choice reads alternatives.
func (r *larkReader) choice() *symbol {
	if r.depth++; r.depth > maxDepth {
		r.fail("the grammar is too deep")
	}
	defer func() { r.depth-- }()
	n := &symbol{op: opChoice}
	for {
		s := &symbol{}
		for r.kind >= larkName && r.kind <= larkRegexp || r.kind == larkSign && (r.token == "(" || r.token == "[") {
			s.list = append(s.list, r.item())
		}
		if r.sign("->") {
			r.next() // what a tree calls it
		}
		n.list = append(n.list, s)
		if r.kind == larkOr {
			r.next()
		} else if !r.sign("|") {
			break
		}
	}
	if len(n.list) == 1 {
		return n.list[0]
	}
	return n
}

// item reads an atom and how often it stands.
func (r *larkReader) item() *symbol {
	n := r.atom()
	repeat := func(least, most int) *symbol {
		return &symbol{op: opRepeat, list: []*symbol{n}, least: least, most: most}
	}
	switch {
	case r.sign("?"):
		return repeat(0, 1)
	case r.sign("*"):
		return repeat(0, -1)
	case r.sign("+"):
		return repeat(1, -1)
	case r.sign("~"):
		least := r.number()
		most := least
		if r.sign("..") {
			most = r.number()
		}
		if most < least {
			r.fail("%d..%d is no number of repetitions", least, most)
		}
		return repeat(least, most)
	}
	return n
}

func (r *larkReader) number() int {
	n, err := strconv.Atoi(r.token)
	if err != nil || n > 1000 {
		r.fail("%q is no number of repetitions", r.token)
	}
	r.next()
	return n
}

func (r *larkReader) atom() *symbol {
	kind, token := r.kind, r.token
	r.next()
	switch kind {
	case larkName:
		return &symbol{op: opRule, rule: token}
	case larkString:
		first := r.text(token)
		if len(first.list) == 1 && r.sign("..") {
			last := r.text(r.token)
			r.next()
			if len(last.list) != 1 || last.list[0].chars[0] < first.list[0].chars[0] {
				r.fail("%s begins no range", token)
			}
			return &symbol{op: opChars, chars: []rune{first.list[0].chars[0], last.list[0].chars[0]}}
		}
		return first
	case larkRegexp:
		end := strings.LastIndexByte(token, '/')
		n, err := ofPattern(r.widened(strings.ReplaceAll(token[1:end], `\/`, "/")), strings.Trim(token[end+1:], "lu"))
		if err != nil {
			r.fail("%v", err)
		}
		return n
	}
	n := r.choice()
	if token == "[" {
		n = &symbol{op: opRepeat, list: []*symbol{n}, most: 1}
	}
	if !r.sign(map[string]string{"(": ")", "[": "]"}[token]) {
		r.fail("%s is not closed", token)
	}
	return n
}

// unicodeClasses are what Go's classes of ASCII have to be in Lark, or more.
var unicodeClasses = map[string]string{`\d`: `\p{Nd}`, `\w`: `\pL\pM\pN\p{Pc}`, `\s`: `\t-\r\x1c- \x85\pZ`}

var (
	larkEscape  = regexp.MustCompile(`(?s)\\.`)
	larkClass   = regexp.MustCompile(`(?s)\\.|\[\^?\]?(?:\\.|[^\\\]])*\]`) // or an escape
	larkNegated = regexp.MustCompile(`^\[\^.*\\[DSW]|\[:`)
)

// widened returns a regular expression with its classes of ASCII as those of Unicode. What a class excludes stays as
// it is, since that allows more.
func (r *larkReader) widened(pattern string) string {
	return larkClass.ReplaceAllStringFunc(pattern, func(class string) string {
		switch {
		case larkNegated.MatchString(class):
			r.fail("%s has other characters in Lark", class)
		case unicodeClasses[class] != "":
			return "[" + unicodeClasses[class] + "]"
		case class[0] == '[' && class[1] != '^':
			return larkEscape.ReplaceAllStringFunc(class, func(escape string) string {
				return cmp.Or(unicodeClasses[escape], escape)
			})
		}
		return class
	})
}

// text reads a string.
func (r *larkReader) text(token string) *symbol {
	quoted, fold := strings.CutSuffix(token, "i")
	s, err := strconv.Unquote(quoted)
	if err != nil || !utf8.ValidString(s) { // \xe9 is a byte in Go, and a character in Lark
		r.fail("%s is no string", token)
	}
	n := &symbol{}
	for _, c := range s {
		n.list = append(n.list, &symbol{op: opChars, chars: folds(c, fold)})
	}
	return n
}
