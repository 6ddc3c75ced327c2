package runner

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/tool"
	"wield/tool/internal/value"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// A redactor takes secrets out of what a tool gives. A nil one has none to look for.
type redactor struct {
	secrets  []string // longest first, so that one within another goes with it
	replacer *strings.Replacer
	held     map[string]chat.Event // the end of each stream that may be the beginning of a secret
}

// minSecret is the shortest text that is taken for a secret: a shorter one would stand in innocent words.
const minSecret = 4

func newRedactor(secrets []string) *redactor {
	if len(secrets) == 0 {
		return nil
	}
	var pairs []string
	red := &redactor{}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		red.secrets = append(red.secrets, s)
		for _, form := range forms(s) {
			pairs = append(pairs, form, redacted)
		}
	}
	if len(red.secrets) == 0 {
		return nil
	}
	red.replacer = strings.NewReplacer(pairs...)
	return red
}

// forms returns the ways in which a text stands in JSON, the text itself first.
func forms(s string) []string {
	list := []string{s}
	plain, _ := value.Marshal(s) // a string can always be written
	html, _ := json.Marshal(s)
	for _, quoted := range [][]byte{plain, html} {
		if form := string(quoted[1 : len(quoted)-1]); form != list[len(list)-1] {
			list = append(list, form)
		}
	}
	return list
}

// result takes the secrets out of a result.
func (red *redactor) result(r *tool.Result) {
	if red == nil {
		return
	}
	r.Data, r.Details = red.json(r.Data), red.json(r.Details)
	r.Error = red.replacer.Replace(r.Error)
	for i := range r.Parts {
		p := &r.Parts[i]
		p.Text, p.URL, p.Name = red.replacer.Replace(p.Text), red.replacer.Replace(p.URL), red.replacer.Replace(p.Name)
		p.Raw = red.json(p.Raw)
	}
}

// json takes the secrets out of JSON text. One that was a number or stood across values leaves text that is no JSON,
// which then becomes a string.
func (red *redactor) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	clean := red.replacer.Replace(string(raw))
	if clean == string(raw) {
		return raw
	}
	if !json.Valid([]byte(clean)) {
		return value.Quote(clean)
	}
	return json.RawMessage(clean)
}

// progress passes an event of a running tool on. Of output, the end that may be the beginning of a secret is held
// back until more comes.
func (red *redactor) progress(e chat.Event, emit func(chat.Event) bool) {
	if red == nil {
		emit(e)
		return
	}
	stream := e.Detail.(*ProgressDetail).Stream
	text := e.Text
	if old, ok := red.held[stream]; ok {
		text = old.Text + text
		delete(red.held, stream)
	}
	text = red.replacer.Replace(text)
	if n := red.open(text); n > 0 && stream != "" {
		if red.held == nil {
			red.held = make(map[string]chat.Event)
		}
		red.held[stream] = withText(e, text[len(text)-n:])
		text = text[:len(text)-n]
	}
	if text != "" || e.Text == "" {
		emit(withText(e, text))
	}
}

// flush passes on what was held back: there comes no more.
func (red *redactor) flush(emit func(chat.Event) bool) {
	if red == nil {
		return
	}
	for stream, e := range red.held {
		delete(red.held, stream)
		emit(e)
	}
}

// open returns how long the end of text is that a secret begins with.
func (red *redactor) open(text string) int {
	longest := 0
	for _, s := range red.secrets {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(s, text[len(text)-n:]) {
				longest = n
			}
		}
	}
	return longest
}

func withText(e chat.Event, text string) chat.Event {
	p := *e.Detail.(*ProgressDetail)
	p.Text = text
	e.Text, e.Detail = text, &p
	return e
}
