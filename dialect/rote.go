package dialect

import "wield/schema/shape"

// A rote is the keys of the arguments that were read last, in order. Calls of one tool mostly have the same ones, laid out alike: such a
// key is known by comparing it, and as no two of them are the same none of it stands in the object twice.
type rote struct {
	shape *shape.Shape // of the arguments
	keys  []roteKey
	same  int // how many of them are the first keys of the object that is read
}

// A roteKey is a key as it stood in the text.
type roteKey struct {
	text  string       // in quotes, with the comma before it, if there is one
	at    int          // where the key begins in it, behind its quote
	shape *shape.Shape // of its value
}

// begin makes r ready for arguments of the shape s.
func (r *rote) begin(s *shape.Shape) {
	if r.same = 0; r.shape != s {
		r.shape, r.keys = s, r.keys[:0]
	}
}

// knows reports whether all keys so far of the outermost object, which is the innermost as well, are the first of v.rote.
func (v *value) knows() bool { return len(v.stack) == 1 && v.rote.same == len(v.keys) && !v.python }

// nextKey returns the key that most likely follows, or nil.
func (v *value) nextKey() *roteKey {
	if n := v.rote.same; n < len(v.rote.keys) && v.knows() {
		return &v.rote.keys[n]
	}
	return nil
}

// learnKey takes text for the next key of v.rote. It was added to the object; in text it begins, with its quote, at from.
func (v *value) learnKey(text string, from int) {
	at := len(v.keys) - 1
	if len(v.stack) != 1 || v.rote.same != at || at >= fewKeys || v.python {
		return
	}
	prop, _ := v.rote.shape.Prop(v.keys[at].key)
	v.rote.keys = append(v.rote.keys[:at], roteKey{text: text, at: from + 1, shape: prop})
	v.rote.same++
}
