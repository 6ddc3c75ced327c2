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
		d.last = at + len(chunk)
		d.dst = appendDelta(d.dst, chat.KindText, 0, chunk, at, d.last)
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
	name, args, ok := d.readers.readRequest(strings.Trim(text, " \t\r\n"))
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
	call := &chat.Call{Index: d.calls, ID: mintedID(d.calls), Name: name, Arguments: args.value, Complete: true, Dialect: "tool-request", End: len(text)}
	d.dst = append(d.dst,
		chat.Event{Kind: chat.KindCallStart, Index: call.Index, ID: call.ID, Name: name},
		chat.Event{Kind: chat.KindCallArgs, Index: call.Index, Text: args.value},
		chat.Event{Kind: chat.KindCallEnd, Index: call.Index, ID: call.ID, Name: name, End: len(text), Detail: &chat.Detail{Call: call}})
	if d.sources != nil {
		d.sources.begin(0)
		if args.at > 0 {
			d.sources.from(args.at + len(text) - len(strings.TrimLeft(text, " \t\r\n")))
		}
		d.sources.add(args.value, d.sources.at+len(args.value))
		d.sources.finish(0, len(text))
	}
	d.last = len(text)
	d.whole.Reset()
}

// readRequest reads a request. Duplicate keys, keys in another case, names with blanks around them, and anything that is not
// plain JSON make it none.
func (b *bodies) readRequest(text string) (name string, args member, ok bool) {
	if !json.Valid([]byte(text)) {
		return "", args, false
	}
	outer, ok := b.strictObject(text)
	if !ok || len(outer) != 1 || outer[0].key != "tool_request" {
		return "", args, false
	}
	inner, ok := b.strictObject(outer[0].value)
	if !ok {
		return "", args, false
	}
	args.value = "{}"
	for _, m := range inner {
		switch m.key {
		case "name":
			if json.Unmarshal([]byte(m.value), &name) != nil {
				return "", args, false
			}
		case "arguments":
			if m.value[0] != '{' {
				return "", args, false
			}
			args = m
			args.at += outer[0].at
		default:
			return "", args, false
		}
	}
	if name == "" || strings.TrimSpace(name) != name {
		return "", args, false
	}
	return name, args, true
}

// A member is a key of an object and its value, which begins at the offset at of the object's text.
type member struct {
	key, value string
	at         int
}

// strictObject returns the members of a JSON object that has no key twice, at any depth. The text is valid JSON.
func (b *bodies) strictObject(text string) ([]member, bool) {
	if text[0] != '{' {
		return nil, false
	}
	d := b.strict
	if d == nil {
		d = &Decoder{set: &set{opts: Options{Repair: RepairOff}}, readers: new(bodies)}
		b.strict = d
	}
	d.dst, d.last, d.call = d.dst[:0], 0, openCall{open: true}
	v := d.readers.val.reset(d, nil, false)
	v.step = 1
	if n, p := v.run(text, 0); p != done || n != len(text) || hasNote(d.dst) {
		return nil, false
	}
	members := make([]member, len(v.keys))
	for i, k := range v.keys {
		value := trimBlanks(text[k.from:k.to])
		members[i] = member{k.key, strings.TrimSpace(value), k.to - len(value)}
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
