package dialect

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// The tool-request dialect reads the whole message, strictly: it is one object with nothing but tool_request,
// which holds a name and, if there are any, arguments. Reasoning may stand in front of it. Everything else is
// text, and text that cannot become such an object any more goes out at once, read as in a request without
// tools.

// requestStart is what the message begins with, white space left out.
const requestStart = `{"tool_request"`

// A wholeRequest is how far a message is read that is one request or none.
type wholeRequest struct {
	wanted int      // bytes of what it begins with that were read
	plain  *Decoder // reads what is no request: reasoning in front of one, and text
	part   wholePart
	begun  bool // something other than white space was read
	at     int  // where a request may begin: behind reasoning
}

// A wholePart is what of a message is being read.
type wholePart uint8

const (
	wholeStart  wholePart = iota // reasoning or a request may begin
	wholeThinks                  // reasoning
	wholeRest                    // a request may begin
	wholeIsText                  // the message is none
)

// feedWhole takes in a chunk of the message.
func (d *Decoder) feedWhole(chunk string) {
	r := &d.request
	if r.plain == nil {
		d.beginWhole()
	}
	switch r.part {
	case wholeStart:
		d.text.arena.write(chunk)
		if chunk = d.beginning(chunk); chunk == "" {
			return
		}
	case wholeThinks:
		if chunk = d.feedReasoning(chunk); chunk == "" {
			return
		}
		d.text.arena.write(chunk)
	case wholeRest:
		d.text.arena.write(chunk)
	case wholeIsText:
		d.text.dst = r.plain.Feed(d.text.dst, chunk)
		return
	}
	if !d.mayBeRequest(chunk) {
		d.wholeText()
	}
}

// beginWhole makes the decoder of what is no call.
func (d *Decoder) beginWhole() {
	o := &d.set.opts
	plain, err := New(Options{Thinking: o.Thinking, Drop: o.Drop, Cache: o.Cache})
	if err != nil {
		panic(err) // the options were checked
	}
	d.request.plain = plain
	if plain.think.open {
		d.request.part = wholeThinks
	}
}

// beginning looks for a tag of reasoning in what was read so far, which ends in chunk, and returns what of it
// may begin a request.
func (d *Decoder) beginning(chunk string) string {
	r := &d.request
	if r.begun = r.begun || strings.Trim(chunk, blanks) != ""; !r.begun {
		return ""
	}
	text := d.text.arena.text()
	begin := strings.TrimLeft(text, blanks)
	r.part = wholeRest
	for _, tag := range d.set.reasoningTags() {
		if strings.HasPrefix(begin, tag) {
			d.text.arena.mark()
			r.part, r.at = wholeThinks, len(text)-len(begin)+len(tag)
			d.text.dst = r.plain.Feed(d.text.dst, text[:r.at])
			rest := d.feedReasoning(text[r.at:])
			d.text.arena.write(rest)
			return rest
		}
		if strings.HasPrefix(tag, begin) {
			r.part = wholeStart
		}
	}
	if r.part == wholeStart {
		return ""
	}
	return text
}

// blanks may stand around a request.
const blanks = " \t\r\n"

// reasoningTags returns the tags that open reasoning.
func (s *set) reasoningTags() []string {
	t := &s.opts.Thinking
	if t.Off {
		return nil
	}
	var tags []string
	if t.Opener != "" {
		tags = append(tags, t.Opener)
	}
	for i := range commonOpeners {
		if o := &commonOpeners[i]; o.use == useThink && o.literal != "" {
			tags = append(tags, o.literal)
		}
	}
	return tags
}

// feedReasoning passes reasoning on, and returns what stands behind the tag that closes it.
func (d *Decoder) feedReasoning(chunk string) string {
	r, from := &d.request, 0
	closer := d.set.opts.Thinking.Closer
	for i := range len(chunk) {
		if c := chunk[i]; c != '>' && c != ']' && !(closer != "" && c == closer[len(closer)-1]) {
			continue
		}
		d.text.dst = r.plain.Feed(d.text.dst, chunk[from:i+1])
		if from = i + 1; !r.plain.think.open {
			r.part = wholeRest
			break
		}
	}
	if r.part == wholeThinks {
		d.text.dst, from = r.plain.Feed(d.text.dst, chunk[from:]), len(chunk)
	}
	r.at += from
	return chunk[from:]
}

// mayBeRequest reports whether the message may be a request, going on with chunk.
func (d *Decoder) mayBeRequest(chunk string) bool {
	for i := 0; i < len(chunk) && d.request.wanted < len(requestStart); i++ {
		switch c, k := chunk[i], d.request.wanted; {
		case chars.IsBlank(c) && k <= 1:
		case c == '\\' && k > 1:
			d.request.wanted = len(requestStart) // an escape, which may stand for what is wanted
		case c != requestStart[k]:
			return false
		default:
			d.request.wanted++
		}
	}
	return true
}

// wholeText continues with what was read as text.
func (d *Decoder) wholeText() {
	d.request.part = wholeIsText
	d.text.dst = d.request.plain.Feed(d.text.dst, d.text.arena.text())
	d.text.arena.mark()
}

// closeWhole decides about the message.
func (d *Decoder) closeWhole() {
	if d.request.plain == nil {
		d.beginWhole()
	}
	text := d.text.arena.text()
	r := ready(&d.readers.strict)
	name, args, ok := readRequest(r, strings.Trim(text, blanks))
	if ok {
		name, ok = strings.CutPrefix(name, d.set.opts.Prefix)
	}
	if ok && len(d.set.opts.Tools) > 0 {
		ok = slices.ContainsFunc(d.set.opts.Tools, func(t shape.Tool) bool { return t.Name == name })
	}
	if !ok {
		d.wholeText()
		d.text.dst = d.request.plain.Close(d.text.dst)
		return
	}
	at := d.request.at
	end := at + len(text)
	call := d.call.memory()
	*call = chat.Call{Index: d.call.count, ID: mintedID(d.call.count), Name: name, Arguments: args.Value, Complete: true, Dialect: "tool-request", At: at, End: end}
	d.text.dst = append(d.text.dst,
		chat.Event{Kind: chat.KindCallStart, Index: call.Index, ID: call.ID, Name: name, At: at, End: at},
		chat.Event{Kind: chat.KindCallArgs, Index: call.Index, Text: args.Value, At: at, End: at},
		chat.Event{Kind: chat.KindCallEnd, Index: call.Index, ID: call.ID, Name: name, At: at, End: end, Detail: call})
	if d.call.sources != nil {
		d.call.sources.begin(at)
		if args.At > 0 {
			d.call.sources.from(args.At + end - len(strings.TrimLeft(text, blanks)))
		}
		d.call.sources.add(args.Value, d.call.sources.at+len(args.Value))
		d.call.sources.finish(at, end)
	}
	d.text.last = end
	d.text.arena.mark()
}

// readRequest reads a request. Duplicate keys, keys in another case, names with blanks around them, and anything
// that is not plain JSON make it none.
func readRequest(r *value.Strict, text string) (name string, args value.Member, ok bool) {
	if !r.Read(text) || len(r.Outer) != 1 || r.Outer[0].Key != "tool_request" {
		return "", args, false
	}
	args.Value = "{}"
	for _, m := range r.Inner {
		switch m.Key {
		case "name":
			if name, ok = plainText(m.Value); !ok {
				return "", args, false
			}
		case "arguments":
			if m.Value[0] != '{' {
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
