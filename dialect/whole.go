package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/schema/shape"
)

// The tool-request dialect reads the whole message, strictly: it is one object with nothing but tool_request, which holds a
// name and, if there are any, arguments. Everything else is text, and text that cannot become such an object any more goes
// out at once.

// requestStart is what the message begins with, white space left out.
const requestStart = `{"tool_request"`

// feedWhole takes in a chunk of the message.
func (d *Decoder) feedWhole(chunk string) {
	if d.state == inText && d.text.seen {
		at := d.text.last
		d.text.last = at + len(chunk)
		d.text.dst = appendDelta(d.text.dst, chat.KindText, 0, chunk, at, d.text.last)
		return
	}
	d.text.arena.write(chunk)
	if !d.mayBeRequest(chunk) {
		d.wholeText(d.text.arena.text())
		return
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
	d.text.seen = true
	d.text.arena.mark()
	if text == "" {
		return
	}
	d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindText, Text: text, At: d.text.last, End: d.text.last + len(text)})
	d.text.last += len(text)
}

// closeWhole decides about the message.
func (d *Decoder) closeWhole() {
	text := d.text.arena.text()
	r := ready(&d.readers.strict)
	name, args, ok := r.request(strings.Trim(text, " \t\r\n"))
	if ok {
		name, ok = strings.CutPrefix(name, d.set.opts.Prefix)
	}
	if ok && len(d.set.opts.Tools) > 0 {
		ok = slices.ContainsFunc(d.set.opts.Tools, func(t shape.Tool) bool { return t.Name == name })
	}
	if !ok {
		d.wholeText(text)
		return
	}
	whole := d.call.memory()
	whole.Call = chat.Call{Index: d.call.count, ID: mintedID(d.call.count), Name: name, Arguments: args.value, Complete: true, Dialect: "tool-request", End: len(text)}
	whole.Detail.Call = &whole.Call
	call := &whole.Call
	d.text.dst = append(d.text.dst,
		chat.Event{Kind: chat.KindCallStart, Index: call.Index, ID: call.ID, Name: name},
		chat.Event{Kind: chat.KindCallArgs, Index: call.Index, Text: args.value},
		chat.Event{Kind: chat.KindCallEnd, Index: call.Index, ID: call.ID, Name: name, End: len(text), Detail: &whole.Detail})
	if d.call.sources != nil {
		d.call.sources.begin(0)
		if args.at > 0 {
			d.call.sources.from(args.at + len(text) - len(strings.TrimLeft(text, " \t\r\n")))
		}
		d.call.sources.add(args.value, d.call.sources.at+len(args.value))
		d.call.sources.finish(0, len(text))
	}
	d.text.last = len(text)
	d.text.arena.mark()
}

// request reads a request. Duplicate keys, keys in another case, names with blanks around them, and anything that is not
// plain JSON make it none.
func (r *strictReader) request(text string) (name string, args member, ok bool) {
	if !r.read(text) || len(r.outer) != 1 || r.outer[0].key != "tool_request" {
		return "", args, false
	}
	args.value = "{}"
	for _, m := range r.inner {
		switch m.key {
		case "name":
			if name, ok = plainText(m.value); !ok {
				return "", args, false
			}
		case "arguments":
			if m.value[0] != '{' {
				return "", args, false
			}
			args = m
		default:
			return "", args, false
		}
	}
	if name == "" || strings.TrimSpace(name) != name {
		return "", args, false
	}
	return name, args, true
}

// plainText returns what a value of JSON stands for if it is a string.
func plainText(value string) (text string, ok bool) {
	if value[0] != '"' {
		return "", false
	}
	text = value[1 : len(value)-1]
	for i := range len(text) {
		if text[i] == '\\' || text[i] >= utf8.RuneSelf {
			return text, json.Unmarshal([]byte(value), &text) == nil
		}
	}
	return text, true
}

// A member is a key of an object and its value, which begins at the offset at of the text.
type member struct {
	key, value string
	at         int
}
