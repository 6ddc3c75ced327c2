package dialect

import (
	"strings"

	"wield/schema/shape"
)

// A lineRote is the keys of the arguments that were read last as lines, in order. As with a rote, a key that is the next of them is known by
// comparing its line with that of the last call, and does not stand in the object twice.
type lineRote struct {
	shape *shape.Shape // of the arguments
	keys  []lineKey
	same  int // how many of them are the first keys of the object that is read
}

// A lineKey is a key as it stood on its line, before a value.
type lineKey struct {
	text, key string       // the line up to the value, and the key in it
	json      string       // what is written before the value
	shape     *shape.Shape // of the value
}

// begin makes r ready for arguments of the shape s.
func (r *lineRote) begin(s *shape.Shape) {
	if r.same = 0; r.shape != s {
		r.shape, r.keys = s, r.keys[:0]
	}
}

// next returns the key that line begins with, if it is the next one of the outermost object, and the value that stands behind it.
func (r *lineRote) next(p *blockParser, line string) (k *lineKey, value string) {
	if r.same >= len(r.keys) || p.depth != 1 || r.same != len(p.keys) {
		return nil, ""
	}
	if k = &r.keys[r.same]; !strings.HasPrefix(line, k.text) {
		return nil, ""
	}
	if value = trim(line[len(k.text):]); value == "" || isBlockStyle(value) {
		return nil, ""
	}
	r.same++
	return k, value
}

// learn takes a key of the outermost object for the next one. It stands on line, and json is written before its value.
func (r *lineRote) learn(p *blockParser, line, key string, json []byte) {
	in := indentOf(line)
	n := in + len(key) + len(": ")
	if p.depth != 1 || r.same != len(p.keys) || r.same >= fewKeys || len(line) < n || line[in:n] != key+": " || key[0] == '"' || key[0] == '\'' {
		return
	}
	prop, _ := r.shape.Prop(key)
	r.keys = append(r.keys[:r.same], lineKey{text: line[:n], key: key, json: string(json), shape: prop})
	r.same++
}
