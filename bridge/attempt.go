package bridge

import (
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// attempted hands a call that cannot be used to whoever answers it with an error. Its name is one of the
// declared ones, or what the model made up, without the prefix.
func (r *run) attempted(e chat.Event, d *chat.RejectedDetail) {
	told := *d
	told.Name = strings.TrimPrefix(d.Name, r.prefix())
	promoted := e.Flags&chat.FlagPromoted != 0
	r.reject(e, &told, false)
	if d.Reason == chat.ReasonMalformed && d.At < d.End && !promoted {
		r.turn.rest = callRest{closer: closerOf(d.Raw), from: d.End, to: d.End}
	}
}

// argumentsIn returns the arguments of a call of a tool that is not declared, which a decoder that does not
// know the tool leaves out.
func (r *run) argumentsIn(d *chat.RejectedDetail) string {
	c, err := dialect.Parse(d.Raw, dialect.Options{Dialect: r.o.Decode.Dialect, Own: r.o.Decode.Own,
		Tools: []shape.Tool{{Name: d.Name}}, Repair: r.o.Decode.Repair, Cache: r.o.Decode.Cache})
	if err != nil || len(c.Calls) == 0 {
		return ""
	}
	return c.Calls[0].Arguments
}

// A callRest is text behind a broken call which may be the rest of it: where the closer of the call follows it
// is left out, as the call is.
type callRest struct {
	closer   string // empty: there is no tail
	from, to int
}

// maxTail limits the text that waits for the closer.
const maxTail = 4 << 10

// closerOf returns what closes the broken call that text begins with; empty: nothing that could be told from text.
func closerOf(text string) string {
	text = strings.TrimLeft(text, " \t\r\n")
	if strings.HasPrefix(text, "```") {
		return "```"
	}
	tag, ok := strings.CutPrefix(text, "<")
	if !ok {
		return ""
	}
	n := strings.IndexAny(tag, " =>\r\n\t|")
	if n <= 0 || tag[n] == '|' {
		return ""
	}
	return "</" + tag[:n] + ">"
}

// remains takes the next event of the decoder where text waits for the closer of a broken call, and reports
// whether that was all.
func (r *run) remains(e *chat.Event) bool {
	m := &r.turn.rest
	if m.closer == "" {
		return false
	}
	goesOn := e.Kind == chat.KindText && e.Flags&chat.FlagDecoded == 0 || e.Kind == chat.KindMarkup
	if !goesOn || e.At != m.to {
		r.endTail()
		return false
	}
	m.to = e.End
	if n := strings.Index(string(r.turn.raw[m.from:m.to]), m.closer); n >= 0 {
		at := m.from + n + len(m.closer)
		text := *e
		text.Text, text.At = string(r.turn.raw[at:m.to]), at
		r.place(chat.Event{Kind: chat.KindMarkup, At: m.from, End: at, Text: string(r.turn.raw[m.from:at])}, false)
		*m = callRest{}
		switch {
		case text.At == text.End:
		case text.Kind == chat.KindText:
			r.text(text)
		default:
			r.markup(text)
		}
		return true
	}
	if m.to-m.from > maxTail {
		r.endTail()
	}
	return true
}

// endTail shows text that waited for a closer which did not come.
func (r *run) endTail() {
	m := r.turn.rest
	r.turn.rest = callRest{}
	if m.from < m.to {
		r.text(chat.Event{Kind: chat.KindText, Text: string(r.turn.raw[m.from:m.to]), At: m.from, End: m.to})
	}
}
