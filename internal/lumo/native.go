package lumo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
	"wield/wire/jsonbody"
)

// maxNative bounds the text of one native call or result.
const maxNative = 8 << 20

// natives makes events of what an answer says about native tools.
//
// A call that is read whole is one event. Of one that arrives in pieces the name is told as soon as it is known,
// since whoever listens may have to stop showing the answer there: then it is a call of the origin native with a
// start and an end.
type natives struct {
	calls, results objects       // of the targets, in the first version
	open           *nativeCall   // is being written, and was told of
	deltas         []*nativeCall // of the second version, by index
	pending        []*nativeCall // have no result yet, oldest first
	last           *nativeCall
	lastResult     string
	count          int
}

// A nativeCall is one of a native tool.
type nativeCall struct {
	index    int // in the answer
	wire     int // of its pieces, in the second version
	id, name string
	args     strings.Builder
	told     bool
}

// text takes in a piece of the text of the calls, which may be glued, and cut anywhere.
func (n *natives) text(r *streamReader, piece string) {
	n.calls.add(piece)
	for {
		raw, ok := n.calls.next()
		if !ok {
			break
		}
		n.object(r, raw)
	}
	if name := n.calls.name(); name != "" && n.open == nil {
		n.open = n.begin("", name)
		n.tell(r, n.open)
	}
}

// object takes in a whole call.
func (n *natives) object(r *streamReader, raw []byte) {
	var o struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(raw, &o) != nil { // nobody can say whose it is
		r.emit(chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, Text: string(raw)})
		return
	}
	args := arguments(o.Arguments, o.Parameters)
	if c := n.open; c != nil {
		n.open = nil
		c.args.WriteString(args)
		n.end(r, c)
		return
	}
	n.whole(r, "", o.Name, args)
}

// arguments returns the first of several values that is there. One that is a text holds the arguments.
func arguments(values ...json.RawMessage) string {
	for _, raw := range values {
		var text string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			raw = json.RawMessage(text)
		}
		if text := string(bytes.TrimSpace(raw)); text != "" && text != "null" {
			return unwrapped(text)
		}
	}
	return "{}"
}

// unwrapped takes off a layer that is sometimes put around the arguments, in exactly the shape that it has there: a
// parameter of the tool's own that is called parameters stays.
func unwrapped(args string) string {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &o) != nil || len(o) != 3 || string(o["arguments"]) != "null" ||
		string(o["name"]) != "null" {
		return args
	}
	if inner := bytes.TrimSpace(o["parameters"]); len(inner) > 0 && inner[0] == '{' {
		return string(inner)
	}
	return args
}

// whole takes in a call that arrived in one piece. Failed calls are made again in the same answer; those are left out.
func (n *natives) whole(r *streamReader, id, name, args string) {
	if l := n.last; l != nil && id == "" && l.name == name && len(n.pending) > 0 &&
		(l.args.String() == args || args == "{}") {
		return
	}
	c := n.begin(id, name)
	c.args.WriteString(args)
	r.emit(chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, ID: c.id, Name: name, Text: args})
}

func (n *natives) begin(id, name string) *nativeCall {
	if id == "" {
		id = fmt.Sprintf("native_%d", n.count)
	}
	c := &nativeCall{index: n.count, id: id, name: name}
	n.count++
	n.last = c
	n.pending = append(n.pending, c)
	return c
}

// tell says that a call is being written.
func (n *natives) tell(r *streamReader, c *nativeCall) {
	c.told = true
	r.emit(chat.Event{Kind: chat.KindCallStart, Origin: chat.OriginNative, Index: c.index, ID: c.id, Name: c.name})
}

// end ends a call that was told of.
func (n *natives) end(r *streamReader, c *nativeCall) {
	args := c.args.String()
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	whole := &chat.Call{Index: c.index, ID: c.id, Name: c.name, Arguments: args, Complete: json.Valid([]byte(args)),
		Origin: chat.OriginNative}
	r.emit(chat.Event{Kind: chat.KindCallEnd, Origin: chat.OriginNative, Index: c.index, ID: c.id, Name: c.name,
		Detail: whole})
}

// A callDelta is a piece of a call in the second version.
type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// maxDeltas bounds the calls that are written at a time.
const maxDeltas = 64

// delta takes in a piece of a call. Of several that are written at a time, one is emitted; the others follow when the
// answer goes on.
func (n *natives) delta(r *streamReader, d *callDelta) {
	at := -1
	for i, c := range n.deltas {
		if c.wire == d.Index {
			at = i
		}
	}
	if at < 0 {
		if d.Function.Name == "" || len(n.deltas) == maxDeltas {
			return
		}
		n.deltas = append(n.deltas, &nativeCall{wire: d.Index, id: d.ID, name: d.Function.Name})
		at = len(n.deltas) - 1
	}
	c := n.deltas[at]
	c.args.WriteString(d.Function.Arguments)
	if at == 0 && !c.told {
		n.tellDelta(r, c)
	}
}

// tellDelta says that a call is being written, under the index that it has in the answer.
func (n *natives) tellDelta(r *streamReader, c *nativeCall) {
	place := n.begin(c.id, c.name)
	c.index, c.id = place.index, place.id
	n.tell(r, c)
}

// settle ends the calls that were written in pieces, because something else follows.
func (n *natives) settle(r *streamReader) {
	for _, c := range n.deltas {
		if !c.told {
			n.tellDelta(r, c)
		}
		n.end(r, c)
	}
	n.deltas = n.deltas[:0]
}

// close ends what is left at the end of the answer.
func (n *natives) close(r *streamReader) {
	n.settle(r)
	if c := n.open; c != nil {
		n.open = nil
		c.args.Write(n.calls.rest())
		n.end(r, c)
	} else if rest := n.calls.rest(); len(rest) > 0 {
		r.emit(chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, Text: string(rest)})
	}
	if rest := n.results.rest(); len(rest) > 0 {
		n.result(r, "", string(rest))
	}
}

// resultText takes in a piece of the text of the results.
func (n *natives) resultText(r *streamReader, piece string) {
	n.results.add(piece)
	for {
		raw, ok := n.results.next()
		if !ok {
			return
		}
		n.result(r, "", string(raw))
	}
}

// result takes in a result. Without an id it belongs to the oldest call that has none; one that only repeats the last
// belongs to a call that was made again.
func (n *natives) result(r *streamReader, id, text string) {
	at := -1
	for i, c := range n.pending {
		if id == "" || c.id == id {
			at = i
			break
		}
	}
	if at < 0 && id == "" && text == n.lastResult {
		return
	}
	n.lastResult = text
	res := &chat.Result{CallID: id, Parts: chat.Text(text), IsError: failed(text)}
	if at >= 0 {
		res.CallID, res.Name = n.pending[at].id, n.pending[at].name
		n.pending = append(n.pending[:at], n.pending[at+1:]...)
	}
	r.emit(chat.Event{Kind: chat.KindNativeResult, Origin: chat.OriginNative, ID: res.CallID, Name: res.Name,
		Text: text, Detail: res})
}

// failed reports whether a result says that the call failed.
func failed(text string) bool {
	var o struct {
		Error any `json:"error"`
	}
	if json.Unmarshal([]byte(text), &o) != nil {
		return false
	}
	switch e := o.Error.(type) {
	case bool:
		return e
	case string:
		return e != ""
	}
	return o.Error != nil
}

// objects cuts a text that arrives in pieces into the JSON objects that it holds. What stands between them is left out.
type objects struct {
	buf   []byte
	at    int // where reading goes on
	start int // of the object that is open
	depth int
	quote bool // inside a string
	slash bool // behind a backslash in it
	named bool // the name of the open object was told
}

func (o *objects) add(piece string) {
	if len(o.buf)+len(piece) > maxNative { // nobody reads a call of that size
		*o = objects{}
		return
	}
	o.buf = append(o.buf, piece...)
}

// next returns the next object that is whole. It is valid until the next add.
func (o *objects) next() (raw []byte, ok bool) {
	for o.at < len(o.buf) {
		c := o.buf[o.at]
		o.at++
		switch {
		case o.slash:
			o.slash = false
		case o.quote:
			o.slash = c == '\\'
			o.quote = c != '"'
		case o.depth == 0 && c != '{':
		case c == '"':
			o.quote = true
		case c == '{':
			if o.depth++; o.depth == 1 {
				o.start = o.at - 1
			}
		case c == '}':
			if o.depth--; o.depth == 0 {
				raw = o.buf[o.start:o.at]
				o.buf, o.at, o.start, o.named = o.buf[o.at:], 0, 0, false
				return raw, true
			}
		}
	}
	if o.depth == 0 {
		o.buf, o.at = o.buf[:0], 0
	}
	return nil, false
}

// rest returns the object that was not finished.
func (o *objects) rest() []byte {
	if o.depth == 0 {
		return nil
	}
	return o.buf[o.start:]
}

// nameWithin limits how far into an unfinished object its name is searched for.
const nameWithin = 4 << 10

// name returns the name of the open object, once, as soon as it is there.
func (o *objects) name() string {
	raw := o.rest()
	if len(raw) == 0 || o.named || len(raw) > nameWithin {
		return ""
	}
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) != "name" || s.Peek() != '"' {
			s.Skip()
			continue
		}
		name := s.Str()
		if s.Err == nil {
			o.named = true
			return name
		}
	}
	return ""
}
