package module

import (
	"context"
	"regexp"
	"strings"
	"sync"
)

// FormatOptions say how [Format] changes an answer.
type FormatOptions struct {
	Name  string
	Order int
	Plain bool // Markdown becomes plain text, to be read out or shown where nothing renders it
	Trim  bool // blanks at the ends of lines go, and several empty lines become one
	Wrap  int  // lines are broken between words before they have more characters than this; 0: not at all
}

// Format returns a module that gives the model's answers another form. What stands in fenced code keeps its words and
// is never wrapped. Output is passed on line by line.
func Format(o FormatOptions) Module {
	return Module{Name: o.Name, Order: o.Order, Buffer: Line,
		Output: func(*Exchange) Transformer { return &formatter{o: &o} }}
}

// A formatter formats one text.
type formatter struct {
	o     *FormatOptions
	fence string // that is open
	empty bool   // the last line that went out was empty
	begun bool   // one went out
}

// Transform implements [Transformer].
func (f *formatter) Transform(_ context.Context, text string, _ bool) (string, int, error) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		f.line(&out, line)
	}
	return out.String(), len(text), nil
}

func (f *formatter) line(out *strings.Builder, line string) {
	text := strings.TrimRight(line, "\r\n")
	end := line[len(text):]
	marks := fenceMarks(text)
	code := f.fence != ""
	switch {
	case !code && marks != "":
		f.fence, code = marks, true
	case code && len(marks) >= len(f.fence) && marks[0] == f.fence[0] && strings.Trim(text, " \t"+f.fence[:1]) == "":
		f.fence = ""
	default:
		marks = ""
	}
	if marks != "" && f.o.Plain {
		return
	}
	if f.o.Plain && !code {
		text = plainLine(text)
	}
	if f.o.Trim && !code {
		text = strings.TrimRight(text, " \t")
		if empty := text == ""; empty && (f.empty || !f.begun) && end != "" {
			return
		} else if f.empty = empty; !empty {
			f.begun = true
		}
	}
	if f.o.Wrap > 0 && !code {
		text = wrap(text, f.o.Wrap, "\n")
	}
	out.WriteString(text)
	out.WriteString(end)
}

// fenceMarks returns the marks that a line begins with if it may open or close fenced code, else "".
func fenceMarks(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return ""
	}
	return s[:n]
}

// markdown turns the Markdown of a line into plain text, in this order.
var markdown = sync.OnceValue(func() []replacement {
	return []replacement{
		{regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$`), "$1"},                           // a heading
		{regexp.MustCompile(`^ {0,3}(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$`), ""}, // a rule
		{regexp.MustCompile(`^([ \t]*)[*+][ \t]+`), "$1- "},                                      // an item
		{regexp.MustCompile(`^(?:[ \t]*>[ \t]?)+`), ""},                                          // a quotation
		{regexp.MustCompile(`!\[([^\]]*)\]\([^)\s]*(?:[ \t]+"[^"]*")?\)`), "$1"},                 // an image
		{regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)(?:[ \t]+"[^"]*")?\)`), "$1 ($2)"},
		{regexp.MustCompile(`<((?:https?|mailto):[^>\s]+)>`), "$1"},
		{regexp.MustCompile("`+([^`]+)`+"), "$1"},
		{regexp.MustCompile(`\*\*\*?(\S(?:[^*]*\S)?)\*\*\*?`), "$1"},
		{regexp.MustCompile(`\b__(\S(?:[^_]*\S)?)__\b`), "$1"},
		{regexp.MustCompile(`\*(\S(?:[^*]*\S)?)\*`), "$1"},
		{regexp.MustCompile(`(^|[^\pL\pN_])_(\S(?:[^_]*\S)?)_($|[^\pL\pN_])`), "$1$2$3"},
		{regexp.MustCompile(`~~(\S(?:[^~]*\S)?)~~`), "$1"},
	}
})

type replacement struct {
	re   *regexp.Regexp
	with string
}

func plainLine(line string) string {
	for _, m := range markdown() {
		line = m.re.ReplaceAllString(line, m.with)
	}
	return line
}

// wrap breaks a line between words. What goes on is indented like the line.
func wrap(line string, width int, br string) string {
	text := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(text)]
	var out strings.Builder
	out.WriteString(indent)
	n := len(indent)
	for i, word := range strings.Fields(text) {
		size := len([]rune(word))
		switch {
		case i == 0:
		case n+1+size > width:
			out.WriteString(br + indent)
			n = len(indent)
		default:
			out.WriteByte(' ')
			n++
		}
		out.WriteString(word)
		n += size
	}
	return out.String()
}
