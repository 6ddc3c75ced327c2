package bridge

import (
	"strings"

	"wield/chat"
	"wield/dialect"
)

// markup holds what the decoder leaves out around calls. When a call fails and its text is shown, the bytes around it
// are text again as well, so that the client gets what the model wrote:
//
//   - White space and separators in front of a call go with that call.
//   - What closes a section of several calls goes with the first of them, whose text holds the opener. So the client
//     sees both or neither.
//   - White space behind a call that nothing follows goes with that call.
//
// Tags of reasoning and special tokens are never shown.
type markup struct {
	blanks  []chat.Event // that may belong to a call that comes next
	shown   bool         // the last call was shown as text, and nothing else came since
	section section
	token   [2]int // span of the last markup that was no blank
}

// A section spans an opener and its closer: a fence, a list, a pair of tags.
type section uint8

const (
	noSection     section = iota // none is open
	hiddenSection                // its first call was released
	shownSection                 // its first call was shown as text
)

// markup handles bytes that the decoder leaves out.
func (r *run) markup(e chat.Event) {
	m, c := &r.turn.markup, &r.turn.call
	if c.open && c.channel == channelText { // it stands in the middle of a call that is out
		r.place(e, false)
		return
	}
	text := string(r.turn.raw[e.At:e.End])
	if strings.Trim(text, separators) == "" {
		m.blanks = append(m.blanks, e)
		return
	}
	m.token = [2]int{e.At, e.End}
	if m.section == shownSection && (r.meaningless(text, false) || r.meaningless(text, true)) {
		r.endBlanks()
		r.place(e, false)
		return
	}
	m.shown = m.section == shownSection
	r.placeBlanks(m.shown)
	r.place(e, m.shown)
}

// separators are the bytes that may stand between calls.
const separators = " \t\r\n,;\ufeff"

// place hands markup on: as text if shown.
func (r *run) place(e chat.Event, shown bool) {
	switch {
	case shown:
		e.Kind, e.Text = chat.KindText, string(r.turn.raw[e.At:e.End])
		r.text(e)
	case r.turn.repeats.keep(e):
	default:
		r.pass(e)
	}
}

// endBlanks decides blanks that no call follows.
func (r *run) endBlanks() {
	m := &r.turn.markup
	r.placeBlanks(m.shown)
	m.shown = false
}

// placeBlanks decides the blanks before a call, which is shown as text or not.
func (r *run) placeBlanks(shown bool) {
	m := &r.turn.markup
	if len(m.blanks) == 0 {
		return
	}
	shown = shown && !r.afterReasoning(m.blanks[0].At)
	blanks := m.blanks
	m.blanks = nil
	for _, e := range blanks {
		r.place(e, shown)
	}
	m.blanks = blanks[:0]
}

// afterReasoning reports whether a reasoning block was closed just before the offset at: the blank lines behind it are
// part of it.
func (r *run) afterReasoning(at int) bool {
	t := r.turn.markup.token
	return t[0] < t[1] && t[1] == at && r.meaningless(string(r.turn.raw[t[0]:t[1]]), true)
}

// settle takes note of what became of a call in the text, whose raw text is given.
func (r *run) settle(raw string, shown bool) {
	m := &r.turn.markup
	m.shown = shown
	if m.section != noSection && !opens(raw) {
		return
	}
	m.section = hiddenSection
	if shown {
		m.section = shownSection
	}
}

// opens reports whether the text of a call begins with the opener of a section. A section that was left without a
// closer of its own is not told from one that goes on; then its closer is that of the next.
func opens(raw string) bool {
	switch {
	case raw == "":
		return false
	case raw[0] == '{':
		return strings.HasPrefix(strings.TrimLeft(raw[1:], " \t\r\n"), `"tool_calls"`)
	case raw[0] == '<':
		return !strings.HasPrefix(raw, "<function=")
	}
	return strings.IndexByte("`~[", raw[0]) >= 0
}

// meaningless reports whether text is one of the tags and tokens that are left out of any answer: inside reasoning or
// outside of it.
func (r *run) meaningless(text string, inReasoning bool) bool {
	o := dialect.Options{Thinking: r.o.Decode.Thinking, Drop: r.o.Decode.Drop, Cache: r.o.Decode.Cache}
	o.Thinking.Open = inReasoning
	d, err := dialect.New(o)
	if err != nil {
		return false
	}
	for _, e := range d.Close(d.Feed(nil, text)) {
		if (e.Kind == chat.KindText || e.Kind == chat.KindReasoning) && strings.Trim(e.Text, " \t\r\n") != "" {
			return false
		}
	}
	return true
}
