package module

import (
	"context"
	"regexp"
	"strings"

	"wield/chat"
	"wield/internal/mask"
)

// RedactOptions say what [Redact] takes out of texts.
type RedactOptions struct {
	Name     string
	Order    int
	Words    []string         // texts that are secrets, wherever they stand; none has a line break
	Patterns []*regexp.Regexp // forms of secrets beside those that are known; each is looked for in one line
	With     string           // what stands in place of a secret; empty: [redacted]
	In, Out  bool             // which way; neither: both
}

// Redact returns a module that takes secrets out of what a person, a tool or an application writes, so that the model
// never has them, and out of what the model writes. It knows the usual forms: keys of services, tokens, passwords in
// addresses and in JSON, private keys. A secret in no such form has to be named.
//
// Each line is read by itself, and a private key to its end. Output is therefore passed on line by line.
func Redact(o RedactOptions) Module {
	if o.With == "" {
		o.With = "[redacted]"
	}
	if !o.In && !o.Out {
		o.In, o.Out = true, true
	}
	m := Module{Name: o.Name, Order: o.Order, Buffer: Line, Reasoning: true,
		Roles: []chat.Role{chat.RoleSystem, chat.RoleDeveloper, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}}
	if o.In {
		m.Input = func(ctx context.Context, _ *Exchange, text string) (string, error) {
			out, _, err := (&redactor{o: &o}).Transform(ctx, text, true)
			return out, err
		}
	}
	if o.Out {
		m.Output = func(*Exchange) Transformer { return &redactor{o: &o} }
	}
	return m
}

// A redactor takes secrets out of one text.
type redactor struct {
	o   *RedactOptions
	key bool // the line stands in a private key
}

var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z ]*PRIVATE KEY-----`)
)

// Transform implements [Transformer].
func (r *redactor) Transform(_ context.Context, text string, _ bool) (string, int, error) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		r.line(&out, line)
	}
	return out.String(), len(text), nil
}

// line writes what is left of a line.
func (r *redactor) line(out *strings.Builder, line string) {
	for line != "" {
		if r.key {
			end := keyEnd.FindStringIndex(line)
			if end == nil {
				return
			}
			r.key, line = false, line[end[1]:]
			continue
		}
		begin := keyBegin.FindStringIndex(line)
		if begin == nil {
			out.WriteString(r.plain(line))
			return
		}
		out.WriteString(r.plain(line[:begin[0]]))
		out.WriteString(r.o.With)
		r.key, line = true, line[begin[1]:]
	}
}

// plain takes secrets out of a text without private keys.
func (r *redactor) plain(text string) string {
	spans := mask.Find(text)
	for _, w := range r.o.Words {
		for at := 0; w != ""; {
			k := strings.Index(text[at:], w)
			if k < 0 {
				break
			}
			spans = append(spans, mask.Span{At: at + k, End: at + k + len(w)})
			at += k + len(w)
		}
	}
	for _, re := range r.o.Patterns {
		for _, m := range re.FindAllStringIndex(text, -1) {
			if m[0] < m[1] {
				spans = append(spans, mask.Span{At: m[0], End: m[1]})
			}
		}
	}
	return mask.Replace(text, mask.Join(spans), r.o.With)
}
