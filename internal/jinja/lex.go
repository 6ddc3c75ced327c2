package jinja

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokText
	tokOpenPrint // {{
	tokOpenBlock // {%
	tokClose     // }} or %}
	tokName
	tokString
	tokNumber
	tokOperator
)

type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) String() string {
	if t.kind == tokEOF {
		return "the end of the template"
	}
	return fmt.Sprintf("%q", t.text)
}

// lex splits the source. Text next to tags is trimmed as trim_blocks, lstrip_blocks and signs in the tags say.
func lex(src string) (tokens []token) {
	src = strings.TrimSuffix(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	line, first, trim, newline := 1, true, false, false
	for {
		at := nextTag(src)
		text := src
		if at >= 0 {
			text = src[:at]
		}
		shown := text
		switch {
		case trim:
			shown = strings.TrimLeft(shown, " \t\r\n")
		case newline:
			shown = strings.TrimPrefix(shown, "\n")
		}
		if at >= 0 {
			eaten := text[:len(text)-len(shown)]
			shown = trimBefore(shown, src[at:], first || strings.Contains(eaten, "\n"))
		}
		first = false
		if shown != "" {
			tokens = append(tokens, token{tokText, shown, line})
		}
		line += strings.Count(text, "\n")
		if at < 0 {
			return append(tokens, token{kind: tokEOF, line: line})
		}
		kind := src[at+1]
		src = src[at+2:]
		if src != "" && (src[0] == '-' || src[0] == '+') {
			src = src[1:]
		}
		begin := line
		if kind == '#' {
			text, rest, ok := strings.Cut(src, "#}")
			if !ok {
				fail(begin, "a comment is not closed")
			}
			line += strings.Count(text, "\n")
			trim, newline, src = strings.HasSuffix(text, "-"), true, rest
			continue
		}
		open := token{tokOpenPrint, "{{", line}
		if kind == '%' {
			open = token{tokOpenBlock, "{%", line}
		}
		tokens = append(tokens, open)
		end := "}}"
		if kind == '%' {
			end = "%}"
		}
		src, trim = lexTag(src, end, &tokens, &line)
		newline = kind == '%'
	}
}

// nextTag returns where the next tag begins, or -1.
func nextTag(src string) int {
	for from := 0; ; {
		i := strings.IndexByte(src[from:], '{')
		if i < 0 || from+i+1 >= len(src) {
			return -1
		}
		if from += i; strings.IndexByte("{%#", src[from+1]) >= 0 {
			return from
		}
		from++
	}
}

// trimBefore trims the text before a tag, which begins a line if lineStart.
func trimBefore(text, tag string, lineStart bool) string {
	switch {
	case len(tag) > 2 && tag[2] == '-':
		return strings.TrimRight(text, " \t\r\n")
	case tag[1] == '{' || len(tag) > 2 && tag[2] == '+':
		return text
	}
	stripped := strings.TrimRight(text, " \t")
	if strings.HasSuffix(stripped, "\n") || stripped == "" && lineStart {
		return stripped
	}
	return text
}

var operators = []string{"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")",
	"[", "]", "{", "}", ",", ":", ".", "|"}

// lexTag reads the tokens of a tag up to its end, and returns what stands behind it.
func lexTag(src, end string, tokens *[]token, line *int) (rest string, trim bool) {
	depth := 0
	for src != "" {
		c := src[0]
		switch {
		case c == '\n':
			*line++
			src = src[1:]
		case c == ' ' || c == '\t' || c == '\r':
			src = src[1:]
		case depth == 0 && strings.HasPrefix(src, end):
			*tokens = append(*tokens, token{tokClose, end, *line})
			return src[2:], false
		case depth == 0 && (c == '-' || c == '+') && strings.HasPrefix(src[1:], end):
			*tokens = append(*tokens, token{tokClose, end, *line})
			return src[3:], c == '-'
		case c == '"' || c == '\'':
			var s string
			s, src = lexString(src, line)
			*tokens = append(*tokens, token{tokString, s, *line})
		case isDigit(c):
			n := 1
			for n < len(src) &&
				(isDigit(src[n]) || src[n] == '_' || src[n] == '.' && n+1 < len(src) && isDigit(src[n+1])) {
				n++
			}
			*tokens = append(*tokens, token{tokNumber, strings.ReplaceAll(src[:n], "_", ""), *line})
			src = src[n:]
		case isWord(c):
			n := 1
			for n < len(src) && (isWord(src[n]) || isDigit(src[n])) {
				n++
			}
			*tokens = append(*tokens, token{tokName, src[:n], *line})
			src = src[n:]
		default:
			op := ""
			for _, o := range operators {
				if strings.HasPrefix(src, o) {
					op = o
					break
				}
			}
			switch op {
			case "":
				fail(*line, "unexpected %q in a tag", c)
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
			*tokens = append(*tokens, token{tokOperator, op, *line})
			src = src[len(op):]
		}
	}
	fail(*line, "a tag is not closed with %s", end)
	return
}

// lexString reads the literal that src begins with.
func lexString(src string, line *int) (s, rest string) {
	var b strings.Builder
	begin := *line
	for i := 1; i < len(src); i++ {
		switch c := src[i]; {
		case c == src[0]:
			return b.String(), src[i+1:]
		case c == '\\' && i+1 < len(src):
			i++
			switch src[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"':
				b.WriteByte(src[i])
			case 'u', 'x':
				n := map[byte]int{'u': 4, 'x': 2}[src[i]]
				var r rune
				if i+n >= len(src) {
					fail(begin, "an escape is cut off")
				}
				if _, err := fmt.Sscanf(src[i+1:i+1+n], "%x", &r); err != nil {
					fail(begin, "an escape is no number")
				}
				b.WriteRune(r)
				i += n
			default:
				b.WriteByte('\\')
				b.WriteByte(src[i])
			}
		default:
			if c == '\n' {
				*line++
			}
			b.WriteByte(c)
		}
	}
	fail(begin, "a string is not closed")
	return
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}
