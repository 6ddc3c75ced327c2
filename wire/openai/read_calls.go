package openai

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// calls puts together the calls of one answer from deltas in which servers leave out, repeat and mix almost everything.
type calls struct {
	slots    []*slot // in the order of their first deltas
	cur      int     // slots before it are closed
	index    int     // of the next call that is emitted
	complete int     // calls that were emitted whole
}

// A slot is one call under way.
type slot struct {
	index    int64
	hasIndex bool
	id, name string
	args     strings.Builder
	told     bool // args are more than white space, which a call without arguments may have too
	sent     int  // bytes of args that were emitted
	number   int  // index of the call, once it is open
	open     bool
	json     progress
	free     bool // its tool takes plain text, so that its arguments are closed with the call
}

// A callDelta is one entry of a delta's tool_calls.
type callDelta struct {
	index    int64
	hasIndex bool
	id, name string
	args     string
	free     bool // args are plain text
}

// read takes in a delta's tool_calls.
func (c *calls) read(r *StreamReader, raw []byte) {
	s := jsonbody.Scanner{Bytes: raw}
	place := 0
	for s.Enter('['); s.Next(']'); {
		if s.Peek() != '{' {
			s.Skip()
			continue
		}
		d := readCall(&s)
		if r.whole {
			d.index, d.hasIndex = int64(place), true
		}
		c.add(d, place)
		place++
	}
	c.advance(r, false, "")
}

// readLegacy takes in a function_call, the protocol's older form, of which there is at most one.
func (c *calls) readLegacy(r *StreamReader, raw []byte) {
	s := jsonbody.Scanner{Bytes: raw}
	d := callDelta{index: -1, hasIndex: true}
	readFunction(&s, &d)
	c.add(d, 0)
	c.advance(r, false, "")
}

func readCall(s *jsonbody.Scanner) (d callDelta) {
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "index":
			d.index, d.hasIndex = s.Integer()
		case "id":
			d.id = sameOrSkip(s, "")
		case "function":
			readFunction(s, &d)
		case freeform.Type:
			d.free = true
			readFunction(s, &d)
		default:
			s.Skip()
		}
	}
	return d
}

func readFunction(s *jsonbody.Scanner, d *callDelta) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	for s.Enter('{'); s.Next('}'); {
		switch key := string(s.Key()); {
		case key == "name":
			d.name = sameOrSkip(s, "")
		case key == "arguments" && !d.free:
			d.args = argumentsText(s)
		case key == "input" && d.free:
			d.args = sameOrSkip(s, "")
		default:
			s.Skip()
		}
	}
}

// argumentsText reads arguments, which are a string that holds JSON, or, from some servers, the JSON itself.
func argumentsText(s *jsonbody.Scanner) string {
	switch s.Peek() {
	case '"':
		return s.Str()
	case 'n':
		s.Skip()
		return ""
	}
	return string(s.Raw())
}

// add puts a delta into its slot.
func (c *calls) add(d callDelta, place int) {
	s := c.find(d)
	if s == nil || s.isNext(d) || place > 0 && !d.hasIndex && d.id == "" && d.name != "" {
		s = &slot{index: d.index, hasIndex: d.hasIndex}
		c.slots = append(c.slots, s)
	}
	if s.id == "" {
		s.id = d.id
	}
	s.addName(d.name)
	if d.free {
		d.args = freeform.Piece(d.args, !s.free)
		s.free = true
	}
	s.args.WriteString(d.args)
	s.told = s.told || strings.TrimSpace(d.args) != ""
	s.json.write(d.args)
}

// find returns the slot that a delta belongs to: by index, else by id, else the last one. A new id with a name is a new
// call, a new id without one is not.
func (c *calls) find(d callDelta) *slot {
	for i := len(c.slots) - 1; i >= 0; i-- {
		s := c.slots[i]
		if d.hasIndex && s.hasIndex && d.index == s.index || !d.hasIndex && d.id != "" && d.id == s.id {
			return s
		}
	}
	if len(c.slots) == 0 || d.hasIndex || d.id != "" && d.name != "" && c.slots[len(c.slots)-1].id != "" {
		return nil
	}
	return c.slots[len(c.slots)-1]
}

// isNext reports whether a delta that points to s begins another call all the same. Servers are known that give every
// call the index 0, and others that give every delta of one call a new id.
func (s *slot) isNext(d callDelta) bool {
	if d.name == "" || d.id != "" && d.id == s.id {
		return false
	}
	if s.open && s.args.Len() == 0 { // it was announced, so that its name is whole
		return d.name != s.name
	}
	if d.id != "" && s.id != "" {
		return s.json.done || s.args.Len() == 0 && d.name != s.name
	}
	return s.json.done && d.args != ""
}

// addName sets the name. Until the arguments begin it may come in pieces, or repeatedly.
func (s *slot) addName(name string) {
	switch {
	case name == "" || name == s.name || s.open:
	case s.name == "" || s.args.Len() == 0 && strings.HasPrefix(name, s.name):
		s.name = name
	case s.args.Len() == 0:
		s.name += name
	}
}

// advance emits what is known. The call that is open stays so until a later one waits behind it and it is whole; at
// the end all are closed.
func (c *calls) advance(r *StreamReader, final bool, reason chat.FinishReason) {
	for c.cur < len(c.slots) {
		s := c.slots[c.cur]
		if s.name != "" && s.args.Len() > s.sent && s.told {
			c.emit(r, s)
		}
		last := c.cur == len(c.slots)-1
		if !final && (last || !s.json.done) {
			return
		}
		c.end(r, s, reason)
		c.cur++
	}
}

// announce opens the call that is under way, if its name is known. Text that follows a name may be an apology for the
// call, so that whoever reads the events must know of it first.
func (c *calls) announce(r *StreamReader) {
	if c.cur < len(c.slots) && !c.slots[c.cur].open && c.slots[c.cur].name != "" {
		c.emit(r, c.slots[c.cur])
	}
}

// emit opens a call if need be and emits its new arguments. White space waits for what follows it: if nothing does,
// end puts other arguments in its place.
func (c *calls) emit(r *StreamReader, s *slot) {
	if !s.open {
		s.open = true
		s.number = c.index
		c.index++
		if s.id == "" {
			s.id = "call_" + strconv.Itoa(s.number)
		}
		r.emit(chat.Event{Kind: chat.KindCallStart, Origin: chat.OriginFunction, Index: s.number, ID: s.id,
			Name: s.name})
	}
	if text := s.args.String()[s.sent:]; s.told && text != "" {
		s.sent += len(text)
		r.emit(chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Index: s.number, Text: text})
	}
}

// end closes a call. One without arguments has {}; one without a name is none.
func (c *calls) end(r *StreamReader, s *slot, reason chat.FinishReason) {
	if s.name == "" {
		if s.args.Len() > 0 {
			r.emit(chat.Event{Kind: chat.KindRejected, Origin: chat.OriginFunction, Index: -1,
				Detail: &chat.RejectedDetail{Reason: chat.ReasonMalformed, Raw: s.args.String(),
					Arguments: s.args.String(), Message: "the server sent a call that has no name"}})
		}
		return
	}
	cut := reason == chat.FinishLength || reason == chat.FinishFiltered
	if s.free && !cut {
		s.args.WriteString(freeform.End)
		s.json.write(freeform.End)
	}
	if !s.told {
		s.args.Reset()
		s.args.WriteString("{}")
		s.told = true
		s.json.write("{}")
	}
	c.emit(r, s)
	call := &chat.Call{Index: s.number, ID: s.id, Name: s.name, Arguments: s.args.String(),
		Complete: s.json.done || !cut, Origin: chat.OriginFunction}
	if call.Complete {
		c.complete++
	}
	r.emit(chat.Event{Kind: chat.KindCallEnd, Origin: chat.OriginFunction, Index: s.number, ID: s.id, Name: s.name,
		Detail: call})
}

// close closes all calls.
func (c *calls) close(r *StreamReader, reason chat.FinishReason) { c.advance(r, true, reason) }

// progress follows a JSON text that arrives in pieces, as far as is needed to know that its value is closed.
type progress struct {
	depth         int
	inString, esc bool
	done          bool // an object, array or string was closed at the top
}

func (p *progress) write(text string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case p.esc:
			p.esc = false
		case p.inString:
			j := indexStringByte(text[i:])
			if j < 0 {
				return
			}
			i += j
			if text[i] == '\\' {
				p.esc = true
			} else {
				p.inString = false
				p.done = p.depth == 0
			}
		case c == '"':
			p.inString = true
			p.done = false
		case c == '{' || c == '[':
			p.depth++
			p.done = false
		case c == '}' || c == ']':
			p.depth--
			p.done = p.depth <= 0
		}
	}
}

// indexStringByte returns the place of the first quote or backslash, or -1.
func indexStringByte(s string) int {
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			return i
		}
	}
	return -1
}
