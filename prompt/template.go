package prompt

import (
	"strings"
)

// variables holds the values of the names in a template.
type variables map[string]string

// expand fills in a template. A name that is no variable, or a condition without an end, stays as it is written.
func expand(template string, vars variables) string {
	var b strings.Builder
	size := len(template)
	for _, v := range vars {
		size += len(v)
	}
	b.Grow(size) // each is mostly used once, or not at all
	expandInto(&b, template, vars)
	return b.String()
}

func expandInto(b *strings.Builder, t string, vars variables) {
	for {
		i := strings.Index(t, "{{")
		if i < 0 {
			b.WriteString(t)
			return
		}
		b.WriteString(t[:i])
		t = t[i:]
		end := strings.Index(t, "}}")
		if end < 0 {
			b.WriteString(t)
			return
		}
		tag := strings.TrimSpace(t[2:end])
		if name, ok := strings.CutPrefix(tag, "#if "); ok {
			then, other, rest, ok := branches(t[end+2:])
			if ok {
				if vars[strings.TrimSpace(name)] != "" {
					expandInto(b, then, vars)
				} else {
					expandInto(b, other, vars)
				}
				t = rest
				continue
			}
		} else if v, ok := vars[tag]; ok {
			b.WriteString(v)
			t = t[end+2:]
			continue
		}
		b.WriteString(t[:end+2])
		t = t[end+2:]
	}
}

// branches splits what follows an {{#if}} at its own {{else}} and {{/if}}.
func branches(t string) (then, other, rest string, ok bool) {
	depth, elseAt, elseEnd := 0, -1, 0
	for i := 0; ; {
		n := strings.Index(t[i:], "{{")
		if n < 0 {
			return "", "", "", false
		}
		i += n
		end := strings.Index(t[i:], "}}")
		if end < 0 {
			return "", "", "", false
		}
		end += i + 2
		switch tag := strings.TrimSpace(t[i+2 : end-2]); {
		case strings.HasPrefix(tag, "#if "):
			depth++
		case tag == "else" && depth == 0 && elseAt < 0:
			elseAt, elseEnd = i, end
		case tag == "/if" && depth > 0:
			depth--
		case tag == "/if" && elseAt >= 0:
			return t[:elseAt], t[elseEnd:i], t[end:], true
		case tag == "/if":
			return t[:i], "", t[end:], true
		}
		i = end
	}
}
