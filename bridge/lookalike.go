package bridge

import (
	"bytes"
	"encoding/json"
	"strings"

	"wield/chat"
)

// An answer may end with a fenced object that is a call in all but its name, which the decoder leaves as
// text. Two of them are more than that: the call of a declared tool without the prefix that the tools of this
// model have, and, where a failed call gets an error, the call of a tool that there is not.

// lookalike looks at the end of an answer without a call, and takes note of a call that failed, if it is one.
func (r *run) lookalike() {
	t := &r.turn
	if len(r.tools) == 0 || t.tried || t.muted.on || t.over.reported ||
		r.req.Choice.Mode == chat.ChoiceNone && !r.req.Choice.Read {
		return
	}
	call, ok := fencedCall(string(t.raw))
	if !ok {
		return
	}
	f := failure{reason: chat.ReasonUnknownTool, call: call}
	switch tool := r.find(call.Name); {
	case tool != nil && r.prefix() != "" && r.check(tool, call.Arguments) == nil:
		f.message = "the tool is called " + r.prefix() + call.Name
		if r.req.Attempts {
			f.reason = chat.ReasonMalformed
		}
	case tool != nil || !r.req.Attempts:
		return
	}
	if !r.req.Attempts && !r.bounceable(f.reason) {
		return // it stands as it was written
	}
	d := &chat.RejectedDetail{Reason: f.reason, Name: call.Name, Arguments: call.Arguments, Raw: r.span(call),
		Message: f.why(), At: call.At, End: call.End}
	t.tried = true
	if t.text.fence.on && t.text.fence.from == call.At {
		r.hideText()
		t.text.fence.on = false
	}
	r.hideFrom(call.At)
	at := len(t.raw) // the text has gone out, or stands there as markup
	r.emit(chat.Event{Kind: chat.KindRejected, Index: -1, At: at, End: at, Name: d.Name, Detail: d})
	if !r.req.Attempts {
		t.failures, t.muted.from = append(t.failures, f), call.At
	}
}

// A fence is text of a stream that may be the call which its answer ends with. It waits until that is known,
// in the list of held text, so that nobody reads a call.
type fence struct {
	on     bool
	from   int  // where it begins
	closed bool // its end was seen
}

// mostFence limits the text that waits.
const mostFence = 16 << 10

// bufferFence keeps text that may be a fenced call, where [run.lookalike] would take it as one. It reports
// whether it has seen to the text.
func (r *run) bufferFence(e chat.Event) bool {
	f := &r.turn.text.fence
	looks := r.req.Attempts || r.prefix() != "" && r.bounceable(chat.ReasonUnknownTool)
	if !f.on && !looks || !r.req.Stream || len(r.tools) == 0 || r.form.want != nil {
		return false
	}
	raw := r.turn.raw
	if f.on {
		if e.Flags&chat.FlagDecoded == 0 && e.End-f.from <= mostFence &&
			f.goesOn(string(raw[f.from:e.End]), e.At-f.from) {
			r.turn.text.events.add(e, autoRelease)
			return true
		}
		r.showFence()
	}
	if e.Flags&chat.FlagDecoded != 0 {
		return false
	}
	for at := e.At; at < e.End; at++ {
		if raw[at] != '`' || at > 0 && raw[at-1] != '\n' {
			continue
		}
		*f = fence{from: at}
		text := string(raw[at:e.End])
		if f.on = f.goesOn(text, 0); !f.on {
			continue
		}
		rest := e
		if at > e.At {
			e.Text, e.End = string(raw[e.At:at]), at
			rest.Text, rest.At, rest.Detail = text, at, nil
			r.shown = append(r.shown, e.Text...)
			r.emit(e)
		}
		r.turn.text.events.add(rest, autoRelease)
		return true
	}
	return false
}

// showFence shows text that waited and is no call.
func (r *run) showFence() {
	if r.turn.text.fence.on {
		r.turn.text.fence.on = false
		r.releaseText()
	}
}

// goesOn reports whether a text may still become what [fencedCall] finds, with white space behind it. What stands
// before the offset read was looked at before.
func (f *fence) goesOn(text string, read int) bool {
	const mark = "```"
	switch {
	case f.closed:
		return strings.TrimSpace(text[read:]) == ""
	case len(text) < len(mark):
		return strings.HasPrefix(mark, text)
	case !strings.HasPrefix(text, mark):
		return false
	}
	tag, body, whole := strings.Cut(text[len(mark):], "\n")
	tag = strings.ToLower(strings.TrimSpace(tag))
	if !whole { // as long as a tag may follow
		return strings.HasPrefix("json", tag) || strings.HasPrefix("tool_call", tag)
	}
	if tag != "" && tag != "json" && tag != "tool_call" || !mayBeginCall(strings.TrimSpace(body)) {
		return false
	}
	if !strings.Contains(text[max(0, read-len(mark)):], "\n"+mark) {
		return true
	}
	_, f.closed = fencedCall(text)
	return f.closed
}

// mayBeginCall reports whether an object of a name and arguments may begin like this.
func mayBeginCall(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != '{' {
		return false
	}
	if text = strings.TrimLeft(text[1:], " \t\r\n"); text == "" {
		return true
	}
	for _, key := range []string{`"name"`, `"arguments"`, `"parameters"`} {
		if strings.HasPrefix(text, key) || strings.HasPrefix(key, text) {
			return true
		}
	}
	return false
}

// hideFrom makes markup of the text that is kept from an offset on.
func (r *run) hideFrom(at int) {
	k := &r.turn.kept.held
	if !r.turn.kept.on {
		return
	}
	k.cut()
	for i := 0; i < len(k.events); i++ {
		e := k.events[i]
		if e.Kind != chat.KindText || e.End <= at || e.Flags&chat.FlagDecoded != 0 {
			continue
		}
		hidden := chat.Event{Kind: chat.KindMarkup, At: max(e.At, at), End: e.End}
		hidden.Text = string(r.turn.raw[hidden.At:hidden.End])
		if e.At >= at {
			k.events[i] = hidden
			continue
		}
		k.events[i].Text, k.events[i].End = string(r.turn.raw[e.At:at]), at
		k.events = append(k.events[:i+1], append([]chat.Event{hidden}, k.events[i+1:]...)...)
		i++
	}
}

// fencedCall returns the call in the fence that a text ends with: an object of a name and arguments, and nothing else.
func fencedCall(text string) (call chat.Call, ok bool) {
	const fence = "```"
	end := len(strings.TrimRight(text, " \t\r\n"))
	inner, ok := strings.CutSuffix(text[:end], "\n"+fence)
	if !ok {
		return call, false
	}
	at := strings.LastIndex(inner, fence)
	if at < 0 || at > 0 && inner[at-1] != '\n' {
		return call, false
	}
	tag, body, ok := strings.Cut(inner[at+len(fence):], "\n")
	if tag = strings.ToLower(strings.TrimSpace(tag)); !ok || tag != "" && tag != "json" && tag != "tool_call" {
		return call, false
	}
	var o struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if d.Decode(&o) != nil || d.More() || !isName(o.Name) || (len(o.Arguments) > 0) == (len(o.Parameters) > 0) {
		return call, false
	}
	args := bytes.TrimSpace(append(o.Arguments, o.Parameters...))
	if !isObject(string(args)) {
		return call, false
	}
	return chat.Call{Name: o.Name, Arguments: string(args), Dialect: "json-fence", At: at, End: end}, true
}

// isName reports whether a text could be the name of a tool.
func isName(s string) bool {
	const longest = 64
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("_-.:", r))
	})
}
