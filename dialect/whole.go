package dialect

import (
	"encoding/json"
	"strings"

	"wield/chat"
)

// The tool-request dialect reads the whole message, strictly: it is one object with nothing but tool_request, which holds a
// name and, if there are any, arguments. Everything else is text, and text that cannot become such an object any more goes
// out at once.

// requestStart is what the message begins with, white space left out.
const requestStart = `{"tool_request"`

// feedWhole takes in a chunk of the message.
func (d *Decoder) feedWhole(chunk string) {
	if d.state == inText && d.seen {
		at := d.last
		d.dst = append(d.dst, chat.Event{Kind: chat.KindText, Text: chunk, At: at, End: at + len(chunk)})
		d.last = at + len(chunk)
		return
	}
	d.whole.WriteString(chunk)
	if !d.mayBeRequest(chunk) {
		d.wholeText(d.whole.String())
	}
}

// mayBeRequest reports whether the message may be a request, going on with chunk.
func (d *Decoder) mayBeRequest(chunk string) bool {
	for i := 0; i < len(chunk) && d.wanted < len(requestStart); i++ {
		switch c, k := chunk[i], d.wanted; {
		case isBlank(c) && k <= 1:
		case c == '\\' && k > 1:
			d.wanted = len(requestStart) // an escape, which may stand for what is wanted
		case c != requestStart[k]:
			return false
		default:
			d.wanted++
		}
	}
	return true
}

func (d *Decoder) wholeText(text string) {
	d.seen = true
	d.whole.Reset()
	if text == "" {
		return
	}
	d.dst = append(d.dst, chat.Event{Kind: chat.KindText, Text: text, At: d.last, End: d.last + len(text)})
	d.last += len(text)
}

// closeWhole decides about the message.
func (d *Decoder) closeWhole() {
	text := d.whole.String()
	name, args, ok := readRequest(strings.Trim(text, " \t\r\n"))
	if ok {
		name, ok = strings.CutPrefix(name, d.set.opts.Prefix)
	}
	if ok && len(d.set.opts.Tools) > 0 {
		_, ok = d.set.names.exact[name]
	}
	if !ok {
		d.wholeText(text)
		return
	}
	call := &chat.Call{Index: d.calls, ID: mintedID(d.calls), Name: name, Arguments: args, Complete: true, Dialect: "tool-request", End: len(text)}
	d.dst = append(d.dst,
		chat.Event{Kind: chat.KindCallStart, Index: call.Index, ID: call.ID, Name: name},
		chat.Event{Kind: chat.KindCallArgs, Index: call.Index, Text: args},
		chat.Event{Kind: chat.KindCallEnd, Index: call.Index, ID: call.ID, Name: name, End: len(text), Detail: &chat.Detail{Call: call}})
	d.last = len(text)
	d.whole.Reset()
}

// readRequest reads a request. Duplicate keys, keys in another case, names with blanks around them, and anything that is not
// plain JSON make it none.
func readRequest(text string) (name, args string, ok bool) {
	outer, ok := strictObject(text)
	if !ok || len(outer) != 1 || outer[0].key != "tool_request" {
		return "", "", false
	}
	inner, ok := strictObject(outer[0].value)
	if !ok {
		return "", "", false
	}
	args = "{}"
	for _, m := range inner {
		switch m.key {
		case "name":
			if json.Unmarshal([]byte(m.value), &name) != nil {
				return "", "", false
			}
		case "arguments":
			if _, ok := strictObject(m.value); !ok {
				return "", "", false
			}
			args = m.value
		default:
			return "", "", false
		}
	}
	if name == "" || strings.TrimSpace(name) != name {
		return "", "", false
	}
	return name, args, true
}

type member struct{ key, value string }

// strictObject returns the members of a JSON object that has no key twice, at any depth.
func strictObject(text string) ([]member, bool) {
	if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
		return nil, false
	}
	d := &Decoder{set: &set{opts: Options{Repair: RepairOff}}, readers: new(bodies)}
	d.call = openCall{open: true}
	v := newValue(d, nil, false)
	v.step = 1
	if n, p := v.run(text, 0); p != done || n != len(text) || hasNote(d.dst) {
		return nil, false
	}
	members := make([]member, len(v.keys))
	for i, k := range v.keys {
		members[i] = member{k.key, strings.TrimSpace(text[k.from:k.to])}
	}
	return members, true
}

func hasNote(events []chat.Event) bool {
	for _, e := range events {
		if e.Kind == chat.KindNote {
			return true
		}
	}
	return false
}
