package bridge

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"wield/chat"
)

// A channel tells what a call is that the backend reports.
type channel uint8

const (
	channelText     channel = iota // it was read from text
	channelFunction                // function calling that was offered
	channelConfused                // a custom tool through a channel that cannot run it
	channelNative                  // a tool that the backend runs itself
	channelUnknown                 // nobody's tool
	channelGlued                   // several calls in one
	channelLate                    // behind the end of the model's turn
)

// classify tells what a call of the backend is by its name and origin.
func (r *run) classify(name string, origin chat.Origin) (channel, *tool) {
	t := r.find(name)
	switch {
	case t == nil && (origin == chat.OriginNative || r.inText() || len(r.tools) == 0 ||
		slices.Contains(r.o.Native, name)):
		return channelNative, nil // where no functions were offered, it can only be the backend's own
	case t == nil:
		return channelUnknown, nil
	case origin == chat.OriginNative || r.inText():
		return channelConfused, t
	}
	return channelFunction, t
}

// backendStart opens a call that the backend reports in parts. A confused one silences the answer at once, before any
// apology for it is passed on.
func (r *run) backendStart(e chat.Event) {
	if r.turn.call.open && r.turn.call.channel == channelText {
		r.closeText() // a call cannot open inside another
	}
	e.Name = strings.TrimPrefix(e.Name, r.o.Decode.Prefix)
	e.At, e.End = len(r.turn.raw), len(r.turn.raw)
	if e.Origin == chat.OriginText {
		e.Origin = chat.OriginFunction
	}
	ch, t := r.classify(e.Name, e.Origin)
	if ch != channelNative {
		r.asksForEnd()
	}
	if r.turn.over.reported && ch != channelNative {
		ch = channelLate
	}
	if ch == channelFunction && !r.turn.muted.on {
		r.start(e, t)
	} else {
		c := &r.turn.call
		*c = pendingCall{open: true, start: e, tool: t, events: c.events.empty(), raw: c.raw[:0], muted: true}
		switch {
		case ch == channelConfused:
			r.mute()
		case ch == channelLate:
		case t == nil && len(r.namesIn(e.Name)) > 1:
			ch = channelGlued
		}
	}
	r.turn.call.channel = ch
}

func (r *run) backendArgs(e chat.Event) {
	c := &r.turn.call
	if !c.open || c.channel == channelText {
		return
	}
	c.raw = append(c.raw, e.Text...)
	e.At, e.End, e.Origin = len(r.turn.raw), len(r.turn.raw), c.start.Origin
	r.args(e)
}

func (r *run) backendEnd(e chat.Event) {
	c := &r.turn.call
	if !c.open || c.channel == channelText {
		return
	}
	e.At, e.End, e.Origin = len(r.turn.raw), len(r.turn.raw), c.start.Origin
	call := *e.Detail.(*chat.Call)
	call.At, call.End, call.Origin, call.ID = 0, 0, e.Origin, c.start.ID
	call.Name = strings.TrimPrefix(call.Name, r.o.Decode.Prefix)
	if c.start.Name != "" {
		call.Name = c.start.Name
	}
	if call.Arguments == "" {
		call.Arguments = string(c.raw)
	}
	switch c.channel {
	case channelFunction:
		r.functionEnd(e, call)
	case channelConfused:
		c.open = false
		r.confused(call)
	case channelNative:
		c.open = false
		if !r.turn.muted.on {
			r.emit(chat.Event{Kind: chat.KindNativeCall, Origin: e.Origin, At: e.At, End: e.End, ID: call.ID,
				Name: call.Name, Text: call.Arguments})
		}
	case channelGlued:
		c.open = false
		r.unglue(e, call)
	case channelLate:
		c.open = false
		r.late(e, call.Name, call.Arguments)
	case channelUnknown:
		if c.open = false; !r.turn.muted.on {
			r.fail(e, failure{reason: chat.ReasonUnknownTool, call: call})
		}
	}
}

// namesIn returns the names of tools that are glued together in name. Servers make such of calls that they do
// not tell apart.
func (r *run) namesIn(name string) []string {
	const most = 512
	if len(name) > most {
		return nil
	}
	// ends has, for each place that a row of names reaches, the last name of that row. Longer names win.
	ends := make([]string, len(name)+1)
	for at := range name {
		if at > 0 && ends[at] == "" {
			continue
		}
		rest := strings.TrimPrefix(name[at:], r.o.Decode.Prefix)
		from := len(name) - len(rest)
		for i := range r.tools {
			if n := r.tools[i].name; n != "" && strings.HasPrefix(rest, n) && len(n) > len(ends[from+len(n)]) {
				ends[from+len(n)] = name[at : from+len(n)]
			}
		}
	}
	var names []string
	for at := len(name); at > 0 && ends[at] != ""; at -= len(ends[at]) {
		names = append(names, strings.TrimPrefix(ends[at], r.o.Decode.Prefix))
	}
	slices.Reverse(names)
	return names
}

// unglue takes the calls apart that came as one: one for each name, with the arguments at its place, or
// without any if there are none at all. One name several times with one object is one call, written
// repeatedly.
func (r *run) unglue(e chat.Event, call chat.Call) {
	names := r.namesIn(call.Name)
	args := objects(call.Arguments)
	switch same := len(slices.Compact(slices.Clone(names))) == 1; {
	case call.Complete && len(args) == 1 && (same || args[0] == "{}"):
		if same {
			names = names[:1]
		}
		for len(args) < len(names) {
			args = append(args, "{}")
		}
	case !call.Complete || len(args) != len(names):
		if !r.turn.muted.on {
			r.fail(e, failure{reason: chat.ReasonUnknownTool, call: call})
		}
		return
	}
	for i, name := range names {
		start := chat.Event{Kind: chat.KindCallStart, Origin: e.Origin, Name: name}
		if i == 0 {
			start.ID = call.ID
		}
		r.backendStart(start)
		part := chat.Call{ID: start.ID, Name: name, Arguments: args[i], Complete: true, Origin: e.Origin}
		r.backendEnd(chat.Event{Kind: chat.KindCallEnd, Origin: e.Origin, Detail: &part})
	}
}

// functionEnd ends a call that came through function calling as it should. Its arguments are read like those
// in text, unless the client already has them.
func (r *run) functionEnd(e chat.Event, call chat.Call) {
	c := &r.turn.call
	if c.muted {
		c.open = false
		return
	}
	if c.released && call.Complete && !isObject(call.Arguments) {
		r.reject(e, &chat.RejectedDetail{Reason: chat.ReasonMalformed, Name: call.Name, Arguments: call.Arguments,
			Raw: call.Arguments, Message: noObject}, !r.req.Attempts)
		return
	}
	if c.released || !call.Complete {
		r.complete(e, call)
		return
	}
	start, t := c.start, c.tool
	for i, raw := range split(call.Arguments) {
		if i > 0 {
			start.ID = ""
			r.start(start, t)
			c.channel = channelFunction
		}
		if r.functionCall(e, call, raw); r.turn.muted.on {
			return
		}
	}
}

// functionCall ends the open call, whose arguments are raw and have not gone out yet.
func (r *run) functionCall(e chat.Event, call chat.Call, raw string) {
	c := &r.turn.call
	args, notes, why := r.arguments(c.tool, raw)
	if call.Arguments = args; why != "" {
		r.fail(e, failure{reason: chat.ReasonMalformed, call: call, message: why})
		return
	}
	show := r.emit
	if !c.released { // then the deltas that are held make room for what was read
		c.events = c.events.empty()
		c.add(c.start)
		show = c.add
	}
	for i := range notes {
		show(chat.Event{Kind: chat.KindNote, Origin: e.Origin, At: e.At, End: e.End, Detail: &notes[i]})
	}
	show(chat.Event{Kind: chat.KindCallArgs, Origin: e.Origin, Index: r.index, At: e.At, End: e.End, Text: args})
	r.complete(e, call)
}

// nativeCall examines a whole call of the backend's own pipeline. Its text may hold several glued objects:
// arguments when the event has a name, else calls.
func (r *run) nativeCall(e chat.Event) {
	e.At, e.End = len(r.turn.raw), len(r.turn.raw)
	calls := []chat.Call{{ID: e.ID, Name: strings.TrimPrefix(e.Name, r.o.Decode.Prefix), Arguments: e.Text,
		Origin: e.Origin, Complete: true}}
	if e.Origin == chat.OriginText {
		calls[0].Origin = chat.OriginNative
	}
	if e.Name == "" {
		calls = r.glued(calls[0])
	}
	for _, call := range calls {
		if ch, _ := r.classify(call.Name, chat.OriginNative); ch == channelConfused {
			r.asksForEnd()
			if r.turn.over.reported {
				r.late(e, call.Name, call.Arguments)
				continue
			}
			r.mute()
			r.confused(call)
			continue
		}
		if !r.turn.muted.on {
			e.Name, e.Text, e.Origin, e.ID = call.Name, call.Arguments, call.Origin, call.ID
			r.emit(e)
		}
	}
}

// glued reads the objects with name and arguments that stand in a native call without a name.
func (r *run) glued(all chat.Call) []chat.Call {
	var calls []chat.Call
	for _, raw := range split(all.Arguments) {
		var o struct {
			Name       string          `json:"name"`
			Arguments  json.RawMessage `json:"arguments"`
			Parameters json.RawMessage `json:"parameters"`
		}
		if json.Unmarshal([]byte(raw), &o) != nil || o.Name == "" {
			return []chat.Call{all}
		}
		args := "{}"
		for _, v := range []json.RawMessage{o.Parameters, o.Arguments} {
			if len(v) > 0 && string(v) != "null" {
				args = string(v)
			}
		}
		c := all
		c.Name, c.Arguments = strings.TrimPrefix(o.Name, r.o.Decode.Prefix), args
		calls = append(calls, c)
	}
	return calls
}

// mute stops showing the answer, from here on: what follows a confused call is an apology for it. What the
// decoder still holds was written before.
func (r *run) mute() {
	if r.turn.muted.on {
		return
	}
	r.closeText()
	if !r.turn.muted.on {
		r.dropRepetition()
		r.flushText()
		r.turn.muted = mute{on: true, from: len(r.turn.raw), covered: len(r.turn.raw)}
	}
}

// confused takes note of a confused call. Models repeat such a call when it fails; the repetitions are left out.
func (r *run) confused(call chat.Call) {
	t := r.find(call.Name)
	call.Name = t.name
	for _, raw := range split(call.Arguments) {
		r.confusedOnce(t, call, raw)
	}
}

// confusedOnce takes note of one of the calls that may be glued together in a confused one.
func (r *run) confusedOnce(t *tool, call chat.Call, raw string) {
	f := failure{reason: chat.ReasonConfused, call: call}
	f.call.Arguments, _, f.message = r.arguments(t, unwrapped(raw))
	if !call.Complete {
		f.message = "the response ended inside the call"
	}
	if f.message == "" {
		if c := r.check(t, f.call.Arguments); c != nil {
			f.message, f.missing = c.message, c.missing
		}
	}
	for _, old := range r.turn.failures {
		if old.call.Name == f.call.Name && (old.call.Arguments == f.call.Arguments || f.call.Arguments == "{}") {
			return
		}
	}
	r.turn.failures = append(r.turn.failures, f)
}

// unwrapped takes off a layer that one backend puts around the arguments of native calls, in exactly the
// shape that it has there: a parameter of the user's own that is called parameters stays.
func unwrapped(raw string) string {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &o) != nil || len(o) != 3 || string(o["arguments"]) != "null" ||
		string(o["name"]) != "null" {
		return raw
	}
	if p := string(o["parameters"]); isObject(p) {
		return p
	}
	return raw
}

// convert takes a confused call as if it had come the right way, or says why that cannot be.
func (r *run) convert(f *failure) {
	call, at := f.call, len(r.turn.raw)
	switch usable := f.reason == chat.ReasonConfused && f.message == ""; {
	case !usable && r.req.Attempts:
		r.attempted(chat.Event{Origin: call.Origin, At: at, End: at},
			&chat.RejectedDetail{Reason: f.reason, Name: call.Name,
				Arguments: call.Arguments, Message: f.why()})
		return
	case !usable:
		r.say(r.sentence(f))
		return
	}
	r.emit(chat.Event{Kind: chat.KindConverted, Origin: call.Origin, At: at, End: at, Name: call.Name,
		Detail: &chat.BounceDetail{Reason: f.reason, Call: &call, Suppressed: string(r.turn.raw[r.turn.muted.from:]),
			Left: r.left()}})
	// the backend's id is for its own calls
	r.start(chat.Event{Kind: chat.KindCallStart, Origin: call.Origin, At: at, End: at, Name: call.Name},
		r.find(call.Name))
	r.args(chat.Event{Kind: chat.KindCallArgs, Origin: call.Origin, At: at, End: at, Text: call.Arguments})
	r.complete(chat.Event{Kind: chat.KindCallEnd, Origin: call.Origin, At: at, End: at}, call)
}

// callsBehind releases the calls that the model wrote as text behind a confused one that was taken over. The
// rest of that text is the apology, which stays unsaid.
func (r *run) callsBehind() {
	taken := r.turn.failures
	r.dec.Reset()
	at := len(r.turn.raw)
	r.events = r.dec.Feed(r.events[:0], string(r.turn.raw[r.turn.muted.covered:]))
	for _, e := range r.dec.Close(r.events) {
		if e.Kind != chat.KindCallEnd || !e.Detail.(*chat.Call).Complete {
			continue
		}
		call := *e.Detail.(*chat.Call)
		call.At, call.End = 0, 0
		if slices.ContainsFunc(taken, func(f failure) bool {
			return f.call.Name == call.Name && sameJSON(f.call.Arguments, call.Arguments)
		}) {
			continue // the model wrote it again, as it should have at first
		}
		r.start(chat.Event{Kind: chat.KindCallStart, At: at, End: at, ID: e.ID, Name: call.Name, Index: e.Index},
			r.find(call.Name))
		r.args(chat.Event{Kind: chat.KindCallArgs, At: at, End: at, Text: call.Arguments})
		r.complete(chat.Event{Kind: chat.KindCallEnd, At: at, End: at}, call)
	}
}

// sameJSON reports whether two texts of JSON differ in white space at most.
func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	return a == b || json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil &&
		bytes.Equal(x.Bytes(), y.Bytes())
}

// split returns the JSON objects that are glued in text, without repetitions and without empty ones beside
// others. A text that is not a sequence of objects is returned whole.
func split(text string) []string {
	list := objects(text)
	if len(list) < 2 {
		return []string{text}
	}
	distinct := list[:0]
	seen := map[string]bool{"{}": true}
	for _, raw := range list {
		if !seen[raw] {
			seen[raw] = true
			distinct = append(distinct, raw)
		}
	}
	if len(distinct) == 0 {
		return []string{"{}"}
	}
	return distinct
}

// objects returns the JSON objects that follow one another in text, none if there is anything else. No text
// at all stands for an empty object.
func objects(text string) []string {
	if strings.TrimSpace(text) == "" {
		return []string{"{}"}
	}
	var list []string
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err == io.EOF {
			return list
		}
		if err != nil || raw[0] != '{' {
			return nil
		}
		list = append(list, string(raw))
	}
}

func isObject(raw string) bool {
	return strings.HasPrefix(strings.TrimLeft(raw, " \t\r\n"), "{") && json.Valid([]byte(raw))
}
