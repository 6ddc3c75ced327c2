package responses

import (
	"encoding/json"
	"slices"

	"wield/chat"
	"wield/schema/shape"
)

// natives tell of tools that the backend itself ran: one item for each of their calls, whole, once its result is
// known. A search has a type of its own in the protocol; all others are written as calls of a server.
type natives struct {
	wanted bool
	open   []chat.Event // calls that have no result yet
}

// take takes in an event and returns the calls that are over, with their results; a call without one is over when the
// answer is.
func (n *natives) take(e chat.Event) (done []nativeCall) {
	switch {
	case servedItem(e) != nil:
		n.open = slices.DeleteFunc(n.open, func(o chat.Event) bool { return o.ID == e.ID })
		return []nativeCall{{item: servedItem(e)}}
	case !n.wanted:
	case e.Kind == chat.KindNativeCall:
		n.open = append(n.open, e)
	case e.Kind == chat.KindNativeResult:
		result, ok := e.Detail.(*chat.Result)
		c := nativeCall{name: e.Name, result: &e.Text, failed: ok && result.IsError}
		for i, o := range n.open {
			if o.ID == e.ID {
				c.name, c.arguments = o.Name, o.Text
				n.open = append(n.open[:i:i], n.open[i+1:]...)
				break
			}
		}
		return []nativeCall{c}
	case e.Kind == chat.KindFinish:
		for _, o := range n.open {
			done = append(done, nativeCall{name: o.Name, arguments: o.Text})
		}
		n.open = nil
	}
	return done
}

// A nativeCall is a call that the backend itself ran.
type nativeCall struct {
	name, arguments string
	result          *string // nil: not known
	failed          bool
	item            []byte // as a server of this protocol told of it; nil: it was another's
}

// begunItem returns the call that a server of this protocol has begun to run, as an item; nil: it tells of it when the
// result is there.
func begunItem(e chat.Event) []byte {
	opaque, _ := e.Detail.(chat.Opaque)
	if i := indexOpaque(opaque, keyBegun); i >= 0 {
		return opaque[i].Value
	}
	return nil
}

// servedItem returns what a server of this protocol did, or another in its place, as an item.
func servedItem(e chat.Event) []byte {
	opaque, _ := e.Detail.(chat.Opaque)
	if i := indexOpaque(opaque, keyItem); i >= 0 {
		return opaque[i].Value
	}
	return nil
}

var (
	searchKind = &itemKind{prefix: "ws_", head: `"type":"web_search_call"`}
	serverKind = &itemKind{prefix: "mcp_", head: `"type":"mcp_call","server_label":"native"`}
	servedKind = &itemKind{} // an item as a server of this protocol wrote it
)

// native makes an item of a call.
func (b *object) native(c nativeCall) openItem {
	if c.item != nil {
		it := b.begin(servedKind)
		it.text = c.item
		return it
	}
	kind := serverKind
	if c.name == "web_search" {
		kind = searchKind
	}
	it := b.begin(kind)
	if it.name = c.name; kind == searchKind {
		it.text = appendSearch(it.text, c.arguments)
	} else {
		it.text = appendServed(it.text, c)
	}
	return it
}

// appendSearch appends what a search was for.
func appendSearch(dst []byte, arguments string) []byte {
	var args struct {
		Query string `json:"query"`
	}
	if json.Unmarshal([]byte(arguments), &args) != nil {
		args.Query = arguments
	}
	dst = shape.AppendQuoted(append(dst, `,"action":{"type":"search","query":`...), args.Query)
	return append(dst, '}')
}

// appendServed appends what a call was, and what came of it.
func appendServed(dst []byte, c nativeCall) []byte {
	dst = shape.AppendQuoted(append(dst, `,"name":`...), c.name)
	dst = shape.AppendQuoted(append(dst, `,"arguments":`...), c.arguments)
	output, fault := c.result, (*string)(nil)
	if c.failed {
		output, fault = fault, output
	}
	dst = appendText(append(dst, `,"output":`...), output)
	return appendText(append(dst, `,"error":`...), fault)
}

func appendText(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return shape.AppendQuoted(dst, *s)
}

// progress lists the types of events that report the progress of a server's own items.
var progress = map[string]string{"mcp_call": "response.mcp_call", "mcp_list_tools": "response.mcp_list_tools"}

// A servedState holds an item that a server of the protocol wrote, as events report it.
type servedState struct {
	ID, Type, Arguments, Status string
	Error                       json.RawMessage
}

// nativeItems appends the events of the calls that have begun or are over.
func (w *StreamWriter) nativeItems(dst []byte, e chat.Event) []byte {
	if raw := begunItem(e); raw != nil && e.Kind == chat.KindNativeCall {
		return w.beginServed(dst, raw)
	}
	for _, c := range w.natives.take(e) {
		if c.item != nil {
			dst = w.served(dst, c.item)
			continue
		}
		dst = w.close(w.start(dst), statusCompleted)
		w.open = w.native(c)
		dst = w.item(dst, "response.output_item.added", statusRunning)
		dst = w.item(dst, "response.output_item.done", statusCompleted)
		w.end(&w.open, statusCompleted)
	}
	return dst
}

// beginServed opens an item that a server of the protocol wrote.
func (w *StreamWriter) beginServed(dst, raw []byte) []byte {
	var it servedState
	json.Unmarshal(raw, &it)
	dst = w.close(w.start(dst), statusCompleted)
	w.open = w.object.begin(servedKind)
	w.open.id, w.open.text = it.ID, raw
	w.around = string(w.of(nil))
	dst = w.item(dst, "response.output_item.added", statusRunning)
	if name := progress[it.Type]; name != "" {
		dst = w.about(dst, name+".in_progress", "", "")
		if it.Type == "mcp_call" {
			dst = w.about(dst, name+"_arguments.delta", "delta", it.Arguments)
			dst = w.about(dst, name+"_arguments.done", "arguments", it.Arguments)
		}
	}
	return dst
}

// served appends the events of an item that a server of the protocol wrote, and that may have begun before.
func (w *StreamWriter) served(dst, raw []byte) []byte {
	var it servedState
	json.Unmarshal(raw, &it)
	if w.open.kind != servedKind || w.open.id != it.ID {
		dst = w.beginServed(dst, raw)
	}
	w.open.text = raw
	if name := progress[it.Type]; name != "" {
		end := ".completed"
		if it.Status == statusFailed || len(it.Error) > 0 && it.Error[0] != 'n' {
			end = ".failed"
		}
		dst = w.about(dst, name+end, "", "")
	}
	dst = w.item(dst, "response.output_item.done", statusCompleted)
	w.end(&w.open, statusCompleted)
	return dst
}

// about appends an event about the open item, with a text if that has a name.
func (w *StreamWriter) about(dst []byte, name, key, text string) []byte {
	dst = append(w.event(dst, name), w.around...)
	if key != "" {
		dst = shape.AppendQuoted(append(append(append(dst, ',', '"'), key...), '"', ':'), text)
	}
	return append(dst, "}\n\n"...)
}

// nativeItems takes in the calls that are over.
func (r *Response) nativeItems(e chat.Event) {
	for _, c := range r.natives.take(e) {
		r.close(statusCompleted)
		it := r.native(c)
		r.end(&it, statusCompleted)
	}
}
