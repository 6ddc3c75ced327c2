package bridge

import (
	"bytes"
	"encoding/json"
	"strings"

	"wield/chat"
)

// An answer may end with a fenced object that is a call in all but its name, which the decoder leaves as text. Two of them are more
// than that: the call of a declared tool without the prefix that the tools of this model have, and, where a failed call gets an
// error, the call of a tool that there is not.

// lookalike looks at the end of an answer without a call, and takes note of a call that failed, if it is one.
func (r *run) lookalike() {
	t := &r.turn
	if len(r.tools) == 0 || t.tried || t.mute || t.over.told || r.req.Choice.Mode == chat.ChoiceNone && !r.req.Choice.Read {
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
	d := &chat.RejectedDetail{Reason: f.reason, Name: call.Name, Arguments: call.Arguments, Raw: r.span(call), Message: f.why(), At: call.At, End: call.End}
	t.tried = true
	r.hideFrom(call.At)
	at := len(t.raw) // the text has gone out, or stands there as markup
	r.emit(chat.Event{Kind: chat.KindRejected, Index: -1, At: at, End: at, Name: d.Name, Detail: &chat.Detail{Rejected: d}})
	if !r.req.Attempts {
		t.failures, t.muteAt = append(t.failures, f), call.At
	}
}

// hideFrom makes markup of the text that is kept from an offset on.
func (r *run) hideFrom(at int) {
	k := &r.turn.kept
	if !k.on {
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
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.:", r))
	})
}
