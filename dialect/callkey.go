package dialect

import (
	"bytes"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
)

// beginKey begins a key, or ends the object.
func (r *callReader) beginKey(d *driver, c byte, i int) (verdict, bool) {
	off := d.set.opts.Repair == RepairOff
	r.key = r.key[:0]
	switch {
	case r.first && r.midLine && c != '"':
		return refused, false // in prose only what is JSON beyond doubt
	case c == '"' || c == '\'' && !off:
		if c == '\'' && len(r.notes) == 0 {
			r.note(d, chat.NoteSingleQuotes, "'", `"`, i, i+1)
		}
		r.quote, r.state = c, cKey
		return more, true
	case c == '}' && r.comma:
		if off {
			return r.fail(d, i, "a comma before the end"), false
		}
		r.note(d, chat.NoteTrailingComma, ",", "", i, i)
		return r.closeObject(d, d.text.at(i)+1)
	case c == '}':
		return r.closeObject(d, d.text.at(i)+1)
	case chars.IsLetter(c) && !off:
		r.quote, r.state = 0, cKeyBare
		return more, false
	}
	return r.fail(d, i, "a key is missing"), false
}

// plainKey returns the offset of the first byte of in from i on that does not simply belong to the key.
func (r *callReader) plainKey(in string, i int) int {
	if r.state != cKey {
		return i
	}
	j := min(chars.Quoted.Index(in, i), i+maxHeader+1-len(r.key))
	if r.first {
		if k := strings.IndexByte(in[i:j], '('); k >= 0 {
			return i + k
		}
	}
	return j
}

// readKey reads a byte of a key.
func (r *callReader) readKey(d *driver, c byte, i int) verdict {
	switch {
	case len(r.key) > maxHeader:
		return r.fail(d, i, "the key is too long")
	case r.state == cKeyEscape:
		r.key, r.state = append(r.key, '\\', c), cKey
	case r.state == cKeyBare:
		if chars.IsWord(c) {
			r.key = append(r.key, c)
			return more
		}
		if v := r.endKey(d, i); v != more {
			return v
		}
		r.note(d, chat.NoteUnquotedKey, string(r.key), `"`+string(r.key)+`"`, i-len(r.key), i)
		return more
	case c == '\\':
		r.state = cKeyEscape
	case c == r.quote:
		return r.endKey(d, i)
	case c < 0x20:
		return r.fail(d, i, "a control character in a key")
	default:
		r.key = append(r.key, c)
	}
	return more
}

func (r *callReader) endKey(d *driver, i int) verdict {
	escaped := bytes.IndexByte(r.key, '\\') >= 0
	if escaped {
		if key, ok := value.Unquote(string(r.key)); ok {
			r.key = append(r.key[:0], key...)
		}
	}
	r.comma = false
	if r.keyed || r.first && !r.explicit && r.mayName(d) && r.declared(d) {
		r.bare = !r.keyed && !d.set.keyedJSON
		r.keyed, r.first = true, false
		if end := d.text.at(i); !escaped { // it stands in the text as it is
			return r.keyName(d, d.text.held(end-len(r.key), end))
		}
		return r.keyName(d, string(r.key))
	}
	k, ok := meaning(r.key)
	if k.full && (d.set.opts.Repair != RepairFull || r.declares(d, k.word)) {
		k, ok = callKey{}, false
	}
	if !ok && d.set.opts.Repair != RepairFull && !r.first && !r.declares(d, string(r.key)) {
		if k, variant := meaning(bytes.ToLower(r.key)); variant && !k.full {
			r.doom = "a key that differs from " + k.word + " only in case" // readers that ignore case see another call
		}
	}
	class := k.class
	r.word = k.word
	if r.first {
		r.first = false
		if (!ok || k.full && class == keyArguments || class == keyDescription) && !r.explicit && !d.text.confirmed {
			return refused
		}
	}
	if class == keyDescription && !r.explicit && !d.text.confirmed {
		return refused // the definition of a tool, not a call of it
	}
	r.class, r.state = class, cColon
	return more
}

// declares reports whether the tool that is named already has a parameter of that name.
func (r *callReader) declares(d *driver, key string) bool {
	if !r.record.known {
		return false
	}
	_, ok := d.set.names.tools[r.record.tool].Args.Prop(key)
	return ok
}

// mayName reports whether the first key of an object without an opener may be the name of a tool, which is a guess
// unless the dialect is named.
func (r *callReader) mayName(d *driver) bool {
	if d.set.keyedJSON {
		return true
	}
	_, ok := meaning(r.key)
	return !ok && !r.midLine && d.set.opts.Repair == RepairFull
}

// declared reports whether the key is the name of a tool.
func (r *callReader) declared(d *driver) bool {
	_, _, ok := d.set.names.resolve(string(r.key))
	return ok
}

// keyName takes a key that is the name of the call, whose value then are the arguments.
func (r *callReader) keyName(d *driver, name string) verdict {
	rec := &r.record
	if rec.named {
		r.doom = "the object has more than one key"
		r.class, r.state = keyOther, cColon
		return more
	}
	rec.nameKey = "name"
	v := r.named(d, name)
	r.class, r.word, r.state = keyArguments, "arguments", cColon
	return v
}
