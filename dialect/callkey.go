package dialect

import (
	"bytes"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
)

// beginKey ends the object where a key might begin.
func (r *callReader) beginKey(d *driver, c byte, i int) (verdict, bool) {
	switch {
	case r.first && r.midLine:
		return refused, false // in prose only what is JSON beyond doubt
	case c == '}' && r.comma && d.set.opts.Repair == RepairOff:
		return r.fail(d, i, "a comma before the end"), false
	case c == '}':
		if r.comma {
			r.note(d, note.TrailingComma, ",", "", i, i)
		}
		return r.closeObject(d, d.text.at(i)+1)
	}
	return r.fail(d, i, "a key is missing"), false
}

// strict reports whether a key has to stand in double quotes.
func (r *callReader) strict(d *driver) bool {
	return d.set.opts.Repair == RepairOff || r.first && r.midLine
}

// quotedKey reads the key whose quote stands at i.
func (r *callReader) quotedKey(d *driver, quote byte, i int) (int, verdict) {
	s, n := d.text.in[i+1:], 0
	for ; n < len(s) && n <= maxHeader && s[n] != quote; n++ {
		switch {
		case s[n] == '\\':
			n++
		case s[n] < 0x20:
			return r.broken(d, i+1+n, "a control character in a key")
		case s[n] == '(' && r.first:
			if r.key, r.quote = append(r.key[:0], s[:n]...), quote; r.call(d, i+1+n) {
				return i + 1 + n, left // to another body
			}
		}
	}
	switch {
	case n > maxHeader:
		return r.broken(d, i+2+maxHeader, "the key is too long")
	case n >= len(s) && quote == '"':
		return d.await(i, r.ahead(d, i), &waitStop)
	case n >= len(s):
		return d.await(i, "", nil)
	case quote == '\'' && len(r.notes) == 0:
		r.note(d, note.SingleQuotes, "'", `"`, i, i+1)
	}
	r.key, r.quote = append(r.key[:0], s[:n]...), quote
	if v := r.endKey(d, i+1+n); v != more {
		return i + 1 + n, v
	}
	return r.passBehind(d, i+n+2, ':'), more
}

// bareKey reads the key without quotes that begins at i.
func (r *callReader) bareKey(d *driver, i int) (int, verdict) {
	s, n := d.text.in[i:], 0
	for n < len(s) && n <= maxHeader && chars.IsWord(s[n]) {
		n++
	}
	switch {
	case n > maxHeader:
		return r.broken(d, i+n, "the key is too long")
	case n == len(s):
		return d.await(i, "", nil)
	}
	r.key, r.quote = append(r.key[:0], s[:n]...), 0
	if s[n] == '(' && r.call(d, i+n) {
		return i + n, left // to another body
	}
	v := r.endKey(d, i+n)
	if v == more {
		r.note(d, note.UnquotedKey, s[:n], `"`+s[:n]+`"`, i, i+n)
	}
	return i + n, v
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
	k, ok := r.meaning()
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

// meaning returns what the key means, first of all to the dialect.
func (r *callReader) meaning() (k callKey, ok bool) {
	if r.keys != [2]string{} {
		for i, class := range [...]keyClass{keyName, keyArguments} {
			if r.keys[i] != "" && r.keys[i] == string(r.key) {
				return callKey{word: r.keys[i], class: class}, true
			}
		}
	}
	return meaning(r.key)
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
