package prompt

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/chat"
)

// A Pattern is one change to a client's instructions.
type Pattern struct {
	re   *regexp.Regexp
	with string
}

// customTool is lumo-tamer's default pattern. It looks behind, which Go's expressions cannot; what it is
// there for is built in.
const customTool = `(?<=(?:(?:native|custom|internal|external)\s)?)(?=tool)`

var toolWord = regexp.MustCompile(`(?i)\b((?:native|custom|internal|external)\s+)?(tools?)\b`)

// NewPattern returns the pattern that replaces every match of expr, a regular expression of package regexp,
// whatever its case; $1 in replacement stands for a group. The default pattern of lumo-tamer, which puts a
// word before "tool", is known: it leaves alone a "tool" that already has native, custom, internal or
// external before it. The error is a *[PatternError].
func NewPattern(expr, replacement string) (Pattern, error) {
	if expr == customTool {
		return Pattern{re: toolWord, with: replacement}, nil
	}
	if _, err := syntax.Parse(expr, syntax.Perl|syntax.FoldCase); err != nil {
		return Pattern{}, patternError(expr, err)
	}
	re, err := regexp.Compile("(?i)" + expr)
	if err != nil { // too large
		return Pattern{}, patternError(expr, err)
	}
	return Pattern{re: re, with: replacement}, nil
}

// A PatternError says why a pattern is no regular expression of RE2, and where.
type PatternError struct {
	Pattern string
	At      int    // byte of Pattern where the fault begins
	Reason  string // what is wrong there, and what would be right
}

// Error returns place and reason.
func (e *PatternError) Error() string { return "at byte " + strconv.Itoa(e.At) + ": " + e.Reason }

// otherSyntax lists syntax of other engines that RE2 does not have, by how it is written.
var otherSyntax = []struct{ begin, what string }{
	{"(?<=", "looking behind"},
	{"(?<!", "looking behind"},
	{"(?=", "looking ahead"},
	{"(?!", "looking ahead"},
	{"(?>", "atomic groups"},
	{"(?#", "comments"},
	{"\\k", "references to groups"},
}

func patternError(expr string, err error) *PatternError {
	e := &PatternError{Pattern: expr, Reason: strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	var s *syntax.Error
	if !errors.As(err, &s) {
		return e
	}
	if i := strings.Index(expr, s.Expr); i > 0 {
		e.At = i
	}
	for _, o := range otherSyntax {
		if strings.HasPrefix(s.Expr, o.begin) {
			e.Reason = o.what + " with " + o.begin + " is not possible in RE2"
			return e
		}
	}
	if len(s.Expr) == 2 && s.Expr[0] == '\\' && '1' <= s.Expr[1] && s.Expr[1] <= '9' {
		e.Reason = "references to groups with " + s.Expr + " are not possible in RE2"
	}
	return e
}

func (p *Pattern) apply(s string) string {
	switch p.re {
	case nil:
		return s
	case toolWord:
		return toolWord.ReplaceAllStringFunc(s, func(m string) string {
			if strings.ContainsFunc(m, unicode.IsSpace) {
				return m
			}
			return p.with + m
		})
	}
	return p.re.ReplaceAllString(s, p.with)
}

// prefixNames puts prefix in front of each tool name that stands in text as a word of its own and has none yet.
func prefixNames(text string, tools []chat.Tool, prefix string) string {
	names := make([]string, 0, len(tools))
	for i := range tools {
		if tools[i].Name != "" && strings.Contains(text, tools[i].Name) {
			names = append(names, tools[i].Name)
		}
	}
	if len(names) == 0 {
		return text
	}
	sort.Slice(names, func(i, j int) bool { return len(names[i]) > len(names[j]) })
	var b strings.Builder
	for i := 0; i < len(text); {
		if name := nameAt(text, i, names); name != "" && meant(text, i, name) {
			if !strings.HasSuffix(text[:i], prefix) {
				b.WriteString(prefix)
			}
			b.WriteString(name)
			i += len(name)
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// nameAt returns the longest of names that stands at i between word boundaries.
func nameAt(text string, i int, names []string) string {
	if r, _ := utf8.DecodeLastRuneInString(text[:i]); i > 0 && isWord(r) {
		return ""
	}
	for _, name := range names {
		if strings.HasPrefix(text[i:], name) {
			if r, _ := utf8.DecodeRuneInString(text[i+len(name):]); i+len(name) == len(text) || !isWord(r) {
				return name
			}
		}
	}
	return ""
}

// meant reports whether the name of a tool at i is meant as one. A name like get_weather always is; one that
// is a word of the language, such as read, is where it stands in quotation marks or back-ticks, in front of a
// parenthesis, behind "call" or "use", or beside the word tool or function.
func meant(text string, i int, name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLower(r) }) {
		return true
	}
	before, after := text[:i], text[i+len(name):]
	if before != "" && after != "" && strings.IndexByte("`\"'", before[len(before)-1]) >= 0 &&
		after[0] == before[len(before)-1] || strings.HasPrefix(after, "(") {
		return true
	}
	for _, word := range []string{"tool ", "tools ", "function ", "call ", "use ", "calling ", "using "} {
		if n := len(before) - len(word); n >= 0 && strings.EqualFold(before[n:], word) &&
			!strings.HasPrefix(after, "-") {
			return true
		}
	}
	return strings.HasPrefix(after, " tool") || strings.HasPrefix(after, " function")
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// inject puts text where it belongs in messages, which it may change.
func inject(messages []chat.Message, text string, where Inject) []chat.Message {
	if text == "" {
		return messages
	}
	if where == "" || where == InjectSystem {
		return append([]chat.Message{{Role: chat.RoleSystem, Parts: chat.Text(text)}}, messages...)
	}
	text = "[Project instructions: " + closed(text) + "]\n\n"
	at := -1
	for i := range messages {
		if messages[i].Role == chat.RoleUser && (at < 0 || where == InjectLast) {
			at = i
		}
	}
	if at < 0 {
		return append([]chat.Message{{Role: chat.RoleUser, Parts: chat.Text(strings.TrimSpace(text))}}, messages...)
	}
	m := &messages[at]
	m.Parts = append(chat.Text(text), m.Parts...)
	if len(m.Parts) > 1 && m.Parts[1].Kind == chat.PartText {
		m.Parts[1].Text = text + m.Parts[1].Text
		m.Parts = m.Parts[1:]
	}
	return messages
}

// lineEnds makes all that any reader takes for the end of a line a newline.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n")

// closed returns text so that it does not close the bracket around it: what a line that ends with a bracket ends
// with, in whatever way, is a blank.
func closed(text string) string {
	lines := strings.Split(tidy(lineEnds.Replace(text)), "\n")
	for i, line := range lines {
		trimmed := strings.TrimRightFunc(line, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf)
		})
		if strings.HasSuffix(trimmed, "]") && (i < len(lines)-1 || trimmed != line) {
			// at the very end the bracket itself follows
			lines[i] = trimmed + " "
		}
	}
	return strings.Join(lines, "\n")
}
