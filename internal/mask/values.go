package mask

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// minValue is how long a text must be to be taken for a secret by its value: a shorter one would stand in
// innocent words.
const minValue = 4

// Values returns what replaces these secrets with [Masked] wherever they stand in a text: as they are, and as
// they are written in JSON, HTML and addresses, in base64 and in hex. It is fast, and several goroutines may use
// it at once.
func Values(secrets []string) func(string) string {
	var known []string
	for _, s := range secrets {
		if len(s) < minValue {
			continue
		}
		known = append(known, Forms(s)...)
	}
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) }) // one within another goes with it
	var pairs []string
	for _, s := range known {
		pairs = append(pairs, s, Masked)
	}
	if pairs == nil {
		return func(text string) string { return text }
	}
	return strings.NewReplacer(pairs...).Replace
}

// minBeginning is how much of a secret is too much to show. Services shorten keys to no more than their kind.
const minBeginning = 8

// Shortened masks the beginning of a secret where a text ends or says that it was shortened. It is for errors: words
// that begin like a secret go as well.
func Shortened(text, secret string) string {
	if len(secret) <= minBeginning {
		return text
	}
	var found []Span
	for at := 0; ; {
		i := strings.Index(text[at:], secret[:minBeginning])
		if i < 0 {
			return Replace(text, found, Masked)
		}
		from := at + i
		at = from + minBeginning
		for at < len(text) && at-from < len(secret) && text[at] == secret[at-from] {
			at++
		}
		rest := strings.TrimLeft(text[at:min(len(text), at+longestSpace)], space)
		if rest == "" || startsWithAny(rest, "..", "…", "*", "[...") {
			found = append(found, Span{from, at})
		}
	}
}

func startsWithAny(text string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(text, b) })
}

// minCased is the least length of a secret that is searched for in upper and lower case. A shorter one may be a word.
const minCased = 16

// minCoded is the least length of a secret that is searched for in encoded forms.
const minCoded = 8

// Forms are the ways in which servers repeat a secret, the text itself first.
func Forms(s string) []string {
	query, path := url.QueryEscape(s), url.PathEscape(s)
	inPath := strings.ReplaceAll(strings.ReplaceAll(query, "%2F", "/"), "+", "%20")
	list := []string{s, query, path, inPath, url.QueryEscape(query), html.EscapeString(s),
		strings.ReplaceAll(html.EscapeString(s), "&#34;", "&quot;"),
		strings.ReplaceAll(html.EscapeString(s), "+", "&#43;")}
	for _, escaped := range []string{query, path, inPath} {
		list = append(list, lowerEscapes(escaped))
	}
	if quoted, err := json.Marshal(s); err == nil {
		list = append(list, string(quoted[1:len(quoted)-1]))
	}
	var plain strings.Builder // without the escapes for HTML
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) == nil {
		list = append(list, strings.TrimSuffix(plain.String()[1:], "\"\n"))
	}
	if len(s) < minCoded {
		return list
	}
	if len(s) >= minCased {
		list = append(list, strings.ToUpper(s), strings.ToLower(s))
	}
	coded := hex.EncodeToString([]byte(s))
	list = append(list, coded, strings.ToUpper(coded))
	for _, format := range []string{"%%%02x", "%%%02X", "\\u%04x", "\\u%04X", "\\x%02x", "&#%d;", "&#x%x;", "&#x%X;"} {
		list = append(list, each(s, format))
	}
	for before := range 3 { // as after a user's name: the letters that the neighbours have a part in are left out
		whole := append(make([]byte, before), s...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			list = append(list, enc.EncodeToString(whole)[(before*8+5)/6:len(whole)*8/6])
		}
	}
	return list
}

// each writes every byte of a text in the same way.
func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

var escape = regexp.MustCompile(`%[0-9A-F]{2}`)

// lowerEscapes writes the escapes of an address as some servers do.
func lowerEscapes(s string) string { return escape.ReplaceAllStringFunc(s, strings.ToLower) }

// Handler returns a handler of log lines that hides what hide does in every text, and hands them on to next.
func Handler(next slog.Handler, hide func(string) string) slog.Handler { return &handler{next, hide} }

type handler struct {
	next slog.Handler
	hide func(string) string
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.next.WithAttrs(h.attrs(attrs)), h.hide}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.hide}
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

func (h *handler) attrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.attr(a)
	}
	return out
}

// attr hides what is in a value. Numbers, times and the like hold no secret; of anything else the text is looked at.
func (h *handler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.hide(v.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindAny:
		if text := fmt.Sprintf("%+v", v.Any()); h.hide(text) != text {
			a.Value = slog.StringValue(h.hide(text))
		}
	}
	return a
}
